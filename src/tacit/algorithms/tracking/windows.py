"""The regret of every window: what a tracker certifies for any stretch of consecutive rounds that is fixed in advance.

Theorem 3.1 of "Tracking the Best Expert Privately" bounds the regret of every window against the best single expert in
it, for independent losses. Learners whose weights never fall below a floor have such a bound for any losses: from
wherever the window begins, its best expert is ln(1/floor)/eta away. Rounds of batches that the window cuts count in
full. Proofs: docs/tracking.md.
"""

from __future__ import annotations

from math import inf, log, log1p

from tacit.algorithms.tracking.noisy_batches import BatchNoise, smallest_weight
from tacit.problems import Tracking
from tacit.runtime.rate_search import delay_regret
from tacit.runtime.target import RegretBound
from tacit.validation import check_integer

_FIXED = "any window that is fixed in advance, against the best expert in it"


def check_window(owner: str, rounds: int, horizon: int) -> int:
    """Refuse windows that are longer than the stream."""
    return check_integer(f"{owner}.window_regret", "rounds", rounds, at_most=horizon)


def share_window(n: int, rounds: int, share: float, eta: float, batch: int, delay: int = 0) -> float:
    """Fixed share: (ln((N-1)/share) + w ln(1/(1-share)))/eta + eta w B/8 + 2(B-1) in a window of w rounds.

    Before a round every weight is at least share/(N-1). From there the path that stays with one expert has the weight
    of the numerator, as in the bound for all rounds. Late feedback adds to each round what it adds to any round.
    """
    if n == 1:
        return 0.0
    if share <= 0:
        return inf
    steps = log((n - 1) / share) - rounds * log1p(-share)
    return steps / eta + eta * rounds * batch / 8 + 2 * (batch - 1) + delay_regret(eta, rounds, delay, batch)


def mirror_window(problem: Tracking, rounds: int, eta: float, batch: int, noise: BatchNoise) -> float:
    """Mirror descent over weights of at least a, on n' = floor(w/B) whole batches.

    ln(1/a)/eta + n' (eta B^2/8 + cost(eta)) + n' a (N-1) B + 2(B-1), and against an adaptive adversary the largest of N
    sums of n' noises more.
    """
    if problem.n == 1:
        return 0.0
    whole, floor = rounds // batch, smallest_weight(problem, batch)
    value = log(1 / floor) / eta + whole * (eta * batch**2 / 8 + noise.cost(eta))
    value += whole * floor * (problem.n - 1) * batch + 2 * (batch - 1)
    if problem.adversary == "adaptive":
        value += (1 - problem.n * floor) * noise.largest_sum(whole, log(problem.n))
    return value


def window_bound(value: float, rounds: int, width: float, formula: str, *assumptions: str) -> RegretBound:
    """The bound in units of loss, no larger than the window."""
    return RegretBound(width * min(float(rounds), value), formula, (_FIXED, *assumptions))
