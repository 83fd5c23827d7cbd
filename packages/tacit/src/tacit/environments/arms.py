"""Streams of losses for learners of arms.

A stream holds the losses of all arms, so that regret can be measured; a learner is shown one entry of each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import ClassVar

import numpy as np

from tacit.environments.environment import OptionsWorld, RoundsWorld
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_integer, check_table, real_array


def _coins(owner: str, means: FloatArray, horizon: int, generator: np.random.Generator) -> FloatArray:
    """0/1 losses with these means, of shape (n,) or (horizon, n)."""
    n = means.shape[-1]
    check_table(owner, horizon, n)
    return (generator.random((horizon, n)) < means).astype(np.float64)


@dataclass(frozen=True)
class BernoulliArms(RoundsWorld):
    """Independent 0/1 losses, one mean for each arm.

    Attributes:
        means: mean loss of each arm.
        horizon: number of rounds.
    """

    means: tuple[float, ...]
    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        means = real_array("BernoulliArms", "means", self.means, (None,))
        if not means.size or not np.all((means >= 0) & (means <= 1)):
            raise InvalidInput("The 'means' parameter of BernoulliArms must hold numbers from 0 to 1, one an arm.")
        object.__setattr__(self, "means", tuple(means.tolist()))

    @property
    def n(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def best_arm(self) -> int:
        """The arm of smallest mean, with which stochastic regret compares."""
        return int(np.argmin(self.means))

    def losses(self, generator: np.random.Generator) -> FloatArray:
        """Draw a stream, shape (horizon, n)."""
        return _coins("BernoulliArms", np.array(self.means), self.horizon, generator)


@dataclass(frozen=True)
class ClickArms(RoundsWorld):
    """Rare clicks (a click is a loss of 0), whose rates have a level that all arms share.

    Attributes:
        rates: click rate of each arm at level 1.
        horizon: number of rounds.
        swing: by how much the level goes up and down, as a share of it.
        cycles: how often it does so.
        fall: by how much the level has fallen at the end, as a share of it.
        days: parts of the horizon that have a random level each (0: none).
        day_level: deviation of the logarithm of a day's level.
        lost: probability that a reply of each arm never comes (one number, or one an arm).
    """

    rates: tuple[float, ...]
    horizon: int
    swing: float = 0.0
    cycles: float = 1.0
    fall: float = 0.0
    days: int = 0
    day_level: float = 0.0
    lost: float | tuple[float, ...] = 0.0
    _between = (("swing", 0.0, 1.0), ("fall", 0.0, 1.0), ("cycles", 0.0, 1e6), ("day_level", 0.0, 2.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = "ClickArms"
        rates = real_array(owner, "rates", self.rates, (None,))
        lost = np.broadcast_to(real_array(owner, "lost", self.lost, None), rates.shape)
        for name, values in (("rates", rates), ("lost", lost)):
            if not values.size or not np.all((values >= 0) & (values <= 1)):
                raise InvalidInput(f"The '{name}' parameter of ClickArms must hold numbers from 0 to 1, one an arm.")
            object.__setattr__(self, name, tuple(values.tolist()))
        check_integer(owner, "days", self.days, at_least=0)

    @property
    def n(self) -> int:
        """Number of arms."""
        return len(self.rates)

    @property
    def best_arm(self) -> int:
        """The arm with the most clicks that come back."""
        return int(np.argmax(np.array(self.rates) * (1 - np.array(self.lost))))

    def levels(self, generator: np.random.Generator) -> FloatArray:
        """Draw the level of each round, shape (horizon,)."""
        time = np.arange(self.horizon) / self.horizon
        levels = (1 + self.swing * np.sin(2 * pi * self.cycles * time)) * (1 - self.fall * time)
        if self.days:
            drawn = generator.standard_normal(self.days) * self.day_level - self.day_level**2 / 2
            levels = levels * np.exp(drawn)[(time * self.days).astype(int)]
        return levels

    def losses(self, generator: np.random.Generator) -> FloatArray:
        """Draw a stream, shape (horizon, n): 0 for a click, 1 for none, NaN for a missing reply."""
        check_table("ClickArms", self.horizon, self.n)
        means = np.minimum(1.0, self.levels(generator)[:, None] * np.array(self.rates))
        losses: FloatArray = (generator.random(means.shape) >= means).astype(np.float64)
        lost = np.asarray(self.lost)
        if lost.any():
            losses[generator.random(means.shape) < lost] = np.nan
        return losses


@dataclass(frozen=True)
class DecoyArms(OptionsWorld):
    """One arm is the best in the first half and the worst later; another is steadily good."""

    _fewest: ClassVar[int] = 2

    def losses(self, generator: np.random.Generator) -> FloatArray:
        """Draw a stream, shape (horizon, n): arm 0 is the decoy, arm 1 the best arm in the end."""
        self._check_size()
        means = np.full((self.horizon, self.n), 0.5)
        means[:, 0] = np.where(np.arange(self.horizon) < 0.5 * self.horizon, 0.3, 0.7)
        means[:, 1] = 0.4
        return _coins("DecoyArms", means, self.horizon, generator)


@dataclass(frozen=True)
class DriftingArms(OptionsWorld):
    """Every arm's mean goes up and down once; the arms take turns at being the best, arm 0 a little more often."""

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        time = np.arange(self.horizon)[:, None] / self.horizon
        means = 0.5 + 0.2 * np.sin(2 * pi * (time + np.arange(self.n) / self.n))
        means[:, 0] -= 0.1
        return _coins("DriftingArms", means, self.horizon, generator)
