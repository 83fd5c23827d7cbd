"""Streams of recommendations and losses, for learners that take the advice of policies.

A stream holds the losses of all actions, so that regret can be measured; a learner is shown all recommendations and one
loss of each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.environments.environment import InContext, OptionsWorld
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_table


@dataclass(frozen=True)
class PoliciesWorld(OptionsWorld):
    """Recommendations of `n` policies among `actions` actions.

    Attributes:
        actions: number of actions.
    """

    actions: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "actions", self.actions, at_least=2)

    def _uniform(self, generator: np.random.Generator) -> IntArray:
        """Recommend actions at random, shape (horizon, n)."""
        check_table(type(self).__name__, self.horizon, self.n + 2 * self.actions)
        return generator.integers(self.actions, size=(self.horizon, self.n))

    def _where(self, place: IntArray, there: Any, elsewhere: Any) -> FloatArray:
        """Mean losses with one value at the action `place` of each round and another one elsewhere."""
        chosen = np.arange(self.actions) == np.asarray(place)[:, None]
        return np.asarray(np.where(chosen, there, elsewhere), dtype=np.float64)


def _coins(advice: IntArray, means: FloatArray, generator: np.random.Generator) -> InContext:
    return InContext(advice, (generator.random(means.shape) < means).astype(np.float64), means)


@dataclass(frozen=True)
class SkilledPolicies(PoliciesWorld):
    """Each round has a good action; a policy knows it with a probability of its own, otherwise it guesses.

    The good action has a mean loss of .1, the others of .8.

    Attributes:
        skill: with which probability the best policy knows the good action; those of the others go down to 0.
    """

    skill: float = 0.8
    _between = (("skill", 0.0, 1.0),)

    def in_context(self, generator: np.random.Generator) -> InContext:
        advice = self._uniform(generator)
        good = generator.integers(self.actions, size=self.horizon)
        knows = generator.random(advice.shape) < np.linspace(self.skill, 0.0, self.n)
        return _coins(np.where(knows, good[:, None], advice), self._where(good, 0.1, 0.8), generator)


@dataclass(frozen=True)
class NeedlePolicy(PoliciesWorld):
    """One policy is better than all others, which guess.

    Attributes:
        gap: by how much its mean loss is smaller than that of other actions.
        shape: "guessing" (whatever policy 0 recommends is good), "turning" (actions take turns at being good, and
            policy 0 knows it) or "lonely" (the last action is good, and policy 0 alone recommends it).
    """

    gap: float = 0.08
    shape: str = "guessing"
    _between = (("gap", 0.0, 0.5),)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("NeedlePolicy", "shape", self.shape, ("guessing", "turning", "lonely"))

    def in_context(self, generator: np.random.Generator) -> InContext:
        advice, low, high = self._uniform(generator), 0.5 - self.gap, 0.5
        if self.shape == "turning":
            advice[:, 0] = np.arange(self.horizon) % self.actions
            low, high = 0.5 - self.gap / 2, 0.5 + self.gap / 2
        elif self.shape == "lonely":
            advice %= self.actions - 1
            advice[:, 0] = self.actions - 1
        return _coins(advice, self._where(advice[:, 0], low, high), generator)
