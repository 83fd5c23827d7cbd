"""Where a walk of a random number of steps +-1 may be: its law, tilted, by one Fourier transform and rounded up.

A step of loss +-a under randomised response goes up with probability 1/(1 + e^-a). Tilted by e^{theta a j}, so that the
places a delta comes from are the likely ones, a step has moment 1 + gain = cosh((theta + 1/2) a)/cosh(a/2) and goes up
with probability (1 + tanh((theta + 1/2) a))/2. What rounding may have taken is added to every weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, cosh, floor, log, log1p, pi, sinh, sqrt, tanh

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from tacit.validation import FloatArray

Complexes = NDArray[np.complex128]
# From the transform of a step, minus 1, and the logarithm of a factor: the transform of the walk, and bounds on errors.
Transform = Callable[[Complexes, Complexes], tuple[Complexes, FloatArray]]

# What a window leaves out of the tilted walk, and the exponent of the tail bounds that say so.
TAIL = 1e-18
_EXPONENT = log(4 / TAIL)
UNIT = 2.0**-52
# Walks on more points than this are left to the Renyi divergences.
MOST_POINTS = 2**18


class WalkTooLong(Exception):
    """There is no such walk here: too many points, or steps too long for its numerics."""


@dataclass(frozen=True)
class Draws:
    """How often something is drawn at the worst.

    Attributes:
        tosses: pairs (count, chance): so many coins that draw with at most this probability.
        sure: draws besides.
        cap: no more than this in all (None: no limit; with a limit there is one pair).
    """

    tosses: Sequence[tuple[int, float]]
    sure: int = 0
    cap: int | None = None

    @property
    def mean(self) -> float:
        """The expected number of draws, or the limit if that is less."""
        mean = self.sure + sum(count * chance for count, chance in self.tosses)
        return mean if self.cap is None else min(mean, self.cap)

    @property
    def most(self) -> int:
        """The largest number of draws."""
        whole = self.sure + sum(count for count, chance in self.tosses if chance > 0)
        return whole if self.cap is None else min(whole, self.cap)

    def tilted(self, gain: float) -> list[tuple[int, float]]:
        """The tosses with their chances if a draw counts 1 + gain times."""
        return [(n, s * (1 + gain) / (1 + s * gain)) for n, s in self.tosses if n and s]


@dataclass(frozen=True)
class _Window:
    """A law that is still a transform, and where it lies but for the tail."""

    log_scale: float
    low: float
    high: float
    transform: Transform


class TiltedLaw:
    """P[place j] = e^{log_scale - theta j a} weights[j - first], never less."""

    def __init__(self, step: float, theta: float, draws: Draws) -> None:
        drift = tanh((theta + 0.5) * step)
        gain = 2 * sinh((theta + 1) * step / 2) * sinh(theta * step / 2) / cosh(step / 2)
        free = _free(draws, drift, gain)
        mean = draws.sure + sum(count * chance for count, chance in draws.tilted(gain))
        limited = draws.cap is not None and draws.cap < mean + _reach(mean)
        window = _capped(draws, drift, gain) if limited else free
        self.log_scale = window.log_scale
        self.first = max(-draws.most, floor(window.low))
        size = min(draws.most, ceil(window.high)) - self.first + 1
        points = 2 ** max(1, (size - 1).bit_length())
        if points > MOST_POINTS:
            raise WalkTooLong
        self.weights = self._weights(points, drift, window.transform)

    def _weights(self, points: int, drift: float, transform: Transform) -> FloatArray:
        angles = np.arange(points // 2 + 1) * (2 * pi / points)
        half = np.sin(angles / 2)
        values, errors = transform(
            -2 * half * half + 1j * (drift * np.sin(angles)),
            np.asarray(-1j * (angles * self.first), dtype=np.complex128),
        )
        found: FloatArray = np.fft.irfft(np.conj(values), points)
        error = 2 * float(np.add.reduce(errors)) / points
        error += 8 * UNIT * points.bit_length() * float(np.sqrt(np.add.reduce(found * found)))
        return np.asarray(np.maximum(found, 0.0) + error)


def _free(draws: Draws, drift: float, gain: float) -> _Window:
    """Tosses without a limit: a product."""
    factors = draws.tilted(gain) + ([(draws.sure, 1.0)] if draws.sure else [])
    mean = sum(count * chance for count, chance in factors)
    scale = draws.sure * log1p(gain) + sum(count * log1p(chance * gain) for count, chance in draws.tosses)
    # Every factor of a path's probability is known to a few units in the last place.
    scale += 8 * UNIT * (scale + mean + 10)
    center, reach = mean * drift, _reach(mean)
    return _Window(scale, center - reach, center + reach, lambda turn, shift: _power(turn, factors, shift))


def _capped(draws: Draws, drift: float, gain: float) -> _Window:
    """At most `cap` draws: a mixture over their number, summed by Horner's rule."""
    ((count, chance),) = draws.tosses
    cap, mean = draws.cap or 0, count * chance
    ups = np.arange(max(0, floor(mean - _reach(mean))), min(count, ceil(mean + _reach(mean))) + 1.0)
    ways = gammaln(count + 1) - gammaln(ups + 1) - gammaln(count - ups + 1)
    chances = np.exp(ways + xlogy(ups, chance) + xlog1py(count - ups, -chance))
    places = np.minimum(draws.sure + ups, cap).astype(np.int64)
    first = int(places[0])
    # Fewer draws than the window begins with count as its first; more than it ends with, as the limit.
    mass = np.zeros(cap - first + 1)
    mass[: int(places[-1]) - first + 1] = np.bincount(places - first, chances)
    mass[0] += TAIL
    mass[-1] += TAIL
    logs = np.log(np.maximum(mass, 1e-300)) + np.arange(first, cap + 1) * log1p(gain)
    scale = float(np.logaddexp.reduce(logs))
    shares = np.exp(logs - scale)

    def transform(turn: Complexes, shift: Complexes) -> tuple[Complexes, FloatArray]:
        total, step = np.zeros_like(turn), 1 + turn
        for share in shares[::-1]:
            total = total * step + share
        values, errors = _power(turn, [(first, 1.0)] if first else [], shift)
        return values * total, errors + 4 * UNIT * len(shares) * np.abs(values)

    inflation = 1e-15 * (3 * float(gammaln(count + 1)) + count + 8 * cap + 10)
    # Given k draws, the walk is within sqrt(2 k L) of k times its drift (Hoeffding).
    reach = sqrt(2 * cap * _EXPONENT)
    return _Window(scale + inflation, first * drift - reach, cap * drift + reach, transform)


def _reach(variance: float) -> float:
    """Bernstein: a sum of steps in [-1, 1] is farther from its mean only with the tail's probability."""
    third = 2 * _EXPONENT / 3
    return third + sqrt(third * third + 2 * variance * _EXPONENT)


def _power(turn: Complexes, factors: Sequence[tuple[int, float]], shift: Complexes) -> tuple[Complexes, FloatArray]:
    """The product of (1 + chance turn)^count e^shift, and bounds on the errors of these values."""
    real, imaginary = shift.real, shift.imag
    size = np.abs(imaginary)
    with np.errstate(divide="ignore"):
        for count, chance in factors:
            x, y = chance * turn.real, chance * turn.imag
            length = count * (0.5 * np.log1p(2 * x + (x * x + y * y)))
            angle = count * np.arctan2(y, 1 + x)
            real, imaginary = real + length, imaginary + angle
            size = size + np.abs(length) + np.abs(angle)
    moduli = np.exp(np.maximum(real, -700.0))
    values = moduli * np.cos(imaginary) + 1j * (moduli * np.sin(imaginary))
    return values, moduli * (8 + 4 * np.minimum(size, 1e9)) * UNIT
