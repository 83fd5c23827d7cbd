"""The ball of the nuclear norm, whose extreme points are the matrices of rank one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from tacit.domains.convex_set import FullDimensionalSet, ProjectableSet, read_only
from tacit.domains.simplex import project_to_simplex
from tacit.validation import FloatArray, check_dimension, check_positive

# Below this, all singular values come as fast as one.
DENSE_SIDE = 64


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
        left, right = _leading_pair(direction.reshape(self.rows, self.columns))
        return np.outer(-self.radius * left, right).ravel()

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


def _leading_pair(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    side = min(matrix.shape)
    size = float(np.abs(matrix).max())
    if size > 0.0:
        matrix = matrix / size
        if side > DENSE_SIDE:
            # A fixed start without structure: the answer must not depend on a hidden generator.
            start = np.cos(np.arange(side) ** 2 + 1.0)
            try:
                left, _, right = scipy.sparse.linalg.svds(matrix, k=1, v0=start, solver="arpack")
                return left[:, 0], right[0]
            except scipy.sparse.linalg.ArpackError:
                pass  # no convergence: all singular vectors are computed below
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left[:, 0], right[0]
