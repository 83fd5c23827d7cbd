"""Printed formulas of "Projection-Free Bandit Optimization with Privacy Guarantees" (Ene, Nguyen and Vladu, 2021).

n is the dimension, T the rounds, D the diameter, L the Lipschitz constant, zeta the smoothing radius. Only orders of
regret are printed: functions that return one have constant 1.
"""

from __future__ import annotations

from math import ceil, exp, factorial, fsum, log, log2, sqrt

ROUNDING = 1e-12
"""Probabilities of the attack are known to this relative error, or better."""


def algorithm_1(n: int, rounds: int, diameter: float, lipschitz: float) -> dict[str, float]:
    """Return the parameters of Algorithm 1, lines 1 and 14, not rounded.

    Returns:
        `batches` (T_round), `batch` (T_batch), `eta`, `zeta` and `precision` (of the conditional gradient method).
    """
    root = sqrt(n)
    batches = sqrt(rounds)
    batch = rounds / batches
    return {
        "batches": batches,
        "batch": batch,
        "eta": diameter / (lipschitz * root * rounds**0.75),
        "zeta": diameter * root / rounds**0.25,
        "precision": diameter / sqrt(batch),
    }


def algorithm_2(steps: int, spread_root: float, gradient_norm: float) -> float:
    """Return the learning rate of Algorithm 2, line 1: D_w^(1/2)/(kappa T^(1/2)).

    Args:
        steps: T.
        spread_root: D_w, the root of a bound on the mirror map.
        gradient_norm: kappa, the root of a bound on the mean square of a gradient estimate.
    """
    return sqrt(spread_root) / (gradient_norm * sqrt(steps))


def appendix_b_rate(steps: int, spread_root: float, gradient_norm: float) -> float:
    """Return the learning rate of the last step of Appendix B: 2 D_w/(kappa T^(1/2))."""
    return 2 * spread_root / (gradient_norm * sqrt(steps))


def lemma_4_1(steps: int, spread_root: float, gradient_norm: float, map_error: float) -> float:
    """Return the order T^(1/2) kappa D_w + T kappa gamma of Lemma 4.1; gamma is `map_error`."""
    return sqrt(steps) * gradient_norm * spread_root + steps * gradient_norm * map_error


def lemma_3_1(n: int, rounds: int, diameter: float, lipschitz: float, noise_norm: float) -> float:
    """Return the order T^(3/4) n^(1/2) L D + T^(1/4) D mu ln T of Lemma 3.1; mu is `noise_norm`."""
    explored: float = rounds**0.75 * sqrt(n) * lipschitz * diameter
    noise: float = rounds**0.25 * diameter * noise_norm * log(rounds)
    return explored + noise


def lemma_5_1(n: int, rounds: int, lipschitz: float, epsilon: float) -> float:
    """Return the scale T^(1/2) n L ln T/epsilon of the Laplace noise of Lemmas 5.1 and 5.2."""
    return sqrt(rounds) * n * lipschitz * log(rounds) / epsilon


def lemma_5_2(n: int, rounds: int, diameter: float, lipschitz: float, epsilon: float) -> float:
    """Return the order T^(3/4) n^(1/2) L D + T^(3/4) n^(3/2) L D ln^2 T/epsilon of Lemma 5.2."""
    plain: float = rounds**0.75 * sqrt(n) * lipschitz * diameter
    return plain + plain * n * log(rounds) ** 2 / epsilon


def lemma_5_3(count: int, n: int, norm: float, delta: float) -> float:
    """Return the bound of Lemma 5.3 on the norm of a random combination.

    10 Delta (ln((n + k)/delta) + sqrt((1 + k/n) ln((n + k)/delta))).

    Args:
        count: k, the number of directions.
        n: the dimension.
        norm: Delta, the l2 norm of all coefficients together.
        delta: probability with which the bound may fail.
    """
    tail = log((n + count) / delta)
    return 10 * norm * (tail + sqrt((1 + count / n) * tail))


def lemma_5_4(n: int, rounds: int, lipschitz: float, epsilon: float, delta: float) -> float:
    """Return the standard deviation of the Gaussian noise of Lemmas 5.4 and 5.5.

    T^(1/4) n^(1/2) L ln T ln(T/delta)/epsilon (ln((n + T)/delta) + sqrt((1 + T^(1/2)/n) ln((n + T)/delta))).
    """
    tail = log((n + rounds) / delta)
    norm = tail + sqrt((1 + sqrt(rounds) / n) * tail)
    return sqrt(sqrt(rounds) * n) * lipschitz * log(rounds) * log(rounds / delta) / epsilon * norm


def lemma_5_5(n: int, rounds: int, diameter: float, lipschitz: float, epsilon: float, delta: float) -> float:
    """Return the order of Lemma 5.5.

    T^(3/4) n^(1/2) L D + T^(1/2) n L D ln^2 T ln(T/delta) ln((n + T)/delta)/epsilon
    + T^(3/4) n^(1/2) L D ln^2 T ln(T/delta) sqrt(ln((n + T)/delta))/epsilon.
    """
    plain: float = rounds**0.75 * sqrt(n) * lipschitz * diameter
    tail = log((n + rounds) / delta)
    logarithms = log(rounds) ** 2 * log(rounds / delta) / epsilon
    return plain + sqrt(rounds) * n * lipschitz * diameter * logarithms * tail + plain * logarithms * sqrt(tail)


