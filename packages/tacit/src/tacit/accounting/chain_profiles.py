"""Delta of lazy chains and of repeated draws, by walks in place of Renyi divergences.

A profile is delta as a function of epsilon, V(eps) = E(1 - e^{eps - Z})_+, Z the privacy loss. A step acts on the
profile of what comes after it by (A V)(eps) = E V(eps - Z), and V_0 = (1 - e^eps)_+. The lemma of
docs/algorithms/lazy-experts.md: with kappa > 1/2, U a loss of density e^{z/2 - kappa|z|} (times a constant) and D
randomised response of losses a and -a, a draw of bounded range r obeys

    A_t U W <= D U W for every t and every profile W,   if a >= r/2 and
    cosh(kappa a)/cosh(a/2) >= max_t E e^{(kappa-1/2) Z},

so n tosses of a coin that draws with probability at most s leak ((1-s) + s D)^n U V_0: the law of a walk on the lattice
a Z (`walk_law`, by one Fourier transform, rounded up) against the profile of U. Every kappa is valid. Of the toss that
holds the person's round the vertices decide, W being the walk's profile:

    delta(eps) = max over (q, q') of  q W(eps - ln q/q') + (1-q) (D W)(eps - ln (1-q)/(1-q')).

A person with m rounds stands in batches of k_1, k_2, ... of them, and the worst partition counts. With a cap K on
redraws the walk has min(K, .) steps. A few draws are followed step by step instead, on a grid of epsilons with chords
between, so that nothing is rounded down. Keep probabilities are given by their hazards h = -ln q, because the float q
next to 1 has lost the digits of 1 - q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import ceil, cosh, exp, expm1, floor, inf, isfinite, isinf, log, log1p, pi, sinh, sqrt, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from tacit.validation import FloatArray

_FAR = 700.0  # e to this power is a float; exponents above it belong to sums without terms


class Pair(NamedTuple):
    """The hazards of a coin and of its neighbour, and their difference, which the floats may have lost."""

    hazard: float
    other: float
    gap: float

    @property
    def certain(self) -> bool:
        """Whether one neighbour may do what the other never does."""
        return self.other == 0 or isinf(self.other)

    @property
    def losses(self) -> tuple[float, float]:
        """The privacy loss of keeping, ln q/q', and of redrawing, ln (1-q)/(1-q')."""
        return -self.gap, log_redraws(self.hazard, self.other, self.gap)


def moved_pairs(least: float, spread: float, shift: float) -> list[Pair]:
    """The vertices at which the coins differ: at the lowest hazards and at the highest, both ways round."""
    move = min(shift, spread)
    if move <= 0:
        return []
    pairs = [(least, least + move)]
    if not isinf(least + spread):
        pairs.append((least + (spread - move), least + spread))
    return [pair for low, high in pairs for pair in (Pair(low, high, -move), Pair(high, low, move))]


def log_redraws(hazard: float, other: float, gap: float) -> float:
    """ln( (1-q)/(1-q') ) for q = e^-hazard and q' = e^-other, where hazard - other = gap > -other."""
    if abs(gap) < other / 2:
        if gap < -_FAR:  # both redraw for certain, but for less than a float can tell
            return 0.0
        return log1p(-expm1(-gap) / expm1(min(other, _FAR)))
    return log(expm1(-hazard) / expm1(-other)) if hazard > 0 else -inf


def toss_atoms(least: float, spread: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Losses and probabilities of one pair of laws that dominates every such toss.

    Its profile is the upper envelope of the vertices' profiles, piecewise linear in y = e^eps: its atoms are the edges
    of the concave hull of the points (P'[A], P[A]), A an outcome of one of the tosses.
    """
    points = {(0.0, 0.0), (1.0, 1.0)}
    for hazard, other, _ in moved_pairs(least, spread, shift):
        points |= {(exp(-other), exp(-hazard)), (-expm1(-other), -expm1(-hazard))}
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    steps = np.diff(np.array(hull), axis=0)
    with np.errstate(divide="ignore"):
        return np.log(steps[:, 1] / steps[:, 0]), steps[:, 1]


def _turns_up(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    (x, y), (u, v), (s, t) = first, middle, last
    return (v - y) * (s - x) <= (t - y) * (u - x)


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


# Draws of other ranges are left to the Renyi divergences: so narrow that the worst loss of one is lost in the floats,
# or so wide that each leaks more than anyone would ask for.
_NARROWEST, _WIDEST = 1e-9, 4.0
# The largest tilt of a step: it still goes down with a probability that a float knows well.
_STEEPEST = 3.0
# No profile is looked up farther out: it falls.
_FARTHEST = 1e9


class SmoothedWalk:
    """The profile of so many draws of bounded range, smoothed by U.

    Args:
        width: the range r of a draw.
        draws: how many there are.
        kappa: how sharply U peaks.
        tilt: theta, the tilt under which the walk is computed; best close to where the delta comes from.
    """

    def __init__(self, width: float, draws: Draws, kappa: float, tilt: float) -> None:
        if not _NARROWEST <= width <= _WIDEST:
            raise WalkTooLong
        self.step = response(width, kappa)
        self._kappa = kappa
        self._tilt = theta = min(max(tilt, 0.0), 0.9 * (kappa - 0.5), _STEEPEST / self.step)
        law = TiltedLaw(self.step, theta, draws)
        self._log_scale, self._first = law.log_scale, law.first
        weights = law.weights
        falling = _decayed(weights, exp(-(kappa - 0.5 - theta) * self.step))
        self._below = np.concatenate([[0.0], falling]) / (2 * kappa)
        self._above, self._less, self._bend = (
            self._suffixes(weights, rate) for rate in (theta, theta + 1, theta + kappa + 0.5)
        )
        self._points = len(weights)

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """An upper bound on the profile at each of these epsilons.

        D and U are the same the other way round, so W(-eps) = 1 - e^-eps + e^-eps W(eps): the tilted walk knows little
        of the left side.
        """
        left = np.minimum(epsilon, 0.0)
        found = self._right(np.minimum(np.abs(epsilon), _FARTHEST))
        return np.minimum(found * np.exp(left) - np.expm1(left) * (1 + 1e-15), 1.0)

    def _right(self, epsilon: FloatArray) -> FloatArray:
        a, theta, kappa = self.step, self._tilt, self._kappa
        reach = (abs(self._first) + self._points) * a
        epsilon = epsilon - 4 * UNIT * (np.abs(epsilon) + reach)  # places are known this well
        cell = np.clip(np.floor(epsilon / a) - self._first, -1, self._points - 1)
        over = epsilon - (self._first + cell) * a
        at = cell.astype(np.int64) + 1
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            above = np.exp(np.minimum(theta * over, _FAR)) * self._above[at]
            value = above - np.exp(np.minimum((theta + 1) * over, _FAR)) * self._less[at]
            # The difference of the two sums has lost digits of the first: they are added.
            value = np.maximum(value, 0.0) + 128 * UNIT * above
            value += np.exp(-(kappa - 0.5 - theta) * over) * self._below[at]
            value += np.exp(np.minimum((theta + kappa + 0.5) * over, _FAR)) * self._bend[at] / (2 * kappa)
            found = np.exp(self._log_scale - theta * epsilon) * (value * (1 + 1e-12) + TAIL)
        return np.where(found <= 1.0, found, 1.0)

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        up = 1 / (1 + exp(-self.step))
        first, second, third = self(np.stack([kept, drawn - self.step, drawn + self.step]))
        return first, up * second + (1 - up) * third

    def _suffixes(self, weights: FloatArray, rate: float) -> FloatArray:
        """sum_{j > i} g_j e^{-rate (j - i) a} for i = -1, 0, ..."""
        ratio = exp(-rate * self.step)
        return np.concatenate([ratio * _decayed(weights[::-1], ratio)[::-1], [0.0]])


def log_worst_moment(width: float, order: float) -> float:
    """The logarithm of max_t E e^{order Z} over draws of bounded range `width`, rounded up."""
    if width * order > 1e-3:
        return log_moment(width, order, worst_end(width, order))
    return order * (order + 1) * width * width / 8 * (1 + 1e-12)


def worst_end(width: float, order: float) -> float:
    """The t of the largest moment: e^t = order (e^{(order+1) r} - 1) / ((order+1) (e^{order r} - 1))."""
    high, low = (order + 1) * width, order * width
    return log(order / (order + 1)) + width + log(-expm1(-high) / -expm1(-low))


def log_moment(width: float, order: float, end: float) -> float:
    """The logarithm of E e^{order Z} of the draw with losses `end` and `end` - r, rounded up."""
    end = min(max(end, 0.0), width)
    # An end that rounds to the width itself may be below it by a last digit.
    up = max(-expm1(end - width) / -expm1(-width), 2.0**-50 * (1 + width) if end == width else 0.0)
    return order * end + log(up + (1 - up) * exp(-order * width)) + 1e-14 * (1 + order * width)


def response(width: float, kappa: float) -> float:
    """The least a >= r/2 with cosh(kappa a)/cosh(a/2) >= max_t E e^{(kappa-1/2) Z}, rounded up."""
    if width * kappa <= 1e-3:
        # ln cosh x >= x^2/2 - x^4/12 and the moment is at most e^{(kappa^2 - 1/4) r^2/8}: this much more is enough.
        return width / 2 * (1 + (width * kappa) ** 2 / 24 + 1e-12)
    goal = log_worst_moment(width, kappa - 0.5)
    low, high = width / 2, width
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _log_cosh(kappa * middle) - _log_cosh(middle / 2) >= goal else (middle, high)
    return high * (1 + 1e-13)


def _log_cosh(x: float) -> float:
    return log(cosh(x)) if x < 1 else x + log1p(exp(-2 * x)) - log(2.0)


def _decayed(weights: FloatArray, ratio: float) -> FloatArray:
    """sum_{j <= i} g_j ratio^(i - j) for every i, by doubling: positive terms only."""
    total, shift = weights.copy(), 1
    while shift < len(total) and ratio > 0:
        total[shift:] = total[shift:] + ratio * total[:-shift]
        ratio, shift = ratio * ratio, 2 * shift
    return total


# Cells in the range of a draw.
_CELLS = 20
# Rounding of one step, relative and absolute.
_RELATIVE, _ABSOLUTE = 1e-12, 1e-16


class WorstDraws:
    """The profile of `tosses` coins, each of which draws with probability at most `chance`.

    Args:
        width: the range of a draw.
        tosses: how many coins.
        chance: the largest probability of a draw.
    """

    def __init__(self, width: float, tosses: int, chance: float) -> None:
        self._step = width / _CELLS
        mean = tosses * chance
        # Beyond many standard deviations of the losses, the ends of the grid bound the profile.
        points = round(min(tosses + 1.0, mean * width / 4 + 5 * sqrt(mean) + 10) * _CELLS)
        self._epsilons = np.arange(-points, points + 1) * self._step
        self._y = np.exp(self._epsilons)
        self._values = -np.expm1(np.minimum(self._epsilons, 0.0))
        for _ in range(tosses):
            self._values = self._rounded((1 - chance) * self._values + chance * self._drawn)

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        return self._at(epsilon, self._values)

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self(kept), self._at(drawn, self._one_more)

    @cached_property
    def _one_more(self) -> FloatArray:
        return self._rounded(self._drawn)

    def _at(self, epsilon: FloatArray, values: FloatArray) -> FloatArray:
        """A profile off the grid: chords inside, slope -1 in y below, constant above."""
        epsilon = epsilon - 1e-14 * (1 + np.abs(epsilon))
        y = np.exp(np.minimum(epsilon, self._epsilons[-1]))
        return np.asarray(np.interp(y, self._y, values) + np.maximum(self._y[0] - y, 0.0))

    @property
    def _drawn(self) -> FloatArray:
        """The largest A_t V over t, at the points of the grid."""
        cells, size, ratio = _CELLS, len(self._values), exp(_CELLS * self._step)
        below = self._at(self._epsilons[0] - np.arange(cells, 0, -1) * self._step, self._values)
        above = np.full(cells, self._values[-1])
        padded = np.concatenate([below, self._values, above])
        # L V(y/L) at L = e^{jh}, for j from -cells to cells.
        scaled = [exp(j * self._step) * padded[cells - j : cells - j + size] for j in range(-cells, cells + 1)]
        slopes = [
            (scaled[k + 1] - scaled[k]) / exp((k - cells) * self._step) / expm1(self._step) for k in range(2 * cells)
        ]
        bases = [scaled[k] - slopes[k] * exp((k - cells) * self._step) for k in range(2 * cells)]
        worst: FloatArray = self._values
        for j in range(cells):
            low, high = exp((j - cells) * self._step), exp((j + 1 - cells) * self._step)
            (a, b), (c, d) = (slopes[cells + j], bases[cells + j]), (slopes[j], bases[j])
            with np.errstate(divide="ignore", invalid="ignore"):
                best = np.sqrt((d - b) / (ratio * (a - c)))
            lower = np.clip(np.where(best >= 0, best, low), low, high)  # also where it is no number
            for at in (lower, low, high):
                upper = ratio * at
                worst = np.maximum(worst, ((a * upper + b) * (1 - at) + (c * at + d) * (upper - 1)) / (upper - at))
        return np.asarray(worst)

    def _rounded(self, values: FloatArray) -> FloatArray:
        return np.minimum(values * (1 + _RELATIVE) + _ABSOLUTE, 1.0)


Profile = Callable[[FloatArray], FloatArray]


# Makes the profile of all tosses that hold none of a person's rounds.
Walks = Callable[[Draws], "SmoothedWalk | WorstDraws | _Nothing"]

# Kappa is a power of this: of a fixed grid, so that epsilon and delta agree.
_RATIO, _LEAST_POWER = 1.15, -3
# So few tosses are computed one by one, if their draws are neither too narrow nor too wide for a grid.
_FEW, _WIDTHS = 12, (1e-6, 4.0)
# Partitions of more rounds than this are left to the Renyi divergences.
MOST_ROUNDS = 12
# Draws of a wider range than this leave nothing to gain, and their exponentials no room in a float.
WIDEST = 300.0
# Kappa is looked for again if the epsilon that it was chosen for was far off, so often at most.
_REPEATS = 4
# Epsilons that are tried at once, and how often.
_TRIED, _PASSES = 65, 6
# Losses of several tosses are rounded up to this share of a draw's range.
_FINE = 1 / 64
# What the hull of a toss may have lost, in total variation.
_HULL = 1e-15


@dataclass(frozen=True)
class ChainProfile:
    """A lazy chain whose draws have bounded range, in numbers.

    Attributes:
        width: the range of a draw.
        decisions: how many times the coin is tossed.
        chance: the largest probability of a redraw at a toss.
        least: the least -ln of a keep probability.
        spread: how far above it the others reach.
        shifts: how far a batch with 1, 2, ... of a person's rounds moves its coin (empty: no data move the coin).
        rounds: how many rounds one person may stand in.
        cap: at most so many redraws.
        reference: a second chain redraws with this probability at each toss.
    """

    width: float
    decisions: int
    chance: float
    least: float = 0.0
    spread: float = 0.0
    shifts: tuple[float, ...] = ()
    rounds: int = 1
    cap: int | None = None
    reference: float = 0.0

    @lru_cache(maxsize=256)  # noqa: B019 - profiles are small, public and equal if their numbers are
    def epsilon(self, delta: float, known: float) -> float:
        """The smallest epsilon at this delta, if it is less than the one that is `known` already."""
        if not (0 < known < inf and delta > 0) or self.decisions == 0:
            return known
        guess, found = 0.95 * known, known
        for _ in range(_REPEATS):
            found = self._epsilon_near(guess, delta, found)
            if found >= 0.97 * guess:
                break
            guess = found
        return found

    def _epsilon_near(self, guess: float, delta: float, known: float) -> float:
        """The smallest epsilon by the profile that is best at `guess`."""
        profile = self._best(min(log(delta), -0.1), guess)
        if profile is None or not profile(np.array([known]))[0] <= delta:
            return known
        low, high = 0.0, known
        for _ in range(_PASSES):
            tried = np.linspace(low, high, _TRIED)
            deltas = profile(tried)
            first = int(np.argmax(deltas <= delta))
            if not deltas[first] <= delta:  # the end of the range is at most delta alone, and above it among others
                return high
            if first == 0:
                return low
            low, high = float(tried[first - 1]), float(tried[first])
        # Between two close epsilons the logarithm of delta is a line.
        above, below = log(deltas[first - 1] / delta), log(max(deltas[first], 1e-300) / delta)
        between = low + (high - low) * min(1.0, above / (above - below) * (1 + 1e-6))
        return between if profile(np.array([between]))[0] <= delta else high

    def delta(self, epsilon: float, known: float) -> float:
        """The smallest delta at this epsilon, if it is less than the one that is `known` already."""
        if not known > 0 or self.decisions == 0:
            return known
        profile = self._best(min(max(log(known), -600.0), -0.1), epsilon)
        return known if profile is None else min(known, float(profile(np.array([epsilon]))[0]))

    def _best(self, log_delta: float, epsilon: float) -> Profile | None:
        """The profile with the least delta at `epsilon`, which is about e^log_delta."""
        if not self._covered:
            return None
        if self.width == 0 or self.cap == 0 or (self.chance == 0 and self.reference == 0):
            return partial(self._at, lambda draws: _Nothing())
        if self._few:
            return partial(self._at, lambda draws: self._worst_draws)
        at, found = np.array([epsilon]), dict[int, Profile]()

        def cost(power: int) -> float:
            if power not in found:
                found[power] = self._profile(_RATIO**power, log_delta, epsilon)
            return float(found[power](at)[0])

        # Close to the best is this (a fit; any kappa is valid). Delta falls to the best one and rises after it.
        factor = 1.87 * self._mean**0.23 * (-2 * log_delta) ** -0.435
        kappa = max(factor, 0.9) * (1 + sqrt(-2 * log_delta) / self._deviation)
        power = max(round(log(kappa, _RATIO)), _LEAST_POWER + 1)
        try:
            way = -1 if cost(power - 1) < cost(power) else 1
            while power > _LEAST_POWER and cost(power + way) < cost(power):
                power += way
        except WalkTooLong:
            return None
        return found[power]

    @property
    def _covered(self) -> bool:
        pairs = (pair for shift in self.shifts for pair in moved_pairs(self.least, self.spread, shift))
        certain = any(pair.certain or not all(map(isfinite, pair.losses)) for pair in pairs)
        return not certain and self.width <= WIDEST and (self.rounds <= MOST_ROUNDS or not self.shifts)

    @property
    def _few(self) -> bool:
        """Whether the worst choices are computed one by one, which is better and takes longer."""
        plain = self.rounds == 1 and self.cap is None and self.reference == 0
        return plain and self.decisions <= _FEW and _WIDTHS[0] < self.width < _WIDTHS[1]

    @cached_property
    def _worst_draws(self) -> WorstDraws:
        return WorstDraws(self.width, self.decisions - bool(self.shifts), self.chance)

    @cached_property
    def _mean(self) -> float:
        return max(1.0, self._draws(0).mean)

    @property
    def _deviation(self) -> float:
        """About the standard deviation of the privacy loss."""
        return self.width / 2 * sqrt(self._mean)

    def _profile(self, kappa: float, log_delta: float, epsilon: float) -> Profile:
        """The bound with this kappa, computed for deltas and epsilons of about this size."""
        tilt = min(max(0.0, epsilon / self._deviation**2 - 0.5), sqrt(-2 * log_delta) / self._deviation)
        walks: dict[Draws, SmoothedWalk] = {}

        def walk(draws: Draws) -> SmoothedWalk:
            if draws not in walks:
                walks[draws] = SmoothedWalk(self.width, draws, kappa, tilt)
            return walks[draws]

        return partial(self._at, walk)

    def _at(self, walk: Walks, epsilon: FloatArray) -> FloatArray:
        """Delta at these epsilons: the largest over all partitions of a person's rounds."""
        if not self.shifts:
            return np.asarray(walk(self._draws(0))(epsilon))
        total = np.zeros_like(epsilon)
        for parts in self._partitions:
            tossed = self._one_toss(walk, parts[0], epsilon) if len(parts) == 1 else self._tosses(walk, parts, epsilon)
            total = np.maximum(total, tossed)
        return np.asarray(np.minimum(total, 1.0))

    def _draws(self, sure: int, cap: int | None = None, others: int | None = None) -> Draws:
        others = self.decisions - sure if others is None else others
        tosses = [(others, self.chance)]
        tosses += [(self.decisions, self.reference)] if self.reference else []
        return Draws(tuple(tosses), sure, self.cap if cap is None else cap)

    def _one_toss(self, walk: Walks, part: int, epsilon: FloatArray) -> FloatArray:
        """The vertices: what is kept costs no draw."""
        others = self.decisions - 1
        kept = walk(self._draws(0, others=others))
        drawn = kept if self.cap is None else walk(self._draws(0, max(self.cap - 1, 0), others))
        pairs = moved_pairs(self.least, self.spread, self.shifts[part - 1])
        # The last row: coins that agree; then more redraws are worse.
        losses = np.array([*(pair.losses for pair in pairs), (0.0, 0.0)])[:, :, None]
        losses = losses + 1e-14 * np.abs(losses)
        keep = np.array([*(exp(-pair.hazard) for pair in pairs), 1 - self.chance])[:, None]
        draw = np.array([*(-expm1(-pair.hazard) for pair in pairs), self.chance])[:, None]
        first, second = kept.kept_and_drawn(epsilon - losses[:, 0], epsilon - losses[:, 1])
        if drawn is not kept:
            _, second = drawn.kept_and_drawn(epsilon - losses[:, 0], epsilon - losses[:, 1])
        return np.asarray(np.max(keep * first + draw * second, axis=0) * (1 + 1e-14))

    def _tosses(self, walk: Walks, parts: tuple[int, ...], epsilon: FloatArray) -> FloatArray:
        """Several of a person's batches: the atoms of their tosses, and a draw at each."""
        losses, chances = self._atoms[parts]
        profile = walk(self._draws(len(parts)))
        spread = profile(epsilon[:, None] - losses)
        found: FloatArray = spread @ chances
        return found * (1 + 1e-12) + len(parts) * _HULL * (1 + np.exp(np.minimum(epsilon, 700.0)))

    @cached_property
    def _partitions(self) -> list[tuple[int, ...]]:
        """The partitions of a person's rounds into parts that fit into the batches."""
        largest = len(self.shifts)
        if self.rounds >= largest * self.decisions:
            return [(largest,) * self.decisions]
        return [parts for parts in _partitions(self.rounds, largest) if len(parts) <= self.decisions]

    @cached_property
    def _atoms(self) -> dict[tuple[int, ...], tuple[FloatArray, FloatArray]]:
        """Losses and probabilities of all tosses of a partition, and of its beginnings."""
        found: dict[tuple[int, ...], tuple[FloatArray, FloatArray]] = {(): (np.zeros(1), np.ones(1))}
        single = [toss_atoms(self.least, self.spread, shift) for shift in self.shifts]
        grid = self.width * _FINE

        def atoms(parts: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
            if parts not in found:
                (losses, chances), (more, likely) = atoms(parts[:-1]), single[parts[-1] - 1]
                found[parts] = _merged((losses[:, None] + more).ravel(), (chances[:, None] * likely).ravel(), grid)
            return found[parts]

        for parts in self._partitions:
            atoms(parts)
        return found


class _Nothing:
    """The profile V_0 of releasing nothing, which no draw follows."""

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(epsilon, 0.0))

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self(kept), self(drawn)


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Falling sequences of parts of at most `largest` that sum to `total`."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)


def _merged(losses: FloatArray, chances: FloatArray, grid: float) -> tuple[FloatArray, FloatArray]:
    """The same atoms with losses rounded up to a grid, if there are many."""
    if len(losses) <= 64 or grid <= 0:
        return losses, chances
    cells, where = np.unique(np.ceil(losses / grid), return_inverse=True)
    return cells * grid * (1 + 1e-14), np.bincount(where, chances).astype(np.float64)
