"""What algorithms share whose decisions are one of finitely many options: experts, or arms."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.learners.learner import Learner
from tacit.learners.plan import PrivatePlan
from tacit.problems import Options


@dataclass(frozen=True)
class OptionPlan(PrivatePlan):
    """A plan whose decisions are experts or arms."""

    problem: Options

    @property
    def trivial_regret(self) -> float:
        """Any learner's regret is at most the length of the stream times the loss range."""
        return self.rounds * self.problem.width

    @property
    def blind_regret(self) -> float:
        """Every round a uniform draw: the comparator's option is missed with probability 1 - 1/N."""
        return self.trivial_regret * (1 - 1 / self.problem.n)


class OptionLearner(Learner):
    """Plays one of the options, and counts how often it changes."""

    plan: OptionPlan
    _action: int

    def _move(self, option: int) -> None:
        """Change the decision from the next round on."""
        if option != self._action:
            self._switches += 1
        self._action = option
