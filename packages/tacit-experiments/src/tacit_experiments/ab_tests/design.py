"""The design of a test: everything that is public and fixed before its first look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import check_integer, check_number, check_privacy, invalid, plain_fields, real_array
from tacit_experiments.ab_tests.metrics import Measure, Metric, Ratio, check_name, metric_from_dict
from tacit_experiments.ab_tests.vector import Layout

MOST_ARMS, MOST_METRICS, MOST_CELLS, MOST_LOOKS = 64, 16, 64, 12
MOST_EPSILON, LEAST_DELTA = 20.0, 1e-20
"""Beyond, epsilon promises nothing, and errors of samplers, which grow as e^epsilon, are not small beside delta."""
OTHER = "other"
"""The cell of persons who are in no declared one; it is always there, and the last."""
PERSON, ARM = "person", "arm"


@dataclass(frozen=True)
class ABTest:
    """What is compared, on whom, and under which promise.

    Attributes:
        name: the name of the test.
        arms: the names of its arms.
        metrics: what is measured; the first one is the primary metric unless `primary` says so.
        epsilon: of a person, for all looks and metrics together.
        delta: of a person, for all looks and metrics together.
        ledger: the ledger that is charged.
        default: the arm against which others are measured ("": the first).
        shares: of the arms (None: equal ones).
        looks: how many releases are planned; all of them are charged together.
        primary: the name of the metric that decides ("": the first).
        guardrails: margins by metric: a fall of the lift (in the bad direction) that is still safe.
        segments: groups of persons by dimension, each a list of cells; "other" is added.
    """

    name: str
    arms: tuple[str, ...]
    metrics: tuple[Metric, ...]
    epsilon: float
    delta: float = 1e-6
    ledger: str = "people"
    default: str = ""
    shares: tuple[float, ...] | None = None
    looks: int = 4
    primary: str = ""
    guardrails: Mapping[str, float] = field(default_factory=dict)
    segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain_fields(self)
        for what in ("arms", "metrics"):
            if not isinstance(getattr(self, what), tuple | list):
                raise invalid("ABTest", what, "a list", getattr(self, what))
            object.__setattr__(self, what, tuple(getattr(self, what)))
        check_name("ABTest", "name", self.name)
        check_name("ABTest", "ledger", self.ledger)
        for arm in self.arms:
            check_name("ABTest", "arms", arm)
        if not 2 <= len(self.arms) <= MOST_ARMS or len(set(self.arms)) < len(self.arms):
            raise InvalidInput(f"The 'arms' of a test must be 2 to {MOST_ARMS} different names.")
        if self.default == "":
            object.__setattr__(self, "default", self.arms[0])
        if self.default not in self.arms:
            raise invalid("ABTest", "default", "one of the arms", self.default)
        check_privacy("ABTest", self.epsilon, self.delta)
        check_number("ABTest", "epsilon", self.epsilon, above=0.0, below=MOST_EPSILON, closed_high=True)
        check_number("ABTest", "delta", self.delta, above=LEAST_DELTA, below=1.0, closed_low=True)
        check_integer("ABTest", "looks", self.looks, at_least=1, at_most=MOST_LOOKS)
        self._check_shares()
        self._check_metrics()
        self._check_segments()

    def _check_shares(self) -> None:
        if self.shares is None:
            return
        shares = real_array("ABTest", "shares", self.shares, (len(self.arms),))
        if not (np.all(shares > 0) and abs(float(shares.sum()) - 1) < 1e-9):
            raise invalid("ABTest", "shares", "one positive number for each arm, with a sum of 1", self.shares)
        object.__setattr__(self, "shares", tuple(shares.tolist()))

    def _check_metrics(self) -> None:
        if not all(isinstance(metric, Metric) for metric in self.metrics):
            raise InvalidInput("The 'metrics' of a test must be made of Conversion, Sum and Ratio.")
        if not 1 <= len(self.metrics) <= MOST_METRICS:
            raise InvalidInput(f"A test has 1 to {MOST_METRICS} metrics. Got {len(self.metrics)} instead.")
        names = [metric.name for metric in self.metrics]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"Two metrics of this test are called {name!r}: give each a name of its own.")
            if name in (PERSON, ARM):
                raise InvalidInput(f"A metric cannot be called {name!r}: that column says something else.")
        known = {measure.name for measure in self.measures}
        for metric in self.metrics:
            if isinstance(metric, Ratio) and not {metric.over, metric.under} <= known:
                raise InvalidInput(f"The ratio {metric.name!r} must be of two metrics of this test that are no ratios.")
        if self.primary == "":
            object.__setattr__(self, "primary", names[0])
        if self.primary not in names:
            raise invalid("ABTest", "primary", "the name of one of the metrics", self.primary)
        if not isinstance(self.guardrails, Mapping):
            raise invalid("ABTest", "guardrails", "margins by the names of metrics", self.guardrails)
        object.__setattr__(self, "guardrails", dict(self.guardrails))
        for name, margin in self.guardrails.items():
            if name not in names or name == self.primary:
                raise InvalidInput(f"The guardrail {name!r} must be a metric of this test that is not the primary one.")
            check_number("ABTest", f"guardrails[{name}]", margin, above=0.0)

    def _check_segments(self) -> None:
        if not isinstance(self.segments, Mapping):
            raise invalid("ABTest", "segments", "lists of cells by dimension", self.segments)
        taken = {metric.name for metric in self.metrics} | {PERSON, ARM}
        kept = {}
        for dimension, cells in self.segments.items():
            if check_name("ABTest", "segments", dimension) in taken:
                raise InvalidInput(f"The segment {dimension!r} has the name of another column: choose another one.")
            if not isinstance(cells, tuple | list):
                raise invalid("ABTest", f"segments[{dimension}]", "a list of cells", cells)
            named = [check_name("ABTest", f"segments[{dimension}]", cell) for cell in cells]
            named = [*(cell for cell in named if cell != OTHER), OTHER]
            if len(set(named)) < len(named) or len(named) < 2:
                raise InvalidInput(f"The cells of the segment {dimension!r} must be different names.")
            kept[dimension] = tuple(named)
        if sum(map(len, kept.values())) > MOST_CELLS:
            raise InvalidInput(f"A test has at most {MOST_CELLS} cells in all its segments, with {OTHER!r} in each.")
        object.__setattr__(self, "segments", kept)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics that a row holds a number for; ratios have none of their own."""
        return tuple(metric for metric in self.metrics if not isinstance(metric, Ratio))

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """The metrics that are quotients."""
        return tuple(metric for metric in self.metrics if isinstance(metric, Ratio))

    @cached_property
    def layout(self) -> Layout:
        """The coordinates of a person's vector."""
        places = [self.places(ratio) for ratio in self.ratios]
        pairs = dict.fromkeys((min(pair), max(pair)) for pair in places)
        return Layout(tuple(measure.binary for measure in self.measures), tuple(pairs))

    def places(self, ratio: Ratio) -> tuple[int, int]:
        """Return the places of a ratio's two metrics among the measures."""
        names = [measure.name for measure in self.measures]
        return names.index(ratio.over), names.index(ratio.under)

    @property
    def arm_shares(self) -> tuple[float, ...]:
        """The share of each arm."""
        return (1 / len(self.arms),) * len(self.arms) if self.shares is None else self.shares

    @property
    def default_place(self) -> int:
        """The place of the default arm."""
        return self.arms.index(self.default)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "mode": "test",
            **{each.name: getattr(self, each.name) for each in fields(self)},
            "arms": list(self.arms),
            "metrics": [metric.to_dict() for metric in self.metrics],
            "shares": None if self.shares is None else list(self.shares),
            "guardrails": dict(self.guardrails),
            "segments": {dimension: list(cells) for dimension, cells in self.segments.items()},
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> ABTest:
        """Read a description; its `mode`, if it has one, must be "test"."""
        given = dict(content)
        if given.pop("mode", "test") != "test":
            raise InvalidInput("The 'mode' of a test's design must be 'test'.")
        if not isinstance(given.get("metrics", ()), list | tuple):
            raise invalid("ABTest", "metrics", "a list", given["metrics"])
        if "metrics" in given:
            given["metrics"] = tuple(
                metric if isinstance(metric, Metric) else metric_from_dict(metric) for metric in given["metrics"]
            )
        try:
            return ABTest(**given)
        except TypeError:
            known = ", ".join(each.name for each in fields(ABTest))
            raise InvalidInput(f"The design of a test has the fields mode, {known}.") from None
