"""Audit of sums on a lattice, in integers: which other draws would have released the same on a neighbour?

The shipped accumulator runs on a stream with known draws. On the neighbour it is asked, step by step, for the draw
that releases the same sum once more: what it adds to a sum is one with the draw, so a run with draws of zero tells by
how much to move it. The differences of the two sequences of draws are what the noise has to hide, roundings and all.
If no draw releases the same, the neighbours are told apart with certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from tacit.auditing.replay.running_sums import noise_sizes
from tacit.mechanisms.running_sums.base import Accumulator, RunningSum
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.records import LossRecords, Records, SummedRecords
from tacit.numerics.bounds import GAUSSIAN_SIGMA
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Moved:
    """By how much draws must move, one row a step, and in the norm that the noise is paid in."""

    draws: FloatArray
    size: float


class _Given:
    """A noise source that gives out what it was told."""

    def __init__(self) -> None:
        self.draw: FloatArray = np.empty(0)

    def __call__(self, count: int) -> FloatArray:
        return self.draw


def moved_draws(
    mechanism: RunningSum,
    grid: Grid,
    pair: tuple[FloatArray, FloatArray],
    draws: FloatArray,
    sensitivities: FloatArray | None = None,
) -> Moved:
    """The draws that release on the second stream what `draws` released on the first, minus `draws`."""
    growth = np.ones(len(draws)) if sensitivities is None else sensitivities
    sides = [_Given(), _Given()]
    first, second = (mechanism._accumulator(draws.shape[1], grid.scale, side, grid) for side in sides)
    moved = np.zeros(draws.shape)
    for step, (row, other, draw) in enumerate(zip(*pair, draws, strict=True)):
        stretch = float(growth[step])
        sides[0].draw = draw
        released = first.add(row, stretch)
        sides[1].draw = np.rint((released - _quiet(second, sides[1], other, stretch)) / (grid.step * stretch))
        if not np.array_equal(second.add(other, stretch), released):
            return Moved(moved, inf)
        moved[step] = sides[1].draw - draw
    return Moved(moved, _size(mechanism, moved))


def promised_move(mechanism: RunningSum, grid: Grid) -> float:
    """How far a person may move the draws, in the norm of the noise: what the lattice was made for."""
    if mechanism.noise != "gaussian":
        floors = grid.rounding.l1_shift(grid.records.dimension)
        return float(mechanism.nodes * grid.records.pure_shift(mechanism.noise, grid.units) + floors)
    shift, column = grid.records.l2_shift(grid.units), mechanism.column_norm * mechanism.crowding(grid.records.apart)
    return grid.rounding.moved(shift, column, mechanism.steps, grid.records.dimension)


def paid_move(mechanism: RunningSum, grid: Grid, privacy: float) -> float:
    """How far the noise hides draws at this mu or epsilon."""
    return privacy * GAUSSIAN_SIGMA if mechanism.noise == "gaussian" else privacy / grid.rate


def extreme_pair(
    records: Records, units: int, steps: int, generator: np.random.Generator, first: int
) -> tuple[FloatArray, FloatArray]:
    """Random streams that differ as much as neighbours may, from step `first` on."""
    shape = (steps, records.dimension)
    signs = np.where(generator.random(records.dimension) < 0.5, -1.0, 1.0)
    if isinstance(records, LossRecords):
        rows, changed, blank = generator.random(shape), (1 + signs) / 2, np.full(records.dimension, 0.5)
    else:
        rows = generator.standard_normal(shape)
        rows *= records.size * generator.random((steps, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        changed, blank = signs * records.size / np.sqrt(records.dimension), np.zeros(records.dimension)
    other = rows.copy()
    last = first + records.people
    rows[first:last] = changed
    other[first:last] = 2 * blank - changed if records.sides == 2 else blank
    if isinstance(records, SummedRecords):
        return records.each(rows, units), records.each(other, units)
    return rows, other


def _size(mechanism: RunningSum, moved: FloatArray) -> float:
    """The moves of all draws in l2, in l1, or for cube noise the largest coordinate of each step, added up."""
    if mechanism.noise == "gaussian":
        return float(np.sqrt((moved**2).sum()))
    return float(noise_sizes(moved, mechanism.noise).sum())


def _quiet(sums: Accumulator, source: _Given, row: FloatArray, stretch: float) -> FloatArray:
    """What the next release would be without fresh noise; nothing has happened afterwards."""
    saved = sums.state_dict()
    source.draw = np.zeros(row.size)
    released = sums.add(row, stretch)
    sums.load_state_dict(saved)
    return released
