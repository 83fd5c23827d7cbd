"""The worlds of the lower bounds: in them no learner has less regret, on average over their draws.

`tacit.planning.lower_bounds` has the theorems. *Perfect expert*: one expert, drawn in secret, loses nothing and the
others lose 1: a private learner cannot know it soon. *Fair coins*: nothing is to be learned, and the best of N
experts is lucky. *Random signs*: the same for points of a convex set, along a diameter. With S switches there are S+1
phases of floor(T/(S+1)) rounds, each with a draw of its own; the rounds that are left over belong to the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.domains import Ball, Box, Simplex
from tacit.domains.convex_set import ConvexSet
from tacit.environments.environment import OptionsWorld, RoundsWorld
from tacit.losses import LinearLoss
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_integer, check_table, invalid


@dataclass(frozen=True)
class PerfectExpert(OptionsWorld):
    """One expert loses nothing and all others lose 1; which one it is is drawn anew in each phase.

    Attributes:
        phases: number of phases; at most `horizon`.
    """

    phases: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("PerfectExpert", "phases", self.phases, at_most=self.horizon)

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        perfect = generator.integers(self.n, size=self.phases)
        phase = np.minimum(np.arange(self.horizon) // (self.horizon // self.phases), self.phases - 1)
        return np.asarray(1.0 - (np.arange(self.n) == perfect[phase][:, None]))


@dataclass(frozen=True)
class FairCoins(OptionsWorld):
    """Every loss is a fair coin: no learner loses less than 1/2 a round on average, the best of N experts does."""

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        return generator.integers(0, 2, size=(self.horizon, self.n)).astype(np.float64)


@dataclass(frozen=True)
class RandomSigns(RoundsWorld):
    """Linear losses +-G<v, x>, v along a diameter of the domain, the signs fair coins.

    Attributes:
        domain: a ball, a box or a simplex, whose diameters are known.
        horizon: number of rounds.
        lipschitz: G, the slope.

    >>> from tacit.noise.randomness import Randomness
    >>> RandomSigns(Ball(2), 3).data(Randomness.replayable(1).stream("signs")).shape
    (3, 2)
    """

    domain: ConvexSet
    horizon: int
    lipschitz: float = 1.0
    _between = (("lipschitz", SMALLEST, LARGEST),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.domain, Ball | Box | Simplex):
            raise invalid("RandomSigns", "domain", "a Ball, a Box or a Simplex", self.domain)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.domain.dimension

    @cached_property
    def loss(self) -> LinearLoss:
        """Gradients of norm at most G."""
        return LinearLoss(lipschitz=self.lipschitz)

    @cached_property
    def direction(self) -> FloatArray:
        """The unit vector along a diameter: between opposite corners, or two vertices of the simplex."""
        ends = np.eye(self.dimension)
        if isinstance(self.domain, Box):
            along = self.domain.high - self.domain.low
        else:
            along = ends[0] - ends[1] if isinstance(self.domain, Simplex) else ends[0]
        return np.asarray(along / np.linalg.norm(along))

    def data(self, generator: np.random.Generator) -> FloatArray:
        """Draw gradients of shape (horizon, dimension)."""
        check_table("RandomSigns", self.horizon, self.dimension)
        signs = 2.0 * generator.integers(0, 2, size=self.horizon) - 1.0
        return np.asarray(self.lipschitz * signs[:, None] * self.direction)
