"""Worlds that show one number a round: a moving target, roads.

The opponent of a `BanditStream` answers `values(points, first_round)` for consecutive rounds, keeps the sums that are
needed to find the best fixed point in hindsight, and so knows the regret at any time. All losses are convex, within
[0, 1], and oblivious.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tacit.domains import Paths
from tacit.domains.convex_set import ConvexSet
from tacit.domains.graphs import Edge
from tacit.environments.environment import RoundsWorld
from tacit.errors import InvalidInput, ProtocolError
from tacit.problems import Bandit
from tacit.validation import (
    LARGEST,
    NO_LENGTH,
    SMALLEST,
    FloatArray,
    check_number,
    invalid,
    real_array,
)

_BLOCK = 1 << 14  # targets drawn at once
_KEPT = 1 << 18  # so many coordinates of targets are kept while the best point is searched; more are drawn again
_NEAR = 1e-12  # the distance has a kink at its target: nearer than this its slope counts as that of this distance

TOWN: tuple[Edge, ...] = (
    ("home", "bridge"), ("home", "park"), ("bridge", "market"), ("park", "market"),
    ("bridge", "work"), ("market", "work"), ("park", "work"),
)  # fmt: skip
TOWN_TIMES = (0.2, 0.3, 0.3, 0.1, 0.9, 0.1, 0.8)


class Opponent(ABC):
    """One draw of an environment's losses, round by round."""

    def __init__(self, domain: ConvexSet, horizon: int, generator: np.random.Generator) -> None:
        self._domain = domain
        self._horizon = horizon
        self._generator = generator
        self._round = 0
        self.total = 0.0
        """The sum of all values that were shown."""

    def values(self, points: ArrayLike, first_round: int) -> FloatArray:
        """The losses at these points, one a round, from `first_round` on (the next round that was not shown)."""
        rows = real_array(type(self).__name__, "points", points, (None, self._domain.dimension))
        if not np.abs(rows).max(initial=0.0) <= LARGEST:
            raise InvalidInput(f"The 'points' of {type(self).__name__} must be finite and at most {LARGEST:g} in size.")
        if first_round != self._round or self._round + len(rows) > self._horizon:
            raise ProtocolError(
                f"The next round of {type(self).__name__} is {self._round} of {self._horizon}. "
                f"Got {len(rows)} rounds from {first_round} on."
            )
        values = self._values(rows)
        self._round += len(rows)
        self.total += float(values.sum())
        return values

    @property
    def regret(self) -> float:
        """How much more the shown points cost than the best fixed point."""
        return self.total - self.best_value()

    @abstractmethod
    def best_value(self) -> float:
        """The total loss of the best fixed point over the rounds so far."""

    @abstractmethod
    def _values(self, points: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class MovingTarget(RoundsWorld):
    """The loss is the distance to a target that jumps about a fixed place.

    Attributes:
        domain: where points are chosen; targets stay in its inner ball.
        horizon: number of rounds.
        distance: how far from the centre the place is, at most the inner radius.
        spread: standard deviation of the jumps, in each direction of the hull.
        margin: how far beyond the domain points may be played; distances are defined everywhere.
    """

    domain: ConvexSet
    horizon: int
    distance: float = 0.3
    spread: float = 0.1
    margin: float = 0.0
    _between = (("spread", SMALLEST, LARGEST), ("margin", 0.0, LARGEST))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, ConvexSet):
            raise invalid("MovingTarget", "domain", "a convex set such as Ball(2)", self.domain)
        inner = self.domain.inner_radius
        check_number("MovingTarget", "distance", self.distance, above=0, below=inner, closed_low=True, closed_high=True)

    @property
    def problem(self) -> Bandit:
        """Distances are 1-Lipschitz and at most the radius plus the inner radius, and the margin."""
        reach = self.domain.radius + self.domain.inner_radius + self.margin
        return Bandit(domain=self.domain, horizon=self.horizon, value_range=(0.0, reach), margin=self.margin)

    def start(self, generator: np.random.Generator) -> MovingTargetOpponent:
        return MovingTargetOpponent(self, generator)


