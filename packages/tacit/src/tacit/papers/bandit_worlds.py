"""Streams and players of the paper `bandit`: one target seen in three ways, one linear loss, and uniform play.

The target of `MovingTarget` jumps about a place in the ball. Its squared distance is shown as a number at the point
played, as a gradient, or as the loss of a few fixed points, so that learners of three kinds meet the same targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.curves import NotPrivate
from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.bandit.noisy_oco import NoisyOCO, noisy_regret
from tacit.domains import Ball
from tacit.environments.bandit import Opponent
from tacit.environments.environment import OptionsWorld, PointsWorld, RoundsWorld
from tacit.errors import InvalidInput
from tacit.losses import LinearLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.papers.still import Still, StillLearner
from tacit.problems import Bandit, Convex, Problem
from tacit.runtime.plan import Plan
from tacit.runtime.printed import Printed
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray

RADIUS, DISTANCE, SPREAD = 0.5, 0.3, 0.1
"""The ball has diameter 1; the target's place and the deviation of its jumps are those of `MovingTarget`."""


def draw_targets(count: int, dimension: int, generator: np.random.Generator) -> FloatArray:
    """Draw the next targets, shape (count, dimension), within the ball."""
    targets = SPREAD * generator.standard_normal((count, dimension))
    targets[:, 0] += DISTANCE
    lengths = np.sqrt((targets**2).sum(axis=1))
    targets *= np.minimum(1.0, RADIUS / np.maximum(lengths, RADIUS))[:, None]
    return targets


def half_squares(points: FloatArray, targets: FloatArray) -> FloatArray:
    """Return half the squared distances of points from targets."""
    squares: FloatArray = ((points - targets) ** 2).sum(axis=-1) / 2
    return squares


@dataclass(frozen=True)
class SquaredTarget(PointsWorld):
    """Half the squared distance to the target, shown as the value at the point played."""

    @property
    def problem(self) -> Bandit:
        """Values in [0, 1/2], slopes at most 1."""
        return Bandit(domain=Ball(self.dimension, RADIUS), horizon=self.horizon, value_range=(0.0, 0.5))

    def start(self, generator: np.random.Generator) -> SquaredOpponent:
        """Draw the targets round by round."""
        return SquaredOpponent(self.problem.domain, self.horizon, generator)


class SquaredOpponent(Opponent):
    """Plays `SquaredTarget`: the best fixed point is the mean of the targets."""

    def __init__(self, domain: Any, horizon: int, generator: np.random.Generator) -> None:
        super().__init__(domain, horizon, generator)
        self._sum = np.zeros(domain.dimension)
        self._squares = 0.0

    def _values(self, points: FloatArray) -> FloatArray:
        targets = draw_targets(len(points), points.shape[1], self._generator)
        self._sum += targets.sum(axis=0)
        self._squares += float((targets**2).sum())
        return half_squares(points, targets)

    def best_value(self) -> float:
        """The total loss of the targets' mean, which lies in the ball as they do."""
        return (self._squares - float(self._sum @ self._sum) / max(1, self._round)) / 2


@dataclass(frozen=True)
class SquaredGradients(PointsWorld):
    """The same loss, of which the target is shown, and so every gradient."""

    @cached_property
    def loss(self) -> QuadraticLoss:
        """Half the squared distance to a target in the ball."""
        return QuadraticLoss(data_norm=RADIUS)

    def data(self, generator: np.random.Generator) -> FloatArray:
        """Draw targets of shape (horizon, dimension)."""
        self._check_size()
        return draw_targets(self.horizon, self.dimension, generator)


@dataclass(frozen=True)
class SquaredArms(OptionsWorld):
    """The same loss at the points of a net, each an arm.

    Attributes:
        dimension: number of coordinates of the points.
    """

    dimension: int = 2

    def losses(self, generator: np.random.Generator) -> FloatArray:
        """Draw a stream, shape (horizon, n)."""
        self._check_size()
        targets = draw_targets(self.horizon, self.dimension, generator)
        return np.stack([half_squares(point, targets) for point in net(self.dimension)], axis=1)


def net(dimension: int) -> FloatArray:
    """Return 19 points of a hexagonal net in the disc; in other dimensions the centre and 4 points on each axis."""
    if dimension == 2:
        # Side a quarter: two rings around the centre, whose corners lie on the circle.
        steps = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if abs(i + j) <= 2]
        return np.array([(0.25 * (i + j / 2), 0.25 * sqrt(3) / 2 * j) for i, j in steps])
    axes = np.eye(dimension)
    return np.concatenate([np.zeros((1, dimension)), *(size * axes for size in (-0.5, -0.25, 0.25, 0.5))])


def net_dimension(size: int) -> int:
    """Return the dimension whose net has this many points."""
    return 2 if size == len(net(2)) else (size - 1) // 4


@dataclass(frozen=True)
class OneLinearLoss(RoundsWorld):
    """The loss -x on an interval, in every round."""

    horizon: int
    dimension: ClassVar[int] = 1

    @cached_property
    def loss(self) -> LinearLoss:
        """Gradients of norm 1."""
        return LinearLoss(lipschitz=1.0)

    def data(self, _generator: np.random.Generator) -> FloatArray:
        """Return the gradients, shape (horizon, 1)."""
        return -np.ones((self.horizon, 1))


