"""Printed formulas of "Tracking the Best Expert Privately" (Asi, Raman and Saha, 2025).

Orders are the printed O() and Omega() with constant 1: they are no bounds.
"""

from __future__ import annotations

from math import comb, exp, log, pow, sqrt

import numpy as np

from tacit.validation import FloatArray

ERRORS_BELOW = 6.0
"""By how many standard errors a simulated leak is lowered before it counts as a lower bound."""


def algorithm_1(epsilon: float) -> dict[str, float]:
    """Return the scale of the Laplace noise of Algorithm 1, line 4."""
    return {"scale": 2 / epsilon}


def theorem_3_1_regret(n: int, rounds: int, epsilon: float, failure: float, window: int) -> float:
    """Return the bound of Theorem 3.1 on the regret of `window` rounds; it fails with probability `failure`, beta."""
    spread = log(n * rounds / failure)
    return 16 * spread * log(rounds) / epsilon + 9 * sqrt(window * spread)


def algorithm_2(n: int, rounds: int, epsilon: float, failure: float) -> dict[str, float]:
    """Return noise and thresholds of Algorithm 2; Theorem 3.2 takes beta = `failure` = 1/T.

    Lines 2 and 3 halve epsilon. AboveThreshold (Lemma 2.4) at epsilon has Lap(2/epsilon) on its threshold and
    Lap(4/epsilon) on each query (Dwork and Roth, Algorithm 1). A window of w + 1 rounds is above the threshold if its
    regret exceeds slope sqrt(w) + margin, which is Reg_w + alpha + 1 of line 7.
    """
    half = epsilon / 2
    spread = log(n * rounds / failure)
    alpha = 16 * (2 * log(rounds) + log(2 / failure)) / epsilon
    return {
        "selection_scale": algorithm_1(half)["scale"],
        "threshold_scale": 2 / half,
        "query_scale": 4 / half,
        "alpha": alpha,
        "slope": 9 * sqrt(spread),
        "margin": 16 * spread * log(rounds) / epsilon + alpha + 1,
    }


def algorithm_2_epsilon() -> float:
    """Return what composition allows Algorithm 2, in units of its epsilon, where 1 is printed.

    One replaced loss moves the regret of a window by 2. The alarm of the old epoch costs 2/8. The new epoch, which uses
    the round again, costs 2/4 for its selection, and 2/4 + 2/8 for its threshold and its tests.
    """
    return 2 / 8 + 2 / 4 + (2 / 4 + 2 / 8)


def lemma_2_4(rounds: int, epsilon: float, failure: float) -> float:
    """Return alpha of Lemma 2.4, the accuracy of AboveThreshold."""
    return 8 * (log(rounds) + log(2 / failure)) / epsilon


def theorem_3_2_regret(n: int, rounds: int, switches: int, epsilon: float) -> float:
    """Return the last bound with constants in the proof of Theorem 3.2, at beta = 1/T."""
    spread = log(n * rounds**2)
    alpha = algorithm_2(n, rounds, epsilon, 1 / rounds)["alpha"]
    learning = 16 * spread * log(rounds) / epsilon + 2 * alpha + 1
    return 9 * sqrt(2 * switches * rounds * spread) + 2 * switches * learning


def theorem_3_2_order(n: int, rounds: int, switches: int, epsilon: float) -> float:
    """Return the order of Theorem 3.2."""
    spread = log(n * rounds)
    return sqrt(switches * rounds * spread) + switches * spread * log(rounds) / epsilon


def section_3_order(n: int, switches: int, epsilon: float) -> float:
    """Return the order of the lower bound at the end of Section 3."""
    return switches * log(n / switches) / epsilon


def theorem_4_1_experts(n: int, rounds: int, switches: int) -> int:
    """Return the number of meta-experts in the proof of Theorem 4.1: sum over c <= S of C(T, c) N^(c+1)."""
    return sum(comb(rounds, changes) * n ** (changes + 1) for changes in range(switches + 1))


def proposition_4_2_order(n: int, rounds: int, epsilon: float, delta: float) -> float:
    """Return the order of Proposition 4.2, static regret."""
    private = pow(rounds, 1 / 3) * log(rounds / delta) * log(n) / pow(epsilon, 2 / 3)
    return sqrt(rounds * log(n)) + private