def theorem_2_3_laplace(length: int, norm: float, epsilon: float, base: float | None = None) -> float:
    """Return the scale Y_1 log T/epsilon of Theorem 2.3; `base` of the logarithm (None: e)."""
    return norm * _logarithm(length, base) / epsilon


def theorem_2_3_gaussian(length: int, norm: float, epsilon: float, delta: float, base: float | None = None) -> float:
    """Return the deviation (Y_2/epsilon) log T ln((log T)/delta) of Theorem 2.3; `base` of the logs of T (None: e)."""
    logarithm = _logarithm(length, base)
    return norm / epsilon * logarithm * log(logarithm / delta)


def theorem_2_3_levels(length: int) -> int:
    """Return the number of noises in each sum of Algorithms 3 to 5: the levels of the tree, log_2 T rounded up."""
    return ceil(log2(length))


def theorem_2_3_lower_bound(length: int, shift: float, epsilon: float) -> float:
    """Return a lower bound on delta(epsilon) of Algorithms 3 to 5 with Laplace noise.

    The first vector is replaced. It enters the sums up to 1, 2, 4, ...: each of them is one node, and its padding is
    drawn for it alone, so that they are independent sums of `theorem_2_3_levels` noises. The attack asks whether all
    of them exceed one threshold.

    Args:
        length: T.
        shift: by how much one coordinate of the vector moves, in units of the scale of the noise.
        epsilon: where delta is bounded.
    """
    noises = theorem_2_3_levels(length)
    sums = length.bit_length()  # floor(log_2 T) + 1
    spread = sqrt(2 * noises)
    best = 0.0
    for part in range(161):
        threshold = shift + spread * part / 20
        with_shift = laplace_tail(noises, threshold - shift) ** sums
        without = exp(epsilon) * laplace_tail(noises, threshold) ** sums
        # Rounded down: noise that gives exactly epsilon must not look refuted.
        best = max(best, with_shift * (1 - ROUNDING) - without * (1 + ROUNDING))
    return best


def laplace_tail(count: int, threshold: float) -> float:
    """Return P[Z_1 + ... + Z_count >= threshold] for independent Laplace variables of scale 1 and threshold >= 0.

    The density is e^-|x| sum_j (m-1+j)!/(j! (m-1-j)! (m-1)!) |x|^(m-1-j)/2^(m+j); its powers are integrated one by one.

    >>> laplace_tail(1, 0.0), laplace_tail(7, 0.0)
    (0.5, 0.5)
    """
    last = count - 1
    terms = []
    for j in range(count):
        power = last - j
        coefficient = factorial(last + j) / (factorial(j) * factorial(last)) / 2.0 ** (count + j)
        # The integral of x^power e^-x from the threshold on, over power!.
        terms += [coefficient * threshold**i / factorial(i) for i in range(power + 1)]
    return exp(-threshold) * fsum(terms)


def lemma_c_2(batch: float, n: int, zeta: float, diameter: float, lipschitz: float) -> float:
    """Return the bound T_batch (L D n/zeta)^2 + T_batch^2 L^2 of Lemma C.2 on the mean square of a batch's gradient."""
    return batch * (lipschitz * diameter * n / zeta) ** 2 + batch**2 * lipschitz**2


def lemma_c_3(rounds: int, eta: float, noise_norm: float, gradient_norm: float) -> float:
    """Return the bound eta (ceil(log_2 T) mu + kappa) of Lemma C.3 on what noise and delay move a leader."""
    return eta * (ceil(log2(rounds)) * noise_norm + gradient_norm)


def lemma_c_4(calls: float, diameter: float) -> float:
    """Return the accuracy sqrt(20) D/sqrt(k) of conditional gradient after k calls of the oracle (Lemma C.4)."""
    return sqrt(20) * diameter / sqrt(calls)


def corollary_c_5(
    rounds: int, eta: float, noise_norm: float, gradient_norm: float, batch: float, diameter: float
) -> float:
    """Return the bound of Corollary C.5 on gamma: that of Lemma C.3 and, for T_batch calls, that of Lemma C.4."""
    return lemma_c_3(rounds, eta, noise_norm, gradient_norm) + lemma_c_4(batch, diameter)


def appendix_d(rounds: int, zeta: float, diameter: float, lipschitz: float, inner_radius: float) -> dict[str, float]:
    """Return the share zeta/r by which points are shrunk in Appendix D, and the regret T zeta L D/r that it adds."""
    share = zeta / inner_radius
    return {"shrink": share, "regret": rounds * share * lipschitz * diameter}


def _logarithm(length: int, base: float | None) -> float:
    return log(length) if base is None else log(length) / log(base)
