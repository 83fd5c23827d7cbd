"""Choose a point of one or two dimensions by losses that are only Lipschitz."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.domains.convex_set import ConvexSet, ProjectableSet
from tacit.problems.problem import Problem
from tacit.validation import (
    LARGEST,
    FloatArray,
    check_integer,
    check_level,
    check_number,
    check_positive,
    invalid,
)


@dataclass(frozen=True, kw_only=True)
class Lipschitz(Problem):
    """Choose a point of the box [low, high]^dimension each round, then see a Lipschitz loss, convex or not.

    A set stands in a cube of its affine hull, and a point x of the cube for the nearest point P(x) of the set. P moves
    no two points apart, so that l(P(x)) varies on the cube as slowly as l on the set, and has the same smallest value.

    Attributes:
        dimension: 1 or 2.
        low: lower end of every coordinate.
        high: upper end of every coordinate.
        lipschitz: public bound on the slope of every loss; steeper ones are clipped.
        domain: a convex set of one or two dimensions to choose from, in place of the box.
    """

    dimension: int = 1
    low: float = 0.0
    high: float = 1.0
    lipschitz: float = 1.0
    domain: ConvexSet | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        if self.domain is not None:
            self._take_domain(owner, self.domain)
        check_integer(owner, "dimension", self.dimension, at_most=2)
        low = check_level(owner, "low", self.low)
        high = check_number(owner, "high", self.high, above=low, below=LARGEST, closed_high=True)
        check_positive(owner, "high - low", high - low)
        slope = check_positive(owner, "lipschitz", self.lipschitz)
        for name, value in (("low", low), ("high", high), ("lipschitz", slope)):
            object.__setattr__(self, name, value)

    def _take_domain(self, owner: str, domain: ConvexSet) -> None:
        if not isinstance(domain, ProjectableSet) or domain.hull_dimension > 2:
            raise invalid(owner, "domain", "a set with a projection, of one or two dimensions", domain)
        coordinates = [
            float(end) for axis in np.eye(domain.dimension)
            for end in (domain.minimize_linear(axis) @ axis, domain.minimize_linear(-axis) @ axis)
        ]  # fmt: skip
        for name, value in (
            ("dimension", domain.hull_dimension), ("low", min(coordinates)), ("high", max(coordinates)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @cached_property
    def corner(self) -> FloatArray:
        """The lower ends of the cube's coordinates: those of the affine hull, if there is a domain."""
        return np.full(self.dimension, self.low) if self.domain is None else self._extent[0]

    @cached_property
    def side(self) -> float:
        """Length of the cube's sides."""
        return self.high - self.low if self.domain is None else float(np.max(self._extent[1] - self._extent[0]))

    @cached_property
    def _extent(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the domain in the coordinates of its affine hull."""
        assert self.domain is not None
        axes = self.domain.hull_basis.T
        low = [self.domain.to_hull(self.domain.minimize_linear(axis))[index] for index, axis in enumerate(axes)]
        high = [self.domain.to_hull(self.domain.minimize_linear(-axis))[index] for index, axis in enumerate(axes)]
        return np.array(low), np.array(high)

    def place(self, shares: FloatArray) -> FloatArray:
        """Map rows of the unit cube to points that may be played."""
        points = self.corner + self.side * shares
        if not isinstance(self.domain, ProjectableSet):
            return points
        ambient = self.domain.from_hull(points)
        return np.array([self.domain.project(point) for point in ambient]).reshape(ambient.shape)

    @property
    def diagonal(self) -> float:
        """The largest distance of two points of the cube."""
        return self.side * float(self.dimension**0.5)

    @property
    def width(self) -> float:
        """The largest difference of a loss between two points that may be played."""
        reach = self.diagonal if self.domain is None else min(self.diagonal, self.domain.diameter)
        return self.lipschitz * reach
