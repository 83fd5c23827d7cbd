"""What one round adds to a running sum: its public size, how it becomes integers, how far one person moves them.

On the lattice a record of the largest size measures `units` steps. The integers, not the floats before them, are what
privacy rests on: one person moves their sum by at most `l2_shift(units)`, `l1_shift(units)` or, in each coordinate,
`largest_shift(units)` steps, exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from tacit.numerics.lattice import inner_units, l1_units, round_vectors
from tacit.privacy.curves import ROUND_UP
from tacit.validation import FloatArray, check_choice, check_dimension, check_integer, check_positive


@dataclass(frozen=True)
class Records(ABC):
    """The public facts about what is added each round.

    Attributes:
        dimension: coordinates of a record.
        sides: contributions that a neighbour moves (`Relation.sides`).
        people: rounds in which one person may stand.
    """

    dimension: int
    sides: int = 2
    people: int = 1
    off: ClassVar[float] = 1.0
    """By how many steps a coordinate may be off once it is a whole number of them."""

    def __post_init__(self) -> None:
        check_dimension("Records", "dimension", self.dimension)
        check_choice("Records", "sides", self.sides, (1, 2))
        check_integer("Records", "people", self.people)

    @property
    def apart(self) -> int:
        """How many of a person's rounds are sure to stand in different steps of the sum, if all of them do (else 1)."""
        return self.people

    @property
    @abstractmethod
    def size(self) -> float:
        """The largest size of a record."""

    def worth(self, units: int) -> float:
        """What one step is worth."""
        return self.size / units

    @property
    @abstractmethod
    def l2_move(self) -> float:
        """By how much one person moves the sum of all records, in l2 and in sizes of a record."""

    @property
    @abstractmethod
    def l1_move(self) -> float:
        """The same in l1."""

    @property
    def summands(self) -> int:
        """How many records of the largest size a step may add up."""
        return 1

    @property
    @abstractmethod
    def largest_move(self) -> float:
        """The same in one coordinate."""

    def move(self, noise: str) -> float:
        """The same in the norm in which this kind of noise is paid: "gaussian" l2, "laplace" l1, "cube" l_infinity."""
        return {"gaussian": self.l2_move, "laplace": self.l1_move, "cube": self.largest_move}[noise]

    @abstractmethod
    def l1_shift(self, units: int) -> int:
        """By how many steps one person moves the sum of all records, in l1, exactly."""

    @abstractmethod
    def largest_shift(self, units: int) -> int:
        """The same in one coordinate."""

    def pure_shift(self, noise: str, units: int) -> int:
        """The same in the norm in which this kind of pure noise is paid."""
        return self.largest_shift(units) if noise == "cube" else self.l1_shift(units)

    def l2_shift(self, units: int) -> float:
        """By how many steps one person moves the sum of all records, in l2, rounded up."""
        return units * self.l2_move * ROUND_UP

    @abstractmethod
    def plain(self, rows: FloatArray) -> FloatArray:
        """The records as they are added in float64."""

    @abstractmethod
    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        """The records as whole numbers of steps, if the largest size is now `stretch` times `size`."""


@dataclass(frozen=True)
class LossRecords(Records):
    """Losses in [0, 1], taken from their centre 1/2; `units`, even, is the whole range. The caller checks the range."""

    @property
    def size(self) -> float:
        return 1.0

    @property
    def l2_move(self) -> float:
        # Every coordinate moves by the whole range, or by half of it to the centre.
        return self.sides / 2 * self.people * sqrt(self.dimension)

    @property
    def l1_move(self) -> float:
        return self.largest_move * self.dimension

    @property
    def largest_move(self) -> float:
        return self.sides / 2 * self.people

    def l1_shift(self, units: int) -> int:
        return self.largest_shift(units) * self.dimension

    def largest_shift(self, units: int) -> int:
        return units // 2 * self.sides * self.people  # units are even

    def plain(self, rows: FloatArray) -> FloatArray:
        return rows - 0.5

    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        # Floor fixes both ends of the range; the ends are enforced all the same.
        steps = np.floor(rows * units)
        np.minimum(steps, units, out=steps)
        np.maximum(steps, 0.0, out=steps)
        steps -= units // 2
        return steps


@dataclass(frozen=True)
class VectorRecords(Records):
    """Vectors of l2 norm at most `norm`; longer ones are shortened."""

    norm: float = 1.0
    off: ClassVar[float] = 0.51  # to the nearest, and a little shorter if the check in integers acts

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("VectorRecords", "norm", self.norm)

    @property
    def size(self) -> float:
        return self.norm

    def worth(self, units: int) -> float:
        return self.norm / inner_units(units, self.dimension)

    @property
    def l2_move(self) -> float:
        return float(self.sides * self.people)

    @property
    def l1_move(self) -> float:
        return self.sides * self.people * sqrt(self.dimension)

    @property
    def largest_move(self) -> float:
        return float(self.sides * self.people)

    def l1_shift(self, units: int) -> int:
        return l1_units(units, self.dimension) * self.sides * self.people

    def largest_shift(self, units: int) -> int:
        return units * self.sides * self.people

    def plain(self, rows: FloatArray) -> FloatArray:
        return rows

    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        return round_vectors(rows, self.norm * stretch, units).astype(np.float64)


@dataclass(frozen=True)
class SummedRecords(VectorRecords):
    """Sums of vectors that were quantised one by one: whole numbers of steps already, or plain floats."""

    batch: int = 1

    @property
    def summands(self) -> int:
        return self.batch

    @property
    def apart(self) -> int:
        return 1  # all of a person's rounds may be in one sum

    def each(self, rows: FloatArray, units: int, stretch: float = 1.0) -> FloatArray:
        """The vectors of the sums, one a row, before they are added up."""
        return super().quantised(rows, units, stretch) if units else rows

    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        return rows
