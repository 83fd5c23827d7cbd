"""Attacks on the promise: exact where outcomes can be counted, sharp where noise is known, statistical elsewhere.

`audit(plan)` asks the plan how small it can be made and by which attacks, runs them, and reports certified against
measured. A clean report says that no violation was found; it is never a proof. Among the project's tests stand planted
bugs that the same attacks must find.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from tacit.auditing import arms, attacks, certified_law
from tacit.auditing import certified_law as above_threshold
from tacit.auditing.instances import Instance
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
# At budget 1: laws of a search, real runs, replayed transcripts and pairs, rounds of a one-run audit.
LAWS, RUNS, TRANSCRIPTS, PAIRS, ROUNDS = 120, 2_000, 300, 24, 100_000
ARM_LAWS = 40
# Laws of an integrated search, runs of a sum, coordinates of norm noise, runs whose coins are read, scored runs.
INTEGRATED_LAWS, SUM_RUNS, NORM_COORDINATES, COIN_RUNS, SCORED_RUNS = 8, 200_000, 40_000, 30, 600
# Noises at which a minimiser is compared with the true one.
NOISES = 400
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
    attack = _Attacks(seed, budget, progress or (lambda text: None))
    for small in chosen.small_instances(attack.count(ROUNDS)):
        attack.run(small)
    return AuditReport(chosen, tuple(attack.findings), seed)


class _Attacks:
    """One audit: its randomness, its budget, what it found."""

    def __init__(self, seed: int, budget: float, say: Callable[[str], None]) -> None:
        self.seed, self.budget, self.say = seed, budget, say
        self.findings: list[Finding] = []
        self._source = Randomness.replayable(seed).child("audit")
        self._kinds: dict[Attack, Callable[[Instance], None]] = {
            "enumeration": self._enumeration,
            "exponential weights": self._exponential_weights,
            "restarts": self._restarts,
            "replayed choices": self._replayed_choices,
            "canaries": self._canaries,
            "epochs": self._epochs,
            "enumerated arms": self._enumerated_arms,
            "frequencies of arms": self._frequencies_of_arms,
            "unbiased release": self._unbiased_release,
            "running sum": self._running_sum,
            "replayed noise": self._replayed_noise,
            "norm noise": self._norm_noise,
            "cube noise": self._cube_noise,
            "moved sums": self._moved_sums,
            "integrated interval": self._integrated_interval,
            "integrated model": self._integrated_model,
            "draws": self._draws,
            "keep probabilities": self._keep_probabilities,
            "minimisers": self._minimisers,
            "many noises": self._many_noises,
            "likelihood ratios": self._likelihood_ratios,
        }

    def count(self, number: int, least: int = 2) -> int:
        """A number at budget 1 as the budget has it."""
        return max(least, round(number * self.budget))

    def run(self, small: SmallInstance) -> None:
        """The attack that the plan names for this instance."""
        if small.attack not in self._kinds:
            known = ", ".join(map(repr, self._kinds))
            raise InvalidInput(
                f"The small instances of {small.plan.algorithm} must name attacks among {known}. "
                f"Got {small.attack!r} instead."
            )
        self._kinds[small.attack](Instance.of(small))

    def _enumeration(self, instance: Instance) -> None:
        """Count the outcomes; the worst neighbours of the first instance are run for real."""
        self.say(f"exact enumeration, {instance.label}")
        first = not any(finding.method == "exact" for finding in self.findings)
        try:
            worst = attacks.exact(instance, self._stream(instance.label), laws=self.count(LAWS))
        except NotEnumerable as error:
            raise InvalidInput(f"The outcomes of {instance.plan.algorithm} cannot be counted: {error}") from None
        self.findings.append(worst)
        if first:
            self.say("real runs on the worst neighbours")
            runs = self.count(RUNS)
            pair = (worst.stream, worst.neighbour)
            self.findings.append(attacks.likelihood(instance, pair, self.seed, runs=runs))
            self.findings.append(certified_law.frequencies(instance, worst.stream, self.seed, runs=runs))

    def _exponential_weights(self, instance: Instance) -> None:
        stream = attacks.random_stream(instance, self._stream("weights"))
        self.findings.append(certified_law.marginals(instance, stream))

    def _restarts(self, instance: Instance) -> None:
        self.say("above-threshold and restarts")
        self.findings.append(above_threshold.above_threshold())
        runs = self.count(TRANSCRIPTS)
        self.findings.append(above_threshold.isolation(instance, self._stream("isolation"), runs=runs))

    def _replayed_choices(self, instance: Instance) -> None:
        self.say("record and replay of longer runs")
        transcripts = self.count(TRANSCRIPTS)
        self.findings.append(attacks.replayed_choices(instance, self._stream("replay"), transcripts=transcripts))

    def _canaries(self, instance: Instance) -> None:
        self.say("one run, a canary in every round")
        self.findings.append(attacks.one_run(instance.plan, self.seed, rounds=instance.plan.rounds))

    def _epochs(self, instance: Instance) -> None:
        self.say("disjoint epochs")
        self.findings.append(epochs(instance.plan, self._stream("epochs")))

    def _enumerated_arms(self, instance: Instance) -> None:
        self.say(f"exact enumeration, {instance.label}")
        laws, stream = self.count(ARM_LAWS), self._stream(instance.label)
        self.findings.append(attacks.exact(instance, stream, laws=laws, law=arms.arms_law))

    def _frequencies_of_arms(self, instance: Instance) -> None:
        self.say("real runs")
        stream = attacks.random_stream(instance, self._stream("arms"))
        self.findings.append(arms.frequencies_of_arms(instance, stream, self.seed, runs=self.count(RUNS)))

    def _unbiased_release(self, instance: Instance) -> None:
        self.findings.append(arms.unbiased(instance.plan))

    def _running_sum(self, instance: Instance) -> None:
        self.say("probing the running sum")
        self.findings.append(attacks.sums(instance.plan))
        if isinstance(instance.plan, LatticePlan) and instance.plan.grid.units:
            self.findings.append(attacks.lattice(instance.plan, self._stream("lattice"), pairs=self.count(PAIRS, 4)))
        self.say("sampling the running sum")
        runs = self.count(SUM_RUNS, 20_000)
        self.findings.append(attacks.sums_sampled(instance.plan, self._stream("sums"), runs=runs))

    def _replayed_noise(self, instance: Instance) -> None:
        self.say("record and replay")
        self.findings.append(attacks.replayed(instance, self._stream("replay"), pairs=self.count(PAIRS, 12)))

    def _norm_noise(self, instance: Instance) -> None:
        from tacit.auditing.norm_noise import plan_noise

        self.say("noise with the density of a norm")
        count = self.count(NORM_COORDINATES, 4_000)
        self.findings.append(plan_noise(instance.plan, self._source.child("norm noise"), coordinates=count))

    def _cube_noise(self, instance: Instance) -> None:
        from tacit.auditing.norm_noise import cube_noise

        self.say("noise shaped for the cube")
        count = self.count(NORM_COORDINATES, 4_000)
        self.findings.append(cube_noise(instance.plan, self._source.child("cube noise"), coordinates=count))

    def _moved_sums(self, instance: Instance) -> None:
        from tacit.auditing.moved_sums import moved_sums

        self.say(f"exact shifts, {instance.label}")
        self.findings.append(moved_sums(instance, self._stream(instance.label), pairs=self.count(PAIRS, 2)))

    def _integrated_interval(self, instance: Instance) -> None:
        from tacit.auditing.integration import QUADRATURE_SLACK, interval_law

        self._integrated(instance, interval_law, QUADRATURE_SLACK)

    def _integrated_model(self, instance: Instance) -> None:
        from tacit.auditing.integration import model_law

        self._integrated(instance, model_law, MODEL_SLACK)

    def _integrated(self, instance: Instance, law: Callable[[Plan, Feedback], Law], slack: float) -> None:
        self.say("numerical integration in one dimension")
        laws, stream = self.count(INTEGRATED_LAWS, 3), self._stream("integrate")
        self.findings.append(attacks.exact(instance, stream, laws=laws, law=law, method="integrated", slack=slack))

    def _draws(self, instance: Instance) -> None:
        from tacit.auditing import draws

        count = self.count(instance.effort, 30)
        self.say(f"law of {count} draws, {instance.label}")
        self.findings.append(draws.law(instance, self._source.child(instance.label), draws=count))

    def _keep_probabilities(self, instance: Instance) -> None:
        from tacit.auditing import integration as keep_probabilities

        self.say("coins read off the learner")
        runs = self.count(COIN_RUNS, 4)
        self.findings.append(keep_probabilities.coins(instance, self._source.child("coins"), runs=runs))

    def _minimisers(self, instance: Instance) -> None:
        from tacit.auditing import draws

        self.say("release noise and minimisers")
        count = self.count(TRANSCRIPTS, 100)
        self.findings.append(draws.release(instance, self._source.child("release"), draws=count))

    def _many_noises(self, instance: Instance) -> None:
        from tacit.auditing.claimed_laws import stacked
        from tacit.auditing.integration import totality

        self.say("minimisers at many noises")
        stream = instance.alphabet.stream([0, len(instance.alphabet.symbols) - 1, 1])
        noises = np.linspace(-8.0, 8.0, self.count(NOISES, 17)).tolist()
        self.findings.append(totality(instance.plan, stacked(stream), noises))

    def _likelihood_ratios(self, instance: Instance) -> None:
        from tacit.auditing import draws

        runs = self.count(SCORED_RUNS, 50)
        self.say(f"likelihood ratios of {2 * runs} real runs")
        self.findings += draws.scored(instance, self._source.child("scored"), runs=runs)

    def _stream(self, name: str) -> np.random.Generator:
        return self._source.stream(name)
