"""The probability simplex, in its affine hull."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.barrier import EDGE, Barrier, barrier_point, outside
from tacit.domains.convex_set import BarrierSet, FixedSumSet, read_only
from tacit.validation import FloatArray, check_dimension


@dataclass(frozen=True, eq=False)
class Simplex(FixedSumSet, BarrierSet):
    """The probability distributions over `dim` outcomes.

    >>> Simplex(3).minimize_linear([0.5, 0.2, 0.9])
    array([0., 1., 0.])
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_dimension("Simplex", "dim", self.dim, at_least=2))

    @property
    def dimension(self) -> int:
        return self.dim

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(np.full(self.dim, 1.0 / self.dim))

    @property
    def inner_radius(self) -> float:
        return 1.0 / math.sqrt(self.dim * (self.dim - 1))

    @property
    def radius(self) -> float:
        return math.sqrt(1.0 - 1.0 / self.dim)

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0)

    @property
    def barrier(self) -> Barrier:
        return SimplexBarrier(self.dim)

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.zeros(self.dim)
        vertex[direction.argmin()] = 1.0
        return vertex

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        return bool(point.min() >= -tolerance and abs(point.sum() - 1.0) <= tolerance * math.sqrt(self.dim))

    def nearest(self, point: FloatArray) -> FloatArray:
        return project_to_simplex(point, 1.0)


class SimplexBarrier(Barrier):
    """-sum ln(n x_i): at least 0 on the simplex, since the mean of n x_i is 1 there."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self.parameter = float(dim)

    def value(self, point: ArrayLike) -> float:
        checked = barrier_point("SimplexBarrier", point, self._dim)
        return float(-np.log(self._dim * checked).sum()) if checked.min() > 0.0 else math.inf

    def gradient(self, point: ArrayLike) -> FloatArray:
        return -1.0 / self._interior(point)

    def hessian(self, point: ArrayLike) -> FloatArray:
        return np.diag(self._interior(point) ** -2.0)

    def _interior(self, point: ArrayLike) -> FloatArray:
        checked = barrier_point("SimplexBarrier", point, self._dim)
        if not checked.min() > EDGE:
            raise outside("Simplex")
        return checked


def project_to_simplex(point: FloatArray, total: float) -> FloatArray:
    """The nearest non-negative vector with the given sum, by sorting."""
    # Moving along the ones does not change the projection, and keeps the running sums small.
    # Whatever lies farther below the largest entry than the total becomes 0: no sum overflows.
    with np.errstate(over="ignore"):
        shifted = np.maximum(point - point.max(), -total)
    descending = -np.sort(-shifted)
    excess = np.cumsum(descending) - total
    counts = np.arange(1, len(point) + 1)
    last = np.flatnonzero(descending * counts > excess)[-1]
    threshold = float(excess[last]) / float(counts[last])
    nearest: FloatArray = np.maximum(shifted - threshold, 0.0)
    return nearest
