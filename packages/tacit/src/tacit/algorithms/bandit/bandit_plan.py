"""What learners share that see one number a round: checking values, and playing many rounds against a function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Bandit
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray, check_integer, check_number, real_array

Values = Callable[[FloatArray, int], ArrayLike]
"""(points of shape (k, dimension), index of the first of these k rounds) -> their k values."""


@dataclass(frozen=True)
class Rounds:
    """Rounds that a function answers: what `run` takes when not all rounds that are left are meant.

    Attributes:
        values: (points, first round) -> values; called for consecutive rounds in order.
        count: how many rounds.
        first: the index that `values` is given for the first of them.
        keep: return the points; without them memory does not grow with `count`.
    """

    values: Values
    count: int
    first: int = 0
    keep: bool = True

    def __post_init__(self) -> None:
        if not callable(self.values):
            raise InvalidInput(
                f"The 'values' parameter of Rounds must be a function (points, first round) -> values. "
                f"Got {self.values!r} instead."
            )
        check_integer("Rounds", "count", self.count, at_least=0)
        check_integer("Rounds", "first", self.first, at_least=0)
        check_integer("Rounds", "first + count", self.first + self.count, at_least=0)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice) -> Rounds:
        """A stretch of these rounds."""
        start, stop, _ = part.indices(self.count)
        return replace(self, count=max(0, stop - start), first=self.first + start)


class BanditLearner(Learner):
    """Clips values into their public range and plays blocks of rounds whose points are known in advance.

    Subclasses keep the points of the coming rounds in `self._points` (row `self._filled` is the next decision) and
    give `_fill(values)`, which takes checked values for as many of them.
    """

    def __init__(self, plan: Plan, problem: Bandit, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._low, self._high = problem.value_range
        self._points = np.empty((0, problem.domain.dimension))
        self._filled = 0

    def _decision(self) -> FloatArray:
        return np.array(self._action)

    @property
    def shows_decisions(self) -> bool:
        """The function that gives the values is shown the points."""
        return True

    def run(self, feedback: Any, mask: Any = None, *, contexts: Any = None) -> FloatArray:
        """Play many rounds: the same decisions as play/observe, returned as an array of points.

        `feedback` is `Rounds`, or a function (points, first round) -> values for all rounds that are left. If any
        value is bad, or the function raises, the points it saw are not taken back: the rounds before them are
        complete, and the first of them is the round in hand.
        """
        points: FloatArray = super().run(feedback, mask, contexts=contexts)
        return points

    def _check(self, value: Any) -> float:
        try:
            number = value if type(value) is float else check_number(self.plan.algorithm, "value", value)
        except InvalidInput:
            number = np.nan
        if not (-np.inf < number < np.inf):
            raise InvalidInput(f"Values of {self.plan.algorithm} must be finite numbers.")
        return min(max(number, self._low), self._high)

    def _check_many(self, feedback: Any) -> Rounds:
        if isinstance(feedback, Rounds):
            return feedback
        if not callable(feedback):
            raise InvalidInput(
                f"run of {self.plan.algorithm} takes Rounds or a function (points, first round) -> values. "
                f"Got a {type(feedback).__name__} instead."
            )
        return Rounds(feedback, (self._horizon or 0) - self._round, self._round)

    def _check_values(self, values: ArrayLike, count: int, first: int) -> FloatArray:
        checked = real_array(self.plan.algorithm, "values", values, (count,))
        if not np.isfinite(checked).all():
            where = int(np.flatnonzero(~np.isfinite(checked))[0])
            raise InvalidInput(
                f"Values of {self.plan.algorithm} must be finite numbers; the one of round {first + where} is not."
            )
        return np.clip(checked, self._low, self._high)

    def _run_openly(self, rows: Rounds) -> FloatArray:
        kept = np.empty((len(rows) if rows.keep else 0, self._points.shape[1]))
        done = 0
        while done < len(rows):
            points = self._points[self._filled : self._filled + len(rows) - done].copy()
            if rows.keep:
                kept[done : done + len(points)] = points
            first = rows.first + done
            self._played = True
            values = self._check_values(rows.values(points, first), len(points), first)
            process, self._process = self._process, None
            self._fill(values)
            self._round += len(points)
            done += len(points)
            self._played = False
            self._process = process
        return kept

    def _absorb(self, value: float) -> None:
        self._fill(np.array([value]))

    @abstractmethod
    def _fill(self, values: FloatArray) -> None: ...


def on_sphere(normals: FloatArray) -> FloatArray:
    """The rows of an array of normal variables, scaled to length one."""
    lengths = np.sqrt(np.add.reduce(normals * normals, axis=1))
    if not lengths.all():  # of probability zero in theory, and next to it in floating point
        normals = np.where(lengths[:, None] > 0.0, normals, np.eye(1, normals.shape[1]))
        lengths = np.where(lengths > 0.0, lengths, 1.0)
    directions: FloatArray = normals / lengths[:, None]
    return directions
