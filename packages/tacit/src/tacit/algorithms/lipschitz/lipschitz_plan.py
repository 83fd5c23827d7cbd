"""What both Lipschitz learners share: a finite set of points of a box, and losses given as functions or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.noise.lattice import LARGEST_LATTICE_DIMENSION
from tacit.problems import Lipschitz, Problem
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray, Rows, real_array

MAX_POINTS = LARGEST_LATTICE_DIMENSION
"""The largest set of points that a plan may have: as many as one lattice vector has coordinates."""
# The largest net of a set that a search proposes: its points are projected one by one, for every net that is tried.
MAX_PLACED = 20_000


@dataclass(frozen=True)
class LipschitzPlan(Plan):
    """What both plans share: a finite set of points of the box, and a loss that varies by at most G times distance."""

    problem: Lipschitz
    _takes: ClassVar[type[Problem]] = Lipschitz

    @property
    def trivial_regret(self) -> float:
        return self.rounds * self.problem.width


class LipschitzLearner(Learner):
    """Takes losses as a function of points, or as values on the public points."""

    plan: LipschitzPlan
    points: FloatArray
    """The points that may be played, shape (n, dimension), in the order of array feedback."""

    def _check(self, feedback: Any) -> FloatArray:
        values = feedback(self.points) if callable(feedback) else feedback
        row = real_array(self.plan.algorithm, "losses", values, (len(self.points),))
        return self._finite(row)

    def _nothing(self) -> FloatArray:
        return np.zeros(len(self.points))

    def _check_many(self, feedback: Any) -> Any:
        if isinstance(feedback, list | tuple) and all(callable(loss) for loss in feedback):
            return feedback
        return Rows(self.plan.algorithm, "losses", feedback, len(self.points))

    def _finite(self, values: FloatArray, first: int = 0) -> FloatArray:
        if not np.isfinite(values).all():
            where = np.argwhere(~np.isfinite(values))[0]
            row = f" in row {self._first_row + first + where[0]}" if values.ndim == 2 else ""
            raise InvalidInput(
                f"Losses of {self.plan.algorithm} must be finite numbers; the one at point {where[-1]}{row} is not."
            )
        return values

    def _run(self, rows: Any) -> FloatArray:
        played = np.empty((len(rows), self.points.shape[1]))
        for index, row in enumerate(rows):
            checked = self._check(row) if callable(row) else self._finite(row[None], index)[0]
            played[index] = self._decision()
            self._finish(checked)
        return played