class MovingTargetOpponent(Opponent):
    """Plays `MovingTarget`; memory does not grow with the rounds, targets are drawn again for the best point."""

    def __init__(self, environment: MovingTarget, generator: np.random.Generator) -> None:
        super().__init__(environment.domain, environment.horizon, generator)
        self._environment = environment
        self._again = deepcopy(generator)

    def _targets(self, count: int, generator: np.random.Generator) -> FloatArray:
        environment, domain = self._environment, self._domain
        offsets = environment.spread * generator.standard_normal((count, domain.hull_dimension))
        offsets[:, 0] += environment.distance
        lengths = np.sqrt((offsets**2).sum(axis=1))
        offsets *= np.minimum(1.0, domain.inner_radius / np.maximum(lengths, NO_LENGTH))[:, None]
        return domain.from_hull(offsets)

    def _values(self, points: FloatArray) -> FloatArray:
        offsets = points - self._targets(len(points), self._generator)
        values: FloatArray = np.sqrt((offsets**2).sum(axis=1))
        return values

    def _all_targets(self) -> Iterator[FloatArray]:
        """Draw the targets that were met again, block by block."""
        generator = deepcopy(self._again)
        for first in range(0, self._round, _BLOCK):
            yield self._targets(min(_BLOCK, self._round - first), generator)

    def best_value(self) -> float:
        """The geometric median's loss; it is in the hull of the targets, so no constraint is needed."""
        domain = self._domain
        kept = list(self._all_targets()) if self._round * domain.dimension <= _KEPT else None

        def cost(coordinates: FloatArray) -> tuple[float, FloatArray]:
            point = domain.from_hull(coordinates)
            total, slope = 0.0, np.zeros(domain.dimension)
            for targets in self._all_targets() if kept is None else kept:
                offsets = point - targets
                lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", offsets, offsets)), _NEAR)
                total += float(lengths.sum())
                slope += (1 / lengths) @ offsets
            scale = max(1, self._round)
            return total / scale, domain.restrict(slope) / scale

        start = np.zeros(domain.hull_dimension)
        start[0] = self._environment.distance
        return (
            float(scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-9}).fun)
            * self._round
        )


@dataclass(frozen=True)
class Routing(RoundsWorld):
    """Send each traveller along a random path from source to sink; the loss is the expected travel time.

    Times are uniform within `noise` of their means; losses are divided by the most that a path can take.

    Attributes:
        horizon: number of rounds.
        edges: the roads, (tail, head), without cycles.
        times: mean travel time of each road.
        source: where travellers start.
        sink: where they go.
        noise: half width of a time's range.
    """

    horizon: int = field(kw_only=True)
    edges: Sequence[Edge] = TOWN
    times: Sequence[float] = TOWN_TIMES
    source: object = "home"
    sink: object = "work"
    noise: float = field(kw_only=True, default=0.1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("Routing", "noise", self.noise, above=0.0, closed_low=True)
        if not (np.isfinite(self.means).all() and (self.means >= self.noise).all()):
            raise InvalidInput(f"The mean costs of Routing must be finite and at least noise={self.noise:g}.")

    @cached_property
    def domain(self) -> Paths:
        """Unit flows."""
        return Paths(self.edges, self.source, self.sink)

    @property
    def means(self) -> FloatArray:
        """The mean travel times."""
        return real_array("Routing", "times", self.times, (self.domain.dimension,))

    @property
    def largest(self) -> float:
        """The most that a path can cost in a round."""
        highest = self.means + self.noise
        return float(self.domain.minimize_linear(-highest) @ highest)

    @property
    def problem(self) -> Bandit:
        """Values in [0, 1]; the gradient within the hull is at most its projection's norm."""
        highest, domain = (self.means + self.noise) / self.largest, self.domain
        centre = domain.restrict(self.means / self.largest)
        wobble = self.noise / self.largest * sqrt(domain.dimension)
        steepest = min(float(np.linalg.norm(highest)), float(np.linalg.norm(centre)) + wobble)
        return Bandit(domain=domain, horizon=self.horizon, lipschitz=steepest)

    def start(self, generator: np.random.Generator) -> RoutingOpponent:
        return RoutingOpponent(self, generator)


class RoutingOpponent(Opponent):
    """Plays `Routing`."""

    def __init__(self, environment: Routing, generator: np.random.Generator) -> None:
        super().__init__(environment.domain, environment.horizon, generator)
        self._means, self._noise = environment.means, environment.noise
        self._largest = environment.largest
        self._costs = np.zeros(self._domain.dimension)

    def _values(self, points: FloatArray) -> FloatArray:
        drawn = self._means + self._generator.uniform(-self._noise, self._noise, points.shape)
        drawn /= self._largest
        self._costs += drawn.sum(axis=0)
        values: FloatArray = np.einsum("ij,ij->i", drawn, points)
        return values

    def best_value(self) -> float:
        """The cheapest path in hindsight, one call of the linear oracle."""
        return float(self._domain.minimize_linear(self._costs) @ self._costs)
