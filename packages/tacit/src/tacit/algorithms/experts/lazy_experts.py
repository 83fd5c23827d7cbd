"""Lazy experts: exponential weights that keep their expert by a coin ("shrinking dartboard").

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), with two changes. For multiplicative
weights the normalising second chain is unnecessary: one replaced loss moves one coin. And the privacy proof needs no
good event and no cap on switches: a draw that happens only with probability 1-q costs in proportion
(`tacit.accounting.lazy`).

    x ~ uniform;  for each batch of B rounds: play x, observe
        keep with probability (1 - force) exp(-eta L(x)),  L the batch's loss of the held expert
        otherwise draw x ~ softmax(-eta * cumulative losses)

Blocks of rounds run in one loop in C that plays what numpy plays, and stops where a coin is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import log
from typing import Any, ClassVar

import numpy as np

from tacit import kernels
from tacit.algorithms.experts.expert_plan import ExpertPlan, LazyLearner
from tacit.noise.exact_draws import COIN_MARGIN, draw_softmax, first_lost
from tacit.noise.lattice import LOSS_UNITS, sum_quantised, whole_losses
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.releases import Coin, LazyChain, Softmax
from tacit.runtime.rate_search import (
    Parameters,
    best_chain,
    cap_probability,
    delay_formula,
    delay_regret,
    tosses,
    wanted_rate,
)
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, Rows, check_flag, check_integer, check_number, check_positive

WEIGHTS_FORMULA = "ln(N)/eta + eta T B/8 + T/2^24"
KEPT, LOST, OPEN, BAD = range(4)
"""How a stretch in C ends: at the last row, with a lost coin, with one that 53 bits do not decide, a bad loss."""


@dataclass(frozen=True)
class LazyExperts(ExpertPlan):
    """Exponential weights whose expert is held until a coin says otherwise.

    Privacy contract: every decision and every switch time, for the curve of `LazyChain` with keep
    probabilities in [(1-p)e^{-B eta}, 1-p] and draws of bounded range 2 eta. Adaptive adversaries.
    Enforced: losses in their range (others raise). Numerics: exact.
    Regret: ln N/eta + eta T B/8 + T 2^-24 (oblivious): the marginal law is exactly exponential weights, on losses that
    are rounded down to multiples of 2^-24.

    Reference: Asi, Koren, Liu and Talwar (2024), "Private Online Learning via Lazy Algorithms",
    https://arxiv.org/abs/2406.03620.

    Page: docs/algorithms/lazy-experts.md.

    Attributes:
        eta: learning rate.
        force: probability p of a forced redraw at each toss of the coin.
        batch: rounds B from one toss to the next.
        relative: judge the held expert against each round's best (same law, far fewer switches).
        max_switches: hard limit on redraws, hence on switches; after it the expert is held (needs force > 0).

    >>> plan = LazyExperts(Experts(n=3, horizon=1000), eta=0.05, force=0.1, batch=2)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.0, 1.0, 0.5])
    >>> round(plan.guarantee.epsilon(1e-6), 1)
    2.5
    """

    _no_delay: ClassVar[str] = ""
    _single: ClassVar[bool] = True
    eta: float
    force: float
    batch: int = 1
    relative: bool = True
    max_switches: int | None = None
    released_streams: ClassVar[tuple[str, ...]] = ("draw",)

    def _check_parameters(self) -> None:
        owner = self.algorithm
        check_lazy(owner, self.eta, self.force, self.batch)
        check_flag(owner, "relative", self.relative)
        if self.max_switches is not None:
            check_integer(owner, "max_switches", self.max_switches, at_least=0)

    @property
    def decisions(self) -> int:
        return tosses(self.rounds, self.batch)

    @cached_property
    def releases(self) -> LazyChain:
        return lazy_chain(self.problem.n, self.rounds, self._tuned)

    @property
    def regret_bound(self) -> RegretBound:
        value = lazy_regret(self.problem.n, self.rounds, self._tuned, log(self.problem.n), self.problem.delay)
        value = self.problem.width * (value + rounding_regret(self.problem.n, self.rounds))
        formula = WEIGHTS_FORMULA + delay_formula(self.problem.delay, self.batch)
        formula += " + T P[cap hit]" if self.max_switches is not None else ""
        return RegretBound(value, formula, ("oblivious adversary", "expectation over the learner's coins"))

    @property
    def expected_switches(self) -> float:
        redraws = self.decisions * self._tuned.redraw
        return redraws if self.max_switches is None else min(redraws, self.max_switches)

    @property
    def _tuned(self) -> Parameters:
        return Parameters(self.eta, self.force, self.batch, self.max_switches)

    @classmethod
    def _calibrate(cls, problem: Experts, target: Target) -> LazyExperts:
        best = best_lazy(problem.n, problem.horizon or 1, target, log(problem.n), delay=problem.delay)
        return cls(problem, best.rate, best.force, best.batch, max_switches=best.cap, **target.contract)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        loud: dict[str, Any] = {"eta": 0.3, "force": 0.3, "batch": 1}
        own = {"batch": min(2, self.batch)}
        if self.max_switches is not None:
            return self._enumerable({**loud, "max_switches": 1}, own)
        return self._enumerable(loud, own, also=("exponential weights",))

    def _learner(self, randomness: Randomness) -> LazyExpertsLearner:
        return LazyExpertsLearner(self, randomness)


class LazyExpertsLearner(LazyLearner):
    """Holds one expert, and the sums of all losses for the next draw."""

    plan: LazyExperts
    _state = ("_total", "_held_loss", "_redraws", "_keep", "_choice")

    def __init__(self, plan: LazyExperts, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._relative = plan.relative
        self._begin_chain(plan._tuned, plan.decisions, randomness)
        self._total = np.zeros(self._n, dtype=np.int64)

    def _absorb(self, losses: FloatArray) -> None:
        self._held_loss += self._add_units(losses, self._total, self._relative)
        if self._lost(self._round + 1):
            self._draw()

    def _advance(self, rows: FloatArray) -> None:
        self._total += sum_quantised(rows)

    def _consistent(self) -> bool:
        return super()._consistent() and self._summable_units(self._total)

    def _draw(self) -> None:
        self._redraws += 1
        self._move(draw_softmax(self._choice, self._rate, self._total))

    def _play_whole(self, rows: Rows, first: int, actions: IntArray) -> None:
        if self._absent is None and kernels.compiled is not None:
            self._play_compiled(rows.shared(), first, actions)
        else:
            self._play_in_stretches(rows.read(), first, actions)
        self._round += self._block

    def _play_compiled(self, block: FloatArray, first: int, actions: IntArray) -> None:
        """One loop from each draw to the next lost coin, which copies each row before it looks at it."""
        copied, ranged = np.empty(self._n), (self._low, self._high)
        chain = (self._batch, self._stay, self._rate, self._relative, COIN_MARGIN)
        index, words = self._keep.take(self._block // self._batch)
        row = 0
        while row < self._block:
            end, stop, score = kernels.compiled.play_until_lost(
                block, copied, row, self._action, self._total, words, *ranged, *chain
            )
            if end == BAD:
                self._reject(copied[None], first + stop)
            actions[row:stop] = self._action
            if end == OPEN:
                place = stop // self._batch - 1
                word, scores = words[place : place + 1], np.array([score])
                kept = first_lost(self._keep, index + place, word, self._stay, self._rate, scores)
                end = KEPT if kept else LOST
            if end == LOST:
                self._draw()
            row = stop

    def _play_in_stretches(self, block: FloatArray, first: int, actions: IntArray) -> None:
        """The coins of one expert after the other; what comes before a draw is added up at once."""
        size, batch = self._block, self._batch
        block, best = self._check_block(block, first)
        index, words = self._keep.take(size // batch)
        least = whole_losses(best)
        row = 0
        while row < size:
            held = whole_losses(block[row:, self._action])
            if self._relative:
                held -= least[row:]
            scores = held if batch == 1 else np.add.reduce(held.reshape(-1, batch), axis=1)
            tossed = row // batch
            lost = first_lost(self._keep, index + tossed, words[tossed:], self._stay, self._rate, scores)
            stop = min(size, row + (lost + 1) * batch)
            actions[row:stop] = self._action
            self._total += sum_quantised(block[row:stop])
            if lost < scores.size:
                self._draw()
            row = stop


def lazy_chain(n: int, rounds: int, tuned: Parameters, slack: float = 0.0, exact: bool = True) -> LazyChain:
    """Declare a lazy chain on exponential weights (used again by lazy fixed share, whose weights are floats).

    Args:
        n: number of experts; of one expert nothing is decided.
        rounds: the horizon.
        tuned: rate, force, batch and cap.
        slack: how much longer the interval of a draw is, because weights are floats.
        exact: whether that is proved.
    """
    force = 1 - (1 - tuned.force)  # what is left to the float that the coin is given
    coin = Coin(force, limit=tuned.rate, batch=tuned.batch)
    count = 0 if n == 1 else tosses(rounds, tuned.batch)
    return LazyChain(count, coin, Softmax(tuned.rate, slack, exact), cap=tuned.cap)


def lazy_regret(n: int, rounds: int, tuned: Parameters, complexity: float, delay: int = 0) -> float:
    """Complexity/eta + eta T B/8 + T P[cap hit] + `delay_regret`, in units of the loss range (also of fixed share)."""
    if n == 1:
        return 0.0
    hit = 0.0
    if tuned.cap is not None:
        hit = cap_probability(tosses(rounds, tuned.batch), tuned.redraw, tuned.cap)
    late = delay_regret(tuned.rate, rounds, delay, tuned.batch)
    return complexity / tuned.rate + tuned.rate * rounds * tuned.batch / 8 + rounds * hit + late


def check_lazy(owner: str, eta: float, force: float, batch: int) -> None:
    """Refuse what no chain of exponential weights can have."""
    check_positive(owner, "eta", eta)
    check_number(owner, "force", force, above=0.0, below=1.0, closed_low=True)
    check_integer(owner, "batch", batch)


def best_lazy(n: int, rounds: int, target: Target, complexity: float, slack: float = 0.0, delay: int = 0) -> Parameters:
    """The lazy chain of the smallest certified regret that meets the target (used again by lazy fixed share)."""
    among = target.neighbours
    return best_chain(
        rounds,
        target,
        curve=lambda tuned: lazy_chain(n, rounds, tuned, slack).curve(among),
        regret=lambda tuned: lazy_regret(n, rounds, tuned, complexity, delay),
        wanted=partial(wanted_rate, complexity, rounds, delay=delay),
    )


def weights_regret(problem: Experts, eta: float, batch: int, rounds: int) -> float:
    """Ln N/eta + eta T B/8 + T 2^-24, in units of the loss range: Hoeffding's lemma on batch losses in [0, B]."""
    value = lazy_regret(problem.n, rounds, Parameters(eta, 0.0, batch), log(problem.n), problem.delay)
    return problem.width * (value + rounding_regret(problem.n, rounds))


def rounding_regret(n: int, rounds: int) -> float:
    """The comparator's losses are rounded down, by less than 2^-24 each."""
    return rounds / LOSS_UNITS if n > 1 else 0.0
