"""What `LiveArms` hopes of an arm: the law from which it draws a mean, and who has the largest draw.

Rewards are 1 - loss, in units of the loss range. After block j an arm has blocks of m_1..m_j rounds and the estimate
X = sum_i w_i Y_i of their noisy means. With c_i = w_i/m_i and s on one public grid for each j,

    Lambda_j(X, x) = max_s [ -s X - sum_i m_i ln(1 - x + x e^{-s c_i}) - sum_i nu(s c_i) ]

is the Chernoff rate of "the estimate is X or less although the mean is x", rewards and noise together; nu is the
logarithm of the noise's moment generating function. The drawn mean theta has P[theta > x] = exp(-heat Lambda(x)) for
x > X, where Lambda(x) is the largest of 0 and of the tangents of Lambda_j(X, x) at points X + t_k, t_{k+1} = SPACING
t_k. Lambda_j is convex in x, so Lambda <= Lambda_j, and Lambda(X + t) >= Lambda_j(X, X + t/SPACING). Above x = 1,
where no mean is, the last tangent goes on.

An arm's share is the probability that its draw is the largest: between two neighbouring kinks of all arms every Lambda
is a line, and the integral is taken by Gauss's rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, sinh, sqrt

import numpy as np

from tacit.validation import FloatArray

RATIO = 1.5  # by which the rounds of an arm grow from block to block
CAUTIOUS, BOLD = 1.15, 2.0  # heat: while noise rules, and after
SETTLED = 6  # noise rules until the rewards of an arm have so many times its variance
SLOPE_RATIO, SPACING = 1.12, 1.06
NODES = 5  # of Gauss's rule, at most
AT_ONCE = 2**22  # numbers of all arms and points of the quadrature that are held at once
STEP = 2.0  # of the exponent, from kink to kink of the last tangent
REMEMBERED = 1024  # laws and shares: audits ask for few of them again and again
CERTAIN = 45.0  # draws beyond this exponent are looked at no more: e^-45 of a share is nothing in float64


@dataclass(frozen=True)
class Noise:
    """The noise in the sum of a block, in units of one reward: its moments and their bound."""

    factor: float  # by which a two-sided geometric variable is multiplied: one over the steps of a round
    rate: float  # of that variable

    @property
    def variance(self) -> float:
        """That of the sum's noise."""
        return self.factor**2 / (2 * sinh(self.rate / 2) ** 2)

    def tilted_moments(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The variance under the law that is tilted by e^{slope noise}, and a bound of the sum of third moments.

        Tilted, the variable is the difference of two one-sided ones of rates rate - slope and rate + slope, with
        second and fourth cumulants p/(1-p)^2 and p (1 + 4 p + p^2)/(1-p)^4; E |x|^3 <= sqrt(E x^2 E x^4) for each.
        """
        variance, third = np.zeros_like(slopes), np.zeros_like(slopes)
        for sign in (-1.0, 1.0):
            p = np.exp(-(self.rate + sign * self.factor * slopes))
            second = p / (1 - p) ** 2
            fourth = p * (1 + 4 * p + p * p) / (1 - p) ** 4 + 3 * second**2
            variance += self.factor**2 * second
            third += self.factor**3 * np.sqrt(second * fourth)
        return variance, third

    def exponent(self, slopes: FloatArray) -> FloatArray:
        """nu: the logarithm of the moment generating function, exactly."""
        return np.asarray(-np.log1p(-((np.sinh(slopes * self.factor / 2) / np.sinh(self.rate / 2)) ** 2)))


@dataclass(frozen=True, eq=False)
class Stage:
    """What is known of an arm after j blocks, before any data."""

    lengths: FloatArray  # m_1..m_j
    tilts: FloatArray  # c_i = w_i/m_i of each block
    deviation: float  # of the estimate, at most
    noise: Noise  # of each sum
    heat: float  # by which the exponent of a draw is multiplied

    @cached_property
    def slopes(self) -> FloatArray:
        """The grid of s, from a small part of what a sub-Gaussian estimate uses to the end of the noise's moments."""
        top = min(0.999 * (self.noise.rate / self.noise.factor), 30.0) / float(self.tilts.max())
        bottom = min(0.05 / self.deviation, top / 4)
        return np.geomspace(bottom, top, 2 + ceil(np.log(top / bottom) / np.log(SLOPE_RATIO)))

    @cached_property
    def _losses(self) -> FloatArray:
        """1 - e^{-s c_i} for each slope and block."""
        return np.asarray(-np.expm1(-self.slopes[:, None] * self.tilts))

    @cached_property
    def noises(self) -> FloatArray:
        """sum_i nu(s c_i) for each slope."""
        return np.asarray(self.noise.exponent(self.slopes[:, None] * self.tilts).sum(axis=1))

    @np.errstate(all="ignore")
    def rates(self, estimate: float, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lambda_j(estimate, x) and its slope in x, for means x up to 1."""
        shrunk = self._losses
        values = np.empty((len(self.slopes), len(means)))
        values[:] = (-self.slopes * estimate - self.noises)[:, None]
        for block, length in enumerate(self.lengths):
            values -= length * np.log1p(-shrunk[:, block, None] * means)
        best = values.argmax(axis=0)
        chosen = shrunk[best]
        steep = (self.lengths * chosen / (1 - chosen * means[:, None])).sum(axis=1)
        return values[best, np.arange(len(means))], np.asarray(steep)

    @lru_cache(maxsize=REMEMBERED)  # noqa: B019, a stage lives as long as its plan
    def hope(self, estimate: float) -> Hope:
        """The law of an arm's drawn mean: a function of what was released."""
        first = self.deviation / 25
        reach = max(1.0 - estimate, 2 * first)
        distances = np.append(first * SPACING ** np.arange(ceil(np.log(reach / first) / np.log(SPACING))), reach)
        means = estimate + distances
        values, steep = self.rates(estimate, np.minimum(means, 1.0))
        begin = int(np.searchsorted(values, 0.0, side="right"))  # below 0 the line of no exponent is the tangent
        begin = min(begin, len(values) - 1)
        end = begin + 1 + int(np.searchsorted(values[begin:], CERTAIN / self.heat))
        return _tangents(self.heat, means[begin:end], np.maximum(values[begin:end], 0.0), steep[begin:end])


@dataclass(frozen=True, eq=False)
class Hope:
    """Where the drawn mean of an arm lies: the exponent is piecewise linear between the kinks, 0 at the first one."""

    kinks: FloatArray  # x
    rates: FloatArray  # heat times Lambda at the kinks

    def lines(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The exponent and its slope at points above the first kink; beyond the last one nothing is drawn."""
        slopes = np.diff(self.rates) / np.maximum(np.diff(self.kinks), 1e-300)
        cell = np.minimum(np.searchsorted(self.kinks, points, side="right") - 1, len(slopes) - 1)
        slope = slopes[cell]
        exponents = self.rates[cell] + slope * (points - self.kinks[cell])
        return np.where(points <= self.kinks[-1], exponents, np.inf), slope


def _tangents(heat: float, means: FloatArray, values: FloatArray, steep: FloatArray) -> Hope:
    """The upper envelope of 0 and of the tangents at `means`; each is met with the next one."""
    starts = values - steep * means  # each line is starts + steep x
    rising = np.append(True, np.diff(steep) > 0)
    starts, steep, means, values = starts[rising], steep[rising], means[rising], values[rising]
    meet = -np.diff(starts) / np.diff(steep)
    # A rounding error must not put a kink outside its cell.
    meet = np.clip(meet, means[:-1], means[1:])
    first = min(float(-starts[0] / steep[0]), float(means[0]))
    rates = np.concatenate([[0.0], starts[:-1] + steep[:-1] * meet])
    # The last tangent goes on, in steps that Gauss's rule can follow.
    reached = float(values[-1])
    further = np.linspace(reached, max(reached, CERTAIN / heat), 2 + int(max(0.0, CERTAIN - heat * reached) / STEP))
    kinks = np.concatenate([[first], meet, (further - starts[-1]) / steep[-1]])
    rates = np.concatenate([rates, further])
    return Hope(np.maximum.accumulate(kinks), heat * np.maximum.accumulate(np.maximum(rates, 0.0)))


def shares(hopes: Sequence[Hope]) -> FloatArray:
    """The probability that each arm's draw is the largest."""
    return _shares(tuple(hopes)).copy() if len(hopes) > 1 else np.ones(1)


@lru_cache(maxsize=REMEMBERED)
@np.errstate(all="ignore")
def _shares(hopes: tuple[Hope, ...]) -> FloatArray:
    start = max(float(hope.kinks[0]) for hope in hopes)  # below it somebody's draw is surely larger
    rivals = [arm for arm, hope in enumerate(hopes) if hope.kinks[-1] > start]  # the others never reach it
    edges = np.unique(np.concatenate([[start], *(hopes[arm].kinks[hopes[arm].kinks > start] for arm in rivals)]))
    nodes, weights = _gauss(len(rivals))
    half = np.diff(edges)[:, None] / 2
    points, weights = (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
    found, size = np.zeros(len(hopes)), max(1, AT_ONCE // len(rivals))
    for first in range(0, len(points), size):
        part = points[first : first + size]
        exponents, slopes = np.moveaxis(np.array([hopes[arm].lines(part) for arm in rivals]), 1, 0)
        above = np.exp(-exponents)
        logs = np.log(np.maximum(-np.expm1(-exponents), 1e-300))
        found[rivals] += (slopes * above * np.exp(logs.sum(axis=0) - logs)) @ weights[first : first + size]
    return np.asarray(found / found.sum())


@lru_cache(maxsize=NODES)
def _gauss(rivals: int) -> tuple[FloatArray, FloatArray]:
    """Gauss's rule between two kinks: the more arms there are, the closer are kinks."""
    return np.polynomial.legendre.leggauss(NODES if rivals <= 4 else 3 if rivals <= 32 else 2)


@dataclass(frozen=True)
class Blocks:
    """The public schedule of an arm's blocks, without an end."""

    first: int  # n_1
    noise: Noise  # in the sum of a block
    variance: float  # of one reward, at most

    @cached_property
    def _stages(self) -> dict[int, Stage]:
        return {}

    @cached_property
    def _ends(self) -> list[int]:
        return [0, self.first]

    def end(self, block: int) -> int:
        """n_j: how many rounds an arm has when its block `block` is complete; 0 for block 0."""
        while len(self._ends) <= block:
            self._ends.append(ceil(RATIO * self._ends[-1]))
        return self._ends[block]

    def length(self, block: int) -> int:
        """m_j, j = 1, 2, .."""
        return self.end(block) - self.end(block - 1)

    def precision(self, block: int) -> float:
        """What block j weighs, before weights are made to add up to 1: one over the variance of its noisy mean."""
        rounds = self.length(block)
        return rounds**2 / (rounds * self.variance + self.noise.variance)

    def stage(self, block: int) -> Stage:
        """What is known of an arm after so many blocks."""
        if block not in self._stages:
            lengths = np.array([self.length(j) for j in range(1, block + 1)], dtype=float)
            precisions = np.array([self.precision(j) for j in range(1, block + 1)])
            weights = precisions / precisions.sum()
            deviation = 1 / sqrt(float(precisions.sum()))
            heat = BOLD if self.end(block) >= SETTLED * self.noise.variance / self.variance else CAUTIOUS
            self._stages[block] = Stage(lengths, weights / lengths, deviation, self.noise, heat)
        return self._stages[block]
