"""What plans on noisy sums of batches share: pieces of regret bounds, weights with a floor, the lattice and its curve.

Noise enters through the logarithm of its moment generating function: l^2 sd^2/2 of Gaussian noise, at most l^2 var/2 of
cube noise, -ln(1 - l^2 b^2) of Laplace noise, l b < 1. Proofs: docs/algorithms/noisy-mirror-descent.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, lgamma, log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, logsumexp

from tacit.accounting.calibration import minimise
from tacit.algorithms.experts.expert_plan import ExpertLearner, ExpertPlan
from tacit.noise.noisy_vectors import NoisyVectors
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import unit_variance
from tacit.noise.running_sums.running_sum import Grid
from tacit.problems import Experts
from tacit.releases import Losses, NoisyBatches, Nothing, Releases
from tacit.runtime.rate_search import LEAST_COMPLEXITY
from tacit.runtime.small_instances import FEW_ROUNDS, SmallInstance
from tacit.validation import FloatArray, IntArray

# Sequences are counted term by term up to so many switches; beyond that the largest term is multiplied.
_COUNTED = 4096
# Lengths of batches are searched in steps of this factor, then one by one around the best.
_STEP = 1.15
# Largest eta of a search: no loss is worth more.
_LARGEST_RATE = 10.0


@dataclass(frozen=True)
class BatchNoise:
    """The noise of one batch: its kind, its scale in units of the loss range, and the number of experts."""

    kind: str
    scale: float
    n: int

    @property
    def variance(self) -> float:
        """Of one coordinate."""
        return self.scale**2 * unit_variance(self.kind, self.n)

    def cost(self, rate: float) -> float:
        """Ln E e^{rate z}/rate."""
        if self.kind != "laplace":
            return rate * self.variance / 2
        return -log1p(-((rate * self.scale) ** 2)) / rate if rate * self.scale < 1 else inf

    def largest_sum(self, batches: int, log_count: float) -> float:
        """E of the largest of e^{log_count} sums of `batches` noises, however they depend on each other.

        At most (log_count + batches ln E e^{l z})/l for every l.
        """
        if self.kind != "laplace":
            return sqrt(2 * batches * self.variance * log_count)
        rate = minimise(
            lambda rate: log_count / rate + batches * self.cost(rate), 1e-9 / self.scale, 0.999999 / self.scale, 1e-4
        )
        return log_count / rate + batches * self.cost(rate)

    def best_rate(self, complexity: float, batches: int, curvature: float) -> float:
        """The minimiser of complexity/rate + curvature * rate + batches * cost(rate)."""
        complexity = max(complexity, LEAST_COMPLEXITY)
        if self.kind != "laplace":
            return min(_LARGEST_RATE, sqrt(complexity / (curvature + batches * self.variance / 2)))
        most = min(_LARGEST_RATE, 0.999999 / self.scale)
        return minimise(
            lambda rate: complexity / rate + curvature * rate + batches * self.cost(rate), most * 1e-8, most, 1e-4
        )


def batches(rounds: int, batch: int) -> int:
    """How many batches there are; the last one is never used."""
    return -(-rounds // batch)


def smallest_weight(problem: Experts, batch: int) -> float:
    """The floor: S/(N n) for n batches, with S at least 1, and at most 1/N."""
    count = batches(problem.horizon or 1, batch)
    return min(1.0, max(1, problem.switches) / count) / problem.n


def path_cost(problem: Experts, batch: int) -> float:
    """Ln N + S ln(1/floor): the divergences that a comparator with S switches adds up."""
    return log(problem.n) + problem.switches * log(1 / smallest_weight(problem, batch))


def mirror_rate(problem: Experts, batch: int, noise: BatchNoise) -> float:
    """The learning rate of the smallest `mirror_regret`."""
    count = batches(problem.horizon or 1, batch)
    return noise.best_rate(path_cost(problem, batch), count, count * batch**2 / 8)


def mirror_regret(problem: Experts, eta: float, batch: int, noise: BatchNoise) -> float:
    """Regret of mirror descent on noisy batches over weights above the floor, in units of the loss range.

    (ln N + S ln(1/a))/eta + n (eta B^2/8 + cost(eta)) + n a (N-1) B + S floor(B/2), and against an adaptive adversary
    (1 - N a) E[the largest sum of noises along a sequence with at most S switches] more.
    """
    if problem.n == 1:
        return 0.0
    count, floor = batches(problem.horizon or 1, batch), smallest_weight(problem, batch)
    value = path_cost(problem, batch) / eta + count * (eta * batch**2 / 8 + noise.cost(eta))
    value += count * floor * (problem.n - 1) * batch + problem.switches * (batch // 2)
    if problem.adversary == "adaptive":
        log_count = log_sequences(problem.n, count, problem.switches)
        value += (1 - problem.n * floor) * noise.largest_sum(count, log_count)
    return value


def best_length(rounds: int, cost: Callable[[int], float]) -> int:
    """The length of a batch of the smallest cost: a geometric grid, then one by one around its best."""
    lengths = {1, rounds}
    length = 1.0
    while length < rounds:
        lengths.add(round(length))
        length *= _STEP
    best = min(sorted(lengths), key=cost)
    width = max(1, int(best * (_STEP - 1)))
    stride = max(1, width // 8)
    around = range(max(1, best - width), min(rounds, best + width) + 1, stride)
    nearest: int = min([best, *around], key=cost)
    return nearest


@lru_cache(maxsize=1024)
def log_sequences(n: int, rounds: int, switches: int) -> float:
    """Ln of the sum over k <= S of C(rounds-1, k) N (N-1)^k, the sequences with at most S switches, rounded up."""
    most = min(switches, rounds - 1)
    everything = rounds * log(n)
    if n == 1:
        return 0.0
    if most <= _COUNTED:
        k = np.arange(most + 1)
        terms = gammaln(rounds) - gammaln(k + 1) - gammaln(rounds - k) + log(n) + k * log(n - 1)
        return min(everything, float(logsumexp(terms))) * (1 + 1e-12)
    # Terms rise up to k = (rounds-1)(N-1)/N: before it the last is the largest, behind it all sequences are near.
    if most * n > (rounds - 1) * (n - 1):
        return everything
    last = lgamma(rounds) - lgamma(most + 1) - lgamma(rounds - most) + log(n) + most * log(n - 1)
    return min(everything, last + log(most + 1)) * (1 + 1e-12)


def clip_to_floor(values: FloatArray, floor: float, below: FloatArray) -> FloatArray:
    """max(floor, c v) with the c that makes the sum 1: the divergence projection onto {w >= floor}.

    With the k smallest at the floor, c = (1 - k floor)/(sum of the others); the right k is the first at which
    the next one lies above the floor. `below` is k * floor for each k.
    """
    ordered = np.sort(values)
    scales = (1 - below) / np.add.accumulate(ordered[::-1])[::-1]
    first = int((scales * ordered >= floor).argmax())
    result: FloatArray = np.maximum(values * scales[first], floor)
    return result


@dataclass(frozen=True)
class BatchPlan(ExpertPlan):
    """A plan on noisy sums of batches; scale and kind of their noise and their length are fields of the subclasses."""

    if TYPE_CHECKING:

        @property
        def scale(self) -> float: ...

        @property
        def noise(self) -> Any: ...

        @property
        def batch(self) -> int: ...

    @property
    def used(self) -> int:
        """Rounds whose losses are used: all but those of the last batch."""
        return (batches(self.rounds, self.batch) - 1) * self.batch

    @property
    def floor(self) -> float:
        """The smallest weight of an expert in mirror descent: S/(N n) for n batches, with S at least 1."""
        return smallest_weight(self.problem, self.batch)

    @property
    def law(self) -> BatchNoise:
        """The noise of a batch."""
        return BatchNoise(self.noise, self.grid.scale, self.problem.n)

    @cached_property
    def noisy_batches(self) -> NoisyBatches:
        """The declaration of the sums, whatever the number of experts."""
        return NoisyBatches(Losses(self.problem.n), self.noise, self.scale, self.batch, self.numerics == "exact")

    @property
    def releases(self) -> Releases:
        return Nothing() if self.problem.n == 1 else self.noisy_batches

    @cached_property
    def grid(self) -> Grid:
        """The lattice of the losses."""
        return self.noisy_batches.grid(self.neighbours)

    def _shortened(self, **changes: Any) -> tuple[SmallInstance, ...]:
        """Few rounds and experts at the plan's own noise, for the attacks on it."""
        rounds = min(FEW_ROUNDS, self.rounds)
        small = self._resized(rounds, n=min(8, self.problem.n), **changes)
        return (SmallInstance("replayed noise", f"own privacy, T={rounds}", small),)


