"""The sums of the private conversion: clipped gradient differences, one record at a time, whose sizes grow.

A record's difference is at most C_t long in the dual norm, hence gaussian_factor times C_t in l2; C_t is a public
function of released iterates. On a lattice its steps grow with the largest C_t so far, and each record becomes
integers by itself, before the batch is added up and, after the release, divided by its size. A node of a tree
holds records of steps of several lengths, which are whole multiples of C_1/1000. Under pure privacy the coordinates
have independent two-sided geometric noise for the l1 norm, at most sqrt(d) times the l2 norm; in float64 the noise has
the density of the dual norm, which has no exact sampler here and is smaller by a factor of sqrt(2) in l2.
"""

from __future__ import annotations

from tacit.learners.stochastic.norms import Norm
from tacit.learners.stochastic.weighting import scheduled_column_norm
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.base import Accumulator
from tacit.mechanisms.running_sums.lattice_sums import FIRST_MULTIPLE, Grid, admissible, lattice_grid
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
    first: float,
) -> Grid:
    """The numbers on which differences per unit of C_t are added up.

    `schedule`: sizes fixed in advance, or None; `first`: C_1.
    """
    multiple = first * ROUND_UP / FIRST_MULTIPLE if mechanism.nodes and numerics == "exact" else 0.0
    column = None
    if schedule is not None:
        column = scheduled_column_norm(mechanism, admissible(schedule, multiple))
    if numerics == "exact" and records.batch <= LARGEST_BATCH:
        growing = schedule is None
        return lattice_grid(mechanism, privacy, records, growing=growing, column_norm=column, multiple=multiple)
    moved = records.l2_move * records.size if mechanism.noise == "gaussian" else float(records.sides * records.people)
    share = 1.0 if column is None else column / mechanism.column_norm
    scale = mechanism.scale(privacy, moved) * share * ROUND_UP
    return Grid(records, 0, scale, mechanism.curve(privacy), IDEALIZED)


def start_differences(mechanism: RunningSum, grid: Grid, norm: Norm, streams: Streams) -> Accumulator:
    """Begin the sums, with the noise of the norm under pure privacy."""
    unit = norm.exponential_noise if mechanism.noise == "laplace" else None
    return mechanism.start_on(grid, streams, "noise", unit=unit)
