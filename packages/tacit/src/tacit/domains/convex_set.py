"""What every feasible set offers: a linear oracle, its affine hull, an inner ball and a size.

A set is reached through one verb, `minimize_linear`. Sets that are not full-dimensional (the simplex, the
flows of a graph) are handled in their affine hull: `to_hull` and `from_hull` translate between points of the
ambient space and orthonormal coordinates of the hull in which 0 is the centre of the inner ball. Sets that can
also be projected onto, or that have a barrier, say so by their class (`ProjectableSet`, `BarrierSet`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.barrier import Barrier
from tacit.domains.hull import complement_of_ones, is_in_hull
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_level, invalid, real_array, without_caches

# Vectors beyond this are outside of every set, and could not be squared.
FAR = 1e120


def read_only(array: FloatArray) -> FloatArray:
    """The array itself, no longer writable: it is handed to every caller."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class ConvexSet(ABC):
    """A convex compact set that can be minimised over in every linear direction.

    Sets are values: two of them are equal if their arguments are.
    """

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @property
    @abstractmethod
    def hull_dimension(self) -> int:
        """The dimension of the affine hull, at least 1."""

    @property
    @abstractmethod
    def hull_basis(self) -> FloatArray:
        """An orthonormal basis of the directions of the hull, of shape (dimension, hull_dimension)."""

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The centre of the inner ball."""

    @property
    @abstractmethod
    def inner_radius(self) -> float:
        """A radius such that the ball around the centre, within the affine hull, is in the set."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """The largest distance of a point from the centre, or an upper bound of it."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance of two points, or an upper bound of it."""

    @abstractmethod
    def _minimize(self, direction: FloatArray) -> FloatArray:
        """`minimize_linear` of a checked direction."""

    def minimize_linear(self, direction: ArrayLike) -> FloatArray:
        """Give, as a new array, an extreme point that minimises the inner product with `direction`."""
        return self._minimize(self._finite("direction", direction))

    def contains(self, point: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Check whether the point is in the set, up to `tolerance`; points with NaN are not."""
        owner = f"{type(self).__name__}.contains"
        slack = check_level(owner, "tolerance", tolerance, at_least=0.0)
        checked = real_array(owner, "point", point, (self.dimension,))
        # No set reaches this far; written so that NaN fails.
        return self._contains(checked, slack) if np.abs(checked).max() <= FAR else False

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        # Nothing but the oracle is known: the distance to the hull of the vertices that it returns decides.
        return is_in_hull(self._minimize, point, tolerance)

    def member(self, owner: str, name: str, point: ArrayLike) -> FloatArray:
        """Copy the point, which must be in the set."""
        checked = real_array(owner, name, point, (self.dimension,))
        if not self.contains(checked):
            raise invalid(owner, name, f"a point of {self!r}", checked.tolist())
        return checked

    def lift(self, direction: FloatArray) -> FloatArray:
        """Map a direction (or rows of directions) from hull coordinates to the ambient space."""
        return self._vectors(direction, self.hull_dimension) @ self.hull_basis.T

    def restrict(self, direction: FloatArray) -> FloatArray:
        """Project an ambient direction (or rows of directions) onto the hull, in hull coordinates."""
        return self._vectors(direction, self.dimension) @ self.hull_basis

    def to_hull(self, point: FloatArray) -> FloatArray:
        """Give the hull coordinates of a point (or rows of points), relative to the centre."""
        return self.restrict(self._vectors(point, self.dimension) - self.centre)

    def from_hull(self, coordinates: FloatArray) -> FloatArray:
        """Give the point (or rows of points) with these hull coordinates."""
        return self.centre + self.lift(coordinates)

    def _finite(self, name: str, values: ArrayLike) -> FloatArray:
        array = real_array(type(self).__name__, name, values, (self.dimension,))
        if not np.isfinite(array).all():
            where = int(np.flatnonzero(~np.isfinite(array))[0])
            raise InvalidInput(
                f"The '{name}' of {type(self).__name__} must be finite. Got {array[where]} at position {where} instead."
            )
        return array

    def _vectors(self, vectors: ArrayLike, length: int) -> FloatArray:
        # Broadcasting would accept a vector of length 1 without a word.
        array = real_array(type(self).__name__, "vectors", vectors, None)
        if array.ndim == 0 or array.shape[-1] != length:
            raise InvalidInput(
                f"Vectors given to {type(self).__name__} here must have {length} coordinates. "
                f"Got shape {array.shape} instead."
            )
        if not np.abs(array).max(initial=0.0) <= FAR:
            raise InvalidInput(f"Vectors given to {type(self).__name__} must be finite and at most {FAR:g} in size.")
        return array

    def _key(self) -> tuple[object, ...]:
        values = (getattr(self, field.name) for field in fields(self))
        return tuple((value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value for value in values)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, ConvexSet) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))


@dataclass(frozen=True, eq=False)
class ProjectableSet(ConvexSet):
    """A set with a Euclidean projection."""

    @abstractmethod
    def nearest(self, point: FloatArray) -> FloatArray:
        """Give what `project` gives, for a point that is known to be finite and of this dimension."""

    def project(self, point: ArrayLike) -> FloatArray:
        """Give, as a new array, the point of the set nearest to `point`."""
        return self.nearest(self._finite("point", point))


@dataclass(frozen=True, eq=False)
class BarrierSet(ProjectableSet):
    """A set with a projection and a self-concordant barrier."""

    @property
    @abstractmethod
    def barrier(self) -> Barrier:
        """A barrier in ambient coordinates, shifted so that it is at least 0 on the set."""

    @property
    def hull_barrier(self) -> Barrier:
        """The barrier as a function of hull coordinates."""
        return HullBarrier(self)

    def barrier_stiffness(self, slope: float) -> float:
        """Bound sqrt(trace hess) of the barrier at points where the barrier's gradient in the hull is at most `slope`.

        For logarithms of slacks s_i = b_i - <a_i, x>: <grad, x - centre> = sum s_i(centre)/s_i - nu, where
        s_i(centre) >= |a_i| times the inner radius, and sqrt(trace hess) <= sum |a_i|/s_i.
        """
        return (self.barrier.parameter + self.radius * slope) / self.inner_radius


class HullBarrier(Barrier):
    """The barrier of a set as a function of coordinates of its affine hull, by the chain rule."""

    def __init__(self, domain: BarrierSet) -> None:
        self._domain, self._ambient = domain, domain.barrier
        self.parameter = self._ambient.parameter  # restriction to a subspace keeps it

    def value(self, point: ArrayLike) -> float:
        return self._ambient.value(self._point(point))

    def gradient(self, point: ArrayLike) -> FloatArray:
        return self._domain.restrict(self._ambient.gradient(self._point(point)))

    def hessian(self, point: ArrayLike) -> FloatArray:
        return self._restricted(self._ambient.hessian(self._point(point)))

    def derivatives(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        gradient, hessian = self._ambient.derivatives(self._point(point))
        return self._domain.restrict(gradient), self._restricted(hessian)

    def _restricted(self, hessian: FloatArray) -> FloatArray:
        return self._domain.restrict(self._domain.restrict(hessian).T)

    def _point(self, coordinates: ArrayLike) -> FloatArray:
        return self._domain.from_hull(real_array("HullBarrier", "coordinates", coordinates, (None,)))


@dataclass(frozen=True, eq=False)
class FullDimensionalSet(ConvexSet):
    """A set with interior: hull coordinates are the ambient ones, moved to the centre."""

    @property
    def hull_dimension(self) -> int:
        return self.dimension

    @property
    def hull_basis(self) -> FloatArray:
        """The identity; `to_hull` and `from_hull` never form it."""
        return np.eye(self.dimension)

    def lift(self, direction: FloatArray) -> FloatArray:
        return self._vectors(direction, self.dimension)

    def restrict(self, direction: FloatArray) -> FloatArray:
        return self._vectors(direction, self.dimension)


@dataclass(frozen=True, eq=False)
class FixedSumSet(ConvexSet):
    """A set whose points have coordinates of one sum, and which has interior among these."""

    @property
    def hull_dimension(self) -> int:
        return self.dimension - 1

    @cached_property
    def hull_basis(self) -> FloatArray:
        return read_only(complement_of_ones(self.dimension))


@dataclass(frozen=True, eq=False)
class MeasuredSet(ConvexSet):
    """A set whose centre and sizes are not known in closed form: an inner ball and a bounding box are computed."""

    @property
    @abstractmethod
    def _inner_ball(self) -> tuple[FloatArray, float]:
        """The centre and the radius of a ball that is in the set, within the affine hull."""

    @property
    @abstractmethod
    def _bounding_box(self) -> tuple[FloatArray, FloatArray]:
        """The lower and the upper ends of the coordinates."""

    @property
    def centre(self) -> FloatArray:
        return self._inner_ball[0]

    @property
    def inner_radius(self) -> float:
        return self._inner_ball[1]

    @cached_property
    def radius(self) -> float:
        """An upper bound: the distance from the centre to the farthest corner of the bounding box."""
        low, high = self._bounding_box
        return float(np.linalg.norm(np.maximum(high - self.centre, self.centre - low)))

    @cached_property
    def diameter(self) -> float:
        """An upper bound: the diagonal of the bounding box."""
        low, high = self._bounding_box
        return float(np.linalg.norm(high - low))
