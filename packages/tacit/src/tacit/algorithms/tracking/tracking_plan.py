"""What the learners of a changing world share: the problem's facts, and the limits that no learner escapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import log, log1p, sqrt
from typing import ClassVar

from tacit.accounting.curves import Curve, Pure
from tacit.accounting.rounding import EXACT
from tacit.algorithms.experts.expert_plan import ExpertPlan
from tacit.errors import InvalidInput, PrivacyError
from tacit.problems import Problem, Tracking
from tacit.runtime.target import Target
from tacit.validation import check_positive


@dataclass(frozen=True)
class TrackingPlan(ExpertPlan):
    """A plan whose regret is dynamic: against every sequence with at most `switches` switches."""

    problem: Tracking
    _takes: ClassVar[type[Problem]] = Tracking


@dataclass(frozen=True)
class SelectionPlan(ExpertPlan):
    """A plan that selects experts on integers, with pure epsilon, when the losses are independent.

    Attributes:
        epsilon: pure epsilon of all selections together.
    """

    epsilon: float
    delta: float = field(default=0.0, kw_only=True)
    certified_against: ClassVar[tuple[str, ...]] = ("stochastic",)

    def _check_contract(self) -> None:
        super()._check_contract()
        check_positive(self.algorithm, "epsilon", self.epsilon)

    @property
    def stated_numerics(self) -> str:
        return EXACT if self.releases is None else super().stated_numerics

    @cached_property
    def curve(self) -> Curve:
        """The declaration's; pure privacy, of which one expert needs none, where there is none."""
        if self.releases is None:
            return Pure(0.0 if self.problem.n == 1 else self.epsilon)
        return super().curve


def refuse_max_switches(algorithm: str, target: Target, reason: str) -> None:
    """Refuse a hard limit on switches that the algorithm cannot promise."""
    if target.max_switches is not None:
        raise PrivacyError(f"{algorithm} cannot promise max_switches={target.max_switches}: {reason}.")


def refuse_reading(owner: str, reading: str | None) -> None:
    """Refuse a reading where the print leaves no parameter open."""
    if reading is not None:
        raise InvalidInput(f"The 'reading' parameter of {owner} must be None: nothing is left open. Got {reading!r}.")


def path_complexity(n: int, rounds: int, switches: int, share: float) -> float:
    """-ln of the smallest prior weight of a path with at most `switches` switches.

    Under the Markov prior that leaves an expert with probability `share` each round, a path with m switches
    weighs (1/N) (share/(N-1))^m (1-share)^(T-1-m); this is monotone in m, so an end is the smallest.
    """
    if n == 1:
        return 0.0
    leave, stay = log((n - 1) / share), -log1p(-share)
    ends = (m * leave + (rounds - 1 - m) * stay for m in (0, switches))
    return log(n) + max(ends)


def lower_bound_warning(problem: Problem, epsilon: float) -> str | None:
    """A sentence if sublinear regret is impossible at this epsilon against an adaptive adversary.

    Theorem 5.1 of "Tracking the Best Expert Privately": min(T, S/(epsilon log(T/(S+1)))^2), up to a constant,
    for N of at least 2T/S experts.
    """
    check_positive("lower_bound_warning", "epsilon", epsilon)
    if not isinstance(problem, Tracking) or problem.adversary != "adaptive" or problem.horizon is None:
        return None
    critical = sqrt(max(1, problem.switches) / problem.horizon)
    if epsilon > critical:
        return None
    return (
        f"epsilon={epsilon:g} is not above sqrt(S/T)={critical:.3g}: with many experts (N >= 2T/S) every private "
        "learner then has linear dynamic regret against some adaptive adversary."
    )
