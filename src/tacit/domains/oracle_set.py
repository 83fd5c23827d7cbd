"""Sets that are given by a linear oracle: their hull is found by asking it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import MeasuredSet, read_only
from tacit.domains.hull import Hull, chebyshev_centre, hull_from_oracle, nearest_end
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_dimension, check_positive, invalid, real_array

Ball = tuple[ArrayLike | Sequence[float], float]
"""The centre and the radius of a ball that is in a set, within its affine hull."""

# Up to this many elements (or vertices of a graph) all subsets are listed, 4096 inequalities.
LISTED = 12


@dataclass(frozen=True, eq=False)
class ProbedSet(MeasuredSet):
    """A polytope behind an oracle: hull, centre and inner ball are computed, not known in closed form.

    Where all inequalities of the polytope can be listed, the inner ball is the largest one (a linear programme) and
    membership is exact; otherwise the ball is the certified one of `hull_from_oracle` and membership is decided
    by the distance to the hull of the vertices that the oracle returns. A `ball` that is given is taken as it is.
    """

    ball: Ball | None = field(default=None, kw_only=True)

    def _inequalities(self) -> tuple[FloatArray, FloatArray] | None:
        """Rows and bounds that define the polytope within its affine hull, or None if they are too many."""
        return None

    def _find_hull(self) -> None:
        """Ask for the hull at the start, and refuse a given ball that is seen to leave the set."""
        name, hull = type(self).__name__, self._hull
        if self.ball is None:
            return
        try:
            centre, radius = self.ball
        except (TypeError, ValueError):
            raise invalid(name, "ball", "a pair of a centre and a radius", self.ball) from None
        point = np.array(real_array(name, "centre", centre, (self.dimension,)))
        radius = check_positive(name, "inner_radius", radius)
        object.__setattr__(self, "ball", (tuple(point.tolist()), radius))
        offset = point - hull.centre
        away = float(np.linalg.norm(offset - hull.basis @ (hull.basis.T @ offset)))
        if not away <= 1e-9 * max(1.0, float(np.abs(hull.vertices).max())):
            raise InvalidInput(
                f"The 'centre' of {name} must be in the set. Got a point {away:.3g} from its hull instead."
            )
        depth = nearest_end(self._minimize, point, hull.basis)
        if radius > depth * (1 + 1e-9):
            raise InvalidInput(
                f"The 'inner_radius' of {name} must be that of a ball in the set, which ends {depth:.6g} from its "
                f"centre at most. Got {radius!r} instead."
            )

    @property
    def hull_dimension(self) -> int:
        return int(self._hull.basis.shape[1])

    @property
    def hull_basis(self) -> FloatArray:
        return self._hull.basis

    @cached_property
    def diameter(self) -> float:
        """An upper bound: the diagonal of the bounding box, or twice the radius if that is less."""
        low, high = self._bounding_box
        return min(2.0 * self.radius, float(np.linalg.norm(high - low)))

    @cached_property
    def _hull(self) -> Hull:
        # Where the inequalities are listed, the inner ball comes from them.
        probes = 8 if self._listed is None and self.ball is None else 0
        hull = hull_from_oracle(self._minimize, self.dimension, probes)
        read_only(hull.basis)
        return hull

    @cached_property
    def _listed(self) -> tuple[FloatArray, FloatArray] | None:
        return self._inequalities()

    @cached_property
    def _inner_ball(self) -> tuple[FloatArray, float]:
        if self.ball is not None:
            return read_only(np.array(self.ball[0])), self.ball[1]
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
class ZeroOneSet(ProbedSet):
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


@dataclass(frozen=True, eq=False, init=False)
class OracleSet(ProbedSet):
    """A polytope of your own, by its linear oracle alone.

    `minimize` takes a direction and returns an extreme point that minimises the inner product with it. If no ball is
    given, one is certified by the vertices that the oracle returns, which is small in many dimensions.
    Enforced: vertices of the right shape, finite, and none better than the oracle's own for the directions tried.
    A ball that is seen to leave the set is refused. That it lies in the set is promised by you.

    Args:
        minimize: the linear oracle.
        dimension: the number of coordinates.
        centre: of a ball that is in the set, within its affine hull.
        inner_radius: of that ball.

    >>> square = OracleSet(lambda direction: np.where(direction > 0, -1.0, 1.0), 2, centre=(0, 0), inner_radius=1.0)
    >>> square.inner_radius, square.hull_dimension
    (1.0, 2)
    """

    oracle: Callable[[FloatArray], ArrayLike]
    coordinates: int

    def __init__(
        self,
        minimize: Callable[[FloatArray], ArrayLike],
        dimension: int,
        *,
        centre: ArrayLike | None = None,
        inner_radius: float | None = None,
    ) -> None:
        if not callable(minimize):
            raise invalid("OracleSet", "minimize", "a function of a direction", minimize)
        if (centre is None) != (inner_radius is None):
            raise InvalidInput("OracleSet takes 'centre' and 'inner_radius' together, or neither of them.")
        object.__setattr__(self, "oracle", minimize)
        object.__setattr__(self, "coordinates", check_dimension("OracleSet", "dimension", dimension))
        object.__setattr__(self, "ball", None if centre is None else (centre, inner_radius))
        self._find_hull()
        vertices = self._hull.vertices
        size = max(1e-300, float(np.abs(vertices).max()))
        for axis in (*np.eye(self.coordinates), *-np.eye(self.coordinates)):
            if float(axis @ self._minimize(axis)) > float((vertices @ axis).min()) + 1e-9 * size:
                raise InvalidInput("The 'minimize' of OracleSet does not minimise: another of its points is better.")

    @property
    def dimension(self) -> int:
        return self.coordinates

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.array(real_array("OracleSet", "minimize", self.oracle(direction.copy()), (self.coordinates,)))
        if not np.isfinite(vertex).all():
            raise InvalidInput("The 'minimize' of OracleSet must return finite points.")
        return vertex
