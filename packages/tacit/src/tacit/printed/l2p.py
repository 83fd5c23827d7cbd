"""Printed formulas of "Private Online Learning via Lazy Algorithms" (Asi, Koren, Liu and Talwar, 2024).

The names are those of the parameters of `L2P` and `L2PConvex`: `force` is the fake switching parameter p, `ridge` is
lambda. B is not rounded here; whoever runs it rounds it up, and says so.
"""

from __future__ import annotations

from math import cbrt, ceil, e, exp, log, log2, pi, sqrt

import numpy as np

from tacit.validation import FloatArray

LARGEST_EPSILON = 100.0
"""Above this epsilon delta is not worth a look."""
MOST_TOSSES = 2**17
"""Tosses of the coins that the attack looks at: a prefix of the decisions leaks at most what all of them do."""
FOURIER_ERROR = 1e-14
"""More than what rounding may do to one entry of a law that was found by a Fourier transform."""


def theorem_3_2_epsilon(rounds: int, eta: float, force: float, batch: int, log_one: float) -> float:
    """Return epsilon of Theorem 3.2.

    Args:
        rounds: T.
        eta: divergence of consecutive measures.
        force: fake switching parameter p.
        batch: batch size B.
        log_one: ln(1/delta_1).
    """
    # epsilon = 2 eta/p + eta + 3 T eta^2 p ln(1/delta_1)/(2B) + sqrt(6 T eta^2 p ln^2(1/delta_1)/B)
    spread = rounds * eta**2 * force / batch
    return 2 * eta / force + eta + 1.5 * spread * log_one + sqrt(6 * spread) * log_one


def theorem_3_2_delta(
    rounds: int, eta: float, force: float, batch: int, log_one: float, measure_delta: float = 0.0
) -> float:
    """Return delta of Theorem 3.2; `measure_delta` is delta_0 of Assumption 3.1, 0 for exponential weights."""
    # delta = 2T (2/eta + ln(1/delta_1)/p) e B delta_0 + 2T delta_1
    return 2 * rounds * ((2 / eta + log_one / force) * e * batch * measure_delta + exp(-log_one))


def theorem_3_2_log_one(rounds: int, delta: float) -> float:
    """Return ln(1/delta_1) at which Theorem 3.2 has this delta, for measures without one of their own."""
    return log(2 * rounds / delta)


def theorem_3_2_largest_eta(force: float, batch: int, log_one: float) -> float:
    """Return the largest eta that Theorem 3.2 allows: eta B ln(1/delta_1)/p <= 1 (and eta <= 1/10)."""
    return min(0.1, force / (batch * log_one))


def theorem_3_2_failures(rounds: int, eta: float, force: float, batch: int, log_one: float) -> tuple[str, ...]:
    """Return the preconditions of Theorem 3.2 that do not hold."""
    needed = {
        "eta <= 1/10": eta <= 0.1 * (1 + 1e-12),
        "T p/B >= 1": rounds * force / batch >= 1 - 1e-12,
        "eta B ln(1/delta_1)/p <= 1": eta * batch * log_one <= force * (1 + 1e-12),
    }
    return tuple(f"the precondition {name} fails" for name, holds in needed.items() if not holds)


def proposition_3_3_order(rounds: int, eta: float, batch: int) -> float:
    """Return T B^2 eta^2, which Proposition 3.3 prints as the order of what batches of B rounds cost."""
    return rounds * batch**2 * eta**2


def proposition_3_3_least_force(eta: float, batch: int) -> float:
    """Return eta B ln 2, the infimum of p in Proposition 3.3: eta B ln(1/delta_1) <= p for some delta_1 < 1/2."""
    return eta * batch * log(2)


def theorem_3_10(n: int, rounds: int, epsilon: float) -> dict[str, float]:
    """Return eta and B of Theorem 3.10 (experts); p is not printed."""
    smallest = rounds**-0.25 * log(n) ** 0.75  # epsilon_0
    return {
        "eta": min(smallest, epsilon) ** (2 / 3) / rounds ** (1 / 3),
        "batch": 1 / epsilon,
    }


def theorem_3_10_order(n: int, rounds: int, epsilon: float) -> float:
    """Return sqrt(T ln d) + T^(1/3) ln(d)/epsilon^(2/3), the printed order of regret, without its constant."""
    return sqrt(rounds * log(n)) + cbrt(rounds) * log(n) / cbrt(epsilon**2)


def lemma_3_11_eta(rate: float, ridge: float, lipschitz: float, measure_delta: float) -> float:
    """Return eta of Lemma 3.11: by how much one loss moves regularised weights, up to delta_0 = `measure_delta`."""
    # eta = 2 beta L^2/lambda + sqrt(8 beta L^2 ln(2/delta_0)/lambda)
    spread = rate * lipschitz**2 / ridge
    return 2 * spread + sqrt(8 * spread * log(2 / measure_delta))


