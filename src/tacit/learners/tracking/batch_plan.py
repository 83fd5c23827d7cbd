"""What plans share whose every release is a noisy sum of a batch of losses: the lattice, its curve, what is used."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tacit.learners.experts.common import ExpertLearner
from tacit.learners.tracking.common import TrackingPlan
from tacit.learners.tracking.noisy_batches import BatchNoise, batches, smallest_weight
from tacit.mechanisms.noisy_vectors import NoisyVectors, vector_grid
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.records import LossRecords
from tacit.privacy.curves import Curve, Pure
from tacit.randomness import Randomness
from tacit.validation import FloatArray, IntArray


@dataclass(frozen=True)
class BatchPlan(TrackingPlan):
    """A plan on noisy sums of batches; the scale of their noise is a field of the subclasses."""

    if TYPE_CHECKING:

        @property
        def scale(self) -> float: ...

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of noise: "cube", "laplace" or "gaussian"."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Rounds of a batch."""

    @property
    def used(self) -> int:
        """Rounds whose losses are used: all but those of the last batch."""
        return (batches(self.rounds, self.length) - 1) * self.length

    @property
    def floor(self) -> float:
        """The smallest weight of an expert in mirror descent: S/(N n) for n batches, with S at least 1."""
        return smallest_weight(self.problem, self.length)

    @property
    def law(self) -> BatchNoise:
        """The noise of a batch."""
        return BatchNoise(self.kind, self.grid.scale, self.problem.n)

    @cached_property
    def grid(self) -> Grid:
        """The lattice of the losses."""
        records = LossRecords(self.problem.n, self.relation.sides)
        return vector_grid(self.kind, self.scale, records, self.rounds_per_person, self.numerics, self.length)

    @cached_property
    def curve(self) -> Curve:
        """What the noisy sums of one person's rounds leak."""
        return Pure(0.0) if self.problem.n == 1 else self.grid.curve

    @property
    def stated_numerics(self) -> str:
        """What the contract says about its numerics."""
        return self.grid.numerics


class BatchLearner(ExpertLearner):
    """Adds losses up, and has the noisy sum of each batch at its end; subclasses give `_steps`."""

    plan: BatchPlan

    def __init__(self, plan: BatchPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._used, self._floor = plan.used, plan.floor
        self._below: FloatArray = self._floor * np.arange(self._n, dtype=np.float64)  # mass of experts at the floor
        self._weights = np.full(self._n, 1 / self._n)
        self._hidden = NoisyVectors(plan.grid, plan.kind, randomness, "noise", plan.length)

    def _consistent(self) -> bool:
        waiting = min(self._round, self._used) % self.plan.length
        proper = self._weights.min() >= 0 and abs(self._weights.sum() - 1) < 1e-6
        return super()._consistent() and self._hidden.filled == waiting and bool(proper)

    @np.errstate(all="ignore")
    @np.errstate(all="ignore")
    def _absorb(self, losses: FloatArray) -> None:
        self._steps(losses[None], np.empty(1, dtype=np.int64))

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        self._steps(block, actions)
        self._round += len(block)
        self._played = False

    def _ended(self, rows: FloatArray) -> FloatArray:
        """Add rows; the noisy sums of the batches that they end, except for the last one."""
        return self._hidden.add(rows[: max(0, self._used - self._round)])

    def _end(self, first: int) -> int:
        """The row behind the batch of row `first` of the rows that are being played."""
        return first + self.plan.length - (self._round + first) % self.plan.length

    @abstractmethod
    def _steps(self, rows: FloatArray, actions: IntArray) -> None:
        """Play rows, and write their decisions."""
