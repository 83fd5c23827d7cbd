"""Search the weights and decays of `Buffered` that have the least noise at the last step, given a person's rounds.

The objective is the norm of a person's worst columns times the norm of the decoder's last row, both in closed form. The
search is deterministic: L-BFGS from quadratures of the square root's integral

    c_k = binom(2k, k) / 4^k = (1/pi) int_0^1 theta^k / sqrt(theta (1 - theta)) dtheta

at several time scales, and from the shipped table. Privacy does not rest on it: whatever it finds is checked and
charged by `Buffered` as weights and decays of any other origin are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tacit.noise.running_sums.toeplitz import Buffered
from tacit.validation import FloatArray

# Of a person's columns: beyond so many the table's coefficients are taken as they are.
MOST_COLUMNS = 4096
# The sum of the weights stays below 1 by at least this share: 1 itself is not allowed, and searches end there.
_BELOW_ONE = 1 - 1e-6


@lru_cache(maxsize=256)
def best_buffers(plain: Buffered, people: int, separation: int) -> Buffered:
    """Return the best buffers for so many rounds of a person, so far apart; `plain` has those of the table.

    Args:
        plain: the sum with the table's weights and decays.
        people: rounds in which one person may stand.
        separation: by how many steps these are apart at least.
    """
    from scipy.optimize import minimize  # heavy, and few plans need it

    steps, count = plain.steps, len(plain.decays)
    if min(people, -(-steps // separation)) > MOST_COLUMNS:
        return plain
    starts = [quadrature(count, scale) for scale in (0.3 * separation + 2, 3.0 * separation + 2, steps + 2)]
    starts.append(pack(np.array(plain.decays), np.array(plain.weights)))
    found: list[Any] = [
        minimize(  # type: ignore[call-overload]
            lambda point: noise(unpack(point, steps), people, separation) if np.all(np.abs(point) < 30) else 1e3,
            start,
            method="L-BFGS-B",
            options={"maxiter": 300, "ftol": 1e-10},
        )
        for start in starts
    ]
    best = rounded(unpack(min(found, key=lambda result: float(result.fun)).x, steps))
    return min(best, plain, key=lambda sums: noise(sums, people, separation))


def noise(sums: Buffered, people: int = 1, separation: int = 1) -> float:
    """Compute the logarithm of the noise at the last step, per unit of a record's size over mu."""
    moved = people * sums.column_norm * sums.crowding(people, separation)
    return float(np.log(moved * sums.row_norm(sums.steps)))


def unpack(point: FloatArray, steps: int) -> Buffered:
    """Read logits of theta, then logits of the weights against a remainder: weights sum to less than 1."""
    half = point.size // 2
    weights = np.exp(point[half:] - np.logaddexp.reduce(np.append(point[half:], 0.0))) * _BELOW_ONE
    return Buffered(steps, tuple(1 - 1 / (1 + np.exp(point[:half]))), tuple(weights))


def pack(decays: FloatArray, weights: FloatArray) -> FloatArray:
    """Give the inverse of `unpack`, up to the share by which it shrinks."""
    return np.concatenate([np.log(decays / (1 - decays)), np.log(weights / (1 - weights.sum()))])


def quadrature(buffers: int, scale: float) -> FloatArray:
    """Give the trapezium rule on ln(1 - theta) up to this time scale, weights shrunk to a sum of at most 0.7."""
    gaps = np.geomspace(0.4, min(0.3, 1.0 / scale), buffers)
    weights = np.sqrt(gaps / (1 - gaps))
    return pack(1 - gaps, 0.65 * weights / weights.sum())


def rounded(sums: Buffered) -> Buffered:
    """Sort slowest decay first and round to eight digits; norms are computed from the rounded values."""
    pairs = sorted(zip(sums.decays, sums.weights, strict=True), reverse=True)
    decays = tuple(round(theta, 8 + int(-np.log10(1 - theta))) for theta, _ in pairs)
    weights = tuple(float(f"{omega:.8g}") for _, omega in pairs)
    return Buffered(sums.steps, decays, weights)
