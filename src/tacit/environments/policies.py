"""Streams of recommendations and losses, for learners that take the advice of policies.

A stream holds the losses of all actions, so that regret can be measured; a learner is shown all recommendations and one
loss of each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tacit.environments.environment import InContext, OptionsWorld
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, check_choice, check_integer, check_table, real_array, require


@dataclass(frozen=True)
class PoliciesWorld(OptionsWorld):
    """Recommendations of `n` policies among `actions` actions.

    Attributes:
        n: number of policies.
        horizon: number of rounds.
        actions: number of actions.
    """

    actions: int
    _fewest_actions: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "actions", self.actions, at_least=self._fewest_actions)

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

    Attributes:
        skill: with which probability the best policy knows the good action; those of the others go down to 0.
        means: mean loss of the good action and of the others.
    """

    skill: float = 0.8
    means: tuple[float, float] = (0.1, 0.8)
    _between = (("skill", 0.0, 1.0),)

    def __post_init__(self) -> None:
        super().__post_init__()
        means = real_array("SkilledPolicies", "means", self.means, (2,))
        if not np.all((means >= 0) & (means <= 1)):
            raise InvalidInput("The 'means' parameter of SkilledPolicies must be two numbers from 0 to 1.")
        object.__setattr__(self, "means", tuple(means.tolist()))

    def in_context(self, generator: np.random.Generator) -> InContext:
        """Draw a stream."""
        advice = self._uniform(generator)
        good = generator.integers(self.actions, size=self.horizon)
        knows = generator.random(advice.shape) < np.linspace(self.skill, 0.0, self.n)
        return _coins(np.where(knows, good[:, None], advice), self._where(good, *self.means), generator)


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
        """Draw a stream."""
        advice, low, high = self._uniform(generator), 0.5 - self.gap, 0.5
        if self.shape == "turning":
            advice[:, 0] = np.arange(self.horizon) % self.actions
            low, high = 0.5 - self.gap / 2, 0.5 + self.gap / 2
        elif self.shape == "lonely":
            advice %= self.actions - 1
            advice[:, 0] = self.actions - 1
        return _coins(advice, self._where(advice[:, 0], low, high), generator)


@dataclass(frozen=True)
class DigitPolicies(PoliciesWorld):
    """Classifiers of handwritten digits, trained on few images each: which one answers? A wrong digit costs 1.

    Logistic regressions, trees and nearest neighbours take turns; they are trained on disjoint parts of 8 to 40 of
    1,200 images of scikit-learn's digits. The stream draws from the other images.

    Attributes:
        n: number of classifiers, at most 50.
        actions: the ten digits.
    """

    n: int = 50
    horizon: int = 10_000
    actions: int = 10
    _fewest_actions: ClassVar[int] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("DigitPolicies", "n", self.n, at_most=50)
        check_integer("DigitPolicies", "actions", self.actions, at_least=10, at_most=10)

    def in_context(self, generator: np.random.Generator) -> InContext:
        """Draw a stream."""
        check_table("DigitPolicies", self.horizon, self.n + 2 * self.actions)
        answers, digits = _answers()
        drawn = generator.integers(len(digits), size=self.horizon)
        losses = self._where(digits[drawn], 0.0, 1.0)
        return InContext(answers[drawn, : self.n], losses, losses)


@lru_cache(maxsize=1)
def _answers() -> tuple[IntArray, IntArray]:
    """What each of 50 classifiers says to each of 597 images, and the digits."""
    require("sklearn", "sklearn")
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    images, digits = load_digits(return_X_y=True)
    order = 811 * np.arange(len(digits)) % len(digits)  # neighbours come from one writer
    train, rest = order[:1200], order[1200:]
    sizes = np.linspace(8, 40, 50).astype(int)
    ends = np.cumsum(sizes)
    answers = np.empty((len(rest), 50), dtype=np.int64)
    for policy, (size, end) in enumerate(zip(sizes.tolist(), ends.tolist(), strict=True)):
        kinds = (LogisticRegression(max_iter=500), DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1))
        part = train[end - size : end]
        answers[:, policy] = kinds[policy % 3].fit(images[part] / 16, digits[part]).predict(images[rest] / 16)
    return answers, digits[rest].astype(np.int64)
