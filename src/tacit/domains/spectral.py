"""The ball of the nuclear norm, whose extreme points are the matrices of rank one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.domains.convex_set import FullDimensionalSet, ProjectableSet, read_only
from tacit.domains.simplex import project_to_simplex
from tacit.validation import FloatArray, check_dimension, check_positive


@dataclass(frozen=True, eq=False)
class NuclearBall(FullDimensionalSet, ProjectableSet):
    """The matrices whose singular values sum to at most `radius`, as vectors in row order.

    Distances are those of the vectors: the Frobenius norm.

    >>> NuclearBall(2, 2, radius=3.0).minimize_linear([0.0, 0.0, 0.0, 2.0]).round(12) + 0.0
    array([ 0.,  0.,  0., -3.])
    """

    rows: int
    columns: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", check_dimension("NuclearBall", "rows", self.rows))
        object.__setattr__(self, "columns", check_dimension("NuclearBall", "columns", self.columns))
        check_dimension("NuclearBall", "rows * columns", self.rows * self.columns)
        object.__setattr__(self, "radius", check_positive("NuclearBall", "radius", self.radius))

    @property
    def dimension(self) -> int:
        return self.rows * self.columns

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(np.zeros(self.dimension))

    @property
    def inner_radius(self) -> float:
        """The nuclear norm is at most sqrt(rank) times the Frobenius norm, with equality for equal singular values."""
        return self.radius / math.sqrt(min(self.rows, self.columns))

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius

    def _minimize(self, direction: FloatArray) -> FloatArray:
        size = float(np.abs(direction).max())
        matrix = direction.reshape(self.rows, self.columns) / (size or 1.0)
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        return np.outer(-self.radius * left[:, 0], right[0]).ravel()

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        values = np.linalg.svd(point.reshape(self.rows, self.columns), compute_uv=False)
        return float(values.sum()) <= self.radius + tolerance * math.sqrt(len(values))

    def nearest(self, point: FloatArray) -> FloatArray:
        matrix = self._near(point).reshape(self.rows, self.columns)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        if values.sum() <= self.radius:
            return point.copy()
        nearest: FloatArray = (left * project_to_simplex(values, self.radius)) @ right
        return nearest.ravel()