def corollary_4_3_order(n: int, rounds: int, switches: int, epsilon: float, delta: float) -> float:
    """Return the order of Corollary 4.3."""
    spread = log(n * rounds)
    private = switches * pow(rounds, 1 / 3) * log(rounds / delta) * spread / pow(epsilon, 2 / 3)
    return sqrt(switches * rounds * spread) + private


def theorem_5_1_order(rounds: int, switches: int, epsilon: float) -> float:
    """Return the order of the lower bound of Theorem 5.1."""
    spread = epsilon * log(rounds / (switches + 1))
    return min(float(rounds), switches / spread**2) if spread else float(rounds)


def proposition_d_1_order(rounds: int, epsilon: float) -> float:
    """Return the order of the lower bound of Proposition D.1, static regret."""
    spread = epsilon * log(rounds)
    return min(float(rounds), 1 / spread**2) if spread else float(rounds)


def theorem_5_2(n: int, rounds: int, switches: int, epsilon: float) -> dict[str, float]:
    """Return eta of Theorem 5.2, and the noise (line 6) and the least weight of Algorithm 3."""
    return {
        "eta": epsilon * sqrt(switches / (rounds * log(n * rounds))),
        "scale": 1 / epsilon,
        "floor": switches / (n * rounds),
    }


def theorem_5_2_order(n: int, rounds: int, switches: int, epsilon: float) -> float:
    """Return the order of Theorem 5.2."""
    spread = log(n * rounds)
    return sqrt(switches * rounds) * pow(spread, 1.5) / epsilon + switches * spread / epsilon


def theorem_c_2_regret(n: int, rounds: int, switches: int, epsilon: float, eta: float) -> float:
    """Return the last bound with constants in the proof of Theorem C.2, for losses that are fixed in advance."""
    spread = log(n * rounds)
    noise = 10 * eta * rounds * spread**2 / epsilon**2
    return 2 * switches * spread / eta + noise + 4 * switches * spread / epsilon + 1


def theorem_5_2_leak(epsilon: float, eta: float, floor: float, noise: FloatArray) -> tuple[float, float]:
    """Return a lower bound on delta(epsilon) of Algorithm 3's experts, and the logarithm of their likelihood ratio.

    The first loss is (0, 1, .., 1) or (1, 0, .., 0), all others are 0, and the event is J_2 = .. = J_T = 1. Given the
    noise, the event's probability is a product of weights. The same noise serves both sides.

    Args:
        epsilon: at which delta is bounded.
        eta: learning rate.
        floor: least weight.
        noise: that of rounds 1 to T - 1, of shape (T - 1, samples, N).
    """
    n = noise.shape[2]
    low = np.append(0.0, np.ones(n - 1))
    better, worse = (_first_expert_every_round(first, eta, floor, noise) for first in (low, 1 - low))
    gap = better - exp(epsilon) * worse
    error = float(np.std(gap)) / sqrt(len(gap))
    return max(0.0, float(np.mean(gap)) - ERRORS_BELOW * error), log(float(np.mean(better)) / float(np.mean(worse)))


def _first_expert_every_round(first: FloatArray, eta: float, floor: float, noise: FloatArray) -> FloatArray:
    """Return P[J_2 = .. = J_T = 1] for each sample of the noise, by Algorithm 3, line 7."""
    n = noise.shape[2]
    weights = np.full(noise.shape[1:], 1 / n)
    chance = np.ones(noise.shape[1])
    for index, drawn in enumerate(noise):
        losses = first if index == 0 else np.zeros(n)
        values = weights * np.exp(-eta * (losses + drawn))
        # The divergence projection onto {w >= floor} is max(floor, c v): the k least weights are at the floor.
        ordered = np.sort(values, axis=1)
        scales = (1 - floor * np.arange(n)) / np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
        least = np.argmax(scales * ordered >= floor, axis=1)
        weights = np.maximum(values * np.take_along_axis(scales, least[:, None], axis=1), floor)
        chance = chance * weights[:, 0]
    return np.asarray(chance)