def interval(spread_root: float, horizon: int) -> Convex:
    """Return the interval on which the mirror map x^2/2 is at most D_w^2."""
    domain = Ball(1, sqrt(2) * spread_root)
    return Convex(domain=domain, loss=LinearLoss(lipschitz=1.0), horizon=horizon)


@dataclass(frozen=True)
class NoisyLeader(Plan):
    """Algorithm 2 with exact sums and leaders on an interval: `NoisyOCO` as a learner, not private.

    Attributes:
        reading: whose learning rate runs, "line 1" or "appendix B".
    """

    problem: Convex
    reading: str = "line 1"
    _takes: ClassVar[type[Problem]] = Convex
    printed_results: ClassVar[tuple[str, ...]] = ("Algorithm 2", "Lemma 4.1")
    private: ClassVar[bool] = False

    def core(self) -> NoisyOCO:
        """Make the core that runs."""
        half = self.problem.domain.radius
        return NoisyOCO.as_printed(
            steps=self.rounds,
            dimension=1,
            spread_root=half / sqrt(2),
            gradient_norm=1.0,
            leader=lambda slope: np.clip(-slope, -half, half),
            sums=ExactSums(1),
            reading=self.reading,
        )

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            curve=NotPrivate(), at_delta=0.5, released="NOT PRIVATE: every decision", theorem="none: sums are exact"
        )

    @property
    def trivial_regret(self) -> float:
        return self.rounds * self.problem.domain.diameter

    @property
    def blind_regret(self) -> float:
        """The regret of the middle."""
        return self.trivial_regret / 2

    @property
    def regret_bound(self) -> RegretBound:
        value = noisy_regret(
            eta=self.core().eta,
            steps=self.rounds,
            spread=self.problem.domain.radius**2 / 2,
            second_moment=1.0,
            mean_norm=1.0,
            map_error=0.0,
        )
        return RegretBound(value, "R^2/(2 eta) + (eta/2) T", ("linear losses of slope at most 1",))

    @classmethod
    def _calibrate(cls, problem: Any, _target: Target) -> NoisyLeader:
        raise InvalidInput("NoisyLeader runs printed learning rates only: use NoisyLeader.as_printed.")

    @classmethod
    def _as_printed(cls, problem: Convex, asked: Target, result: str, reading: str | None) -> NoisyLeader:
        plan = cls(problem, reading or "line 1")
        core: Any = plan.core().printed
        printed = Printed(
            "bandit",
            result,
            reading=core.reading,
            order=core.order,
            evidence=core.evidence,
            differs=core.differs,
            values=core.values,
        )
        return cls(problem, plan.reading, printed=printed)

    def _learner(self, randomness: Randomness) -> Any:
        return NoisyLeaderLearner(self)


class NoisyLeaderLearner:
    """Plays arrays of gradients, which is all that a simulation asks of it."""

    def __init__(self, plan: NoisyLeader) -> None:
        self.plan = plan
        self.switches = 0

    def run(self, feedback: FloatArray, mask: Any = None, *, contexts: Any = None) -> FloatArray:
        """Return the point of each round."""
        core = self.plan.core()
        points = np.empty((len(feedback), 1))
        for number, gradient in enumerate(feedback):
            points[number] = core.point
            core.observe(gradient)
        self.switches = int(np.count_nonzero(np.diff(points[:, 0])))
        return points


class ExactSums:
    """Running sums without noise."""

    def __init__(self, dimension: int) -> None:
        self._sum = np.zeros(dimension)

    def add(self, x: FloatArray) -> FloatArray:
        """Add one vector and return the sum so far as a new array."""
        self._sum = self._sum + x
        return self._sum.copy()

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to continue."""
        return {"sum": self._sum.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        self._sum = np.array(state["sum"])


@dataclass(frozen=True)
class UniformInBall(Still):
    """A uniform point of a ball in every round: exploring without learning."""

    problem: Bandit
    _takes: ClassVar[type[Problem]] = Bandit

    def _check_parameters(self) -> None:
        if not isinstance(self.problem.domain, Ball):
            raise InvalidInput(f"Uniform play is for balls. Got {self.problem.domain!r} instead.")

    def _learner(self, randomness: Randomness) -> Any:
        return UniformLearner(self, randomness)


class UniformLearner(StillLearner):
    """Draws its points before they are asked for."""

    def run(self, feedback: Any, mask: Any = None, *, contexts: Any = None) -> Any:
        """Play the rounds of `feedback`."""
        problem: Any = self.plan.problem
        dimension, radius = problem.domain.dimension, problem.domain.radius
        points = self._generator.standard_normal((len(feedback), dimension))
        lengths = radius * self._generator.random(len(feedback)) ** (1 / dimension)
        points *= (lengths / np.linalg.norm(points, axis=1))[:, None]
        feedback.values(points, feedback.first)
