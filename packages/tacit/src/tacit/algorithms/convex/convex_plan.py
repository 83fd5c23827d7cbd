"""What learners over a convex set share: checking feedback, playing arrays of rounds, the trivial regret."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.losses.loss import RowLoss, playable
from tacit.noise.randomness import Randomness
from tacit.problems import Convex, Problem
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray


@dataclass(frozen=True)
class ConvexPlan(Plan):
    """A plan whose decisions are points of a convex set."""

    problem: Convex
    _takes: ClassVar[type[Problem]] = Convex

    @property
    def trivial_regret(self) -> float:
        """Two points of the domain differ by at most G D in any round's loss."""
        return self.rounds * self.problem.lipschitz * self.problem.domain.diameter

    @property
    def blind_regret(self) -> float:
        """Always the centre: no point is farther from it than the radius."""
        return self.rounds * self.problem.lipschitz * self.problem.domain.radius


class ConvexLearner(Learner):
    """Checks feedback once and plays arrays of rounds.

    Feedback is what the loss reads: a vector, a pair (features, label), or anything for a `CustomLoss`; for `run`,
    an array of vectors, a pair of arrays, or a sequence. Subclasses give `_absorb_rows(rows, actions)`.
    """

    plan: ConvexPlan

    def __init__(self, plan: ConvexPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._loss = playable(plan.problem.loss, plan.algorithm)
        self._domain = plan.problem.domain

    def _decision(self) -> FloatArray:
        return np.array(self._action)

    @property
    def shows_decisions(self) -> bool:
        """A loss made of callables is asked about the points that were played."""
        return not isinstance(self._loss, RowLoss)

    def _check(self, feedback: Any) -> Any:
        if isinstance(self._loss, RowLoss):
            return self._loss.pack(feedback, self._domain.dimension, many=False)
        return [feedback]

    def _check_many(self, feedback: Any) -> Any:
        if isinstance(self._loss, RowLoss):
            return self._loss.pack(feedback, self._domain.dimension, many=True)
        return list(feedback)

    def _nothing(self) -> Any:
        """Data of a loss that is the same everywhere; a quadratic one has none, and gets the target 0."""
        assert isinstance(self._loss, RowLoss)
        return self._loss.neutral(self._domain.dimension)

    def _run_openly(self, rows: Any) -> FloatArray:
        return np.asarray(super()._run_openly(rows)).reshape(len(rows), self._domain.dimension)

    @np.errstate(all="ignore")
    def _absorb(self, rows: Any) -> None:
        self._absorb_rows(rows, np.empty((1, self._domain.dimension)), self._round)

    def _run(self, rows: Any) -> FloatArray:
        actions = np.empty((len(rows), self._domain.dimension))
        self._absorb_rows(rows, actions, self._round)
        self._round += len(rows)
        self._played = False
        return actions

    @abstractmethod
    def _absorb_rows(self, rows: Any, actions: FloatArray, first: int) -> None:
        """Play the rounds from `first` on and write their actions; counting rounds is done elsewhere."""
