"""Responses: exponential weights over policies, learned from randomised responses to the losses of actions.

EXP4 (Auer, Cesa-Bianchi, Freund and Schapire, 2002) whose only feedback is a randomised response to each loss, without
an exploration floor, with a baseline of its own for each class of policies that agree.

    G = 0
    round t: w = softmax(-eta G);  class a: the policies that recommend action a, of weight q_a;  play a ~ q
        f = randomised response to the loss of a: -d or 1 + d, with the loss as its mean         # d = 1/(e^epsilon - 1)
        b_c = max(-d, 1/2 - M eta/(3 q_c)) for every class c                                     # M = |E_0 (f - 1/2)^3|
        G_j += b_c - 1/2 for all j of class c;   G_j += (f - b_a)/q_a for the class that was played

The regret is about sqrt(2 (min(K, N) - 1) V T ln N), V = d (d + 1) + 1/4. The certificate is that of `BatchedTsallis`
in the limit q -> 1 (`step_cost.py`). Late feedback is learned by delay + 1 learners that take turns, or by one learner
without a baseline (b = -d), whichever certifies less. Against the printed EXP4: its exploration is not needed, because
responses are bounded and their credits are centred in the analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import descend, largest
from tacit.accounting.composition import Responses as ComposedResponses
from tacit.algorithms.arms.arm_plan import NAN, WORST, ArmPlan, BitLearner, pure, release_of
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.arms.step_cost import ROUND_UP, SMALL_STEP, TOLERANCE_COST, StepCost
from tacit.algorithms.policies.advice import AdvisedLearner
from tacit.errors import PrivacyError
from tacit.noise.discrete_laplace import laplace_rate
from tacit.noise.randomness import Randomness
from tacit.problems import Policies, Problem
from tacit.releases import Releases, Response
from tacit.runtime.small_instances import SMALL_DELAY, SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_integer, check_positive, check_table, invalid

# Log weights are not let below this: far below what any draw meets, and no quotient overflows.
_LEAST_LOG_WEIGHT = -690.0
_WORTH = 1.01  # how many times epsilon/m a composed rate must be: otherwise the contract stays pure


@dataclass(frozen=True)
class Responses(ArmPlan):
    """Exponential weights over policies that learn from one randomised response a round.

    Privacy contract: every recommendation, decision, weight and response, pure epsilon. The unit is one round's
    feedback, that is the losses of all actions in that round. Adaptive adversaries. The privacy is local: the response
    may be drawn on the person's device, and nothing else of the loss is used. Several rounds of a person are composed.
    Enforced: losses in their range (others raise), missing feedback counts as the largest loss, or as `missing` says.
    Assumed for privacy: recommendations are functions of what was released and of data outside of the contract. A
    policy that is trained on raw losses breaks it; trained on responses it does not.
    Assumed for the regret only: recommendations and losses fixed in advance. Numerics: exact.
    Regret: about sqrt(2 (min(K, N) - 1) V T ln N), V = 1.171 at epsilon = 1.

    Reference: Auer, Cesa-Bianchi, Freund and Schapire (2002), "The Nonstochastic Multiarmed Bandit Problem",
    https://doi.org/10.1137/S0097539701398375, for EXP4; Asi, Raman and Talwar (2025), https://arxiv.org/abs/2505.21790,
    for rates under privacy.

    Page: docs/algorithms/responses.md.

    Attributes:
        epsilon: of all releases together, at the contract's delta.
        rate: what the response of one round costs.
        eta: learning rate.
        copies: learners that take turns: delay + 1, or one.

    >>> plan = Responses.calibrate(Policies(n=100, actions=6, horizon=100_000), epsilon=1.0, delta=0.0)
    >>> round(float(plan.regret_bound), -1)
    2320.0
    """

    problem: Policies
    _takes: ClassVar[type[Problem]] = Policies
    _no_delay: ClassVar[str] = ""
    released: ClassVar[str] = "every recommendation, every decision, every weight and every randomised response"
    rate: float
    eta: float
    copies: int = 1

    def _check_contract(self) -> None:
        super()._check_contract()
        _refuse_private(self.problem)

    def _check_parameters(self) -> None:
        check_positive("Responses", "rate", self.rate)
        check_positive("Responses", "eta", self.eta)
        check_integer("Responses", "copies", self.copies)
        if self.copies not in (1, _turns(self.problem)):
            raise invalid("Responses", "copies", f"1 or {_turns(self.problem)}, one for each open round", self.copies)
        if self.curve.epsilon(self.delta) > self.epsilon:
            raise PrivacyError(
                f"Responses with rate={self.rate:g} do not meet epsilon={self.epsilon:g} at delta={self.delta:g} for "
                f"rounds_per_person={self.rounds_per_person}."
            )
        check_table("Responses", _turns(self.problem), self.problem.n + self.problem.actions)

    @property
    def assumed(self) -> str:
        return "recommendations are functions of what was released and of data outside of this contract"

    @property
    def _composed(self) -> bool:
        return self.rate > laplace_rate(self.epsilon, self.rounds_per_person)

    @cached_property
    def releases(self) -> Releases:
        """Pure epsilon, or that of as many responses as a person has rounds."""
        return Response(self.rate, 0.0 if self._composed else self.epsilon, made_for=self.neighbours)

    def release(self, batch: int = 1) -> ClippedGeometric:
        """Give the response to one loss."""
        return replace(super().release(batch), epsilon=self.rate, rounds_per_person=1)

    @cached_property
    def cost(self) -> ResponseCost:
        """The cost of one round in the analysis."""
        return ResponseCost(self.problem.classes, self.release())

    @property
    def late(self) -> bool:
        """Whether one learner learns from late feedback."""
        return self.copies < _turns(self.problem)

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The certified regret, by the number itself rather than its leading term."""
        problem = self.problem
        if self.late:
            value = late_regret(problem, self.release(), self.eta)
            formula = "(ln N)/eta + eta T (C E_1 (f + d)^2/2 + (1 + d)^2 D)"
        else:
            stability = self.cost.stability(self.eta) if problem.classes > 1 else 0.0
            value = prompt_regret(problem, stability, self.eta, self.copies)
            turns = "(D + 1) " if self.copies > 1 else ""
            formula = f"{turns}(ln N)/eta + T (l + C sup_p (phi(p) - l p))"
        return RegretBound(
            problem.width * value,
            f"{formula}, C = min(K, N) = {problem.classes}",
            (
                "oblivious adversary",
                "recommendations fixed in advance",
                self.missing_counts_as,
                *self._late_assumptions,
            ),
        )

    @property
    def blind_regret(self) -> float:
        """Every round a uniform action, or a uniform policy: the comparator's is met with probability 1/min(K, N)."""
        return self.trivial_regret * (1 - 1 / self.problem.classes)

    @classmethod
    def _calibrate(
        cls, problem: Policies, target: Target, *, copies: int | None = None, missing: float | str = WORST
    ) -> Responses:
        _refuse_private(problem)
        rounds, turns = problem.horizon or 1, _turns(problem)
        if target.max_switches is not None and target.max_switches < rounds - 1:
            raise PrivacyError(
                f"Responses draw an action every round and cannot promise max_switches={target.max_switches}."
            )
        rate, contract = _affordable(target)
        release = replace(release_of(problem, target, missing, 1), epsilon=rate, rounds_per_person=1)
        made = []
        for count in {1, turns} if copies is None else {copies}:
            found = (best_late if count < turns else best_prompt)(problem, release)
            made.append(cls(problem, target.epsilon, rate, found, count, missing=missing, **contract))
        return min(made, key=lambda plan: float(plan.regret_bound))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two policies, two actions and three rounds, with a loud response and with the plan's own."""
        own = {"eta": 0.3, "copies": 1 + SMALL_DELAY if self.copies > 1 else 1}
        loud = {**own, "epsilon": 1.0, "rate": laplace_rate(1.0, self.rounds_per_person), "delta": 0.0}
        return self._enumerable(loud, own, rounds=3, actions=2)

    def _learner(self, randomness: Randomness) -> ResponsesLearner:
        return ResponsesLearner(self, randomness)


