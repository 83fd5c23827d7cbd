"""Boxes: an interval for each coordinate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.barrier import EDGE, Barrier, barrier_point, outside
from tacit.domains.convex_set import BarrierSet, FullDimensionalSet, read_only
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_dimension, check_positive, invalid, real_array


@dataclass(frozen=True, eq=False)
class Box(FullDimensionalSet, BarrierSet):
    """The points with low <= x <= high in every coordinate.

    >>> Box([0, 0], [1, 2]).minimize_linear([1.0, -1.0])
    array([0., 2.])
    """

    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        low = real_array("Box", "low", self.low, (None,))
        high = real_array("Box", "high", self.high, (len(low),))
        finite = len(low) and np.abs(low).max() <= LARGEST and np.abs(high).max() <= LARGEST
        if not (finite and (high - low).min() >= SMALLEST):
            raise invalid("Box", "high", "finite and above a finite 'low' in every coordinate", high.tolist())
        object.__setattr__(self, "low", read_only(low))
        object.__setattr__(self, "high", read_only(high))

    @classmethod
    def cube(cls, dim: int, half_width: float = 1.0) -> Box:
        """Make the cube [-half_width, half_width]^dim."""
        side = np.full(check_dimension("Box.cube", "dim", dim), check_positive("Box.cube", "half_width", half_width))
        return cls(-side, side)

    @property
    def dimension(self) -> int:
        return len(self.low)

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(self.low / 2.0 + self.high / 2.0)

    @cached_property
    def inner_radius(self) -> float:
        return float((self.high / 2.0 - self.low / 2.0).min())

    @cached_property
    def radius(self) -> float:
        return float(np.linalg.norm(self.high / 2.0 - self.low / 2.0))

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius

    @property
    def barrier(self) -> Barrier:
        return BoxBarrier(self.low, self.high)

    def barrier_stiffness(self, slope: float) -> float:
        """Bound each coordinate by itself: the smaller slack s has 1/s <= |grad_i| + 1/h_i, h half of the side."""
        half = self.high / 2.0 - self.low / 2.0
        return math.sqrt(2.0) * (slope + float(np.linalg.norm(1.0 / half)))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        return np.where(direction > 0.0, self.low, self.high)

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        return bool((point >= self.low - tolerance).all() and (point <= self.high + tolerance).all())

    def nearest(self, point: FloatArray) -> FloatArray:
        return np.minimum(np.maximum(point, self.low), self.high)


class BoxBarrier(Barrier):
    """-sum ln((x_i - low_i)(high_i - x_i)/h_i^2), with h half of the sides."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self._low = low
        self._high = high
        self.parameter = 2.0 * len(low)

    def value(self, point: ArrayLike) -> float:
        below, above = self._slacks(point)
        if not (below.min() > 0.0 and above.min() > 0.0):
            return math.inf
        half = (self._high - self._low) / 2.0
        return float(-(np.log(below / half) + np.log(above / half)).sum())

    def gradient(self, point: ArrayLike) -> FloatArray:
        below, above = self._interior(point)
        return 1.0 / above - 1.0 / below

    def hessian(self, point: ArrayLike) -> FloatArray:
        below, above = self._interior(point)
        return np.diag(above**-2.0 + below**-2.0)

    def _slacks(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        checked = barrier_point("BoxBarrier", point, len(self._low))
        return checked - self._low, self._high - checked

    def _interior(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        below, above = self._slacks(point)
        if not (below.min() > EDGE and above.min() > EDGE):
            raise outside("Box")
        return below, above
