"""The sums of the private conversion: clipped gradient differences, one record at a time, whose sizes grow.

A record's difference is at most C_t long in the dual norm, hence gaussian_factor times C_t in l2; C_t is a public
function of released iterates. On a lattice its steps grow with the largest C_t so far, and each record becomes
integers by itself, before the batch is added up and, after the release, divided by its size. A node of a tree
holds records of steps of several lengths, and noise with the density of a norm has none of the exact samplers: both
stay in float64.
"""

from __future__ import annotations

from tacit.learners.stochastic.norms import Norm
from tacit.learners.stochastic.weighting import scheduled_column_norm
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.base import Accumulator
from tacit.mechanisms.running_sums.lattice_sums import Grid, lattice_grid
from tacit.mechanisms.running_sums.records import SummedRecords
from tacit.numerics.source import Streams
from tacit.privacy.curves import ROUND_UP
from tacit.privacy.guarantee import IDEALIZED
from tacit.validation import FloatArray

LARGEST_BATCH = 2**22
"""So many integers of at most 2^30 add up exactly in float64."""


def difference_grid(
    mechanism: RunningSum,
    privacy: float,
    records: SummedRecords,
    schedule: FloatArray | None,
    numerics: str,
    batch: int,
) -> Grid:
    """The numbers on which differences per unit of C_t are added up; `schedule`: sizes fixed in advance, or None."""
    column = mechanism.column_norm if schedule is None else scheduled_column_norm(mechanism, schedule)
    steady_gaussian = mechanism.noise == "gaussian" and mechanism.steady
    if numerics == "exact" and steady_gaussian and batch <= LARGEST_BATCH:
        return lattice_grid(mechanism, privacy, records, growing=schedule is None, column_norm=column)
    moved = records.l2_move * records.size if mechanism.noise == "gaussian" else float(records.sides * records.people)
    scale = mechanism.scale(privacy, moved) * column / mechanism.column_norm * ROUND_UP
    return Grid(records, 0, scale, mechanism.curve(privacy), IDEALIZED)


def start_differences(mechanism: RunningSum, grid: Grid, norm: Norm, streams: Streams) -> Accumulator:
    """Begin the sums, with the noise of the norm under pure privacy."""
    unit = norm.exponential_noise if mechanism.noise == "laplace" else None
    return mechanism.start_on(grid, streams, "noise", unit=unit)
