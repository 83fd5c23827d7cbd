"""Streams and adversaries of a changing world.

The oblivious ones are `ExpertStream`s, the adaptive ones `ExpertAdversary`s (see `environment.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tacit.environments.environment import OptionsWorld
from tacit.validation import (
    SMALLEST,
    FloatArray,
    IntArray,
    check_integer,
    check_number,
    check_positive,
    invalid,
)


@dataclass(frozen=True)
class ShiftingBernoulli(OptionsWorld):
    """Independent 0/1 losses; at each change another expert becomes the best one.

    Attributes:
        changes: the rounds (counted from 0) at which a new distribution begins, increasing.
        gap: how much smaller the best expert's mean is.
        mean: mean loss of the others.
    """

    changes: tuple[int, ...]
    gap: float = 0.3
    mean: float = 0.6
    _fewest: ClassVar[int] = 2
    _between = (("mean", SMALLEST, 1.0), ("gap", 0.0, "mean"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.changes, tuple | list):
            raise invalid("ShiftingBernoulli", "changes", "a tuple of rounds", self.changes)
        changes = tuple(
            check_integer("ShiftingBernoulli", "changes", t, at_most=self.horizon - 1) for t in self.changes
        )
        if any(second <= first for first, second in pairwise(changes)):
            raise invalid("ShiftingBernoulli", "changes", "increasing", self.changes)
        object.__setattr__(self, "changes", changes)

    def best(self, generator: np.random.Generator) -> IntArray:
        """Draw the best expert of each stretch between changes, never the same twice in a row."""
        steps = generator.integers(1, self.n, size=len(self.changes) + 1)
        steps[0] = generator.integers(self.n)
        return np.cumsum(steps) % self.n

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        stretch = np.searchsorted(np.asarray(self.changes), np.arange(self.horizon), side="right")
        best = self.best(generator)[stretch]
        drawn = generator.random((self.horizon, self.n))
        rows = np.arange(self.horizon)
        chosen = drawn[rows, best] < self.mean - self.gap
        result: FloatArray = (drawn < self.mean).astype(np.float64)
        result[rows, best] = chosen
        return result


@dataclass(frozen=True)
class DriftingLosses(OptionsWorld):
    """Every expert's mean rises and falls smoothly, each at its own phase; uniform noise around it.

    Attributes:
        periods: how often the best expert goes once around all experts.
        swing: amplitude of the means around 1/2.
        noise: half width of the uniform noise; swing + noise may not exceed 1/2.
    """

    periods: float = 1.0
    swing: float = 0.25
    noise: float = 0.25
    _fewest: ClassVar[int] = 2
    _between = (("swing", 0.0, 0.5),)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("DriftingLosses", "periods", self.periods)
        most = 0.5 - self.swing
        check_number("DriftingLosses", "noise", self.noise, above=0.0, below=most, closed_low=True, closed_high=True)

    def means(self) -> FloatArray:
        """Compute the expected losses, shape (horizon, n)."""
        self._check_size()
        time = np.arange(self.horizon)[:, None] * (self.periods / self.horizon)
        phase = np.arange(self.n) / self.n
        result: FloatArray = 0.5 - self.swing * np.cos(2 * np.pi * (time - phase))
        return result

    def losses(self, generator: np.random.Generator) -> FloatArray:
        means = self.means()
        # The clip only removes the last bit of rounding: swing + noise is at most 1/2.
        return np.clip(means + generator.uniform(-self.noise, self.noise, means.shape), 0.0, 1.0)


@dataclass(frozen=True)
class PenaliseHeld(OptionsWorld):
    """An adaptive adversary: the expert that was just played costs 1 in the next round, the others little.

    Attributes:
        mean: mean of the other experts' independent 0/1 losses.
    """

    mean: float = 0.25
    adaptive: ClassVar[bool] = True
    _fewest: ClassVar[int] = 2
    _between = (("mean", 0.0, 1.0),)

    def start(self, generator: np.random.Generator) -> PenaliseHeldOpponent:
        self._check_size()
        return PenaliseHeldOpponent(self, generator)


class PenaliseHeldOpponent:
    """Plays `PenaliseHeld` round by round."""

    def __init__(self, environment: PenaliseHeld, generator: np.random.Generator) -> None:
        self._environment = environment
        self._generator = generator

    def respond(self, action: int | None) -> FloatArray:
        _check_action(self._environment, action)
        losses = (self._generator.random(self._environment.n) < self._environment.mean).astype(np.float64)
        if action is not None:
            losses[action] = 1.0
        return losses


@dataclass(frozen=True)
class FingerprintPhases(OptionsWorld):
    """The lower bound for adaptive adversaries (Theorem 5.1): S+1 copies of a fingerprinting game.

    In each phase of T/(S+1) rounds the experts stand in pairs. Every pair has a hidden bias, one 0/1 value
    is drawn from it each round, and the two experts of the pair pay that value and its complement. A pair
    that was played in the phase is closed: both experts pay 1 from then on. So each round asks for the sign
    of one more column mean of the same rows, and answering T/(S+1) of them well is fingerprinting, which
    needs epsilon of order sqrt(S/T). A comparator that never leaves an unplayed pair with a strong bias
    pays almost nothing. Needs n >= 2 T/(S+1) + 2, so that some pair is always open.
    """

    switches: int
    adaptive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("FingerprintPhases", "switches", self.switches, at_least=0)
        check_integer("FingerprintPhases", "horizon", self.horizon, at_least=self.switches + 1)
        check_integer("FingerprintPhases", "n", self.n, at_least=2 * self.length + 2)

    @property
    def length(self) -> int:
        """Rounds in a phase."""
        return -(-self.horizon // (self.switches + 1))

    def start(self, generator: np.random.Generator) -> FingerprintOpponent:
        self._check_size()
        return FingerprintOpponent(self, generator)


class FingerprintOpponent:
    """Plays `FingerprintPhases` round by round."""

    def __init__(self, environment: FingerprintPhases, generator: np.random.Generator) -> None:
        self._environment = environment
        self._generator = generator
        self._pairs = environment.n // 2
        self._round = 0

    def respond(self, action: int | None) -> FloatArray:
        _check_action(self._environment, action)
        if self._round % self._environment.length == 0:
            # Biases of fingerprinting codes: the density 1/(pi sqrt(p(1-p))) puts weight near 0 and 1.
            self._bias = np.sin(self._generator.uniform(0.0, np.pi / 2, self._pairs)) ** 2
            self._open = np.ones(self._pairs, dtype=bool)
        elif action is not None and action < 2 * self._pairs:
            self._open[action // 2] = False
        self._round += 1
        values = (self._generator.random(self._pairs) < self._bias).astype(np.float64)
        losses = np.ones(self._environment.n)
        losses[0 : 2 * self._pairs : 2] = np.where(self._open, values, 1.0)
        losses[1 : 2 * self._pairs : 2] = np.where(self._open, 1.0 - values, 1.0)
        return losses


def _check_action(environment: OptionsWorld, action: int | None) -> None:
    if action is not None:
        check_integer(type(environment).__name__, "action", action, at_least=0, at_most=environment.n - 1)
