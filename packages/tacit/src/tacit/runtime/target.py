"""What is asked of a plan, and what it certifies in return."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import Gaussian
from tacit.accounting.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.accounting.rounding import rounded_up
from tacit.errors import PrivacyError
from tacit.problems import ADVERSARIES
from tacit.releases import Neighbours
from tacit.validation import check_choice, check_integer, check_number, check_privacy, plain_fields

NUMERICS = ("exact", "float")
_BARELY_LESS = 1 - 1e-10  # what searches for mu are off by, and more


@dataclass(frozen=True)
class RegretBound:
    """The certified regret: a proved bound on expected regret over the whole horizon, in units of loss.

    Attributes:
        value: the number; `float(bound)` gives it too.
        formula: what it was computed from; docs/notation.md has the symbols.
        assumptions: what it is proved for.
    """

    value: float
    formula: str
    assumptions: tuple[str, ...] = ()
    condition: str = ""
    """What must happen in the run itself for the bound to hold (empty: nothing)."""
    confidence: float | None = None
    """The probability with which a single run meets the bound (None: it bounds the expectation only)."""
    uncapped: float | None = None
    """What the formula gives, where that is more than anybody can lose (None: the value itself)."""

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def at_most(self, most: float) -> RegretBound:
        """Give the bound, or `most`, which no learner can exceed, if `most` is less."""
        if not self.value > most:  # what is not a number stays one that is none
            return self
        return replace(
            self,
            value=most,
            uncapped=self.searched,
            formula=f"the most that anybody can lose, less than {self.formula}",
        )

    @property
    def searched(self) -> float:
        """The number that searches compare: the formula's value, which differs where the cap makes bounds equal."""
        return self.value if self.uncapped is None else self.uncapped

    @property
    def meaning(self) -> str:
        """What the number bounds, in words."""
        if self.confidence is None:
            return "expected; single runs vary"
        return f"one run, with probability {self.confidence:g}"

    def __str__(self) -> str:
        given = (f"if {self.condition}",) if self.condition else ()
        return f"{rounded_up(self.value)} = {self.formula} ({'; '.join((*given, *self.assumptions))})"


@dataclass(frozen=True)
class Target:
    """What is asked of a plan: its privacy, the limit on switches, and whom its regret bound must hold against.

    `epsilon`: infinite if no privacy is asked for, which only algorithms that are not private take.
    `confidence`: the probability with which a single run must meet the bound (None: the expectation is bounded).
    `separation`: by how many rounds those of one person are apart at least. Plans that have no use for it promise
    the same to rounds that are closer.
    """

    epsilon: float
    delta: float
    relation: Relation = REPLACE
    rounds_per_person: int = 1
    max_switches: int | None = None
    adversary: str = "oblivious"
    numerics: str = "exact"
    confidence: float | None = None
    separation: int = field(default=1, repr=False)  # of no use to restarted plans, whose signatures name the target

    def __post_init__(self) -> None:
        plain_fields(self)
        finite, delta = check_privacy("the target", 1.0 if self.epsilon == inf else self.epsilon, self.delta)
        epsilon = inf if self.epsilon == inf else finite
        check_choice("the target", "adversary", self.adversary, ADVERSARIES)
        check_choice("the target", "numerics", self.numerics, NUMERICS)
        check_integer("the target", "rounds_per_person", self.rounds_per_person)
        check_integer("the target", "separation", self.separation)
        if self.max_switches is not None:
            check_integer("the target", "max_switches", self.max_switches, at_least=0)
        check_confidence("the target", self.confidence)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "relation", as_relation("the target", self.relation))

    @property
    def private(self) -> bool:
        """Whether any privacy is asked for."""
        return self.epsilon < inf

    def met_by(self, guarantee: Guarantee) -> bool:
        """Whether a contract keeps it: by its epsilon at delta, or by its delta at epsilon."""
        return guarantee.epsilon(self.delta) <= self.epsilon or guarantee.delta(self.epsilon) <= self.delta

    @property
    def for_each_round(self) -> Target:
        """What one round may cost, so that all `rounds_per_person` together meet this target, by group privacy.

        epsilon/m is left for a pure plan, and the (epsilon/m, delta') of (mu/m)-Gaussian privacy for one with Gaussian
        noise.
        """
        several = self.rounds_per_person
        if several == 1 or not self.private:
            return self
        epsilon, delta = self.epsilon / several * _BARELY_LESS, 0.0
        if self.delta:
            delta = Gaussian(gaussian_mu(self.epsilon, self.delta) / several * _BARELY_LESS).delta(epsilon)
        return replace(self, epsilon=epsilon, delta=delta, rounds_per_person=1, separation=1)

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours."""
        return Neighbours(self.relation, self.rounds_per_person, self.separation)

    @property
    def contract(self) -> dict[str, Any]:
        """What a private plan takes over as it stands: relation, rounds per person, delta and numerics."""
        return {
            "relation": self.relation,
            "rounds_per_person": self.rounds_per_person,
            "delta": self.delta,
            "numerics": self.numerics,
        }


def check_confidence(owner: str, confidence: float | None) -> None:
    """Refuse what is no probability of success; below 1/2 it is likely to be one of failure."""
    if confidence is not None:
        check_number(owner, "confidence", confidence, above=0.5, below=1.0, closed_low=True)


def refuse_many_rounds(algorithm: str, target: Target) -> None:
    """Refuse rounds_per_person > 1 where no formula for it is proved."""
    if target.rounds_per_person > 1:
        raise PrivacyError(
            f"{algorithm} has no proved accounting for rounds_per_person={target.rounds_per_person}: only 1 is allowed."
        )
