"""What one round contributes to a sum."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.noise.running_sums.accumulators import (
    LossRecords,
    Records,
    SummedRecords,
    VectorRecords,
)
from tacit.ranges import Count, Positive, check_fields
from tacit.releases.neighbours import Neighbours


@dataclass(frozen=True)
class Losses:
    """A vector of losses in [0, 1], one for each option.

    Attributes:
        dimension: number of losses.
    """

    dimension: Count

    def __post_init__(self) -> None:
        check_fields(self)

    def records(self, among: Neighbours) -> Records:
        """Return the facts from which a lattice is made."""
        people = {"sides": among.sides, "people": among.rounds, "separation": among.separation}
        return LossRecords(self.dimension, **people)


@dataclass(frozen=True)
class Vectors:
    """A vector of l2 norm at most `norm`.

    Attributes:
        dimension: number of coordinates.
        norm: largest l2 norm.
        batch: number of vectors that a step adds up (None: each round is a step of its own).
        once: whether a step holds at most one vector of a person, although it adds up many, as in
            passes over the same rows.
    """

    dimension: Count
    norm: Positive
    batch: Count | None = None
    once: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def records(self, among: Neighbours) -> Records:
        """Return the facts from which a lattice is made."""
        facts = (self.dimension, among.sides, among.rounds, self.norm)
        if self.batch is None:
            return VectorRecords(*facts, separation=among.separation)
        summed = StepRecords if self.once else SummedRecords
        return summed(*facts, batch=self.batch, separation=among.separation)


@dataclass(frozen=True)
class StepRecords(SummedRecords):
    """Sums of rows that were quantised one by one; a person has at most one of them in a step."""

    apart, spacing = Records.apart, Records.spacing
