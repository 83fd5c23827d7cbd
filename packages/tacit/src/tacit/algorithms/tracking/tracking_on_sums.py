"""Tracking on released sums: noisy sums of blocks are released once, and everything after that costs no privacy.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Theorem 3.2, by another route: no test, no window and no
restart costs privacy here, since all of them look at released sums. Three parts play on them:

    base            certified: mirror descent over the clipped simplex, or the leader of the last block
    window leader   practical: of the windows of the last 1, 2, 4, ... and of all blocks, the leader of the longest one
                    that no shorter one refutes
    insurance       exponential weights on the two, by their released losses: 1/10 on the base before any data

so that regret is at most the base's and a little more, and on most streams that of the window leader. Independent
losses whose means shift at most S times cost less than any losses. Proofs: docs/algorithms/tracking-on-sums.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import exp, inf, log, log2, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import minimise
from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.tracking.noisy_batches import (
    BatchLearner,
    BatchNoise,
    BatchPlan,
    batches,
    best_length,
    clip_to_floor,
    log_sequences,
    mirror_rate,
    mirror_regret,
    path_cost,
    smallest_weight,
)
from tacit.algorithms.tracking.tracking_plan import refuse_max_switches
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import LossRecords
from tacit.problems import Experts, Problem
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.state import fitting
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_positive

BASES = ("mirror", "leader")


@dataclass(frozen=True)
class TrackingOnSums(BatchPlan):
    """A practical tracker on released block sums, insured by a certified one.

    Privacy contract: every noisy block sum, hence every decision: pure epsilon, with noise shaped for the cube. A
    person in m rounds: epsilon adds. Under zero-out a constant loss stands for the round and counts as 1/2. Adaptive
    adversaries. Enforced: losses in their range (others raise). Numerics: exact.
    Regret, without a condition: the smallest of the certificates that apply. Independent losses with S shifts of their
    means: [base + ln(10)/mix + mix T/8 + n mix var/2]/(1 - mix B/2) + sqrt(T ln(C)/2); any fixed losses: that of
    mirror descent + ln(10)/mix + n (mix B^2/8 + mix var/2).

    Reference: Asi, Raman and Saha (2025), "Tracking the Best Expert Privately", https://arxiv.org/abs/2503.09889.

    Page: docs/algorithms/tracking-on-sums.md.

    Attributes:
        eta: learning rate of the base (of mirror descent; a leader has none).
        mix: learning rate of the insurance.
        scale: scale of the cube noise.
        block: rounds whose losses are added up before noise.
        base: "mirror" or "leader".

    >>> from tacit.problems import Tracking
    >>> problem = Tracking(n=5, horizon=50_000, switches=1, adversary="stochastic")
    >>> plan = TrackingOnSums.calibrate(problem, epsilon=1.0, delta=0.0)
    >>> plan.base, plan.block, round(float(plan.regret_bound))
    ('mirror', 23, 2508)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> expert = learner.play()
    >>> learner.observe([0.5] * 5)
    """

    problem: Experts
    _takes: ClassVar[type[Problem]] = Experts
    eta: float
    mix: float
    scale: float
    block: int
    base: str = "mirror"
    noise: ClassVar[str] = "cube"
    delta: float = field(default=0.0, kw_only=True)
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy block sum, hence every decision"
    theorem: ClassVar[str] = "cube mechanism on each block's losses, parallel composition; the rest is post-processing"

    def _check_parameters(self) -> None:
        owner = "TrackingOnSums"
        for name in ("eta", "mix", "scale"):
            check_positive(owner, name, getattr(self, name))
        check_integer(owner, "block", self.block)
        check_choice(owner, "base", self.base, BASES)

    @property
    def batch(self) -> int:
        return self.block

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Fixed sequences, if the base has a bound for them: decisions are held for a block."""
        return ("stochastic", "oblivious") if self.base == "mirror" else ("stochastic",)

    @property
    def regret_bound(self) -> RegretBound:
        problem, block, noise = self.problem, self.block, self.law
        if problem.n == 1:
            return RegretBound(0.0, "0: one expert", ("expectation over noise and draws",))
        anyhow, means = inf, inf
        if self.base == "mirror":
            anyhow = insured_anyhow(problem, self.eta, self.mix, block, noise)
        if self.base == "leader":
            means = insured_on_means(leader_on_means(problem, block, noise), problem, self.mix, block, noise)
        elif problem.adversary == "stochastic":
            base = mirror_on_means(problem, self.eta, block, noise)
            means = insured_on_means(base, problem, self.mix, block, noise)
        if means < anyhow:
            formula = "(base + ln(10)/mix + mix T/8 + n mix var/2)/(1 - mix B/2) + sqrt(T ln(C)/2) + T/2^24"
            assumptions = ("independent losses, at most S shifts of their distribution", "expectation")
        else:
            formula = "base + ln(10)/mix + n (mix B^2/8 + mix var/2) + T/2^24"
            assumptions = ("oblivious adversary", "expectation over noise and draws")
        value = min(anyhow, means) + self.rounds * self.grid.lost
        return RegretBound(problem.width * value, f"{formula}, n = T/B", assumptions)

    def variants(self) -> dict[str, Plan]:
        """Give plans of longer blocks, where a block's noise hardly matters: fewer decisions, each on more losses."""
        if self.problem.adversary != "stochastic" or self.problem.n == 1:
            return {}
        longer = round(max(1.0, min(4 * self.law.variance, self.rounds / (30 * (self.problem.switches + 1)))))
        return {"practical blocks": self._with_block(longer)}

    def _with_block(self, block: int) -> TrackingOnSums:
        _, eta, mix, base = best_base(self.problem, block, self.law)
        return replace(self, block=block, eta=eta, mix=mix, base=base)

    @property
    def expected_switches(self) -> float:
        return float(batches(self.rounds, self.block) - 1)

    @classmethod
    def _calibrate(cls, problem: Experts, target: Target, *, block: int | None = None) -> TrackingOnSums:
        refuse_max_switches(cls.__name__, target, "every block may switch")
        move = LossRecords(problem.n, target.relation.sides).move("cube")
        scale = target.rounds_per_person * move / target.epsilon * ROUND_UP**3
        noise = BatchNoise("cube", scale, problem.n)
        if block is None:
            block = best_length(problem.horizon or 1, lambda length: best_base(problem, length, noise)[0])
        _, eta, mix, base = best_base(problem, check_integer(cls.__name__, "block", block), noise)
        return cls(problem, eta, mix, scale, block, base, **{**target.contract, "delta": 0.0})

    def small_instances(self) -> tuple[SmallInstance, ...]:
        return self._shortened(block=min(2, self.block))

    def _learner(self, randomness: Randomness) -> TrackingOnSumsLearner:
        return TrackingOnSumsLearner(self, randomness)


