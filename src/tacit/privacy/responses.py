"""Several pure guarantees together: the exact composition of randomised responses.

Every epsilon-DP mechanism is dominated by randomised response, whose privacy loss is +-epsilon, + with probability
1/(1 + e^-epsilon); dominating pairs compose adaptively (Kairouz, Oh and Viswanath, 2015). So the loss of many is a
walk with these steps, and delta(eps) = E(1 - e^{eps - walk})_+. Equal steps make a binomial walk, and a few different
ones a walk that can be listed: both exact. Walks with more places than that are rounded up to a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p, prod
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tacit.privacy.calibration import smallest
from tacit.privacy.conversion import ROUND_UP
from tacit.privacy.curves import Curve, Pure
from tacit.privacy.rounding import sum_up
from tacit.validation import FloatArray, check_integer, check_number, invalid

# Walks with more places than this are rounded up to a grid, their steps to a coarser one.
_PLACES, _STEP_PLACES = 2**16, 2**9
_LONGEST = 10**5
# Grids end where less than this is beyond: below, it is rounded up into the grid; above, it counts as lost.
_TAIL = 1e-25
# Below this delta the walk's floats end; Renyi and the plain sum go on.
_LEAST = 1e-20


@dataclass(frozen=True)
class Responses(Curve):
    """Pure guarantees composed: `counts[i]` of them with epsilon `values[i]`.

    >>> round(Responses((0.1,), (100,)).epsilon(9e-6), 2), Responses((0.5, 1.0), (1, 1)).epsilon(0.0)
    (4.33, 1.5)
    """

    values: Sequence[float]
    counts: Sequence[int]
    notion: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        for name, listed in (("values", self.values), ("counts", self.counts)):
            if not isinstance(listed, list | tuple) or len(listed) != len(self.values) or not listed:
                raise invalid("Responses", name, "a list of as many numbers as there are counts, at least one", listed)
        values = (check_number("Responses", "values", value, above=0.0, closed_low=True) for value in self.values)
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "counts", tuple(check_integer("Responses", "counts", count) for count in self.counts))

    def renyi(self, orders: FloatArray) -> FloatArray:
        total = np.zeros_like(orders)
        for value, count in zip(self.values, self.counts, strict=True):
            total = total + count * Pure(value).renyi(orders)
        return total * ROUND_UP

    def pure(self) -> float:
        if sum(self.counts) <= _LONGEST:
            return sum_up(v for value, count in zip(self.values, self.counts, strict=True) for v in [value] * count)
        return sum_up(value * count for value, count in zip(self.values, self.counts, strict=True)) * ROUND_UP

    def epsilon(self, delta: float) -> float:
        known = super().epsilon(delta)
        if delta < _LEAST or max(self.counts) > _LONGEST:
            return known
        return min(known, smallest(lambda e: self._walked(e) <= delta, 0.0, self.pure(), 1e-12))

    def delta(self, epsilon: float) -> float:
        known = super().delta(epsilon)
        return known if max(self.counts) > _LONGEST else min(known, max(self._walked(epsilon), _LEAST))

    def _walked(self, epsilon: float) -> float:
        if epsilon >= self.pure():
            return 0.0
        places, weights, lost, inflation = self._walk
        # Places are known up to rounding of their sums: epsilon is read that much lower.
        gain = -np.expm1(np.minimum(epsilon - 1e-14 * self.pure() - places, 0.0))
        return min(1.0, lost + float(weights @ gain) * inflation)

    @cached_property
    def _walk(self) -> tuple[FloatArray, FloatArray, float, float]:
        """Where the walk may be, with what probability, what is lost, and how much rounding may have taken."""
        places, weights, lost, inflation = np.zeros(1), np.ones(1), 0.0, ROUND_UP
        rounded = prod(count + 1 for count in self.counts) > _PLACES and len(self.counts) > 1
        for value, count in sorted(zip(self.values, self.counts, strict=True)):
            steps, chances = _binomial_walk(value, count)
            inflation *= 1 + 1e-15 * (3 * float(gammaln(count + 1)) + count * (1 + value) + 10)
            if rounded:
                steps, chances, missed = _on_grid(steps, chances, _STEP_PLACES)
                lost += missed
            places, weights = (places[:, None] + steps).ravel(), (weights[:, None] * chances).ravel()
            if rounded:
                places, weights, missed = _on_grid(places, weights, _PLACES // 8)
                lost += missed
        return places, weights, lost * inflation, inflation


def _binomial_walk(value: float, count: int) -> tuple[FloatArray, FloatArray]:
    ups = np.arange(count + 1.0)
    ways = gammaln(count + 1) - gammaln(ups + 1) - gammaln(count - ups + 1)
    with np.errstate(under="ignore"):
        return (2 * ups - count) * value, np.exp(ways - (count - ups) * value - count * log1p(exp(-value)))


def _on_grid(places: FloatArray, weights: FloatArray, points: int) -> tuple[FloatArray, FloatArray, float]:
    """The same walk with places rounded up to so many points; what lies too far above is lost."""
    if len(places) <= points:
        return places, weights, 0.0
    order = np.argsort(places)
    places, weights = places[order], weights[order]
    beyond = np.add.accumulate(weights[::-1])[::-1]  # the chance of this place or a higher one
    last = max(int(np.searchsorted(-beyond, -_TAIL, side="right")), 1)
    first = min(int(np.searchsorted(np.add.accumulate(weights), _TAIL)), last - 1)
    lost = float(np.add.reduce(weights[last:]))
    if not places[last - 1] > places[first]:  # all that is not lost is in one place
        return places[first : first + 1], np.array([float(np.add.reduce(weights[:last]))]), lost
    step = (places[last - 1] - places[first]) / (points - 1)
    cells = np.maximum(np.ceil((places[:last] - places[first]) / step * (1 - 1e-12)), 0).astype(np.int64)
    summed = np.bincount(cells, weights[:last]).astype(np.float64)
    return places[first] + step * (1 + 1e-12) * np.arange(len(summed)), summed, lost