class BatchLearner(ExpertLearner):
    """Adds losses up, and has the noisy sum of each batch at its end; subclasses give `_steps`."""

    plan: BatchPlan

    def __init__(self, plan: BatchPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._used, self._floor = plan.used, plan.floor
        self._below: FloatArray = self._floor * np.arange(self._n, dtype=np.float64)  # mass of experts at the floor
        self._weights = np.full(self._n, 1 / self._n)
        self._hidden = NoisyVectors(plan.grid, plan.noise, randomness, "noise", plan.batch)

    def _consistent(self) -> bool:
        waiting = min(self._round, self._used) % self.plan.batch
        proper = self._weights.min() >= 0 and abs(self._weights.sum() - 1) < 1e-6
        return super()._consistent() and self._hidden.filled == waiting and bool(proper)

    @np.errstate(all="ignore")
    def _absorb(self, losses: FloatArray) -> None:
        self._steps(losses[None], np.empty(1, dtype=np.int64))

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        self._steps(block, actions)
        self._round += len(block)
        self._played = False

    def _ended(self, rows: FloatArray) -> FloatArray:
        """Add rows; the noisy sums of the batches that they end, except for the last one."""
        return self._hidden.add(rows[: max(0, self._used - self._round)])

    def _end(self, first: int) -> int:
        """The row behind the batch of row `first` of the rows that are being played."""
        return first + self.plan.batch - (self._round + first) % self.plan.batch

    @abstractmethod
    def _steps(self, rows: FloatArray, actions: IntArray) -> None:
        """Play rows, and write their decisions."""
