"""What every environment has, and what each kind of problem asks of its own.

An environment is frozen and public, and makes all of its randomness from the generator that it is handed. An oblivious
one deals a whole stream at once; an adaptive one, and one that shows single numbers, start an opponent that is asked
round by round. Whatever has these members is an environment, whether it comes from here or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from tacit.losses.loss import RowLoss
from tacit.problems import Bandit
from tacit.validation import FloatArray, check_integer, check_number, check_table, plain_fields

Data = FloatArray | tuple[FloatArray, FloatArray]
"""A stream as a convex learner's `run` takes it: rows of vectors, or a pair (features, labels)."""


@runtime_checkable
class Environment(Protocol):
    """What makes the feedback of a simulation."""

    adaptive: ClassVar[bool]
    """Whether the feedback may depend on earlier decisions."""

    @property
    def horizon(self) -> int:
        """Number of rounds."""


@runtime_checkable
class Sized(Environment, Protocol):
    """An environment of options."""

    @property
    def n(self) -> int:
        """Number of experts, arms or actions."""


@runtime_checkable
class ExpertStream(Sized, Protocol):
    """Losses of experts that do not depend on decisions."""

    def losses(self, generator: np.random.Generator) -> FloatArray:
        """One draw of the whole stream, shape (horizon, n)."""


class Adversary(Protocol):
    """One game of an adaptive adversary."""

    def respond(self, action: int | None) -> FloatArray:
        """The losses of the next round, given the action of the previous one (None: there was none)."""


@runtime_checkable
class ExpertAdversary(Sized, Protocol):
    """Losses of experts that may react to decisions."""

    def start(self, generator: np.random.Generator) -> Adversary:
        """A fresh adversary."""


@runtime_checkable
class ConvexStream(Environment, Protocol):
    """Data of one convex loss."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""

    @property
    def loss(self) -> RowLoss:
        """The loss that the data belong to."""

    def data(self, generator: np.random.Generator) -> Data:
        """One draw of the whole stream."""


class InContext(NamedTuple):
    """One draw of a stream with contexts, one row a round.

    Attributes:
        contexts: what a learner is shown before it decides: features, or recommendations.
        losses: of every action; a learner is shown one entry of each row. NaN where feedback never comes.
        means: the expected losses given the contexts, with which regret is measured.
    """

    contexts: Any
    losses: FloatArray
    means: FloatArray


@runtime_checkable
class ContextStream(Sized, Protocol):
    """Losses of actions in contexts that do not depend on decisions."""

    def in_context(self, generator: np.random.Generator) -> InContext:
        """One draw of the whole stream."""


@runtime_checkable
class LipschitzStream(Environment, Protocol):
    """Losses as functions, convex or not."""

    def functions(self, generator: np.random.Generator) -> Sequence[Callable[[FloatArray], FloatArray]]:
        """One draw of the whole stream: a function from rows of points to values for each round."""


@runtime_checkable
class FeedbackStream(Environment, Protocol):
    """Feedback for a measure of one's own."""

    def feedback(self, generator: np.random.Generator) -> FloatArray:
        """One draw of the whole stream, one row a round."""


class Risk(NamedTuple):
    """Losses of models on records to come, beyond those of another model.

    Attributes:
        values: one number a model.
        errors: their standard errors: of finitely many fresh records, or 0 where the expectation is known.
    """

    values: FloatArray
    errors: FloatArray


@runtime_checkable
class RecordStream(Environment, Protocol):
    """Records of one loss, each seen once, and a judge of the models that were learned from them."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a model."""

    @property
    def loss(self) -> RowLoss:
        """The loss that the records belong to."""

    @property
    def best(self) -> FloatArray | None:
        """The model that others are compared with, by the law of the records (None: the best on those of a run)."""

    def records(self, generator: np.random.Generator) -> Data:
        """One draw of all records."""

    def excess(self, models: FloatArray, best: FloatArray) -> Risk:
        """The expected loss of each model, one a row, beyond that of `best`."""


class ValueOpponent(Protocol):
    """One draw of a bandit's losses, round by round."""

    def values(self, points: FloatArray, first_round: int) -> FloatArray:
        """The losses at these points, one a round, from `first_round` on."""

    @property
    def regret(self) -> float:
        """How much more the shown points cost than the best fixed point."""


@runtime_checkable
class BanditStream(Environment, Protocol):
    """Losses of which only the value at the point played is shown."""

    @property
    def problem(self) -> Bandit:
        """The problem that these losses fit."""

    def start(self, generator: np.random.Generator) -> ValueOpponent:
        """One draw of the losses."""


class RoundsWorld:
    """A world of a number of rounds, oblivious unless it says otherwise.

    Attributes:
        horizon: number of rounds.
    """

    horizon: int
    adaptive: ClassVar[bool] = False
    _between: ClassVar[tuple[tuple[str, float, float | str], ...]] = ()
    """Names of fields, each with the smallest and the largest value that it may have, or the field of the largest."""

    def __post_init__(self) -> None:
        plain_fields(self)
        owner = type(self).__name__
        check_integer(owner, "horizon", self.horizon)
        for name, low, high in self._between:
            value, most = getattr(self, name), getattr(self, high) if isinstance(high, str) else high
            check_number(owner, name, value, above=low, below=most, closed_low=True, closed_high=True)


@dataclass(frozen=True)
class OptionsWorld(RoundsWorld):
    """Experts or arms over a number of rounds.

    Attributes:
        n: number of experts or arms.
        horizon: number of rounds.
    """

    n: int
    horizon: int
    _fewest: ClassVar[int] = 1
    """The least number of options that the world makes sense for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "n", self.n, at_least=self._fewest)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.n)


@dataclass(frozen=True)
class PointsWorld(RoundsWorld):
    """Data of a loss of points over a number of rounds.

    Attributes:
        dimension: number of coordinates.
        horizon: number of rounds.
    """

    dimension: int
    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "dimension", self.dimension)

    def _check_size(self) -> None:
        check_table(type(self).__name__, self.horizon, self.dimension)
