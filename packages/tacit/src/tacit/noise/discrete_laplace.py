"""Two-sided geometric noise: the discrete Laplace law, exact, for pure differential privacy.

With rate a, a geometric variable has P[G >= k] = e^{-ak}: it is floor(-ln U/a) for a uniform U. z = G - G' has
P[z] = tanh(a/2) e^{-a|z|}, so that adding it to integers that a person moves by D in l1 costs exactly a |D|_1. The
rate is a float64, taken as an exact rational. The logarithm is computed in float64 and again to more digits if
it is too near to an integer for that: at a = 2^-27 for 17 draws in a million.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, nextafter
from typing import Self

import numpy as np

from tacit.errors import PrivacyError
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.source import PooledNoise, Source, Streams
from tacit.noise.uniforms import Digits, Uniforms, fractions, minus_log, rational
from tacit.validation import LARGEST, IntArray, check_integer, check_number, check_positive

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
