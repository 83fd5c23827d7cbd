"""Scheduled exponential mechanism: a fresh expert every B rounds, at times that no data decides.

Draws are independent of earlier draws given the losses, so with B = 1 the regret bound holds against adaptive
adversaries too, and for a single run with probability 1 - beta once sqrt(T B ln(1/beta)/2) is added (Hoeffding).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import log, log1p, sqrt
from typing import ClassVar

import numpy as np

from tacit.accounting.curves import Curve
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.algorithms.experts.lazy_experts import WEIGHTS_FORMULA, weights_regret
from tacit.errors import PrivacyError
from tacit.noise.exact_draws import draw_softmax
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.problems import Experts
from tacit.releases import Repeated, Softmax
from tacit.runtime.rate_search import RateSearch, best_batch, delay_formula, tosses, wanted_rate
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target, check_confidence
from tacit.validation import FloatArray, check_integer, check_positive


@dataclass(frozen=True)
class ScheduledExperts(ExpertPlan):
    """A fresh draw from exponential weights every `batch` rounds.

    Privacy contract: every decision; each of the ceil(T/B) - 1 draws that see data has bounded range 2 eta.
    Adaptive adversaries. Enforced: losses in their range (others raise). Numerics: exact.
    Regret: ln N/eta + eta T B/8 + T 2^-24; for B = 1 against adaptive adversaries too. With a confidence 1 - beta,
    the bound grows by sqrt(T B ln(1/beta)/2) and holds for a single run with that probability. With a delay D and
    B > 1 the first draw is held for B + D rounds, and the square of B + D counts.

    Reference: McSherry and Talwar (2007), "Mechanism Design via Differential Privacy",
    https://doi.org/10.1109/FOCS.2007.66.

    Page: docs/algorithms/scheduled.md.

    Attributes:
        eta: learning rate.
        batch: rounds B from one draw to the next.
        confidence: the probability with which a single run meets the regret bound (None: its expectation does).

    >>> plan = ScheduledExperts(Experts(n=10, horizon=1000), eta=0.02)
    >>> plan.certified_against
    ('oblivious', 'adaptive')
    """

    _no_delay: ClassVar[str] = ""
    _single: ClassVar[bool] = True
    eta: float
    batch: int = 1
    confidence: float | None = None
    released_streams: ClassVar[tuple[str, ...]] = ()
    theorem: ClassVar[str] = "bounded-range composition of exponential mechanisms"

    def _check_parameters(self) -> None:
        check_positive("ScheduledExperts", "eta", self.eta)
        check_integer("ScheduledExperts", "batch", self.batch)
        check_confidence("ScheduledExperts", self.confidence)

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adaptive adversaries too when every round draws afresh."""
        return ("oblivious", "adaptive") if self.batch == 1 else ("oblivious",)

    @property
    def decisions(self) -> int:
        """How many draws see data: all but the first."""
        return tosses(self.rounds, self.batch)

    @cached_property
    def releases(self) -> Repeated:
        return draws_on_schedule(self.problem.n, self.rounds, self.eta, self.batch)

    @property
    def regret_bound(self) -> RegretBound:
        value = weights_regret(self.problem, self.eta, self.batch, self.rounds)
        value += deviation(self.problem, self.batch, self.rounds, self.confidence)
        formula = WEIGHTS_FORMULA + delay_formula(self.problem.delay, self.batch)
        held = "((B+D)^2 + (T-B-D) B)" if self.problem.delay and self.batch > 1 else "T B"
        formula += "" if self.confidence is None else f" + sqrt({held} ln(1/beta)/2)"
        adversary = f"{self.certified_against[-1]} adversary"
        return RegretBound(value, formula, (adversary,), confidence=self.confidence)

    @property
    def expected_switches(self) -> float:
        return float(self.decisions)

    @classmethod
    def _calibrate(cls, problem: Experts, target: Target) -> ScheduledExperts:
        rounds = problem.horizon or 1
        most = rounds if target.max_switches is None else target.max_switches
        fewest = -(-rounds // (most + 1))  # batches short of this would switch too often

        rates = RateSearch(target)
        among = target.neighbours

        def curve(eta: float, batch: int) -> Curve:
            return draws_on_schedule(problem.n, rounds, eta, batch).curve(among)

        def probe(batch: int) -> tuple[float, int] | None:
            if batch < fewest:
                return None
            eta = rates.near(partial(curve, batch=batch), wanted(batch))
            if eta is None:
                return None
            varying = deviation(problem, batch, rounds, target.confidence)
            return weights_regret(problem, eta, batch, rounds) + varying, batch

        wanted = partial(wanted_rate, log(problem.n), rounds, delay=problem.delay)
        found = probe(1) if target.adversary == "adaptive" else best_batch(rounds, probe, first=fewest)
        if found is None:
            raise PrivacyError("ScheduledExperts cannot meet the limit on switches with a fresh draw every round.")
        eta = rates.exact(partial(curve, batch=found[1]), wanted(found[1]))
        return cls(problem, eta, found[1], target.confidence, **target.contract)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        loud, own = {"eta": 0.3, "batch": 1}, {"batch": min(2, self.batch)}
        return self._enumerable(loud, own, also=("exponential weights",))

    def _learner(self, randomness: Randomness) -> ScheduledExpertsLearner:
        return ScheduledExpertsLearner(self, randomness)


class ScheduledExpertsLearner(ExpertLearner):
    """Draws at the end of each batch but the last."""

    plan: ScheduledExperts
    _state = ("_total", "_choice")

    def __init__(self, plan: ScheduledExperts, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._rate, self._batch, self._rounds = plan.eta / LOSS_UNITS, plan.batch, plan.rounds
        self._total = np.zeros(self._n, dtype=np.int64)
        self._choice = Uniforms.from_streams(randomness, "draw")
        self._action = draw_softmax(self._choice, self._rate, self._total)
        self._opens = self._delay > 0 and plan.batch == 1

    def _at_opening(self, number: int) -> None:
        """A fresh draw every round, also in those before any feedback counts: adversaries may have seen the first."""
        if 0 < number <= self._delay:
            self._move(draw_softmax(self._choice, self._rate, self._total))

    def _consistent(self) -> bool:
        return super()._consistent() and self._summable_units(self._total)

    def _absorb(self, losses: FloatArray) -> None:
        self._add_units(losses, self._total)
        finished = self._round + 1
        if finished % self._batch == 0 and finished < self._rounds:
            self._move(draw_softmax(self._choice, self._rate, self._total))


def deviation(problem: Experts, batch: int, rounds: int, confidence: float | None) -> float:
    """How far above its mean a single run's loss may be: independent draws, losses of a batch in [0, B] (Hoeffding).

    With a delay and B > 1 the first draw is held for B + D rounds.
    """
    if confidence is None or problem.n == 1:
        return 0.0
    first = min(rounds, batch + problem.delay if batch > 1 else 1)
    squares = first**2 + (rounds - first) * batch
    return problem.width * sqrt(squares * -log1p(-confidence) / 2)


def draws_on_schedule(n: int, rounds: int, eta: float, batch: int) -> Repeated:
    """Declare draws from exponential weights at the end of each batch but the last; none among one expert."""
    return Repeated(Softmax(eta), times=0 if n == 1 else tosses(rounds, batch))
