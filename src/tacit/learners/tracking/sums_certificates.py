"""Certified regret of learners that track on released block sums: n blocks of B rounds, one noise each.

Independent losses whose means shift at most S times cost less than any losses. Let X(j) in [0, B] be what expert j
loses in a block, in expectation, beyond the best expert of each of its rounds. Then

    -(1/eta) ln <w, e^{-eta X}> >= (1 - eta B/2) <w, X>      (e^{-x} <= 1 - x + x^2/2, and X^2 <= B X)

and Hoeffding's lemma holds round by round, eta^2/8 each, instead of once for the block, eta^2 B^2/8. So regret on the
means is at most [what mirror descent pays without curvature + eta T/8]/(1 - eta B/2), if eta B < 2. The comparator of
regret is the best sequence in hindsight, which may be lucky by sqrt(T ln C/2). Proofs:
docs/algorithms/tracking-on-sums.md.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, sqrt

from tacit.learners.tracking.noisy_batches import (
    BatchNoise,
    batches,
    log_sequences,
    mirror_rate,
    mirror_regret,
    path_cost,
    smallest_weight,
)
from tacit.privacy.calibration import minimise
from tacit.problems import Tracking

PRIOR = 0.1
"""The weight that insurance gives to the base before any data."""


def mirror_on_means(problem: Tracking, eta: float, block: int, noise: BatchNoise) -> float:
    """Mirror descent on block sums, independent losses, regret on the means; infinite from eta B = 2 on."""
    if eta * block >= 2:
        return inf
    rounds = problem.horizon or 1
    count, floor = batches(rounds, block), smallest_weight(problem, block)
    paid = path_cost(problem, block) / eta + eta * rounds / 8 + count * noise.cost(eta)
    paid += count * floor * (problem.n - 1) * block + problem.switches * (block // 2)
    return paid / (1 - eta * block / 2)


def leader_on_means(problem: Tracking, block: int, noise: BatchNoise) -> float:
    """The leader of the last block: 1 + 2S blocks are lost, in the others B gap <= E max of N sub-Gaussian numbers."""
    spread = 2 * sqrt(log(problem.n) * (block / 8 + noise.variance / 2))
    return (1 + 2 * problem.switches) * block + (problem.horizon or 1) * min(1.0, spread / block)


def insured_on_means(base: float, problem: Tracking, mix: float, block: int, noise: BatchNoise) -> float:
    """[base + ln(10)/mix + mix T/8 + n cost(mix)]/(1 - mix B/2), plus the comparator's luck."""
    if mix * block >= 2:
        return inf
    rounds = problem.horizon or 1
    paid = base - log(PRIOR) / mix + mix * rounds / 8 + batches(rounds, block) * noise.cost(mix)
    luck = sqrt(rounds * log_sequences(problem.n, rounds, problem.switches) / 2)
    return paid / (1 - mix * block / 2) + luck


def insured_anyhow(problem: Tracking, eta: float, mix: float, block: int, noise: BatchNoise) -> float:
    """Mirror descent on any fixed losses, plus ln(10)/mix + n (mix B^2/8 + cost(mix))."""
    count = batches(problem.horizon or 1, block)
    return mirror_regret(problem, eta, block, noise) - log(PRIOR) / mix + count * (mix * block**2 / 8 + noise.cost(mix))


def best_rates(problem: Tracking, base: str, block: int, noise: BatchNoise) -> tuple[float, float, float]:
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


def _below(limit: float, cost: Callable[[float], float]) -> float:
    """The minimiser of a cost that is infinite from `limit` on."""
    return minimise(cost, limit * 1e-6, limit * (1 - 1e-6), 1e-3)
