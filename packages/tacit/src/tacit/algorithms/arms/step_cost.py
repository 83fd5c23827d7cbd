"""What a step of a learner on the simplex may cost: a separable bound whose supremum is proved on cells.

A learner plays class i of K with chance p_i and credits it (f - c_i)/p_i + c_i - 1/2, the others c_j - 1/2: f is the
release of a mean, c_i = c(p_i) a baseline that rises with p_i. A regulariser that is a sum over classes, and credits
from which f - 1/2 is subtracted (this changes no decision), bound the cost of a step by sum_i phi(p_i), with

    phi(p) = a(p) [ p max_{s in {0,n}} E_s u((f - c)(1-p)/a(p)) + (1-p) max_{s in {0,n}} E_s u((c - f) p/a(p)) ]

    Tsallis entropy of power q:   a(p) = A p^q,   u(z) = z - ((1-q)/q) (1 - (1+z)^{-q/(1-q)})
    entropy (its limit q -> 1):   a(p) = p/eta,   u(z) = e^{-z} - 1 + z

E_s is the mean over a release of sum s. Since sum p_i = 1, a step costs at most lambda + K sup_p (phi(p) - lambda p)
for every real lambda. The supremum is the largest of proved bounds on cells of p, not the largest value at points:
docs/algorithms/batched-tsallis.md has the lemma.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.validation import FloatArray

# A law with more outcomes is thinned: mass moves to the ends of cells, which raises means of convex functions.
MOST_OUTCOMES = 65
# What a law that is played instead of the analysed one, up to rounding, may cost a round.
TOLERANCE_COST = 1e-9
# The rounding errors of phi are below 1e-9 of it.
ROUND_UP = 1 + 1e-8
# u is evaluated by its second derivative below this, where its digits cancel.
SMALL_STEP = 1e-6
_SMALLEST, _CELLS, _PARTS, _MOST_CELLS = 1e-12, 160, 4, 2**16
_CELL_EXCESS = 1e-4


@dataclass(frozen=True)
class StepCost(ABC):
    """What one step may cost in the analysis, as a function of the learning rate."""

    arms: int  # K, the number of classes
    release: ClippedGeometric  # how the mean of a batch is released

    @property
    @abstractmethod
    def widening(self) -> float:
        """By which share the chance of a class may differ from the analysed one."""

    @property
    @abstractmethod
    def lowest(self) -> float:
        """A bound below (f - c)/a(p), which is below 0."""

    @abstractmethod
    def divergence(self, z: FloatArray) -> FloatArray:
        """Compute u(z), convex, with u(0) = u'(0) = 0: never below it but for rounding."""

    @abstractmethod
    def _baseline(self, eta: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """a(p), above 0, and the baseline c(p), which rises with p."""

    @abstractmethod
    def _kinks(self, eta: float) -> FloatArray:
        """Where the baseline may have kinks."""

    def admissible(self, eta: float) -> bool:
        """Tell whether u is finite at every step of the analysis."""
        return True

    def stability(self, eta: float) -> float:
        """Bound what every step costs: lambda + K sup_p (phi(p) - lambda p), with the supremum proved on cells."""
        if not self.admissible(eta):
            return inf
        rough, slope = self._dual(eta, self._with_kinks(eta, self._fine_points))
        reached, worst = (rough - slope) / self.arms, -inf
        low, high = self._cells
        while low.size:
            bounds = self.cell_bounds(eta, low, high) - slope * np.where(slope > 0, low, high)
            wide = ~(bounds <= reached + _CELL_EXCESS * rough / self.arms) & (low.size < _MOST_CELLS)
            worst = max(worst, float(np.where(np.isnan(bounds), inf, bounds)[~wide].max(initial=-inf)))
            low, high = _split(low[wide], high[wide])
            reached = max(reached, float((self._phi(eta, low) - slope * low).max(initial=-inf)))
        return slope + self.arms * worst + (abs(slope) + self.arms * abs(worst)) * (ROUND_UP - 1)

    def rough_stability(self, eta: float) -> float:
        """Estimate `stability` at a few points: for the search, never for a certificate."""
        return self._dual(eta, self._with_kinks(eta, self._points))[0] if self.admissible(eta) else inf

    def _dual(self, eta: float, p: FloatArray) -> tuple[float, float]:
        """Minimise lambda + K max_p (phi(p) - lambda p) over lambda, on these points; return it and its lambda."""
        phi, place = self._phi(eta, p), int(np.searchsorted(p, 1 / self.arms))
        # At p = 1/K the maximum is attained for every slope between those of the chords to the right and to the left.
        slopes = np.delete(phi - phi[place], place) / np.delete(p - p[place], place)
        low, high = float(slopes[place:].max()), float(slopes[:place].min())
        if low > high:  # elsewhere: the slope in lambda is 1 - K p, and the minimum is where it changes sign
            low, high = high, low
            for _ in range(40):
                middle = (low + high) / 2
                steep = self.arms * p[(phi - middle * p).argmax()] > 1
                low, high = (middle, high) if steep else (low, middle)
        slope = (low + high) / 2
        return slope + self.arms * float((phi - slope * p).max()), slope

    def _with_kinks(self, eta: float, points: FloatArray) -> FloatArray:
        """The points, and the kinks among them."""
        kinks = self._kinks(eta)
        return np.union1d(points, kinks[(kinks > _SMALLEST) & (kinks < 1)])

    def _phi(self, eta: float, p: FloatArray) -> FloatArray:
        scale, c = self._baseline(eta, p)
        values, law = self._outcomes
        played, other = np.full_like(p, -inf), np.full_like(p, -inf)
        for outcomes in (values, 1 - values):  # s = 0, then s = n
            gap = outcomes - c[:, None]
            np.maximum(played, self.divergence(gap * ((1 - p) / scale)[:, None]) @ law, out=played)
            np.maximum(other, self.divergence(-gap * (p / scale)[:, None]) @ law, out=other)
        return scale * (p * played + (1 - p) * other)

    def cell_bounds(self, eta: float, low: FloatArray, high: FloatArray) -> FloatArray:
        """Bound phi on cells [low, high] of p, by the lemma of the page."""
        low, high = self._widened(low, high)
        (scale_low, c_low), (scale, c_high) = self._baseline(eta, low), self._baseline(eta, high)
        rest, flat = 1 - low, (high / scale)[:, None]
        steep = (rest / scale_low)[:, None] * (1 + self.widening)
        deepest = self.lowest * (1 + self.widening) * rest[:, None]
        values, law = self._outcomes
        played, other = np.zeros_like(low), np.zeros_like(low)
        for outcomes in (values, 1 - values):
            above = np.maximum(outcomes - c_low[:, None], 0.0)
            below = np.maximum(c_high[:, None] - outcomes, 0.0)
            # u(z) <= z for z >= 0 holds where p is 0 too.
            up = np.minimum((scale * high)[:, None] * self.divergence(above * steep), high[:, None] * above)
            down = (scale * high)[:, None] * self.divergence(np.maximum(-below * steep, deepest))
            np.maximum(played, np.maximum(up, down) @ law, out=played)
            sides = np.maximum(self.divergence(-above * flat), self.divergence(below * flat))
            np.maximum(other, sides @ law, out=other)
        return (played + scale * rest * other) * ROUND_UP

    def _widened(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cells that hold the law that is played and the analysed one."""
        return low * (1 - self.widening), high * (1 + self.widening)

    @cached_property
    def _cells(self) -> tuple[FloatArray, FloatArray]:
        ends = np.append(0.0, np.geomspace(_SMALLEST, 1.0, _CELLS))
        return ends[:-1], ends[1:]

    @cached_property
    def _points(self) -> FloatArray:
        return np.union1d(np.geomspace(1e-6, 1.0, 60), self._near(33))

    @cached_property
    def _fine_points(self) -> FloatArray:
        return np.union1d(np.geomspace(_SMALLEST, 1.0, 800), self._near(801))

    def _near(self, count: int) -> FloatArray:
        """An odd number of points about 1/K, which is one of them."""
        around = np.geomspace(0.5, 2.0, count) / self.arms
        around[count // 2] = 1 / self.arms
        return np.minimum(around, 1.0)

    @cached_property
    def _outcomes(self) -> tuple[FloatArray, FloatArray]:
        return thinned(self.release.values, self.release.law(0))


def _split(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut cells into parts of equal ratio, the cell at 0 into parts of equal length."""
    shares = np.arange(1, _PARTS)[:, None] / _PARTS
    with np.errstate(divide="ignore"):
        inner = np.where(low > 0, low ** (1 - shares) * high**shares, high * shares)
    ends = np.vstack([low, inner, high])
    return ends[:-1].ravel(), ends[1:].ravel()


def thinned(values: FloatArray, law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give at most MOST_OUTCOMES outcomes with the same mean and no smaller mean of any convex function."""
    if len(values) <= MOST_OUTCOMES:
        return values, law
    keep = np.unique(np.linspace(0, len(values) - 1, MOST_OUTCOMES).round().astype(int))
    ends = values[keep]
    cell = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, len(ends) - 2)
    share = (values - ends[cell]) / (ends[cell + 1] - ends[cell])
    moved = np.bincount(cell, law * (1 - share), len(ends)) + np.bincount(cell + 1, law * share, len(ends))
    return ends, moved.astype(np.float64)
