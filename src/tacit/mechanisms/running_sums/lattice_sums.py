"""Running sums on integers: how fine the lattice may be, what the integers leak, what their noise is worth.

Released at step t are the integers w_t = n_t + v_t, record plus noise. With the transcript fixed, a neighbour that
changes record s by D changes v_s by -D and no other v, so the fresh draw z_t = v_t + round(p_t) moves by
c_{t-s} D plus a rounding of at most 1 + 2e in each coordinate: two roundings of 1/2, and e for the float64
error of p on each side. By the triangle inequality the draws of all steps together move by at most

    shift(units) * column_norm + (1 + 2e) sqrt((T-1) d)

in l2 (with several changed records: shift(units) is that of all of them, times `crowding`; p still moves once a
step), and by the adaptive composition of Gaussian steps that divided by sigma' is mu. The lattice is the finest one
for which this is at most the mu that was asked for. Trees round nothing and have e = 0 and no second term. Laplace
noise costs its rate times the l1 shift, exactly, in each node that holds a step. Proofs: docs/numerics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, sqrt
from typing import TYPE_CHECKING

from tacit.errors import PrivacyError
from tacit.mechanisms.running_sums.records import Records
from tacit.numerics.bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.numerics.discrete_gaussian import DiscreteGaussian
from tacit.numerics.discrete_laplace import DiscreteLaplace, laplace_rate, laplace_units
from tacit.numerics.lattice import LARGEST_UNITS, LOSS_UNITS
from tacit.numerics.source import PooledNoise, Streams
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.privacy.numerics import EXACT, IDEALIZED, exact_up_to

if TYPE_CHECKING:
    from tacit.mechanisms.running_sums.base import RunningSum

# A coarser lattice, or one whose roundings cost more than a tenth of the noise, is refused.
FEWEST_UNITS = 2**10
LARGEST_ROUNDING = 0.1


@dataclass(frozen=True)
class Rounding:
    """What rounding the correlated noise to integers costs.

    Attributes:
        error: e, by how much the computed correction may be off in float64, in steps.
        failure: the probability with which it may be off by more.
    """

    error: float = 0.0
    failure: float = 0.0
    exact: bool = True

    def shift(self, steps: int, dimension: int) -> float:
        """(1 + 2e) sqrt((T-1) d), or nothing if no correction is rounded."""
        return 0.0 if self.exact else (1 + 2 * self.error) * sqrt(max(steps - 1, 0) * dimension) * ROUND_UP


def tail_probability(buffers: int, steps: int, dimension: int, *, growing: bool = False) -> float:
    """4 B T d e^{-84.5}: how likely some buffer ever leaves its bound of 13 standard deviations.

    If the steps of the lattice follow what was released, a union over their sizes 1.01^j up to 1e19 (4500 of them).
    """
    return 4.0 * buffers * steps * dimension * exp(-84.5) * (4500.0 if growing else 1.0) * ROUND_UP


@dataclass(frozen=True)
class Grid:
    """The numbers on which a running sum works: a lattice, or float64 for simulation.

    Attributes:
        records: what is added.
        units: steps in the largest record; 0: no lattice.
        scale: scale of a fresh draw, in the units of the records.
        curve: what all released sums leak.
        numerics: the words of the contract.
        rate: of the two-sided geometric noise; 0 for Gaussian noise.
        rounding: what rounding adds to the noise, in steps.
    """

    records: Records
    units: int
    scale: float
    curve: Curve
    numerics: str
    rate: float = 0.0
    rounding: Rounding = Rounding()

    @property
    def step(self) -> float:
        """What one step of the lattice is worth."""
        return self.records.size / self.units if self.units else 1.0

    @property
    def lost(self) -> float:
        """By how much a coordinate of a record may be off on the lattice, in the units of the records."""
        return self.step * self.records.off if self.units else 0.0

    def disturbance(self, mechanism: RunningSum) -> float:
        """By how much roundings move a coordinate of a sum at most, in the units of the records."""
        return 0.0 if self.rounding.exact else (0.5 + self.rounding.error) * self.step * mechanism.response

    def noise(self, streams: Streams, name: str) -> PooledNoise:
        """The integers that hide the records."""
        if self.rate:
            return DiscreteLaplace.from_streams(streams, name, self.rate)
        return DiscreteGaussian.from_streams(streams, name)


def float_grid(mechanism: RunningSum, privacy: float, records: Records) -> Grid:
    """Float64 noise, for simulation: as if floats were real numbers."""
    if mechanism.steps == 0:
        return Grid(records, 0, 0.0, Pure(0.0), IDEALIZED)
    move = records.l1_move if mechanism.noise == "laplace" else records.l2_move * mechanism.crowding(records.apart)
    return Grid(
        records, 0, mechanism.scale(privacy, move * records.size) * ROUND_UP, mechanism.curve(privacy), IDEALIZED
    )


def lattice_grid(
    mechanism: RunningSum,
    privacy: float,
    records: Records,
    *,
    growing: bool = False,
    column_norm: float | None = None,
) -> Grid:
    """The finest lattice on which the sums meet `privacy`, mu for Gaussian noise or epsilon for geometric noise.

    `growing`: the size of a record follows what was released, and only rises. `column_norm`: that of the encoder with
    c_{t-s} times the size at s over that at t, if sizes are fixed in advance.
    """
    if mechanism.steps == 0:
        return Grid(records, 0, 0.0, Pure(0.0), EXACT)
    if mechanism.noise == "laplace":
        return _geometric_grid(mechanism, privacy, records)
    budget = privacy * GAUSSIAN_SIGMA * (2 - ROUND_UP)
    crowded = mechanism.column_norm * (mechanism.crowding(records.apart) if column_norm is None else 1.0)
    column = crowded if column_norm is None else column_norm
    most = records.l2_shift(LARGEST_UNITS) * column  # no lattice is finer
    # `rounding` asks for the move of a record, times the mechanism's own column norm.
    moved = min(budget, most) / column * mechanism.column_norm * ROUND_UP
    rounding = mechanism.rounding(moved, records.dimension, growing=growing)
    lost = rounding.shift(mechanism.steps, records.dimension)
    units = min(LARGEST_UNITS, floor((budget - lost) / (records.l2_shift(1) * column))) // 2 * 2
    if lost > LARGEST_ROUNDING * budget or units < FEWEST_UNITS:
        raise PrivacyError(
            f"The lattice of {mechanism} in {records.dimension} dimensions is too coarse for mu={privacy:.3g}: ask for "
            "less privacy or fewer rounds per person, or take numerics='float' for a simulation."
        )
    if units == LARGEST_UNITS:  # no lattice is finer: more noise than was asked for
        achieved = (records.l2_shift(units) * crowded + lost) / GAUSSIAN_SIGMA * ROUND_UP
        privacy = min(privacy, achieved)
    slack = gaussian_slack(mechanism.steps * records.dimension)
    curve = SamplerError(
        Gaussian(privacy), slack.total_variation + rounding.failure, 1, slack.epsilon, slack.delta_exponent
    )
    scale = records.size / units * SIGMA_ABOVE * ROUND_UP
    return Grid(records, units, scale, curve, exact_up_to(slack.epsilon), rounding=rounding)


def _geometric_grid(mechanism: RunningSum, privacy: float, records: Records) -> Grid:
    nodes = int(mechanism.column_norm)  # the l1 norm of a column of zeros and ones
    units = 2 * min(LOSS_UNITS // 2, laplace_units(privacy, nodes * records.l1_shift(2)))  # even
    rate = laplace_rate(privacy, nodes * records.l1_shift(units))
    return Grid(records, units, records.size / units / rate * ROUND_UP, Pure(privacy), EXACT, rate)