class TrackingOnSumsLearner(BatchLearner):
    """Releases block sums; holds one draw from the insured mixture for each block."""

    plan: TrackingOnSums
    _stream_names = ("draw",)
    _state = ("_hidden", "_prefix", "_blocks", "_weights", "_leading", "_odds")
    _any_shape = ("_prefix",)

    def __init__(self, plan: TrackingOnSums, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._patience = patience(plan.problem, plan.block, plan.law)
        self._prefix = np.zeros((1, self._n))  # sums of the first 0, 1, 2, ... released blocks
        self._blocks = 0  # how many were released
        self._leading = self._weights.copy()  # what the window leader plays; the weights are those of the base
        self._odds = log((1 - PRIOR) / PRIOR)  # log odds of the window leader against the base
        self._action = self._draw()

    def _consistent(self) -> bool:
        counted = self._blocks == min(self._round, self._used) // self.plan.block
        proper = self._leading.min() >= 0 and abs(self._leading.sum() - 1) < 1e-6
        return super()._consistent() and counted and bool(proper)

    def _gather(self) -> dict[str, Any]:
        content = super()._gather()
        content["_prefix"] = content["_prefix"][: self._blocks + 1]
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        self._prefix = fitting(np.zeros((self._blocks + 1, self._n)), self._prefix)

    def _steps(self, rows: FloatArray, actions: IntArray) -> None:
        first = 0
        for noisy in self._ended(rows):
            last = self._end(first)
            actions[first:last] = self._action
            self._look(noisy)
            self._move(self._draw())
            first = last
        actions[first:] = self._action

    def _look(self, noisy: FloatArray) -> None:
        """A released sum: who would have lost how much by it, then what both parts make of it."""
        plan = self.plan
        self._odds += plan.mix * float((self._weights - self._leading) @ noisy)
        if self._blocks + 1 == len(self._prefix):
            self._prefix = np.concatenate([self._prefix, np.zeros_like(self._prefix)])
        self._prefix[self._blocks + 1] = self._prefix[self._blocks] + noisy
        self._blocks += 1
        if plan.base == "leader":
            self._weights = _alone(int(noisy.argmin()), self._n)
        else:
            factors = np.exp(-plan.eta * (noisy - noisy.min()))
            self._weights = clip_to_floor(self._weights * factors, self._floor, self._below)
        self._leading = _alone(window_leader(self._prefix[: self._blocks + 1], self._patience), self._n)

    def _draw(self) -> int:
        trust = 1 / (1 + exp(-max(-700.0, min(700.0, self._odds))))
        mixed = trust * self._leading + (1 - trust) * self._weights
        clocks = self._streams["draw"].standard_exponential(self._n)
        return int((clocks / np.maximum(mixed, 1e-300)).argmin())


def patience(problem: Experts, block: int, noise: BatchNoise) -> float:
    """By how much, times the root of its length in blocks, a window may speak against the leader of a longer one."""
    windows = max(2.0, log2(max(2.0, (problem.horizon or 1) / block)))
    return sqrt(2 * log(max(2.0, problem.n * windows)) * (block / 2 + 2 * noise.variance))


def window_leader(prefix: FloatArray, patience: float) -> int:
    """The leader of the longest of the windows of the last 1, 2, 4, ... and all blocks that no shorter one refutes."""
    blocks = len(prefix) - 1
    lengths = np.array([*(1 << k for k in range((blocks - 1).bit_length())), blocks])
    sums = prefix[blocks] - prefix[blocks - lengths]
    leaders = sums.argmin(axis=1)
    # Row: a window; column: how much more than its own leader another window's leader has lost in it.
    excess = sums[:, leaders] - sums[np.arange(len(lengths)), leaders][:, None]
    refuted = excess > patience * np.sqrt(lengths)[:, None]
    accepted = ~np.triu(refuted, 1).any(axis=0)  # by a shorter window
    return int(leaders[np.flatnonzero(accepted)[-1]])


def _alone(expert: int, n: int) -> FloatArray:
    weights = np.zeros(n)
    weights[expert] = 1.0
    return weights


PRIOR = 0.1
"""The weight that insurance gives to the base before any data."""


def mirror_on_means(problem: Experts, eta: float, block: int, noise: BatchNoise) -> float:
    """Mirror descent on block sums, independent losses, regret on the means; infinite from eta B = 2 on."""
    if eta * block >= 2:
        return inf
    rounds = problem.horizon or 1
    count, floor = batches(rounds, block), smallest_weight(problem, block)
    paid = path_cost(problem, block) / eta + eta * rounds / 8 + count * noise.cost(eta)
    paid += count * floor * (problem.n - 1) * block + problem.switches * (block // 2)
    return paid / (1 - eta * block / 2)


def leader_on_means(problem: Experts, block: int, noise: BatchNoise) -> float:
    """The leader of the last block: 1 + 2S blocks are lost, in the others B gap <= E max of N sub-Gaussian numbers."""
    spread = 2 * sqrt(log(problem.n) * (block / 8 + noise.variance / 2))
    return (1 + 2 * problem.switches) * block + (problem.horizon or 1) * min(1.0, spread / block)


def insured_on_means(base: float, problem: Experts, mix: float, block: int, noise: BatchNoise) -> float:
    """[base + ln(10)/mix + mix T/8 + n cost(mix)]/(1 - mix B/2), plus the comparator's luck."""
    if mix * block >= 2:
        return inf
    rounds = problem.horizon or 1
    paid = base - log(PRIOR) / mix + mix * rounds / 8 + batches(rounds, block) * noise.cost(mix)
    luck = sqrt(rounds * log_sequences(problem.n, rounds, problem.switches) / 2)
    return paid / (1 - mix * block / 2) + luck


def insured_anyhow(problem: Experts, eta: float, mix: float, block: int, noise: BatchNoise) -> float:
    """Mirror descent on any fixed losses, plus ln(10)/mix + n (mix B^2/8 + cost(mix))."""
    count = batches(problem.horizon or 1, block)
    return mirror_regret(problem, eta, block, noise) - log(PRIOR) / mix + count * (mix * block**2 / 8 + noise.cost(mix))


def best_rates(problem: Experts, base: str, block: int, noise: BatchNoise) -> tuple[float, float, float]:
    """(certified regret, eta, mix) of the best certificate that this base has at this length of a block."""
    count = batches(problem.horizon or 1, block)
    found = []
    if base == "mirror":
        eta = mirror_rate(problem, block, noise)
        mix = noise.best_rate(-log(PRIOR), count, count * block**2 / 8)
        found.append((insured_anyhow(problem, eta, mix, block, noise), eta, mix))
    if problem.adversary == "stochastic":
        eta, cost = 1.0, leader_on_means(problem, block, noise)
        if base == "mirror":
            eta = _below(2 / block, lambda rate: mirror_on_means(problem, rate, block, noise))
            cost = mirror_on_means(problem, eta, block, noise)
        mix = _below(2 / block, lambda rate: insured_on_means(cost, problem, rate, block, noise))
        found.append((insured_on_means(cost, problem, mix, block, noise), eta, mix))
    return min(found, default=(inf, 1.0, 1.0))


def best_base(problem: Experts, block: int, noise: BatchNoise) -> tuple[float, float, float, str]:
    """(certified regret, eta, mix, base) of the best certificate at this length of a block."""
    return min((*best_rates(problem, base, block, noise), base) for base in BASES)


def _below(limit: float, cost: Callable[[float], float]) -> float:
    """The minimiser of a cost that is infinite from `limit` on."""
    return minimise(cost, limit * 1e-6, limit * (1 - 1e-6), 1e-3)
