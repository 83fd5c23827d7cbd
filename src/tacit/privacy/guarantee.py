"""The privacy contract: one frozen value that carries everything epsilon depends on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from math import floor, log10
from typing import Any

from tacit.errors import InvalidInput, PrivacyError
from tacit.privacy.curves import Curve, compose
from tacit.validation import check_choice, check_integer, check_number, invalid


class Relation(StrEnum):
    """Which data sets are neighbours: those that differ in one round's feedback, in this way."""

    REPLACE = "replace"
    """That round's feedback is replaced by any admissible feedback (the default, and the papers')."""
    ZERO_OUT = "zero-out"
    """It is replaced by a public feedback that contributes nothing (constant loss, zero gradient)."""

    @property
    def sides(self) -> int:
        """How many contributions a neighbour moves: the old and the new one, or the old one only."""
        return 2 if self is Relation.REPLACE else 1

    def __str__(self) -> str:
        return self.value

    __repr__ = __str__


def as_relation(owner: str, value: object) -> Relation:
    """The relation of that name."""
    return Relation(check_choice(owner, "relation", str(value), [relation.value for relation in Relation]))


REPLACE = Relation.REPLACE
ZERO_OUT = Relation.ZERO_OUT

EVENT = "one round's feedback"
IDEALIZED = "idealized: float64 samplers"
EXACT = "exact"
EXACT_UP_TO = "exact up to an extra epsilon of "


def exact_up_to(extra: float) -> str:
    """The words for numerics whose errors cost at most `extra`, which the curve includes."""
    return f"{EXACT_UP_TO}{_up(extra)}" if extra > 0 else EXACT


@dataclass(frozen=True)
class Guarantee:
    """A privacy contract: epsilon and delta, and everything they depend on.

    Attributes:
        curve: what leaks, as a curve; `epsilon(delta)` and `delta(epsilon)` read it.
        at_delta: the delta at which the contract is stated when printed (0: pure).
        released: what the proof covers. Everything else the learner holds is private.
        theorem: the statement that proves it.
        relation: which data sets are neighbours.
        unit: what one person is assumed to contribute.
        rounds_per_person: how many rounds one person may stand in.
        adversary: against whom privacy holds (not whom the regret bound is for).
        numerics: "idealized: float64 samplers" or "exact".
        randomness: where the noise comes from; a replayable source is stamped as not private.
    """

    curve: Curve
    at_delta: float
    released: str
    theorem: str
    relation: Relation = REPLACE
    unit: str = EVENT
    rounds_per_person: int = 1
    adversary: str = "adaptive"
    numerics: str = IDEALIZED
    randomness: str = "computational"

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise InvalidInput(f"The 'curve' parameter of Guarantee must be a Curve. Got {self.curve!r} instead.")
        check_number("Guarantee", "at_delta", self.at_delta, above=0.0, below=1.0, closed_low=True)
        object.__setattr__(self, "relation", as_relation("Guarantee", self.relation))
        check_integer("Guarantee", "rounds_per_person", self.rounds_per_person)
        for name in ("released", "theorem", "unit", "adversary", "numerics", "randomness"):
            if not isinstance(getattr(self, name), str):
                raise invalid("Guarantee", name, "a text", getattr(self, name))

    @property
    def notion(self) -> str:
        """The notion of privacy in which the curve was computed, such as Renyi or Gaussian."""
        return "pure" if self.at_delta == 0 else self.curve.notion

    @property
    def private(self) -> bool:
        """False when the noise can be replayed by whoever knows the seed."""
        return not self.randomness.startswith("replayable")

    def epsilon(self, delta: float | None = None) -> float:
        """Certified epsilon at `delta` (default: the contract's own)."""
        return self.curve.epsilon(self.at_delta if delta is None else delta)

    def delta(self, epsilon: float) -> float:
        """Certified delta at `epsilon`."""
        return self.curve.delta(epsilon)

    def with_randomness(self, label: str) -> Guarantee:
        """The same contract, stamped with the source that actually drew the noise."""
        return replace(self, randomness=label)

    def compose(self, *others: Guarantee) -> Guarantee:
        """The contract of all of these together, on the same people. Different relations raise."""
        everyone = (self, *others)
        for other in others:
            if not isinstance(other, Guarantee):
                raise invalid("Guarantee.compose", "others", "guarantees", other)
        for name in ("relation", "unit", "rounds_per_person"):
            values = {str(getattr(g, name)) for g in everyone}
            if len(values) > 1:
                raise PrivacyError(
                    f"Guarantees can be composed only under one {name}. Got {' and '.join(sorted(values))} instead."
                )
        return Guarantee(
            curve=compose([g.curve for g in everyone]),
            at_delta=max(g.at_delta for g in everyone),
            released="; ".join(dict.fromkeys(g.released for g in everyone)),
            theorem="composition of: " + "; ".join(dict.fromkeys(g.theorem for g in everyone)),
            relation=self.relation,
            unit=self.unit,
            rounds_per_person=self.rounds_per_person,
            adversary=self.adversary if len({g.adversary for g in everyone}) == 1 else "oblivious",
            numerics=EXACT if all(g.numerics == EXACT for g in everyone) else IDEALIZED,
            randomness=next((g.randomness for g in everyone if not g.private), self.randomness),
        )

    def __str__(self) -> str:
        epsilon = self.epsilon()
        thing = "record" if "record" in self.unit else "round"
        rounds = f"{self.rounds_per_person} {thing}{'' if self.rounds_per_person == 1 else 's'}"
        shown = f"{_up(epsilon)}" + (f" at delta={self.at_delta:g}" if self.at_delta else " (pure)")
        lines = [
            f"epsilon={shown} [{self.notion}; {self.theorem}]",
            f"  unit:       {self.unit}, at most {rounds} per person",
            f"  neighbours: {self.relation}",
            f"  released:   {self.released}",
            f"  adversary:  {self.adversary}",
            f"  numerics:   {self.numerics}",
            f"  randomness: {self.randomness}",
        ]
        return "\n".join(lines)

    def to_json(self) -> str:
        """JSON from which `from_json` rebuilds the contract."""
        content: dict[str, Any] = {k: v for k, v in vars(self).items() if k != "curve"}
        return json.dumps({"curve": self.curve.to_dict(), **content, "relation": self.relation.value})

    @staticmethod
    def from_json(text: str) -> Guarantee:
        """Rebuild a contract from `to_json`."""
        try:
            content = json.loads(text)
            return Guarantee(**{**content, "curve": Curve.from_dict(content["curve"])})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInput(f"This is not the JSON of a Guarantee ({error}).") from None


def _up(value: float) -> str:
    """Four significant digits, rounded up."""
    if value == 0 or value == float("inf"):
        return f"{value:g}"
    text = f"{value:.4g}"
    if float(text) >= value:
        return text
    step = 10.0 ** (floor(log10(value)) - 3)
    return f"{float(text) + step:.4g}"
