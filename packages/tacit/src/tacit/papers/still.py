"""Players that are no learners: one looks at nothing, one at everything.

The still player takes the centre of a set in every round, or an option drawn uniformly; of a one-pass problem the first
model, at which others begin. The best model on the records of a run shows what privacy costs there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.accounting.curves import NotPrivate, Pure
from tacit.accounting.guarantee import EXACT, Guarantee
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Bandit, Convex, Lipschitz, Options, Problem, Stochastic
from tacit.runtime.plan import Plan
from tacit.runtime.target import RegretBound, Target
from tacit.simulation.comparators import best_fixed_point
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Still(Plan):
    """Decide without looking at any feedback; it leaks nothing, and whoever learns must do better."""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            curve=Pure(0.0),
            at_delta=0.0,
            released="every decision",
            theorem="no decision depends on feedback",
            numerics=EXACT,
        )

    @property
    def regret_bound(self) -> RegretBound:
        """No bound is stated: what it loses is what others are compared with."""
        return RegretBound(float("inf"), "none")

    @property
    def expected_switches(self) -> float:
        return 0.0

    @classmethod
    def _calibrate(cls, problem: Any, target: Target) -> Still:
        return cls(problem)

    def _learner(self, randomness: Randomness) -> Any:
        return StillLearner(self, randomness)


@dataclass(frozen=True)
class BestOnRecords(Plan):
    """The best model of the domain on all records of a run; nobody is protected."""

    _takes = Stochastic
    private = False
    releases_once = True

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(curve=NotPrivate(), at_delta=0.5, released="the model", theorem="none", numerics=EXACT)

    @property
    def regret_bound(self) -> RegretBound:
        """No bound is stated."""
        return RegretBound(float("inf"), "none")

    @property
    def expected_switches(self) -> float:
        return 1.0

    @classmethod
    def _calibrate(cls, problem: Any, target: Target) -> BestOnRecords:
        return cls(problem)

    def _learner(self, randomness: Randomness) -> Any:
        return BestOnRecordsLearner(self)


class BestOnRecordsLearner:
    """Keeps the records, and fits a model to them at the end."""

    switches = 0

    def __init__(self, plan: BestOnRecords) -> None:
        self.plan = plan
        self._records: Any = None

    def run(self, feedback: Any) -> None:
        """Keep all records, which come at once."""
        self._records = feedback

    def release(self) -> FloatArray:
        """Return the best model on them."""
        problem: Any = self.plan.problem
        return best_fixed_point(problem.loss, self._records, problem.domain).point


class StillLearner:
    """Plays arrays of rounds, or round by round against those who react: what a simulation asks of it."""

    def __init__(self, plan: Still, randomness: Randomness) -> None:
        self.plan = plan
        self.switches = 0
        self._generator = randomness.stream("still")
        self._action: int | None = None

    def play(self) -> Any:
        """Return the option of the next round, or the model of a one-pass problem."""
        problem: Problem = self.plan.problem
        if isinstance(problem, Stochastic):
            return centre_of(problem)
        if not isinstance(problem, Options):
            raise InvalidInput(f"The still player plays {type(problem).__name__} problems as arrays only.")
        drawn = int(self._generator.integers(problem.n))
        self.switches += self._action not in (None, drawn)
        self._action = drawn
        return drawn

    def observe(self, feedback: Any) -> None:
        """Look away."""

    def run(self, feedback: Any, mask: Any = None, *, contexts: Any = None) -> Any:
        """Return one decision for each row of feedback."""
        problem: Problem = self.plan.problem
        if isinstance(problem, Options):
            drawn = self._generator.integers(problem.n, size=len(feedback))
            self.switches += int(np.count_nonzero(np.diff(drawn)))
            return drawn
        if isinstance(problem, Bandit):
            point = np.asarray(problem.domain.centre)
            feedback.values(np.tile(point, (len(feedback), 1)), feedback.first)
            return None
        return np.tile(centre_of(problem), (rows_of(feedback), 1))

    def release(self) -> FloatArray:
        """Return the same model after all records of a one-pass problem."""
        return centre_of(self.plan.problem)


def centre_of(problem: Problem) -> FloatArray:
    """Return the point that is never far from any other."""
    if isinstance(problem, Stochastic) and problem.initial is not None:
        return np.array(problem.initial)
    if isinstance(problem, Convex | Stochastic):
        return np.asarray(problem.domain.centre, dtype=np.float64)
    if isinstance(problem, Lipschitz):
        return np.asarray(problem.place(np.full((1, problem.dimension), 0.5))[0])
    raise InvalidInput(f"There is no still player for {type(problem).__name__} problems.")


def rows_of(feedback: Any) -> int:
    """Return the number of rounds of an array of feedback, or of a pair of arrays."""
    return len(feedback[0]) if isinstance(feedback, tuple) else len(feedback)
