"""Convex hulls of subsets of a fixed size and of permutations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from tacit.domains.convex_set import ConvexSet, FixedSumSet, read_only
from tacit.domains.hull import complement_of_ones
from tacit.validation import LARGEST_DIMENSION, FloatArray, check_dimension, check_integer


@dataclass(frozen=True, eq=False)
class KSubsets(FixedSumSet):
    """The convex hull of the 0/1 vectors of length n with k ones: {0 <= x <= 1, sum x = k}.

    >>> KSubsets(n=4, k=2).minimize_linear([3.0, 1.0, 2.0, 4.0])
    array([0., 1., 1., 0.])
    """

    n: int
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_dimension("KSubsets", "n", self.n, at_least=2))
        object.__setattr__(self, "k", check_integer("KSubsets", "k", self.k, at_least=1, at_most=self.n - 1))

    @property
    def dimension(self) -> int:
        return self.n

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(np.full(self.n, self.k / self.n))

    @property
    def inner_radius(self) -> float:
        """The distance to the nearer facets: within the hull, x_i grows by sqrt(1 - 1/n) per unit."""
        return min(self.k, self.n - self.k) / math.sqrt(self.n * (self.n - 1))

    @property
    def radius(self) -> float:
        return math.sqrt(self.k * (self.n - self.k) / self.n)

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0 * min(self.k, self.n - self.k))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.zeros(self.n)
        vertex[np.argpartition(direction, self.k - 1)[: self.k]] = 1.0
        return vertex

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        inside = point.min() >= -tolerance and point.max() <= 1.0 + tolerance
        return bool(inside and abs(point.sum() - self.k) <= tolerance * math.sqrt(self.n))


@dataclass(frozen=True, eq=False)
class Birkhoff(ConvexSet):
    """The doubly stochastic k x k matrices, as vectors of length k*k in row order.

    >>> Birkhoff(2).minimize_linear([1.0, 0.0, 0.0, 1.0]).reshape(2, 2)
    array([[0., 1.],
           [1., 0.]])
    """

    k: int

    def __post_init__(self) -> None:
        most = math.isqrt(LARGEST_DIMENSION)
        object.__setattr__(self, "k", check_integer("Birkhoff", "k", self.k, at_least=2, at_most=most))

    @property
    def dimension(self) -> int:
        return self.k**2

    @property
    def hull_dimension(self) -> int:
        return (self.k - 1) ** 2

    @property
    def hull_basis(self) -> FloatArray:
        """The Kronecker square of a basis of the vectors with sum 0; `to_hull` and `from_hull` never form it."""
        return np.kron(self._side_basis, self._side_basis).astype(np.float64, copy=False)

    @cached_property
    def centre(self) -> FloatArray:
        return read_only(np.full(self.k**2, 1.0 / self.k))

    @property
    def inner_radius(self) -> float:
        """The distance to the facets x_ij = 0: within the hull, x_ij grows by 1 - 1/k per unit."""
        return 1.0 / (self.k - 1)

    @property
    def radius(self) -> float:
        return math.sqrt(self.k - 1)

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0 * self.k)

    def lift(self, direction: FloatArray) -> FloatArray:
        """Compute Q Y Q^T, for the basis Q of one side."""
        rows = self._vectors(direction, self.hull_dimension)
        matrix = rows.reshape(*rows.shape[:-1], self.k - 1, self.k - 1)
        lifted = self._side_basis @ matrix @ self._side_basis.T
        return lifted.reshape(*rows.shape[:-1], self.dimension)

    def restrict(self, direction: FloatArray) -> FloatArray:
        """Compute Q^T X Q, for the basis Q of one side."""
        rows = self._vectors(direction, self.dimension)
        matrix = rows.reshape(*rows.shape[:-1], self.k, self.k)
        restricted = self._side_basis.T @ matrix @ self._side_basis
        return restricted.reshape(*rows.shape[:-1], self.hull_dimension)

    @cached_property
    def _side_basis(self) -> FloatArray:
        return read_only(complement_of_ones(self.k))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.zeros((self.k, self.k))
        vertex[scipy.optimize.linear_sum_assignment(direction.reshape(self.k, self.k))] = 1.0
        return vertex.ravel()

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        matrix = point.reshape(self.k, self.k)
        sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
        slack = tolerance * math.sqrt(self.k)
        return bool(matrix.min() >= -tolerance and np.abs(sums - 1.0).max() <= slack)
