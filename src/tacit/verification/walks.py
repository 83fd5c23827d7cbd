"""Draws of bounded range, followed one by one: the walk that dominates them all, from its law in closed form.

The lemma of docs/algorithms/lazy-experts.md: with kappa > 1/2 let U be a loss of density e^{z/2 - kappa|z|} (times a
constant) and D randomised response of losses a and -a, where a >= r/2 is the least root of
cosh(kappa a)/cosh(a/2) = max_t E e^{(kappa-1/2) Z}. Then a number K of draws of range r, each chosen by whatever came
before, leaks at most E D^K U V_0. Here the law of K is a table, the place of the walk given K is binomial, and every
term is positive: nothing cancels, and what float64 may have lost is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
# Tables with more entries than this are not made.
MOST_ENTRIES = 2 * 10**7


class TooLong(Exception):
    """The law of the walk has too many entries."""


@dataclass(frozen=True)
class Counts:
    """The law of a number of draws: P[K = first + i] = chances[i], and at most `lost` elsewhere."""

    first: int
    chances: Floats
    lost: float

    def plus(self, sure: int) -> Counts:
        """So many draws more."""
        return Counts(self.first + sure, self.chances, self.lost)

    def joined(self, other: Counts) -> Counts:
        """Both numbers together, if they are independent."""
        if other.first == 0 and len(other.chances) == 1:
            return self
        chances = np.convolve(self.chances, other.chances) * (1 + 1e-12)
        return Counts(self.first + other.first, chances, self.lost + other.lost)

    def capped(self, cap: int) -> Counts:
        """No more than `cap`."""
        kept = cap - self.first
        if kept >= len(self.chances):
            return self
        if kept <= 0:
            return Counts(cap, np.ones(1), self.lost)
        chances = self.chances[: kept + 1].copy()
        chances[kept] = self.chances[kept:].sum()
        return Counts(self.first, chances, self.lost)


def binomial(count: int, chance: float, tail: float) -> Counts:
    """How often coins of this chance fall, but for a tail (Bernstein's inequality says how far it begins)."""
    if count == 0 or chance == 0:
        return Counts(0, np.ones(1), 0.0)
    mean, exponent = count * chance, log(2 / tail)
    reach = exponent / 3 + sqrt(exponent**2 / 9 + 2 * exponent * mean * (1 - chance))
    first, last = max(0, ceil(mean - reach) - 1), min(count, int(mean + reach) + 1)
    return Counts(first, binomial_chances(np.array([count]), np.arange(first, last + 1), chance)[0], tail)


def binomial_chances(counts: NDArray[np.int64], ups: NDArray[np.int64], chance: float) -> Floats:
    """P[ups_j of counts_i coins fall] as a matrix (or of ups of the same shape), never too small."""
    if chance == 1:
        return np.asarray(ups == counts[:, None], dtype=np.float64)
    n = counts[:, None].astype(np.float64)
    k = (ups if ups.ndim == 2 else ups[None, :]).astype(np.float64)
    inside = (k >= 0) & (k <= n)
    k = np.clip(k, 0, n)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * log(chance) + (n - k) * np.log1p(-chance)
    largest = float(counts.max()) + 2
    slack = 1e-15 * (4 * largest * log(largest) + largest * abs(log(chance)) + largest * abs(log(1 - chance)))
    return np.where(inside, np.exp(logs + slack), 0.0)


class Walk:
    """The profile of a random number of draws of range `width`, smoothed once."""

    def __init__(self, width: float, kappa: float, counts: Counts, tail: float) -> None:
        self.step = float(_response(width, kappa)) * (1 + 1e-14)
        self.up = 1 / (1 + exp(-self.step))
        self._kappa = kappa
        places, chances, lost = _places(counts, self.up, tail)
        self._places, self._chances = places, chances
        self._lost = lost + counts.lost

    def __call__(self, epsilon: Floats) -> Floats:
        """A bound on the profile at each of these epsilons."""
        apart = epsilon[:, None] - self._places * self.step
        apart = apart - 1e-14 * (np.abs(apart) + np.abs(epsilon[:, None]))
        kappa, left = self._kappa, np.minimum(apart, 0.0)
        right = np.exp(-(kappa - 0.5) * np.maximum(apart, 0.0)) / (2 * kappa)
        values = np.where(apart >= 0, right, -np.expm1(left) + np.exp((kappa + 0.5) * left) / (2 * kappa))
        found: Floats = values @ self._chances
        return np.minimum(found * (1 + 1e-12) + self._lost, 1.0)

    def drawn(self, epsilon: Floats) -> Floats:
        """The same with one draw more: D W."""
        return self.up * self(epsilon - self.step) + (1 - self.up) * self(epsilon + self.step)


def _places(counts: Counts, up: float, tail: float) -> tuple[Floats, Floats, float]:
    """Where the walk stands, how likely, and what is left out."""
    numbers = counts.first + np.arange(len(counts.chances))
    exponent, most = log(2 / tail), int(numbers[-1])
    reach = int(exponent / 3 + sqrt(exponent**2 / 9 + 2 * exponent * most * up * (1 - up))) + 2
    offsets = np.arange(-reach, reach + 1)
    if numbers.size * offsets.size > MOST_ENTRIES:
        raise TooLong
    ups = np.round(numbers * up).astype(np.int64)[:, None] + offsets[None, :]
    chances = binomial_chances(numbers, ups, up) * counts.chances[:, None]
    places = 2 * ups - numbers[:, None]
    low = int(places.min())
    law = np.bincount((places - low).ravel(), chances.ravel()).astype(np.float64)
    kept = np.flatnonzero(law)
    return (kept + low).astype(np.float64), law[kept], tail


def _response(width: float, kappa: float) -> mp.mpf:
    """The least a >= r/2 with cosh(kappa a)/cosh(a/2) at least the largest moment of a draw, from above."""
    r, order = mp.mpf(width), mp.mpf(kappa) - mp.mpf(1) / 2
    end = mp.log(order * mp.expm1((order + 1) * r) / ((order + 1) * mp.expm1(order * r)))
    up = -mp.expm1(end - r) / -mp.expm1(-r)
    goal = order * end + mp.log(up + (1 - up) * mp.exp(-order * r))
    low, high = r / 2, r
    for _ in range(70):
        middle = (low + high) / 2
        value = mp.log(mp.cosh(kappa * middle)) - mp.log(mp.cosh(middle / 2))
        low, high = (low, middle) if value >= goal else (middle, high)
    return high
