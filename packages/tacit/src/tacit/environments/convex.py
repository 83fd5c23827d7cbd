"""Streams for online convex optimisation: each has a loss, and makes data for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from tacit.environments.environment import Data, PointsWorld
from tacit.losses import LinearLoss, LogisticLoss, QuadraticLoss
from tacit.losses.loss import RowLoss
from tacit.validation import LARGEST, NO_LENGTH, SMALLEST, FloatArray, invalid, plain_fields, real_array


@dataclass(frozen=True)
class LogisticStream(PointsWorld):
    """Online logistic regression: unit feature vectors, labels from a fixed model of length `strength`.

    Attributes:
        strength: how steep the true model is; 0 is pure noise.
    """

    strength: float = 5.0
    _between = (("strength", 0.0, LARGEST),)

    @cached_property
    def loss(self) -> LogisticLoss:
        """The logistic loss of unit features."""
        return LogisticLoss(data_norm=1.0)

    def data(self, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw features of shape (horizon, dimension), and labels -1 or 1."""
        self._check_size()
        direction = unit_rows(generator.standard_normal((1, self.dimension)))[0]
        features = unit_rows(generator.standard_normal((self.horizon, self.dimension)))
        positive = generator.random(self.horizon) < expit(self.strength * (features @ direction))
        return features, np.where(positive, 1.0, -1.0)


@dataclass(frozen=True)
class DriftingQuadratic(PointsWorld):
    """Squared distance to a target that goes round a circle `turns` times, with noise.

    Attributes:
        turns: full circles over the horizon; in one dimension the target swings.
        spread: standard deviation of the noise of each coordinate.
    """

    turns: float = 1.0
    spread: float = 0.1
    _between = (("turns", 0.0, LARGEST), ("spread", 0.0, LARGEST))

    @cached_property
    def loss(self) -> QuadraticLoss:
        """Half the squared distance to a target of norm at most 1."""
        return QuadraticLoss()

    def data(self, generator: np.random.Generator) -> FloatArray:
        """Draw targets of shape (horizon, dimension)."""
        self._check_size()
        angles = 2 * pi * self.turns * np.arange(self.horizon) / self.horizon
        targets = self.spread * generator.standard_normal((self.horizon, self.dimension))
        targets[:, 0] += 0.5 * np.cos(angles) + 0.2
        if self.dimension > 1:
            targets[:, 1] += 0.5 * np.sin(angles)
        return targets


@dataclass(frozen=True)
class SignFlips(PointsWorld):
    """Linear losses whose direction turns round at random times: following the last phase is always late.

    Attributes:
        phase: mean length of a phase.
        bias: how much longer one sign lasts than the other.
    """

    phase: float = 50.0
    bias: float = 0.1
    _between = (("phase", SMALLEST, LARGEST), ("bias", 0.0, 1.0))

    @cached_property
    def loss(self) -> LinearLoss:
        """Gradients of norm at most 1."""
        return LinearLoss(lipschitz=1.0)

    def data(self, generator: np.random.Generator) -> FloatArray:
        """Draw gradients of shape (horizon, dimension) and norm 1."""
        self._check_size()
        direction = unit_rows(generator.standard_normal((1, self.dimension)))[0]
        signs = np.empty(self.horizon)
        first, sign = 0, 1.0
        while first < self.horizon:
            length = 1 + int(generator.exponential(self.phase * (1 + sign * self.bias)))
            signs[first : first + length] = sign
            first, sign = first + length, -sign
        return np.asarray(signs[:, None] * direction)


@dataclass(frozen=True, eq=False, repr=False)
class ReplayData:
    """Recorded data of a loss, the same in every run: your own stream in a simulation.

    Attributes:
        loss: the loss that the data belong to.
        recording: what the loss takes for many rounds: an array of rows, or a pair (features, labels).

    >>> stream = ReplayData(LogisticLoss(), ([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]))
    >>> stream.horizon, stream.dimension
    (2, 2)
    """

    loss: RowLoss
    recording: Data | ArrayLike
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        plain_fields(self)
        if not isinstance(self.loss, RowLoss):
            raise invalid("ReplayData", "loss", "a loss of rows of data", self.loss)
        pair = isinstance(self.recording, tuple | list) and len(self.recording) == 2 and self.loss.family == "glm"
        parts: Any = self.recording if pair else (self.recording,)
        rows = real_array("ReplayData", "recording", parts[0], (None, None))
        if not len(rows):
            raise invalid("ReplayData", "recording", "one round or more", self.recording)
        kept = (rows, real_array("ReplayData", "labels", parts[1], (len(rows),))) if pair else rows
        self.loss.pack(kept, rows.shape[1], many=True)  # raises if the data do not fit the loss
        object.__setattr__(self, "recording", kept)

    def __repr__(self) -> str:  # the recording is private: its size is all that is shown
        return f"ReplayData({self.loss!r}, {self.horizon} rounds, dimension {self.dimension})"

    @property
    def _kept(self) -> Data:
        return cast(Data, self.recording)  # checked when it was made: an array, or a pair of them

    @property
    def _rows(self) -> FloatArray:
        return self._kept[0] if isinstance(self._kept, tuple) else self._kept

    @property
    def horizon(self) -> int:
        """Number of recorded rounds."""
        return len(self._rows)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a row."""
        return int(self._rows.shape[1])

    def data(self, generator: np.random.Generator) -> Data:
        return self._kept


def unit_rows(rows: FloatArray) -> FloatArray:
    """Return the rows, each divided by its norm."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), NO_LENGTH))
