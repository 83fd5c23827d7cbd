"""Exact tests of residuals: vectors that should be standard normal, coins that should have their probabilities.

Each test answers with its surprise, -log10 of a bound on the probability of what was seen, and every bound holds for
finite samples: chi-square, beta, the Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant, and for coins
Ville's inequality on betting martingales, which lets runs stop whenever they like. Tests share one probability of a
false alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log10

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, chdtr, chdtrc, logsumexp, ndtr

from tacit.validation import FloatArray

# Bets on a coin, as shares of the stake; each is made for and against every weight.
_STAKES = (0.05, 0.15, 0.45)
MOST = 300.0
"""Surprises beyond it are not told apart."""


@dataclass(frozen=True)
class Surprise:
    """What was tested, and -log10 of a bound on the probability of what was seen."""

    name: str
    value: float


def worst_surprise(surprises: list[Surprise], failure: float) -> tuple[Surprise, float]:
    """Give the largest surprise, and the value that some surprise exceeds with probability at most `failure`."""
    return max(surprises, key=lambda surprise: surprise.value), -log10(failure / len(surprises))


def normal_surprises(normals: FloatArray, label: str) -> list[Surprise]:
    """Test that the rows, in the order of their draws, are independent standard normal vectors."""
    n, d = normals.shape
    squares = np.einsum("ij,ij->i", normals, normals)
    total, mean = float(squares.sum()), normals.mean(axis=0)
    below, above = float(chdtr(n * d, total)), float(chdtrc(n * d, total))
    half = n // 2
    one, other = normals[: 2 * half : 2], normals[1 : 2 * half : 2]
    sums, gaps = float(np.sum((one + other) ** 2)), float(np.sum((one - other) ** 2))
    # Sums and differences of independent normals are independent: their share has a beta law.
    share = sums / (sums + gaps) if sums + gaps > 0 else 0.5
    left = float(betainc(half * d / 2, half * d / 2, share))
    return [
        Surprise(f"scale of {label}", _surprise(2 * min(below, above))),
        Surprise(f"mean of {label}", _surprise(float(chdtrc(d, n * float(mean @ mean))))),
        Surprise(f"coordinates of {label}", _distance_surprise(ndtr(normals).ravel())),
        Surprise(f"lengths of {label}", _distance_surprise(chdtr(d, squares))),
        Surprise(f"dependence of {label}", _surprise(2 * min(left, 1 - left))),
    ]


def coin_surprise(kept: NDArray[np.bool_], keep: FloatArray, weights: FloatArray, label: str = "coins") -> Surprise:
    """Bet on each coin at the claimed odds: a test martingale.

    Under the claim a gambler multiplies her money by 10^s with probability at most 10^-s.

    Args:
        kept: what happened.
        keep: the claimed probability of it, given everything before.
        weights: one column for each reason to bet, in [-1, 1], known before the coin.
        label: what the coins are.
    """
    if not len(kept):
        return Surprise(label, 0.0)
    if np.any(kept & (keep == 0)) or np.any(~kept & (keep == 1)):
        return Surprise(label, inf)
    gains = weights * (kept - keep)[:, None]
    fortunes = [np.log1p(sign * stake * gains).sum(axis=0) for stake in _STAKES for sign in (1, -1)]
    wealth = np.concatenate(fortunes)
    return Surprise(label, min(MOST, float(logsumexp(wealth) - log(wealth.size)) / log(10)))


def _distance_surprise(uniform: FloatArray) -> float:
    """Compute the largest distance of the empirical law from the uniform one: P[distance > s] <= 2 e^{-2 n s^2}."""
    n = uniform.size
    ordered = np.sort(uniform)
    steps = np.arange(n + 1) / n
    distance = max(float(np.max(steps[1:] - ordered)), float(np.max(ordered - steps[:-1])))
    return min(MOST, max(0.0, (2 * n * distance**2 - log(2)) / log(10)))


def _surprise(probability: float) -> float:
    # What is no number is no draw of any law.
    return max(0.0, -log10(probability)) if probability > 10.0**-MOST else MOST


FAILURE = 1e-7
"""The probability with which one statistical statement may be wrong."""
