"""Streams of expert losses: a gap, an adversary that switches, a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.environments.environment import OptionsWorld
from tacit.validation import FloatArray, check_integer, plain_fields, real_array


@dataclass(frozen=True)
class BernoulliGap(OptionsWorld):
    """Independent 0/1 losses; expert 0 has a smaller mean than all others.

    Attributes:
        gap: how much smaller the best expert's mean is.
        mean: mean loss of the others.
    """

    gap: float = 0.1
    mean: float = 0.5
    _between = (("mean", 0, 1), ("gap", 0, "mean"))

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        means = np.full(self.n, self.mean)
        means[0] -= self.gap
        return (generator.random((self.horizon, self.n)) < means).astype(np.float64)


@dataclass(frozen=True)
class SwitchingAdversary(OptionsWorld):
    """Two groups of experts take turns at being wrong, in phases of random length about `phase`.

    A learner that chases the recent past is always late. Expert 0 is right a little more often.
    """

    phase: int = 50
    _fewest: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("SwitchingAdversary", "phase", self.phase)

    def losses(self, generator: np.random.Generator) -> FloatArray:
        self._check_size()
        flips = generator.random(self.horizon) < 1 / self.phase
        side = np.cumsum(flips) % 2
        odd = np.arange(self.n) % 2
        losses: FloatArray = (odd == side[:, None]).astype(np.float64)
        losses[:, 0] *= generator.random(self.horizon) < 0.9
        return losses


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Recorded losses of your own, the same in every run.

    Attributes:
        matrix: one row per round, one column per expert.
    """

    matrix: ArrayLike
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)
        object.__setattr__(self, "matrix", real_array("Replay", "matrix", self.matrix, (None, None)))

    def __repr__(self) -> str:  # the losses are private: their number is all that is shown
        return f"Replay({self.horizon} rounds, {self.n} experts)"

    @property
    def horizon(self) -> int:
        """Number of recorded rounds."""
        return int(np.shape(self.matrix)[0])

    @property
    def n(self) -> int:
        """Number of recorded experts."""
        return int(np.shape(self.matrix)[1])

    def losses(self, generator: np.random.Generator) -> FloatArray:
        return np.asarray(self.matrix, dtype=np.float64)
