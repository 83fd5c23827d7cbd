"""The shape that every algorithm fills in: a calibrated plan, which starts a learner.

A `Plan` is frozen and public: parameters, guarantee and regret bound, all known before the first round.
`plan.start()` makes a `Learner`: `play()` gives the decision of the round, `observe(feedback)` ends it,
and `run(feedback)` does the same for a whole array of rounds, bit for bit.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

from tacit.errors import InvalidInput
from tacit.learners.learner import Learner
from tacit.learners.target import RegretBound, Target
from tacit.privacy.guarantee import REPLACE, Guarantee, Relation, as_relation
from tacit.problems import Problem
from tacit.randomness import Randomness
from tacit.validation import plain_fields

COLUMNS = 100  # a line of `explain`


@dataclass(frozen=True)
class Plan(ABC):
    """A calibrated algorithm for one problem. Everything in it is public.

    Subclasses are frozen dataclasses whose first field is the problem and whose other fields are the
    parameters; they give `guarantee`, `regret_bound`, `_calibrate` and `_learner`.
    """

    problem: Problem
    _takes: ClassVar[type[Problem]] = Problem

    def __post_init__(self) -> None:
        plain_fields(self)
        self._check_problem(self.problem)

    @classmethod
    def _check_problem(cls, problem: object) -> None:
        if not isinstance(problem, cls._takes):
            kind = "problem" if cls._takes is Problem else f"{cls._takes.__name__} problem"
            raise InvalidInput(f"The 'problem' parameter of {cls.__name__} must be a {kind}. Got {problem!r} instead.")

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adversaries for whom the regret bound is proved (privacy always holds for adaptive ones)."""
        return ("oblivious",)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return type(self).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "problem"}

    @property
    def signature(self) -> str:
        """The problem and the parameters to the last digit: what a saved state must match."""
        return f"{self.algorithm}({self.problem!r}, {self.parameters!r})"

    @property
    def horizon(self) -> int | None:
        """How many rounds the plan covers (None: any number)."""
        return self.problem.horizon

    @property
    def rounds(self) -> int:
        """The horizon, known to be finite."""
        if self.problem.horizon is None:
            raise InvalidInput(
                f"{self.algorithm} needs a finite horizon: for an unknown one use {self.algorithm}.calibrate or "
                "tacit.plan, which restart it at doubling lengths."
            )
        return self.problem.horizon

    @property
    def expected_switches(self) -> float | None:
        """A bound on the expected number of times the decision changes (None: not bounded)."""
        return None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy contract."""

    @property
    @abstractmethod
    def regret_bound(self) -> RegretBound:
        """The certified regret."""

    @property
    def trivial_regret(self) -> float:
        """The regret that no learner can exceed."""
        return float("inf")

    @property
    def blind_regret(self) -> float:
        """The certified regret of deciding without any data: certified regret at or above it says nothing."""
        return self.trivial_regret

    @property
    def vacuous(self) -> bool:
        """True if the certified regret says nothing: deciding without any data has no more."""
        return not float(self.regret_bound) < self.blind_regret

    @classmethod
    def calibrate(
        cls,
        problem: Problem,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str = REPLACE,
        rounds_per_person: int = 1,
        max_switches: int | None = None,
        adversary: str = "oblivious",
        **options: Any,
    ) -> Plan:
        """The plan with the smallest certified regret that meets (epsilon, delta).

        The arguments are those of `tacit.plan`, then options of the algorithm's own. The search sees public
        quantities only. An unknown horizon gives the same algorithm, restarted at doubling lengths.
        """
        cls._check_problem(problem)
        target = Target(epsilon, delta, as_relation("the target", relation), rounds_per_person, max_switches, adversary)
        if problem.horizon is None:
            from tacit.learners.doubling import Doubling

            return Doubling(problem, target, partial(_calibrate_epoch, cls, target, options))
        return cls._calibrate(problem, target, **options)

    @classmethod
    @abstractmethod
    def _calibrate(cls, problem: Any, target: Target, **options: Any) -> Plan: ...

    def start(self, randomness: Randomness | None = None) -> Learner:
        """A fresh learner; its randomness is secret unless a replayable source is named."""
        source = Randomness.secret() if randomness is None else randomness
        if not isinstance(source, Randomness):
            raise InvalidInput(
                "The 'randomness' parameter of start must be Randomness.secret() or "
                f"Randomness.replayable(seed). Got {randomness!r} instead."
            )
        return self._learner(source)

    def run(self, feedback: Any, randomness: Randomness | None = None) -> Any:
        """The decisions of a fresh learner on an array of feedback: `start` and `Learner.run` in one call."""
        return self.start(randomness).run(feedback)

    @abstractmethod
    def _learner(self, randomness: Randomness) -> Learner: ...

    def restore(self, state: dict[str, Any]) -> Learner:
        """A learner of this plan that continues from `Learner.state_dict`.

        The state of a secret learner holds no keys, and the learner that is restored from it draws fresh noise. Given
        the state, what a learner draws later is independent of what it drew before, so that a continued run has the
        law of one that was never interrupted. Continuing one state twice spends twice: what both continuations show
        leaks at most what two runs do. The state of a replayable learner continues bit for bit, and stays
        replayable.
        """
        learner = self._learner(Randomness.secret())
        learner.load_state_dict(state)
        return learner

    def explain(self) -> str:
        """The plan in words: parameters, certified regret, contract."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        bound = self.regret_bound
        lines = textwrap.wrap(f"{self.algorithm}({shown})", COLUMNS, subsequent_indent="  ", break_long_words=False)
        lines += [f"certified {self.problem.price}: {bound.value:.4g}", f"  formula:    {bound.formula}"]
        lines += [f"  if:         {bound.condition}"] if bound.condition else []
        lines += [f"  holds for:  {'; '.join(bound.assumptions)}"] if bound.assumptions else []
        return "\n".join([*lines, str(self.guarantee)])


def _calibrate_epoch(cls: type[Plan], target: Target, options: dict[str, Any], problem: Problem) -> Plan:
    return cls._calibrate(problem, target, **options)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
