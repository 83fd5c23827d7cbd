"""Attacks on the promise: exact where outcomes can be counted, sharp where noise is known, statistical elsewhere.

`audit(plan)` runs every attack that applies and reports certified against measured. A clean report says that no
violation was found; it is never a proof. `planted_bugs.catalogue` plants bugs that the same attacks must find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tacit.auditing import attacks, instances
from tacit.auditing.instances import Instance
from tacit.auditing.replay.epochs import epochs
from tacit.auditing.report import CLEAN, VIOLATION, AuditReport, Finding
from tacit.auditing.scripted import above_threshold, weights
from tacit.auditing.scripted.enumeration import ExactCurve, transcript_law
from tacit.auditing.scripted.script import NotEnumerable
from tacit.errors import InvalidInput
from tacit.learners.arms import BatchedTsallis
from tacit.learners.arms.common import ArmPlan
from tacit.learners.doubling import Doubling
from tacit.learners.plan import Plan
from tacit.learners.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.randomness import Randomness
from tacit.validation import check_integer, check_number

__all__ = ["CLEAN", "VIOLATION", "AuditReport", "ExactCurve", "Finding", "audit", "transcript_law"]

MOST_BUDGET = 1_000.0  # days
# At budget 1: laws of a search, real runs, replayed transcripts and pairs, rounds of a one-run audit.
LAWS, RUNS, TRANSCRIPTS, PAIRS, ROUNDS = 120, 2_000, 300, 24, 100_000
ARM_LAWS = 40
INTEGRATED_LAWS, SUM_RUNS, NORM_COORDINATES = 8, 200_000, 40_000
# Drawn coordinates of a test of densities, draws of its slower instance, runs of a likelihood-ratio test.
COORDINATES = {"CTRL": 5_000, "L2PConvex": 18_000}
STEEP_DRAWS, COIN_RUNS, SCORED_RUNS = 300, 30, {"CTRL": 500, "L2PConvex": 600}


def audit(
    plan: Plan, *, budget: float = 1.0, seed: int = 0, progress: Callable[[str], None] | None = None
) -> AuditReport:
    """Try to break the privacy contract of a plan.

    Args:
        plan: a calibrated plan, or the planner's choice; or a plan of your own for a few rounds and experts.
        budget: effort, 1 for less than two minutes; every count grows in proportion.
        seed: of the search and the runs; the report repeats itself from it.
        progress: told what is being attacked.

    >>> from tacit import Experts, ScheduledExperts
    >>> report = audit(ScheduledExperts(Experts(n=2, horizon=4), eta=0.2), budget=0.02)
    >>> report.verdict
    'no violation found'
    """
    chosen = getattr(plan, "plan", plan)
    if not isinstance(chosen, Plan):
        raise InvalidInput(f"The 'plan' parameter of audit must be a calibrated plan. Got {plan!r} instead.")
    budget = check_number("audit", "budget", budget, above=1e-6, below=MOST_BUDGET, closed_low=True, closed_high=True)
    check_integer("audit", "seed", seed, at_least=0)
    attack = _Attacks(seed, budget, progress or (lambda text: None))
    audited = chosen
    if isinstance(chosen, Doubling):
        attack.say("disjoint epochs")
        attack.findings.append(epochs(chosen, attack.stream("epochs")))
        audited = chosen.epoch(0)
    attack.run(audited)
    return AuditReport(chosen, tuple(attack.findings), seed)


class _Attacks:
    """One audit: its randomness, its budget, what it found."""

    def __init__(self, seed: int, budget: float, say: Callable[[str], None]) -> None:
        self.seed, self.budget, self.say = seed, budget, say
        self.findings: list[Finding] = []
        self._source = Randomness.replayable(seed).child("audit")

    def stream(self, name: str) -> Any:
        return self._source.stream(name)

    def run(self, plan: Plan) -> None:
        name = plan.algorithm
        if name in instances.FINITE:
            self._finite(plan)
        elif name in instances.NOISY:
            self._noisy(plan)
        elif name in instances.DENSITIES:
            from tacit.auditing.densities.integration import QUADRATURE_SLACK, interval_law

            self._integrated(instances.interval_instance(plan), interval_law, QUADRATURE_SLACK)
            self._densities(plan)
        elif isinstance(plan, ArmPlan):
            self._arms(plan)
        elif name == "LipschitzNet":
            self.say("exact enumeration")
            net = instances.net_instance(plan)
            self.findings.append(attacks.exact(net, self.stream("exact"), laws=self._count(LAWS)))
        elif name == "ObjectivePerturbation":
            from tacit.auditing.densities.minimiser import model_law

            self._integrated(instances.model_instance(plan), model_law, 1e-3)
            self._norm_noise(plan)
        else:
            self._own(plan)

    def _own(self, plan: Plan) -> None:
        """A plan that tacit does not ship: enumerated as it stands, then run for real on the worst neighbours."""
        instance = instances.own_instance(plan)
        self.say("exact enumeration")
        try:
            worst = attacks.exact(instance, self.stream("own"), laws=self._count(LAWS))
        except NotEnumerable as error:
            raise InvalidInput(f"The outcomes of {plan.algorithm} cannot be counted: {error}") from None
        self.say("real runs on the worst neighbours")
        runs = self._count(RUNS)
        self.findings += [
            worst,
            attacks.likelihood(instance, (worst.stream, worst.neighbour), self.seed, runs=runs),
            weights.frequencies(instance, worst.stream, self.seed, runs=runs),
        ]

    def _finite(self, plan: Plan) -> None:
        found, small = self.findings, instances.finite_instances(plan)
        for instance in small:
            self.say(f"exact enumeration, {instance.label}")
            found.append(attacks.exact(instance, self.stream(instance.label), laws=self._count(LAWS)))
        worst, loud = found[-len(small)], small[0]
        self.say("real runs on the worst neighbours")
        runs = self._count(RUNS)
        found.append(attacks.likelihood(loud, (worst.stream, worst.neighbour), self.seed, runs=runs))
        found.append(weights.frequencies(loud, worst.stream, self.seed, runs=runs))
        if isinstance(plan, weights.EXPONENTIAL_WEIGHTS) and getattr(plan, "max_switches", None) is None:
            found.append(weights.marginals(loud, worst.stream))
        if plan.algorithm == "RestartOnShift":
            self.say("above-threshold and restarts")
            found.append(above_threshold.above_threshold())
            found.append(above_threshold.isolation(loud, self.stream("isolation"), runs=self._count(TRANSCRIPTS)))
        self.say("record and replay of longer runs")
        longer = _shortened(plan, min(60, plan.horizon or 60))
        transcripts = self._count(TRANSCRIPTS)
        found.append(attacks.replayed_choices(longer, self.stream("replay"), transcripts=transcripts))
        self.say("one run, a canary in every round")
        length = min(self._count(ROUNDS), plan.horizon or ROUNDS)
        found.append(attacks.one_run(_shortened(plan, length).plan, self.seed, rounds=length))

    def _arms(self, plan: ArmPlan) -> None:
        from tacit.auditing.scripted import arms

        small = arms.arms_instances(plan)
        for instance in small:
            self.say(f"exact enumeration, {instance.label}")
            laws = self._count(ARM_LAWS)
            self.findings.append(attacks.exact(instance, self.stream(instance.label), laws=laws, law=arms.arms_law))
        self.say("real runs on the worst neighbours")
        stream, runs = self.findings[-len(small)].stream, self._count(RUNS)
        self.findings.append(arms.frequent(small[0], stream, self.seed, runs=runs))
        if isinstance(plan, BatchedTsallis):
            self.findings.append(arms.unbiased(plan))

    def _noisy(self, plan: Plan) -> None:
        instance = instances.noisy_instance(plan)
        mechanism = getattr(instance.plan, "mechanism", None)
        if mechanism is not None and mechanism.steps:
            self.say("probing the running sum")
            self.findings.append(attacks.sums(instance.plan))
            self.say("sampling the running sum")
            runs = self._count(SUM_RUNS, 20_000)
            self.findings.append(attacks.sums_sampled(instance.plan, self.stream("sums"), runs=runs))
        self._norm_noise(instance.plan)
        self.say("record and replay")
        pairs = self._count(PAIRS, 12)
        self.findings.append(attacks.replayed(instance, self.stream("replay"), pairs=pairs))

    def _norm_noise(self, plan: Plan) -> None:
        """Pure one-pass plans draw noise with the density of a norm."""
        if plan.guarantee.at_delta > 0 or not isinstance(plan, OnlineToBatch | ObjectivePerturbation):
            return
        from tacit.auditing.replay import norm_noise

        self.say("noise with the density of a norm")
        attack = norm_noise.sum_noise if isinstance(plan, OnlineToBatch) else norm_noise.model_noise
        count = self._count(NORM_COORDINATES, 4_000)
        self.findings.append(attack(plan, self._source.child("norm noise"), coordinates=count))

    def _densities(self, plan: Plan) -> None:
        from tacit.auditing.densities import coins, draw_law

        loud, *steep = instances.law_instances(plan)
        draws = self._count(max(1_500, COORDINATES[plan.algorithm] // loud.dimension), 100)
        self.say(f"law of {draws} draws and their coins")
        self.findings.append(draw_law.law(loud, self._source.child("law"), draws=draws))
        for instance in steep:
            self.say(f"law of draws, {instance.label}")
            draws = self._count(STEEP_DRAWS, 30)
            self.findings.append(draw_law.law(instance, self._source.child("steep"), draws=draws))
        if plan.algorithm == "CTRL":
            self.say("release noise and minimisers")
            draws = self._count(TRANSCRIPTS, 100)
            self.findings.append(draw_law.release(loud, self._source.child("release"), draws=draws))
        if plan.parameters["force"] < 1:
            self.say("coins read off the learner")
            runs = self._count(COIN_RUNS, 4)
            self.findings.append(coins.coins(loud, self._source.child("coins"), runs=runs))
        runs = self._count(SCORED_RUNS[plan.algorithm], 50)
        self.say(f"likelihood ratios of {2 * runs} real runs")
        self.findings += draw_law.scored(instances.scored_instance(plan), self._source.child("scored"), runs=runs)

    def _integrated(self, instance: Instance, law: Any, slack: float) -> None:
        self.say("numerical integration in one dimension")
        count = self._count(INTEGRATED_LAWS, 3)
        self.findings.append(
            attacks.exact(instance, self.stream("integrate"), laws=count, law=law, method="integrated", slack=slack)
        )

    def _count(self, number: int, least: int = 2) -> int:
        return max(least, round(number * self.budget))


def _shortened(plan: Plan, rounds: int) -> Instance:
    """The plan itself on fewer rounds, with its own number of experts."""
    changes: dict[str, Any] = {"horizon": rounds}
    if hasattr(plan.problem, "switches"):
        changes["switches"] = min(plan.problem.switches, rounds - 1)
    extra: dict[str, Any] = {}
    if hasattr(plan, "epoch"):
        extra["epoch"] = min(plan.epoch, max(2, rounds))
    short = replace(plan, problem=replace(plan.problem, **changes), **extra)
    return Instance(f"own parameters, T={rounds}", short, instances.alphabet(short))