class ResponsesLearner(AdvisedLearner, BitLearner):
    """Draws an action from the weights of the policies that recommend it; all that it keeps is public.

    With several copies, round t is decided and learned from by copy t modulo their number, whose last round is back by
    then. Rounds are disjoint, so that each has the whole budget.
    """

    plan: Responses
    _state = (*BitLearner._state, "_scores", "_advice", "_chances", "_responses")

    def __init__(self, plan: Responses, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        problem = plan.problem
        self._n, self._policies = problem.actions, problem.n
        self._response = plan.release()
        self._rule = 0.0 if plan.late else plan.eta * self._response.skewness / 3
        self._least = -self._response.overshoot
        self._highest = self._least if plan.late else 0.5
        self._scores = np.zeros((plan.copies, problem.n))
        window = self._delay + 1
        self._advice = np.zeros((window, problem.n), dtype=np.int64)
        self._chances = np.full((window, problem.actions), 1 / problem.actions)
        self._responses = 0  # how many were released
        self._action = 0

    @property
    def weights(self) -> FloatArray:
        """The weights of the policies in the round in hand: a function of what was released."""
        with self._looking("weights"):
            weights = self._weights(max(0, self._decided - 1))
            return np.asarray(weights / weights.sum())

    def _weights(self, number: int) -> FloatArray:
        scores = self._scores[number % len(self._scores)]
        return np.asarray(np.exp(np.maximum(self.plan.eta * (scores.min() - scores), _LEAST_LOG_WEIGHT)))

    def _choose(self, number: int, context: IntArray) -> int:
        slot = number % len(self._advice)
        chances = np.bincount(context, self._weights(number), self._n).astype(np.float64, copy=False)
        chances /= chances.sum()
        self._advice[slot], self._chances[slot] = context, chances
        return self._draws.arm(chances)

    def _absorb(self, loss: float | None) -> None:
        action = self._taken()[1]
        response = self._response.value(self._draws.noisy(self._step(NAN if loss is None else loss)))
        self._responses += 1
        slot = self._round % len(self._advice)
        self._credit(self._advice[slot], self._chances[slot], action, response)

    def _credit(self, advice: Any, chances: FloatArray, action: int, response: float) -> None:
        """Credit every policy by its class: unbiased for the loss of its recommendation, minus 1/2."""
        with np.errstate(divide="ignore"):  # a class that nobody recommends
            baseline = np.maximum(self._highest - self._rule / chances if self._rule else self._highest, self._least)
        credits = np.broadcast_to(baseline - 0.5, chances.shape).copy()
        credits[action] += (response - credits[action] - 0.5) / chances[action]
        self._scores[self._round % len(self._scores)] += credits[advice]

    def _consistent(self) -> bool:
        advised = bool(np.all((self._advice >= 0) & (self._advice < self._n)))
        laws = bool(np.all(self._chances >= 0) and np.all(abs(self._chances.sum(axis=1) - 1) < 1e-9))
        window = len(self._chances)
        played = all(self._chances[number % window, action] > 0 for number, (_, action) in self._opened.items())
        return super()._consistent() and self._responses == self._round and advised and laws and played


def prompt_regret(problem: Policies, stability: float, eta: float, copies: int) -> float:
    """Certify the regret of learners that take turns, each with its feedback back: their bounds add up."""
    if problem.classes == 1:
        return 0.0
    rounds = problem.horizon or 1
    return (copies * log(problem.n) / eta + rounds * (stability + TOLERANCE_COST)) * ROUND_UP


def late_regret(problem: Policies, release: ClippedGeometric, eta: float) -> float:
    """Certify the regret of one learner without a baseline, whose feedback is late by up to `delay` rounds."""
    if problem.classes == 1:
        return 0.0
    rounds, slope = problem.horizon or 1, _late_slope(problem, release)
    return (log(problem.n) / eta + rounds * (eta * slope + TOLERANCE_COST)) * ROUND_UP


def best_late(problem: Policies, release: ClippedGeometric) -> float:
    """Compute the rate of the smallest `late_regret`."""
    rounds = problem.horizon or 1
    return sqrt(log(max(2, problem.n)) / (rounds * _late_slope(problem, release)))


def best_prompt(problem: Policies, release: ClippedGeometric) -> float:
    """Search the rate of the smallest `prompt_regret`: phi is about eta (1 - p) V/2."""
    if problem.classes == 1:
        return 1.0
    rounds, turns, cost = problem.horizon or 1, _turns(problem), ResponseCost(problem.classes, release)
    guess = sqrt(2 * turns * log(problem.n) / ((problem.classes - 1) * release.variance * rounds))
    return descend(
        lambda eta: prompt_regret(problem, cost.rough_stability(eta), eta, turns),
        guess, guess / 100, guess * 10, 0.1, 0.002,
    )  # fmt: skip


def _late_slope(problem: Policies, release: ClippedGeometric) -> float:
    """C E_1 (f + d)^2/2 + (1 + d)^2 D."""
    d = release.overshoot
    second = float(release.law(release.steps) @ (release.values + d) ** 2)
    return problem.classes * second / 2 + (1 + d) ** 2 * problem.delay


@dataclass(frozen=True)
class ResponseCost(StepCost):
    """What one round of exponential weights may cost in the analysis, by classes of policies that agree."""

    widening: ClassVar[float] = 1e-9  # by which weights may miss the analysed ones: float64 adds less in 1e7 rounds

    @cached_property
    def lowest(self) -> float:
        """The least of eta (f - b)/p: -f <= d, and eta (1/2 + d)/p - M (eta/p)^2/3 is largest at eta/p = 3 h/(2 M)."""
        return -3 * (0.5 + self.release.overshoot) ** 2 / (4 * self.release.skewness)

    def divergence(self, z: FloatArray) -> FloatArray:
        """Compute e^{-z} - 1 + z: never below it but for rounding."""
        with np.errstate(over="ignore"):
            value = np.expm1(-z) + z
        small = np.abs(z) < SMALL_STEP
        if small.any():
            # Half of z^2 times the second derivative, which falls, at the left end.
            value[small] = z[small] ** 2 / 2 * np.exp(-np.minimum(z[small], 0.0))
        return np.asarray(value)

    @np.errstate(over="ignore")  # where p is 0 the baseline is the least response
    def _baseline(self, eta: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        scale = np.maximum(p / eta, 1e-300)
        return scale, np.maximum(0.5 - self.release.skewness / (3 * scale), -self.release.overshoot)

    def _kinks(self, eta: float) -> FloatArray:
        return np.array([self.release.skewness * eta / (3 * (0.5 + self.release.overshoot))])


def _turns(problem: Policies) -> int:
    """How many learners take turns, so that the round of each is back when it decides again."""
    return min(problem.delay, problem.horizon or problem.delay) + 1


def _affordable(target: Target) -> tuple[float, dict[str, Any]]:
    """What a round may cost, and the contract: pure, unless composing a person's rounds at delta allows more."""
    several, simple = target.rounds_per_person, laplace_rate(target.epsilon, target.rounds_per_person)
    if several > 1 and target.delta > 0:

        def cost(rate: float) -> float:
            return ComposedResponses((rate,), (several,)).epsilon(target.delta)

        if cost(_WORTH * simple) <= target.epsilon:
            return largest(cost, target.epsilon, _WORTH * simple, target.epsilon), target.contract
    return simple, pure(target)


def _refuse_private(problem: Policies) -> None:
    if problem.recommendations != "public":
        raise PrivacyError(
            "Responses show recommendations and protect losses only: with recommendations='private' plan PolicyArms."
        )
