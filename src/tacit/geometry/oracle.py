"""What sets have in common that are given by a combinatorial oracle: their hull is found by asking it."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.geometry.base import MeasuredSet, read_only
from tacit.geometry.hull import Hull, chebyshev_centre, hull_from_oracle
from tacit.validation import FloatArray

# Up to this many elements (or vertices of a graph) all subsets are listed, 4096 inequalities.
LISTED = 12


@dataclass(frozen=True, eq=False)
class OracleSet(MeasuredSet):
    """A polytope behind an oracle: hull, centre and inner ball are computed, not known in closed form.

    Where all inequalities of the polytope can be listed, the inner ball is the largest one (a linear programme) and
    membership is exact; otherwise the ball is the certified one of `hull_from_oracle` and membership is decided
    by the distance to the hull of the vertices that the oracle returns.
    """

    @abstractmethod
    def _inequalities(self) -> tuple[FloatArray, FloatArray] | None:
        """Rows and bounds that define the polytope within its affine hull, or None if they are too many."""

    @property
    def hull_dimension(self) -> int:
        """The dimension of the affine hull."""
        return int(self._hull.basis.shape[1])

    @property
    def hull_basis(self) -> FloatArray:
        """An orthonormal basis of the directions of the hull."""
        return self._hull.basis

    @cached_property
    def diameter(self) -> float:
        """An upper bound: the diagonal of the bounding box, or twice the radius if that is less."""
        low, high = self._bounding_box
        return min(2.0 * self.radius, float(np.linalg.norm(high - low)))

    @cached_property
    def _hull(self) -> Hull:
        # Where the inequalities are listed, the inner ball comes from them.
        probes = 4 if self._listed is None else 0
        hull = hull_from_oracle(self._minimize, self.dimension, probes)
        read_only(hull.basis)
        return hull

    @cached_property
    def _listed(self) -> tuple[FloatArray, FloatArray] | None:
        return self._inequalities()

    @cached_property
    def _inner_ball(self) -> tuple[FloatArray, float]:
        certified = (read_only(self._hull.centre), self._hull.inner_radius)
        if self._listed is None:
            return certified
        centre, radius = chebyshev_centre(*self._listed, self._hull.centre, self._hull.basis)
        return (read_only(centre), radius) if radius > certified[1] else certified

    @cached_property
    def _bounding_box(self) -> tuple[FloatArray, FloatArray]:
        # The oracle was asked along every axis when the hull was found.
        return self._hull.vertices.min(axis=0), self._hull.vertices.max(axis=0)

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        if self._listed is None:
            return super()._contains(point, tolerance)
        offset = point - self._hull.centre
        away = offset - self._hull.basis @ (self._hull.basis.T @ offset)
        rows, bounds = self._listed
        lengths = np.linalg.norm(rows, axis=1)
        return bool(np.linalg.norm(away) <= tolerance and (rows @ point <= bounds + tolerance * lengths).all())


@dataclass(frozen=True, eq=False)
class ZeroOneSet(OracleSet):
    """An oracle set whose vertices are 0/1 vectors, so that squared distances are linear in a vertex."""

    @cached_property
    def radius(self) -> float:
        """The largest distance from the centre: |v - c|^2 = <1 - 2c, v> + |c|^2, one call of the oracle."""
        farthest = self._minimize(2.0 * self.centre - 1.0)
        return float(np.linalg.norm(farthest - self.centre))

    @cached_property
    def diameter(self) -> float:
        """An upper bound: two vertices differ in at most 2s and at most 2n - 2z of the n coordinates that vary.

        Here s is the largest and z the smallest number of ones of a vertex among these coordinates.
        """
        low, high = self._bounding_box
        varies = np.where(high > low, 1.0, 0.0)
        most = float(self._minimize(-varies) @ varies)
        least = float(self._minimize(varies) @ varies)
        count = float(varies.sum())
        return min(2.0 * self.radius, math.sqrt(min(2.0 * most, 2.0 * (count - least), count)))