def theorem_3_12(
    dimension: int,
    rounds: int,
    epsilon: float,
    delta: float,
    lipschitz: float,
    diameter: float,
    *,
    logarithm: float | None = None,
) -> dict[str, float]:
    """Return eta, p, B, lambda and beta of Theorem 3.12 (convex losses), with `logarithm` in place of ln(T/delta)."""
    eta = epsilon ** (2 / 3) / (rounds ** (1 / 3) * (log(rounds / delta) if logarithm is None else logarithm))
    ridge = lipschitz / diameter * max(sqrt(rounds), sqrt(dimension * log(rounds)) / eta)
    return {
        "eta": eta,
        "force": eta / epsilon,
        "batch": 1 / (2 * epsilon * log(1 / delta)),
        "regularisation": ridge,
        "rate": eta**2 * ridge / (20 * lipschitz**2),
    }


def theorem_3_12_order(
    dimension: int, rounds: int, epsilon: float, delta: float, lipschitz: float, diameter: float
) -> float:
    """Return L D (sqrt(T) + T^(1/3) sqrt(d ln T) ln(T/delta)/epsilon^(2/3)), the printed order of regret."""
    private = cbrt(rounds) * sqrt(dimension * log(rounds)) * log(rounds / delta) / cbrt(epsilon**2)
    return lipschitz * diameter * (sqrt(rounds) + private)


def theorem_3_12_measure_delta(
    rounds: int, delta: float, eta: float, force: float, batch: int, log_one: float
) -> float:
    """Return delta_0 whose share of Theorem 3.2's delta is one half of what is asked."""
    return delta / (4 * rounds * (2 / eta + log_one / force) * e * batch)


def leaked_delta(n: int, decisions: int, eta: float, force: float, batch: int, epsilon: float, sides: int = 2) -> float:
    """Return a lower bound on delta(epsilon) of Algorithm 1 on exponential weights, from the decisions alone.

    One round of the first batch has loss 1 for one half of the experts and 0 for the others, or the other way round
    (with `sides=1`: or no loss at all). All other losses are 0. From the second batch on the coin then keeps with a
    probability that no data move, and the law of a draw has two values, one for each half. The attack
    looks at the half of the last decision and at one number, the better of two: how many batches were played by an
    expert of the first half, and how many more of the visible moves went to that half than to the other one. Its laws
    are those of a Markov chain with two states, found by a Fourier transform. What rounding may have added is taken
    off.

    Args:
        n: number of experts.
        decisions: tosses of the coins, one after each batch but the last.
        eta: learning rate.
        force: fake switching parameter p.
        batch: batch size B.
        epsilon: where delta is bounded.
        sides: 2 where a round is replaced, 1 where it is emptied.
    """
    if n < 2 or decisions < 1 or epsilon > LARGEST_EPSILON:
        return 0.0
    half = n // 2
    lowered = half * exp(-eta)
    # The weight of the first half: after it lost, and after the others lost (or nobody).
    weights = (lowered / (lowered + n - half), half / (half + (n - half) * (exp(-eta) if sides == 2 else 1.0)))
    keep = (1 - force) * exp(-2 * batch * eta)
    best = 0.0
    for visits in (True, False):
        laws = [half_law(n, min(decisions, MOST_TOSSES), keep, weight, visits) for weight in weights]
        for one, other in (laws, laws[::-1]):
            excess = np.maximum(one - exp(epsilon) * other, 0.0)
            error = FOURIER_ERROR * (1 + exp(epsilon)) * len(one)
            best = max(best, float(np.sum(excess)) - error)
    return best


def half_law(n: int, decisions: int, keep: float, weight: float, visits: bool) -> FloatArray:
    """Return the law of the attacked number together with the half that has the last decision, as one array.

    Args:
        n: number of experts; the first half has n // 2 of them.
        decisions: tosses of the coins; the first of them leaves a draw from the changed law in every case.
        keep: the chance that the coin keeps, after the first toss.
        weight: the chance that a draw is of the first half.
        visits: count batches that the first half played, and not moves to it less moves to the other half.
    """
    size = 2 ** ceil(log2(2 * decisions + 2))
    # The law is real: half of the frequencies say everything.
    forward = np.exp(-2j * pi * np.arange(size // 2 + 1) / size)
    backward = np.conj(forward)
    half, rest = n // 2, n - n // 2
    draw = 1 - keep
    first, second = weight, 1 - weight
    if visits:
        stay, arrive = (keep + draw * first) * forward, draw * first * forward
        leave, remain = draw * second * np.ones_like(forward), (keep + draw * second) * np.ones_like(forward)
        start = (first * forward, second * np.ones_like(forward))
    else:
        # A draw of the expert that is held already is no visible move.
        stay = keep + draw * first * (1 + (half - 1) * forward) / half
        arrive = draw * first * forward
        leave = draw * second * backward
        remain = keep + draw * second * (1 + (rest - 1) * backward) / rest
        start = (first * forward, second * backward)
    total, left = start, decisions - 1
    while left:
        if left & 1:
            total = (total[0] * stay + total[1] * arrive, total[0] * leave + total[1] * remain)
        left >>= 1
        if left:
            # The square of the matrix with rows (stay, leave) and (arrive, remain).
            crossing, trace = leave * arrive, stay + remain
            stay, leave, arrive, remain = stay**2 + crossing, leave * trace, arrive * trace, remain**2 + crossing
    return np.concatenate([np.fft.irfft(each, size) for each in total])
