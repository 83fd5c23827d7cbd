"""The privacy guarantee: one frozen value that carries everything epsilon depends on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from tacit.accounting.composition import Parts, compose, two_steps, vector_of
from tacit.accounting.curves import Curve, SamplerError
from tacit.accounting.rounding import EXACT as EXACT
from tacit.accounting.rounding import IDEALIZED as IDEALIZED
from tacit.accounting.rounding import composed_numerics, extra_epsilon, rounded_up, sum_up
from tacit.errors import InvalidInput, PrivacyError
from tacit.validation import check_choice, check_integer, check_number, invalid, without_caches


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
PROMISED, ENFORCED = "promised", "enforced"


@dataclass(frozen=True)
class Guarantee:
    """A privacy guarantee: epsilon and delta, and everything they depend on.

    Attributes:
        curve: what leaks, as a curve; `epsilon(delta)` and `delta(epsilon)` read it.
        at_delta: the delta at which the guarantee is stated when printed (0: pure).
        released: what the proof covers. Everything else the learner holds is private.
        theorem: the statement that proves it.
        relation: which data sets are neighbours.
        unit: what one person contributes in one round.
        rounds_per_person: in how many rounds one person may stand. All of them together are protected.
        separation: by how many rounds these are apart at least (1: they may be any).
        participation_limit: who keeps a person out of more rounds, or of closer rounds: "promised" (the user), or
            "enforced" (the store counts, and takes further feedback for missing).
        adversary: against whom privacy holds (not whom the regret bound is for).
        numerics: "exact", "exact up to an extra epsilon of <number>" (which the curve contains), or
            "idealized: float64 samplers".
        randomness: where the noise comes from; a replayable source is stamped as not private.
        assumed: what the proof rests on that nobody can check (empty: nothing).
    """

    curve: Curve
    at_delta: float
    released: str
    theorem: str
    relation: Relation = REPLACE
    unit: str = EVENT
    rounds_per_person: int = 1
    separation: int = 1
    participation_limit: str = PROMISED
    adversary: str = "adaptive"
    numerics: str = IDEALIZED
    randomness: str = "computational"
    assumed: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise InvalidInput(f"The 'curve' parameter of Guarantee must be a Curve. Got {self.curve!r} instead.")
        check_number("Guarantee", "at_delta", self.at_delta, above=0.0, below=1.0, closed_low=True)
        object.__setattr__(self, "relation", as_relation("Guarantee", self.relation))
        check_integer("Guarantee", "rounds_per_person", self.rounds_per_person)
        check_integer("Guarantee", "separation", self.separation)
        check_choice("Guarantee", "participation_limit", self.participation_limit, (PROMISED, ENFORCED))
        for name in ("released", "theorem", "unit", "adversary", "numerics", "randomness", "assumed"):
            if not isinstance(getattr(self, name), str):
                raise invalid("Guarantee", name, "a text", getattr(self, name))
        extra_epsilon(self.numerics)  # refuses other words

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @property
    def notion(self) -> str:
        """The notion of privacy in which the curve was computed, such as Renyi or Gaussian."""
        ideal = self.curve.curve if isinstance(self.curve, SamplerError) else self.curve
        return "pure" if self.at_delta == 0 else ideal.notion

    @property
    def protected(self) -> str:
        """What is protected, in words, and who sees to the limit on a person's rounds."""
        rounds, things = self.rounds_per_person, "records" if "record" in self.unit else "rounds"
        spaced = f" that are at least {self.separation} apart" if self.separation > 1 else ""
        many = f"everything one person answers in up to {rounds} {things}{spaced}, together"
        kept = many if rounds > 1 else f"what one person answers in one {things[:-1]}"
        by = "enforced by the store" if self.participation_limit == ENFORCED else "promised by you"
        return f"{kept}; the limit is {by}"

    @property
    def private(self) -> bool:
        """False when the noise can be replayed by whoever knows the seed."""
        return not self.randomness.startswith("replayable")

    @np.errstate(under="ignore")
    def epsilon(self, delta: float | None = None) -> float:
        """Return the certified epsilon at `delta` (default: the guarantee's own)."""
        return self._stated if delta is None else self.curve.epsilon(delta)

    @cached_property
    def _stated(self) -> float:
        return self.curve.epsilon(self.at_delta)

    @np.errstate(under="ignore")
    def delta(self, epsilon: float) -> float:
        """Return the certified delta at `epsilon`."""
        return self.curve.delta(epsilon)

    def with_randomness(self, label: str) -> Guarantee:
        """Return the same guarantee, stamped with the source that actually drew the noise."""
        return replace(self, randomness=label)

    def with_enforced_persons(self) -> Guarantee:
        """Return the same guarantee, whose limit on a person's rounds is enforced by the store."""
        if self.separation > 1:
            raise PrivacyError(
                "A store counts a person's rounds, not the rounds between them: leave out persons=, which keeps the "
                f"limit your promise, or take separation=1. Got separation={self.separation} instead."
            )
        return replace(self, participation_limit=ENFORCED)

    def as_replacement(self) -> Guarantee:
        """Return the guarantee for replaced feedback: two steps away if this one is for zeroed-out feedback."""
        return self if self.relation is REPLACE else self._replaced

    @cached_property
    def _replaced(self) -> Guarantee:
        return replace(
            self,
            curve=two_steps(self.curve),
            relation=REPLACE,
            theorem=f"{self.theorem}; two steps of zeroing out are one of replacing",
        )

    def compose(self, *others: Guarantee) -> Guarantee:
        """Compose these guarantees on the same people, stated at the sum of their deltas.

        Epsilon is at most the sum of their epsilons. Different relations, units or rounds per person raise.
        """
        everyone = (self, *others)
        check_alike(everyone)
        return Guarantee(
            curve=compose([g.curve for g in everyone], [g.at_delta for g in everyone]),
            at_delta=min(sum_up(g.at_delta for g in everyone), 1 - 2**-53),
            released="; ".join(dict.fromkeys(g.released for g in everyone)),
            theorem="composition of: " + "; ".join(dict.fromkeys(g.theorem for g in everyone)),
            relation=self.relation,
            unit=self.unit,
            rounds_per_person=self.rounds_per_person,
            separation=self.separation,
            participation_limit=ENFORCED if all(g.participation_limit == ENFORCED for g in everyone) else PROMISED,
            adversary=self.adversary if len({g.adversary for g in everyone}) == 1 else "oblivious",
            numerics=composed_numerics(g.numerics for g in everyone),
            randomness=next((g.randomness for g in everyone if not g.private), self.randomness),
            assumed="; ".join(dict.fromkeys(g.assumed for g in everyone if g.assumed)),
        )

    @cached_property
    def vector(self) -> Parts:
        """The curve as numbers that are added when guarantees are composed, evaluated once."""
        return vector_of(self.curve)

    def __str__(self) -> str:
        epsilon = self.epsilon()
        shown = rounded_up(epsilon) + (f" at delta={rounded_up(self.at_delta, 6)}" if self.at_delta else " (pure)")
        lines = [
            f"epsilon={shown} [{self.notion}; {self.theorem}]",
            f"  protected:  {self.protected}",
            f"  neighbours: {self.relation}",
            f"  released:   {self.released}",
            f"  adversary:  {self.adversary}",
            f"  numerics:   {self.numerics}",
            f"  randomness: {self.randomness}",
        ]
        lines += [f"  assumed:    {self.assumed}"] if self.assumed else []
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return JSON from which `from_json` rebuilds the guarantee."""
        content = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "curve"}
        return json.dumps({"curve": self.curve.to_dict(), **content, "relation": self.relation.value})

    @staticmethod
    def from_json(text: str) -> Guarantee:
        """Rebuild a guarantee from `to_json`."""
        try:
            content = json.loads(text)
            return Guarantee(**{**content, "curve": Curve.from_dict(content["curve"])})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInput(f"This is not the JSON of a Guarantee ({error}).") from None


def check_alike(guarantees: Sequence[Guarantee]) -> None:
    """Refuse guarantees that cannot be composed."""
    for other in guarantees[1:]:
        if not isinstance(other, Guarantee):
            raise invalid("Guarantee.compose", "others", "guarantees", other)
    for name in ("relation", "unit", "rounds_per_person", "separation"):
        values = {str(getattr(guarantee, name)) for guarantee in guarantees}
        if len(values) > 1:
            raise PrivacyError(
                f"Guarantees can be composed only under one {name}. Got {' and '.join(sorted(values))} instead."
            )
