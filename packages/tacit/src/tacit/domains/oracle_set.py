"""Sets that are given by a linear oracle: their hull is found by asking it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import MeasuredSet, read_only
from tacit.domains.hull import Hull, hull_from_oracle, nearest_end
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_dimension, check_positive, invalid, real_array


@dataclass(frozen=True, eq=False)
class ProbedSet(MeasuredSet):
    """A polytope behind an oracle: its hull is computed, not known in closed form."""

    @property
    @abstractmethod
    def _hull(self) -> Hull:
        """What asking the oracle found."""

    @property
    def hull_dimension(self) -> int:
        return int(self._hull.basis.shape[1])

    @property
    def hull_basis(self) -> FloatArray:
        return self._hull.basis

    @cached_property
    def _bounding_box(self) -> tuple[FloatArray, FloatArray]:
        # The oracle was asked along every axis when the hull was found.
        return self._hull.vertices.min(axis=0), self._hull.vertices.max(axis=0)


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
    ball: tuple[tuple[float, ...], float] | None

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
        object.__setattr__(self, "oracle", minimize)
        object.__setattr__(self, "coordinates", check_dimension("OracleSet", "dimension", dimension))
        object.__setattr__(self, "ball", self._given_ball(centre, inner_radius))
        if self.ball is not None:
            self._check_ball(np.array(self.ball[0]), self.ball[1])
        vertices = self._hull.vertices
        size = max(1e-300, float(np.abs(vertices).max()))
        for axis in (*np.eye(self.coordinates), *-np.eye(self.coordinates)):
            if float(axis @ self._minimize(axis)) > float((vertices @ axis).min()) + 1e-9 * size:
                raise InvalidInput("The 'minimize' of OracleSet does not minimise: another of its points is better.")

    def _given_ball(self, centre: ArrayLike | None, radius: float | None) -> tuple[tuple[float, ...], float] | None:
        if centre is None and radius is None:
            return None
        if centre is None or radius is None:
            raise InvalidInput("OracleSet takes 'centre' and 'inner_radius' together, or neither of them.")
        point = real_array("OracleSet", "centre", centre, (self.coordinates,))
        return tuple(point.tolist()), check_positive("OracleSet", "inner_radius", radius)

    def _check_ball(self, centre: FloatArray, radius: float) -> None:
        hull = self._hull
        offset = centre - hull.centre
        away = float(np.linalg.norm(offset - hull.basis @ (hull.basis.T @ offset)))
        if not away <= 1e-9 * max(1.0, float(np.abs(hull.vertices).max())):
            raise InvalidInput(
                f"The 'centre' of OracleSet must be in the set. Got a point {away:.3g} from its hull instead."
            )
        depth = nearest_end(self._minimize, centre, hull.basis)
        if radius > depth * (1 + 1e-9):
            raise InvalidInput(
                f"The 'inner_radius' of OracleSet must be that of a ball in the set, which ends {depth:.6g} from its "
                f"centre at most. Got {radius!r} instead."
            )

    @property
    def dimension(self) -> int:
        return self.coordinates

    @cached_property
    def diameter(self) -> float:
        """An upper bound: the diagonal of the bounding box, or twice the radius if that is less."""
        low, high = self._bounding_box
        return min(2.0 * self.radius, float(np.linalg.norm(high - low)))

    @cached_property
    def _hull(self) -> Hull:
        # More directions only serve to make the certified ball larger.
        return hull_from_oracle(self._minimize, self.dimension, 8 if self.ball is None else 0)

    @cached_property
    def _inner_ball(self) -> tuple[FloatArray, float]:
        if self.ball is None:
            return read_only(self._hull.centre), self._hull.inner_radius
        return read_only(np.array(self.ball[0])), self.ball[1]

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.array(real_array("OracleSet", "minimize", self.oracle(direction.copy()), (self.coordinates,)))
        if not np.isfinite(vertex).all():
            raise InvalidInput("The 'minimize' of OracleSet must return finite points.")
        return vertex
