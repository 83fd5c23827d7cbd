"""What a plan with printed parameters promises: the paper's number that was asked for, beside the one that is proved.

A plan that `as_printed` made runs the parameters of a paper, whatever they promise. Its status is computed from its
curve and from a lower bound on what it leaks, never stated by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.accounting.curves import Curve
from tacit.accounting.rounding import rounded_up
from tacit.errors import InvalidInput
from tacit.validation import check_choice, plain_fields

Status = Literal["kept", "exceeded", "no proof", "refuted", "not private"]
RUNNABLE: tuple[Status, ...] = ("kept", "not private")
"""The statuses with which a plan starts on secret randomness: what is promised of it holds, or nothing is."""


@dataclass(frozen=True)
class Printed:
    """Where a plan's parameters were printed, and what is known of them.

    Attributes:
        paper: name of the paper in `tacit.papers`.
        result: number of the result, such as "Theorem 8".
        epsilon: the privacy that was asked of the printed formula (None: the result promises none).
        delta: the delta that was asked of it.
        reading: which choice was made where the print leaves a parameter open (empty: it leaves none).
        regret: the printed bound on regret at these parameters, not capped (None: only an order is printed).
        order: the printed order of regret where there is no constant.
        lower_bound: delta(epsilon) of the printed algorithm is at least this, by an attack.
        no_proof: why no guarantee is proved here (empty: one is).
        evidence: what the status rests on, and preconditions of the print that do not hold.
        differs: where the learner that runs is not the printed one.
        values: the printed numbers by name: parameters, "switches" (a bound on their mean), and what else is printed.
    """

    paper: str
    result: str
    epsilon: float | None = None
    delta: float | None = None
    reading: str = ""
    regret: float | None = None
    order: str = ""
    lower_bound: float = 0.0
    no_proof: str = ""
    evidence: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain_fields(self)
        object.__setattr__(self, "values", dict(self.values))

    def status(self, curve: Curve) -> Status:
        """Return what became of the printed promise.

        Args:
            curve: what the plan that runs is proved to leak.
        """
        if self.epsilon is None or self.delta is None:
            return "not private"
        if self.lower_bound > self.delta:
            return "refuted"
        if self.no_proof:
            return "no proof"
        if curve.epsilon(self.delta) <= self.epsilon or curve.delta(self.epsilon) <= self.delta:
            return "kept"
        return "exceeded" if curve.epsilon(self.delta) < float("inf") else "no proof"

    def promise(self, curve: Curve) -> str:
        """Return what was asked and what is proved, in one phrase."""
        if self.epsilon is None or self.delta is None:
            return "no privacy is promised"
        asked = f"asked epsilon={self.epsilon:g}"
        if self.lower_bound > self.delta:
            return f"{asked}, delta there is at least {self.lower_bound:.2g} and {self.delta:g} was asked"
        if self.no_proof:
            return f"{asked}, nothing is proved: {self.no_proof}"
        return f"{asked}, proved {rounded_up(curve.epsilon(self.delta))}"

    @property
    def place(self) -> str:
        """The paper and the result, with the reading where there is one."""
        reading = f", {self.reading}" if self.reading else ""
        return f"{self.paper}, {self.result}{reading}"


def choose_reading(owner: str, result: str, reading: str | None, readings: Sequence[str]) -> str:
    """Return the reading that was asked for, the first one if none was, or "" where a result has none."""
    if not readings:
        if reading is not None:
            raise InvalidInput(f"{owner} has no readings of {result}. Got reading={reading!r}.")
        return ""
    return check_choice(owner, "reading", readings[0] if reading is None else reading, tuple(readings))


def refuse_own(owner: str, result: str, own: Mapping[str, Any], left_open: Sequence[str]) -> None:
    """Raise InvalidInput if a parameter is given that the result prints, or does not have."""
    for name, value in own.items():
        if value is not None and name not in left_open:
            known = ", ".join(left_open) or "none"
            raise InvalidInput(
                f"The parameters that {owner} leaves open in {result} are: {known}. Got {name!r} instead."
            )
