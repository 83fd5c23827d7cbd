"""Sampled fixed share: a fresh draw from fixed-share weights every round, sound against adaptive adversaries.

The sound answer to Section 5 of "Tracking the Best Expert Privately" (ICML 2025), whose Algorithm 3 is not
private as printed. The weights are not noisy at all: what is released are draws from them, composed by
bounded range, and a restart every H rounds at times that no data decides limits how many draws can see one
person. The weights never depend on the draws, so the regret bound holds for adaptive adversaries as well.

    w uniform;  each round: play J ~ w, observe;  w <- normalise(w e^{-eta l}), then share it: alpha = 1/H
    after every H rounds: w uniform again
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import expm1, isfinite, log, log1p
from typing import Any, ClassVar, Self

import numpy as np

from tacit.errors import PrivacyError
from tacit.learners.experts.common import ExpertLearner
from tacit.learners.experts.lazy_experts import lazy_regret
from tacit.learners.experts.scheduled_experts import draws_curve
from tacit.learners.rates import RateSearch, delay_formula, wanted_rate
from tacit.learners.search import Parameters
from tacit.learners.small_instances import SmallInstance
from tacit.learners.target import RegretBound, Target
from tacit.learners.tracking.common import TrackingPlan, refuse_max_switches
from tacit.learners.tracking.windows import check_window, epochs_begun, share_window, window_bound
from tacit.numerics.bounds import hilbert_error
from tacit.numerics.decisions import draw_weighted
from tacit.numerics.lattice import LOSS_UNITS, whole_losses
from tacit.numerics.uniforms import Uniforms
from tacit.privacy.conversion import renyi_epsilon
from tacit.privacy.curves import Curve
from tacit.privacy.numerics import IDEALIZED, exact_up_to
from tacit.problems import Tracking
from tacit.randomness import Randomness
from tacit.validation import FloatArray, IntArray, check_integer, check_positive

LARGEST_ETA = 16.0  # beyond it the error of a product q * eta is not covered by kappa


@dataclass(frozen=True)
class SampledFixedShare(TrackingPlan):
    """A fresh expert from fixed-share weights every round; the weights forget everything every H rounds.

    Privacy contract: every decision. A round is seen by the at most H-1 later draws of its epoch, each of
    bounded range 2 eta. A person in m rounds widens the draws of an epoch by the number of them it holds;
    draws cost at least in proportion to their width, so all m rounds in one epoch, width 2 m eta, is the
    worst. Adaptive adversaries. Enforced: losses in their range (others raise). Numerics: exact up to the error of the
    weights, which are floats: it adds 4 kappa H to the range, kappa about 2^-45 (idealized for eta above 16).
    Regret: complexity/eta + eta T/8 + T (2^-24 + e^{2 kappa H} - 1), against adaptive adversaries too.

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/sampled-fixed-share.md.

    Attributes:
        eta: learning rate.
        epoch: rounds H between restarts, at least 2.

    >>> plan = SampledFixedShare(Tracking(n=10, horizon=1000, switches=3, adversary="adaptive"), eta=0.02, epoch=250)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.5] * 10)
    >>> plan.certified_against
    ('stochastic', 'oblivious', 'adaptive')
    """

    _no_delay: ClassVar[str] = ""
    eta: float
    epoch: int
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every decision"
    theorem: ClassVar[str] = "bounded-range composition of the draws of one epoch"

    def _check_parameters(self) -> None:
        check_integer("SampledFixedShare", "epoch", self.epoch, at_least=2)
        check_positive("SampledFixedShare", "eta", self.eta)

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Everyone: the weights never depend on the draws."""
        return ("stochastic", "oblivious", "adaptive")

    @property
    def share(self) -> float:
        """Weight that is shared each round."""
        return epoch_share(self.problem.n, self.epoch)

    @cached_property
    def curve(self) -> Curve:
        """The draws that can see one person."""
        return self._draws(2 * self._error)

    @property
    def stated_numerics(self) -> str:
        """Exact up to what the errors of the weights add to epsilon."""
        return numerics_of_weights(self.eta, self.curve, self._draws(0.0), self.delta, 2 * self._error)

    @property
    def _error(self) -> float:
        return weights_error(self.problem, self.epoch)

    def _draws(self, extra: float) -> Curve:
        draws = 0 if self.problem.n == 1 else min(self.epoch, self.rounds) - 1
        return draws_curve(self.eta, draws, self.relation, self.rounds_per_person, extra)

    @property
    def complexity(self) -> float:
        """-ln of the smallest weight that a sequence with at most S switches can have (see `epochs_complexity`)."""
        return epochs_complexity(self.problem, self.epoch)

    @property
    def regret_bound(self) -> RegretBound:
        """complexity/eta + eta T/8 + T (2^-24 + e^{2 kappa H} - 1), for every sequence, pathwise in the weights."""
        tuned, delay = Parameters(self.eta, 0.0, 1), self.problem.delay
        value = lazy_regret(self.problem.n, self.rounds, tuned, self.complexity, delay)
        value += self.rounds * (1 / LOSS_UNITS + expm1(self._error)) if self.problem.n > 1 else 0.0
        regret = "(E ln(N) + S ln((N-1)H) + (T-E-S) ln(H/(H-1)))/eta + eta T/8"
        formula = f"{regret} + T/2^24 + T (e^(2 kappa H) - 1){delay_formula(delay)}, E = ceil(T/H)"
        return RegretBound(self.problem.width * value, formula, ("adaptive adversary", "expectation over the draws"))

    def window_regret(self, rounds: int) -> RegretBound:
        """The certified regret of any so many consecutive rounds, pathwise in the weights."""
        check_window(self.algorithm, rounds, self.rounds)
        begun, delay = epochs_begun(rounds, self.epoch), self.problem.delay
        value = share_window(self.problem.n, rounds, self.share, self.eta, 1, begun, delay)
        value += rounds * (1 / LOSS_UNITS + expm1(self._error)) if self.problem.n > 1 else 0.0
        formula = "(ln((N-1)H) + R ln(N) + w ln(H/(H-1)))/eta + eta w/8 + w/2^24"
        formula += f"{delay_formula(delay, 1, 'w')}, R = ceil((w-1)/H)"
        return window_bound(value, rounds, self.problem.width, formula, "adaptive adversary")

    @classmethod
    def _calibrate(cls, problem: Tracking, target: Target) -> SampledFixedShare:
        refuse_max_switches(cls.__name__, target, "it draws afresh every round")
        rounds = problem.horizon or 1
        natural = -(-rounds // (problem.switches + 1))
        rates = RateSearch(target)
        wanted = partial(wanted_rate, rounds=rounds, delay=problem.delay)

        def curve(eta: float, epoch: int) -> Curve:
            draws = 0 if problem.n == 1 else min(epoch, rounds) - 1
            extra = 2 * weights_error(problem, epoch)
            return draws_curve(eta, draws, target.relation, target.rounds_per_person, extra)

        def probe(epoch: int) -> tuple[float, int] | None:
            complexity = epochs_complexity(problem, epoch)
            eta = rates.near(partial(curve, epoch=epoch), wanted(complexity))
            if eta is None:
                return None
            return lazy_regret(problem.n, rounds, Parameters(eta, 0.0, 1), complexity, problem.delay), epoch

        epochs = sorted({min(rounds, max(2, natural * k // 8)) for k in (1, 2, 4, 6, 8, 12, 16, 32)} - {1} or {2})
        found = [answer for epoch in epochs if (answer := probe(epoch))]
        if not found:
            raise PrivacyError(f"SampledFixedShare cannot meet epsilon={target.epsilon:g}, delta={target.delta:g}.")
        epoch = min(found)[1]
        eta = rates.exact(partial(curve, epoch=epoch), wanted(epochs_complexity(problem, epoch)))
        return cls(problem, eta, epoch, **target.contract)

    def _resized(self, rounds: int, n: int | None = None, **changes: Any) -> Self:
        """The same algorithm on so many rounds and experts, with epochs no longer than that."""
        epoch = {"epoch": min(self.epoch, max(2, rounds))}
        return super()._resized(rounds, n, **{**epoch, **changes})

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Two experts, and two epochs."""
        return self._enumerable(most_rounds, {"eta": 0.3, "epoch": 3})

    def _learner(self, randomness: Randomness) -> SampledFixedShareLearner:
        return SampledFixedShareLearner(self, randomness)


class SampledFixedShareLearner(ExpertLearner):
    """Exponential weights with a share for everyone, and one draw a round."""

    plan: SampledFixedShare
    _state = ("_weights", "_choice")

    def __init__(self, plan: SampledFixedShare, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._other = plan.share / max(1, self._n - 1)
        self._stay = 1 - plan.share - self._other
        self._rate = plan.eta / LOSS_UNITS
        self._weights = np.full(self._n, 1 / self._n)
        self._choice = Uniforms.from_streams(randomness, "draw")
        self._action = draw_weighted(self._choice, self._weights)
        self._opens = self._delay > 0

    def _at_opening(self, number: int) -> None:
        """A fresh draw every round, also in those before any feedback counts."""
        if 0 < number <= self._delay:
            self._move(draw_weighted(self._choice, self._law(number)))

    def _law(self, number: int) -> FloatArray:
        """The weights in this round, from those `delay` rounds earlier: they are shared on, or forgotten."""
        known = max(0, number - self._delay)
        if known == number:
            return self._weights
        if number // self.plan.epoch != known // self.plan.epoch:
            return np.full(self._n, 1 / self._n)
        # w <- stay w + (1 - stay)/N, so often; log1p keeps the digits of a small share. Two experts in epochs of two
        # rounds share everything.
        lost = 1.0 if self._stay <= 0 else -expm1((number - known) * log1p(-(1 - self._stay)))
        return self._weights * (1 - lost) + lost / self._n

    def _absorb(self, losses: FloatArray) -> None:
        self._update(np.exp(whole_losses(losses) * -self._rate), self._round + 1)

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        factors = np.exp(whole_losses(block) * -self._rate)
        for row in range(len(block)):
            actions[row] = self._action
            self._update(factors[row], self._round + 1)
            self._round += 1
        self._played = False

    @np.errstate(all="ignore")
    def _update(self, factor: FloatArray, finished: int) -> None:
        weights = self._weights
        if finished % self.plan.epoch:
            np.multiply(weights, factor, out=weights)
            np.multiply(weights, self._stay / np.add.reduce(weights), out=weights)
            np.add(weights, self._other, out=weights)
        else:
            weights.fill(1 / self._n)
        number = finished + self._delay
        if self._horizon is None or number < self._horizon:
            self._move(draw_weighted(self._choice, self._law(number)))


def weights_error(problem: Tracking, epoch: int) -> float:
    """2 kappa H: how far the logarithm of a ratio of two weights may be off before they are forgotten."""
    return 2 * hilbert_error(problem.n) * min(epoch, problem.horizon or 1)


def numerics_of_weights(eta: float, curve: Curve, ideal: Curve, delta: float, least: float) -> str:
    """Exact up to what the errors of the weights add to epsilon, at least `least` (used again by lazy fixed share).

    By the Renyi divergences, which are smooth in the range of a draw: differences keep their digits.
    """
    if eta > LARGEST_ETA:
        return IDEALIZED
    with_errors, without = (renyi_epsilon(each.renyi, delta) if delta > 0 else each.pure() for each in (curve, ideal))
    return exact_up_to(
        max(with_errors - without, least) if isfinite(with_errors) else least
    )  # nothing is promised else


def epoch_share(n: int, epoch: int) -> float:
    """Weight that is shared each round of an epoch."""
    return min(1 / epoch, (n - 1) / n)


def epochs_complexity(problem: Tracking, epoch: int) -> float:
    """E ln N + S ln((N-1)/alpha) + (T-E-S) ln(1/(1-alpha)) with E epochs.

    Each epoch starts from the uniform law; inside them a switch of the comparator weighs alpha/(N-1) and
    every other step 1-alpha. It is largest with all S switches inside epochs.
    """
    n, rounds, share = problem.n, problem.horizon or 1, epoch_share(problem.n, epoch)
    if n == 1:
        return 0.0
    epochs = -(-rounds // epoch)
    steps = max(0, rounds - epochs)
    inside = min(problem.switches, steps)
    return epochs * log(n) + inside * log((n - 1) / share) + (steps - inside) * -log1p(-share)
