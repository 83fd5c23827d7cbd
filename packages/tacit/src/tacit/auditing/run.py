"""Attacks on the promise: exact where outcomes can be counted, sharp where noise is known, statistical elsewhere.

`audit(plan)` asks the plan how small it can be made and by which attacks, runs them, and reports certified against
measured. A clean report says that no violation was found; it is never a proof. Among the project's tests stand planted
bugs that the same attacks must find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from tacit.auditing import arms, attacks, certified_law, integration, noise_laws
from tacit.auditing.instances import alphabet
from tacit.auditing.moved_sums import moved_sums
from tacit.auditing.report import CLEAN, VIOLATION, AuditReport, Finding
from tacit.auditing.script import ExactCurve, Feedback, Law, NotEnumerable, transcript_law
from tacit.auditing.tapes import LatticePlan, epochs
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import Attack, SmallInstance
from tacit.validation import check_integer, check_number

__all__ = ["CLEAN", "VIOLATION", "AuditReport", "ExactCurve", "Finding", "audit", "transcript_law"]

MOST_BUDGET = 1_000.0  # days
# At budget 1: laws of a search, real runs, replayed transcripts and pairs, rounds of the longest instance.
LAWS, RUNS, TRANSCRIPTS, PAIRS = 120, 2_000, 300, 24
ARM_LAWS = 40
# Laws of an integrated search, coordinates of noise.
INTEGRATED_LAWS, NOISE_COORDINATES = 8, 40_000
# Relative error of the integrated law of a released model.
MODEL_SLACK = 1e-3


def audit(
    plan: Plan, *, budget: float = 1.0, seed: int = 0, progress: Callable[[str], None] | None = None
) -> AuditReport:
    """Try to break the privacy contract of a plan.

    Args:
        plan: a calibrated plan, or the planner's choice; or a plan of your own that says how small it can be made,
            or is for a few rounds and experts.
        budget: effort, 1 for less than two minutes; every count grows in proportion.
        seed: of the search and the runs; the report repeats itself from it.
        progress: told what is being attacked.

    >>> from tacit import Experts
    >>> from tacit.algorithms import ScheduledExperts
    >>> report = audit(ScheduledExperts(Experts(n=2, horizon=4), eta=0.2), budget=0.02)
    >>> report.verdict
    'no violation found'
    """
    chosen = getattr(plan, "plan", plan)
    if not isinstance(chosen, Plan):
        raise InvalidInput(f"The 'plan' parameter of audit must be a calibrated plan. Got {plan!r} instead.")
    budget = check_number("audit", "budget", budget, above=1e-6, below=MOST_BUDGET, closed_low=True, closed_high=True)
    check_integer("audit", "seed", seed, at_least=0)
    if chosen.guarantee.epsilon() == inf:
        raise InvalidInput(f"{chosen.algorithm} promises no privacy: there is nothing to attack.")
    effort = Effort(seed, budget, Randomness.replayable(seed).child("audit"))
    for small in chosen.small_instances():
        if small.attack not in ATTACKS:
            known = ", ".join(map(repr, ATTACKS))
            raise InvalidInput(
                f"The small instances of {small.plan.algorithm} must name attacks among {known}. "
                f"Got {small.attack!r} instead."
            )
        if progress is not None:
            progress(f"{small.attack}, {small.label}")
        alphabet(small.plan)  # raises where nobody knows the feedback, also before attacks that need none
        effort.findings.extend(ATTACKS[small.attack](small, effort))
    return AuditReport(chosen, tuple(effort.findings), seed)


@dataclass(frozen=True)
class Effort:
    """How much an audit may do, from which randomness, and what it found so far."""

    seed: int
    budget: float
    source: Randomness
    findings: list[Finding] = field(default_factory=list)

    def count(self, number: int, least: int = 2) -> int:
        """Scale a number at budget 1 to this budget."""
        return max(least, round(number * self.budget))

    @property
    def coordinates(self) -> int:
        """The number of coordinates of noise that are tested."""
        return self.count(NOISE_COORDINATES, 4_000)

    def stream(self, name: str) -> np.random.Generator:
        """Give the randomness of one attack."""
        return self.source.stream(name)


def _enumeration(instance: SmallInstance, effort: Effort) -> list[Finding]:
    """Count the outcomes; the worst stream of the first instance is run for real."""
    first = not any(finding.method == "exact" for finding in effort.findings)
    try:
        worst = attacks.exact(instance, effort.stream(instance.label), laws=effort.count(LAWS))
    except NotEnumerable as error:
        raise InvalidInput(f"The outcomes of {instance.plan.algorithm} cannot be counted: {error}") from None
    runs = effort.count(RUNS)
    return [worst, *([certified_law.frequencies(instance, worst.stream, effort.seed, runs=runs)] if first else [])]


def _running_sum(instance: SmallInstance, effort: Effort) -> list[Finding]:
    """Move the draws of the sum's lattice if it has one, and test the law of its noise."""
    found = []
    if isinstance(instance.plan, LatticePlan) and instance.plan.grid.units:
        found.append(attacks.lattice(instance.plan, effort.stream("lattice"), pairs=effort.count(PAIRS, 4)))
    return [*found, noise_laws.sum_noise(instance.plan, effort.source.child("sums"), coordinates=effort.coordinates)]


def _integrated(
    instance: SmallInstance, effort: Effort, *, law: Callable[[Plan, Feedback], Law], slack: float
) -> list[Finding]:
    """Integrate a law in one dimension."""
    laws, stream = effort.count(INTEGRATED_LAWS, 3), effort.stream("integrate")
    return [attacks.exact(instance, stream, laws=laws, law=law, method="integrated", slack=slack)]


ATTACKS: dict[Attack, Callable[[SmallInstance, Effort], list[Finding]]] = {
    "enumeration": _enumeration,
    "exponential weights": lambda small, effort: [
        certified_law.marginals(small, attacks.random_stream(small, effort.stream("weights")))
    ],
    "restarts": lambda small, effort: [
        certified_law.above_threshold(),
        certified_law.isolation(small, effort.stream("isolation"), runs=effort.count(TRANSCRIPTS)),
    ],
    "epochs": lambda small, effort: [epochs(small.plan, effort.stream("epochs"))],
    "enumerated arms": lambda small, effort: [
        attacks.exact(small, effort.stream(small.label), laws=effort.count(ARM_LAWS), law=arms.arms_law)
    ],
    "frequencies of arms": lambda small, effort: [
        arms.frequencies_of_arms(
            small, attacks.random_stream(small, effort.stream("arms")), effort.seed, runs=effort.count(RUNS)
        )
    ],
    "running sum": _running_sum,
    "replayed noise": lambda small, effort: [
        attacks.replayed(small, effort.stream("replay"), pairs=effort.count(PAIRS, 12))
    ],
    "norm noise": lambda small, effort: [
        noise_laws.plan_noise(small.plan, effort.source.child("norm noise"), coordinates=effort.coordinates)
    ],
    "moved sums": lambda small, effort: [moved_sums(small, effort.stream(small.label), pairs=effort.count(PAIRS, 2))],
    "integrated interval": partial(_integrated, law=integration.interval_law, slack=integration.QUADRATURE_SLACK),
    "integrated model": partial(_integrated, law=integration.model_law, slack=MODEL_SLACK),
}
"""What each kind of attack does."""
