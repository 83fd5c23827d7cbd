"""Two-sided geometric noise: the discrete Laplace law, exact, for pure differential privacy.

With rate a, a geometric variable has P[G >= k] = e^{-ak}: it is floor(-ln U/a) for a uniform U. z = G - G' has
P[z] = tanh(a/2) e^{-a|z|}, so that adding it to integers that a person moves by D in l1 costs exactly a |D|_1. The
rate is a float64, taken as an exact rational. The logarithm is computed in float64 and again to more digits if
it is too near to an integer for that: at a = 2^-27 for 17 draws in a million.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import floor, nextafter
from typing import Self

import numpy as np

from tacit.errors import PrivacyError
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.source import PooledNoise, Source, Streams
from tacit.noise.uniforms import Digits, Uniforms, fractions, minus_log, rational
from tacit.validation import LARGEST, FloatArray, IntArray, check_integer, check_number, check_positive

# Below it nearly every draw would need more digits: make the lattice coarser (`laplace_units`).
SMALLEST_RATE = 2.0**-32
# x = -ln(f)/a is off by less than 2^-52/(f a) (U is not f) plus x 2^-44 (the logarithm and the quotient).
CELL_MARGIN = 2.0**-52
LOG_MARGIN = 2.0**-44


def laplace_rate(epsilon: float, shift: int) -> float:
    """Compute the largest float64 a with a * shift <= epsilon, exactly.

    >>> laplace_rate(1.0, 3) * 3 <= 1
    True
    """
    budget = rational(check_positive("laplace_rate", "epsilon", epsilon))
    moved = check_integer("laplace_rate", "shift", shift)
    rate = float(budget / moved)
    return rate if rational(rate) * moved <= budget else nextafter(rate, 0.0)


def laplace_units(epsilon: float, width: int, least: float = SMALLEST_RATE) -> int:
    """Give the finest lattice, at most 2^24 units, on which `laplace_rate(epsilon, width * units)` is not too small.

    `width` is by how much a person moves what is released, in l1 and in whole losses; `least` the smallest rate.
    """
    units = LOSS_UNITS
    while units > 1 and laplace_rate(epsilon, width * units) < least:
        units //= 2
    if laplace_rate(epsilon, width * units) < least:
        raise PrivacyError(
            f"Exact integer noise needs epsilon/width of at least {least:.3g} here. Got epsilon {epsilon!r} and width "
            f"{width!r}: ask for less privacy, or for Gaussian noise."
        )
    return units


def geometric(uniforms: Uniforms, rate: float, count: int) -> IntArray:
    """Draw `count` integers with P[G >= k] = e^{-rate k}, one uniform each."""
    check_number("geometric", "rate", rate, above=SMALLEST_RATE, below=LARGEST, closed_low=True)
    index, words = uniforms.take(count)
    middles = fractions(words) + 2.0**-54
    x = np.log(middles) / -rate
    whole = np.floor(x)
    margin = CELL_MARGIN / (middles * rate) + x * LOG_MARGIN
    open_ = (x - whole <= margin) | (whole + 1.0 - x <= margin) | (words < np.uint64(2**11))
    found = whole.astype(np.int64)
    for place in np.flatnonzero(open_):
        found[place] = _exact_geometric(uniforms.digits(index + int(place), int(words[place])), rate)
    return found


def two_sided_geometric(uniforms: Uniforms, rate: float, count: int) -> IntArray:
    """Draw `count` integers with P[z] = tanh(rate/2) e^{-rate |z|}, two uniforms each."""
    pairs = geometric(uniforms, rate, 2 * count).reshape(-1, 2)
    return pairs[:, 0] - pairs[:, 1]


def noisy_least(uniforms: Uniforms, rate: float, scores: IntArray) -> int:
    """Draw the index of the least score after two-sided geometric noise of this rate (report-noisy-min).

    If a person moves each score by at most D, it is epsilon-DP for epsilon = 2 D rate: given the other scores' noise,
    an index is drawn if its own noise is below a whole number, which moves by at most 2 D. Ties go to the first.
    """
    if uniforms.decide is not None:  # the noise is many numbers, of which the index alone is released
        return uniforms.decide(lambda: least_law(rate * (scores - scores.min())).tolist())
    return int(np.argmin(scores + two_sided_geometric(uniforms, rate, scores.size)))


_CELLS = np.linspace(0.0, 1.0, 33)
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
_LONGEST = 40.0  # in scales of the noise, of which e^{-40} lies beyond


def least_law(shifts: FloatArray) -> FloatArray:
    """Compute P[shift_j + Z_j is the least] for Laplace noise Z of scale 1; ties of a fine lattice are left out.

    By Gauss-Legendre between the kinks of the integrand f_j(x) prod_k P[shift_k + Z_k > x], which is smooth there.
    """
    kinks = np.unique(np.concatenate([[shifts.min() - _LONGEST], shifts, [shifts.min() + _LONGEST]]))
    kinks = kinks[kinks <= shifts.min() + _LONGEST]
    edges = np.unique(np.concatenate([low + (high - low) * _CELLS for low, high in pairwise(kinks)]))
    half = np.diff(edges) / 2
    middle = (edges[1:] + edges[:-1]) / 2
    x = (middle[:, None] + half[:, None] * _NODES).ravel()
    weights = (half[:, None] * _NODE_WEIGHTS).ravel()
    gaps = x - shifts[:, None]
    density = np.exp(-np.abs(gaps)) / 2
    above = np.where(gaps > 0, density, 1 - density)  # density at a distance is the tail beyond the distance
    law = np.array([
        np.sum(weights * density[place] * np.prod(np.delete(above, place, axis=0), axis=0))
        for place in range(shifts.size)
    ])  # fmt: skip
    return np.asarray(law / law.sum())


class DiscreteLaplace(PooledNoise):
    """Independent two-sided geometric draws of one rate.

    Args:
        uniforms: a stream of its own, since draws are made ahead.
        rate: a; a shift of the data by D in l1 costs a D.

    >>> from tacit.noise.randomness import Randomness
    >>> noise = DiscreteLaplace.from_streams(Randomness.replayable(7), "noise", laplace_rate(1.0, 100))
    >>> bool(abs(noise.draw(1000)).mean() < 200)
    True
    """

    def __init__(self, uniforms: Uniforms, rate: float) -> None:
        super().__init__()
        self.rate = check_number("DiscreteLaplace", "rate", rate, above=SMALLEST_RATE, below=LARGEST, closed_low=True)
        self._uniforms = uniforms

    @classmethod
    def from_streams(cls, streams: Streams, name: str, rate: float) -> Self:
        """Give the source on the uniforms of that name."""
        return cls(Uniforms.from_streams(streams, name), rate)

    def _produce(self, count: int) -> IntArray:
        return two_sided_geometric(self._uniforms, self.rate, count)

    def _parts(self) -> dict[str, Source]:
        return {"uniforms": self._uniforms}


def _exact_geometric(digits: Digits, rate: float) -> int:
    """Compute floor(-ln U / rate)."""
    exact = rational(rate)
    while True:
        if digits.value:
            # U is below (value + 1)/2^n and at least value/2^n.
            low, _ = minus_log(digits.value + 1, digits.length)
            _, high = minus_log(digits.value, digits.length)
            whole = floor(Fraction(max(low, Fraction(0))) / exact)
            if whole == floor(high / exact):
                return whole
        digits.extend()
