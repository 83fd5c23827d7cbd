"""Private running sums: their public description, and the lattice on which they run.

A `RunningSum` is a public, frozen description: how many steps, what structure. It knows its noise before any data
(`scale`, `standard_deviations`) and its dense factorisation (`matrices`, for tests). `start` makes the stateful
`Accumulator` whose `add(x)` returns the noisy sum of everything added so far.

The sum of rows is written A = decoder @ encoder: the encoder's rows times the data, plus independent noise, is what
is released. A row that moves by at most s (in l2 for Gaussian noise, in l1 for Laplace noise, in l_infinity for cube
noise) moves the encoded data by at most s times the encoder's largest column norm (l2; l1 for the last two). Noise of
scale `s * column_norm / privacy` gives mu-Gaussian DP with privacy = mu, or pure DP with privacy = epsilon.
Sensitivities may grow along the stream as long as they are predictable and never fall.

On a lattice (`Grid`) records and noise are integers, and the correction that correlates the noise is rounded to one.
The draws of all steps together move in l2 by at most the root of

    (shift(units) column_norm)^2 + 2 (1 + 2e) sqrt(d) (c_0 + c_1 + ...) shift(units) + (1 + 2e)^2 (T-1) d,

e the float64 error of the correction; divided by sigma' that is mu. The lattice is the finest one for which this is at
most the mu that was asked for. Trees round nothing and have only the first term. Proofs: docs/numerics.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, sqrt
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.accounting.rounding import EXACT, IDEALIZED, exact_up_to
from tacit.errors import PrivacyError
from tacit.noise.cube import CubeNoise, cube_rate, least_cube_rate
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import SMALLEST_RATE, DiscreteLaplace, laplace_rate, laplace_units
from tacit.noise.lattice import LARGEST_UNITS, LOSS_UNITS
from tacit.noise.running_sums.accumulators import (
    Accumulator,
    Draws,
    FloatNoise,
    Records,
    UnitNoise,
    next_draws,
    unit_noise,
    unit_variance,
)
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.noise.source import PooledNoise, Streams
from tacit.validation import (
    FloatArray,
    check_choice,
    check_integer,
    check_positive,
    invalid,
    plain_fields,
    without_caches,
)

LONGEST_LIST = 10**8
NoiseKind = Literal["gaussian", "laplace", "cube"]
# Draws `count` independent unit noises: what `RunningSum.noise_from` gives, or ones in a test.
NoiseSource = Callable[[int], FloatArray]
# A coarser lattice, or one whose roundings cost more than a tenth of the noise, is refused.
FEWEST_UNITS = 2**10
LARGEST_ROUNDING = 0.1
# The first size of records that grow, in multiples of what they are rounded up to: wastes at most .1%.
FIRST_MULTIPLE = 1000
# A whole multiple stays one when it is divided and multiplied again.
_BARELY_LESS = 1 - 1e-12

Sensitivity = TypeVar("Sensitivity", float, FloatArray)


@dataclass(frozen=True)
class RunningSum(ABC):
    """A running-sum mechanism for at most `steps` additions."""

    steps: int
    noise: ClassVar[NoiseKind] = "gaussian"
    steady: ClassVar[bool] = True
    """Whether the noise of the released sums never falls along the stream (Toeplitz: always; trees: no)."""

    def __post_init__(self) -> None:
        plain_fields(self)
        check_integer(type(self).__name__, "steps", self.steps, at_least=0)

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.steps} steps)"

    @property
    @abstractmethod
    def column_norm(self) -> float:
        """Largest column norm of the encoder (l2 for Gaussian, l1 for Laplace and cube noise), rounded up."""

    def crowding(self, people: int, separation: int = 1) -> float:
        """Compute how far a person with so many rounds moves the draws, over that many times as far as one round does.

        At most 1, which is what is known of any encoder; rounds of a tree next to each other share nearly all nodes.

        Args:
            people: rounds in which one person may stand.
            separation: by how many steps these are apart at least (1: no two in one step).
        """
        check_participation(type(self).__name__, people, separation)
        return 1.0

    @abstractmethod
    def row_norms(self) -> FloatArray:
        """Compute the l2 norm of each decoder row: the noise at step t per unit of drawn noise, shape (steps,)."""

    @abstractmethod
    def row_norm(self, step: int) -> float:
        """Give the noise at one step (from 1 on) per unit of drawn noise, without the steps before it."""

    @property
    def largest_row_norm(self) -> float:
        """The largest of `row_norms`: the last one if the noise is steady."""
        return self.row_norm(self.steps) if self.steps else 0.0

    @abstractmethod
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Give dense (decoder, encoder) with decoder @ encoder = lower triangle of ones; for tests, small steps."""

    @abstractmethod
    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> Accumulator: ...

    def start(self, dimension: int, scale: float, noise: NoiseSource) -> Accumulator:
        """Begin a stream of vectors in float64; `scale` as given by `scale(...)`, for sensitivity 1 if it grows."""
        return self._accumulator(dimension, scale, noise, None)

    def start_on(self, grid: Grid, streams: Streams, name: str, unit: UnitNoise | None = None) -> Accumulator:
        """Begin a stream of records on a grid that `grid` made, with noise from the streams of that name.

        `unit`: another unit noise than the mechanism's own, without a lattice.
        """
        scale = grid.scale or 1.0  # nothing is ever added to a sum of no steps
        if grid.units:
            integers = grid.noise(streams, name)
            source: PooledNoise | FloatNoise = integers
            sums = self._accumulator(grid.records.dimension, scale, partial(next_draws, integers), grid)
        else:
            dimension = grid.records.dimension
            source = FloatNoise(unit or partial(self.noise_from, dimension=dimension), streams, name)
            sums = self.start(dimension, scale, source.draw)
            sums._records = grid.records
        sums._source = source
        return sums

    def grid(self, privacy: float, records: Records, *, numerics: str = "exact") -> Grid:
        """Give the lattice on which the sums meet `privacy`, or with numerics="float" plain float64, for simulation."""
        check_choice(type(self).__name__, "numerics", numerics, ("exact", "float"))
        check_positive(type(self).__name__, "privacy", privacy)
        return (float_grid if numerics == "float" else lattice_grid)(self, privacy, records)

    @property
    def nodes(self) -> int:
        """In how many nodes of a tree a step stands at most (0: this is no tree)."""
        return 0

    @property
    def response(self) -> float:
        """By how much the last sum moves if every step's correction moves by 1 (0: nothing is corrected)."""
        return 0.0

    def rounding(self, budget: float, dimension: int, *, growing: bool = False) -> Rounding:
        """Price the rounding of correlated noise to integers; `budget` bounds how far one person moves the draws."""
        return Rounding()

    def noise_from(self, generator: np.random.Generator, dimension: int = 1) -> NoiseSource:
        """Give the unit noise that this mechanism adds to vectors of that dimension, drawn from `generator`."""
        return unit_noise(self.noise, generator, dimension)

    def scale(self, privacy: float, sensitivity: float = 1.0) -> float:
        """Compute the noise scale that gives `privacy` (mu for Gaussian, epsilon for Laplace and cube noise)."""
        check_positive(type(self).__name__, "privacy", privacy)
        check_positive(type(self).__name__, "sensitivity", sensitivity)
        return sensitivity * self.column_norm / privacy

    def _check_step(self, step: int) -> int:
        return check_integer(f"{type(self).__name__}.row_norm", "step", step)

    def standard_deviations(self, scale: float, dimension: int = 1) -> FloatArray:
        """Compute the standard deviation of one coordinate of the noise in each released sum, shape (steps,).

        That of cube noise grows with the dimension of the vectors; others do not mind it.
        """
        if self.steps > LONGEST_LIST:
            raise PrivacyError(
                f"The noise of each step can be listed for at most {LONGEST_LIST} steps. Got {self} instead."
            )
        return self.row_norms() * (scale * sqrt(unit_variance(self.noise, dimension)))

    def curve(self, privacy: float) -> Curve:
        """Give the privacy curve of the whole stream of released sums."""
        if self.steps == 0:
            return Pure(0.0)
        return Gaussian(privacy) if self.noise == "gaussian" else Pure(privacy)


def check_participation(owner: str, people: int, separation: int) -> None:
    """Refuse what is no number of rounds of a person, or no number of steps between them."""
    check_integer(owner, "people", people)
    check_integer(owner, "separation", separation)


def check_mechanism(
    owner: str, mechanism: object, steps: int, noises: tuple[NoiseKind, ...] = ("gaussian", "laplace")
) -> None:
    """Refuse what is no running sum of exactly this many steps with one of these noises."""
    if not isinstance(mechanism, RunningSum):
        raise invalid(owner, "mechanism", "a running sum", mechanism)
    check_choice(owner, "mechanism.noise", mechanism.noise, noises)
    check_choice(owner, "mechanism.steps", mechanism.steps, (steps,))


@dataclass(frozen=True)
class Rounding:
    """What rounding the correlated noise to integers costs.

    Attributes:
        error: e, by how much the computed correction may be off in float64, in steps.
        failure: the probability with which it may be off by more.
        exact: whether no correction is rounded.
        total: the sum of the encoder's coefficients c_k.
        floors: in how many nodes of a tree a step stands that are rounded down, because records grow.
    """

    error: float = 0.0
    failure: float = 0.0
    exact: bool = True
    total: float = 0.0
    floors: int = 0

    def shift(self, steps: int, dimension: int) -> float:
        """Compute (1 + 2e) sqrt((T-1) d), or nothing if no correction is rounded; sqrt(U d) for U floors."""
        if self.floors:
            return sqrt(self.floors * dimension) * ROUND_UP
        return 0.0 if self.exact else (1 + 2 * self.error) * sqrt(max(steps - 1, 0) * dimension) * ROUND_UP

    def moved(self, shift: float, column: float, steps: int, dimension: int) -> float:
        """Compute how far draws move in l2 if the records move by `shift`, roundings included."""
        along, across = shift * column, self.shift(steps, dimension)
        aligned = along * across
        if not self.exact:
            aligned = min(aligned, shift * self.total * (1 + 2 * self.error) * sqrt(dimension))
        return sqrt(along**2 + 2 * aligned + across**2) * ROUND_UP


def tail_probability(buffers: int, steps: int, dimension: int, *, growing: bool = False) -> float:
    """Compute 4 B T d e^{-84.5}: how likely some buffer ever leaves its bound of 13 standard deviations.

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
        rate: of the two-sided geometric noise, or of cube noise; 0 for Gaussian noise.
        rounding: what rounding adds to the noise, in steps.
        multiple: sensitivities are whole multiples of it (0: any number); for trees whose records grow.
    """

    records: Records
    units: int
    scale: float
    curve: Curve
    numerics: str
    rate: float = 0.0
    rounding: Rounding = Rounding()
    multiple: float = 0.0
    cube: bool = False
    """Whether the noise of that rate is shaped for the cube."""

    def admissible(self, sensitivities: Sensitivity) -> Sensitivity:
        """Give the least sensitivities, not below these, that the lattice has; up to a last digit."""
        if not self.multiple:
            return sensitivities
        found: Sensitivity = np.ceil(sensitivities / self.multiple * _BARELY_LESS) * self.multiple
        return found

    @property
    def step(self) -> float:
        """What one step of the lattice is worth."""
        return self.records.worth(self.units) if self.units else 1.0

    @property
    def lost(self) -> float:
        """By how much a coordinate of a record may be off on the lattice, in the units of the records."""
        return self.step * self.records.off if self.units else 0.0

    def disturbance(self, mechanism: RunningSum) -> float:
        """Compute by how much roundings move a coordinate of a sum at most, in the units of the records."""
        if self.rounding.floors:
            return self.step * mechanism.largest_row_norm**2 * ROUND_UP  # so many nodes make a sum
        return 0.0 if self.rounding.exact else (0.5 + self.rounding.error) * self.step * mechanism.response

    def noise(self, streams: Streams, name: str) -> PooledNoise:
        """Give the integers that hide the records."""
        if self.cube:
            return CubeNoise.from_streams(streams, name, self.rate, self.records.dimension)
        if self.rate:
            return DiscreteLaplace.from_streams(streams, name, self.rate)
        return DiscreteGaussian.from_streams(streams, name)


def float_grid(mechanism: RunningSum, privacy: float, records: Records) -> Grid:
    """Make float64 noise, for simulation: as if floats were real numbers."""
    if mechanism.steps == 0:
        return Grid(records, 0, 0.0, Pure(0.0), IDEALIZED)
    move = records.move(mechanism.noise)
    if mechanism.noise == "gaussian":
        move *= mechanism.crowding(records.apart, records.spacing)
    scale = mechanism.scale(privacy, move * records.size) * ROUND_UP
    return Grid(records, 0, scale, mechanism.curve(privacy), IDEALIZED)


def lattice_grid(
    mechanism: RunningSum,
    privacy: float,
    records: Records,
    *,
    growing: bool = False,
    multiple: float = 0.0,
) -> Grid:
    """Give the finest lattice on which the sums meet `privacy`, mu for Gaussian noise or epsilon for pure noise.

    `growing`: the size of a record follows what was released, and only rises. `multiple`: sizes of records are whole
    multiples of it, which trees need where they are not all the same.
    """
    if mechanism.steps == 0:
        return Grid(records, 0, 0.0, Pure(0.0), EXACT)
    floors = Rounding(floors=mechanism.nodes) if multiple else None
    if mechanism.noise != "gaussian":
        return _pure_grid(mechanism, privacy, records, floors or Rounding(), multiple)
    budget = privacy * GAUSSIAN_SIGMA * (2 - ROUND_UP)
    column = mechanism.column_norm * mechanism.crowding(records.apart, records.spacing)
    most = records.l2_shift(LARGEST_UNITS) * column  # no lattice is finer
    # `rounding` asks for the move of a record, times the mechanism's own column norm.
    moved = min(budget, most) / column * mechanism.column_norm * ROUND_UP
    rounding = floors or mechanism.rounding(moved, records.dimension, growing=growing)
    lost = rounding.shift(mechanism.steps, records.dimension)

    def move(units: int) -> float:
        return rounding.moved(records.l2_shift(units), column, mechanism.steps, records.dimension)

    units = 2 * last_below(lambda half: move(2 * half), budget, LARGEST_UNITS // 2)
    if lost > LARGEST_ROUNDING * budget or units < FEWEST_UNITS:
        raise PrivacyError(
            f"The lattice of {mechanism} in {records.dimension} dimensions is too coarse for mu={privacy:.3g}: ask for "
            "less privacy or fewer rounds per person, or take numerics='float' for a simulation."
        )
    if units == LARGEST_UNITS:  # no lattice is finer: more noise than was asked for
        privacy = min(privacy, move(units) / GAUSSIAN_SIGMA * ROUND_UP)
    slack = gaussian_slack(mechanism.steps * records.dimension)
    curve = SamplerError(
        Gaussian(privacy), slack.total_variation + rounding.failure, 1, slack.epsilon, slack.delta_exponent
    )
    scale = records.worth(units) * SIGMA_ABOVE * ROUND_UP
    return Grid(records, units, scale, curve, exact_up_to(slack.epsilon), rounding=rounding, multiple=multiple)


def last_below(function: Callable[[int], float], limit: float, most: int) -> int:
    """Compute the largest number from 0 to `most` at which an increasing function is at most `limit` (0: nowhere)."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if function(middle) <= limit else (low, middle - 1)
    return low


def _pure_grid(mechanism: RunningSum, privacy: float, records: Records, rounding: Rounding, multiple: float) -> Grid:
    nodes, cube = mechanism.nodes, mechanism.noise == "cube"
    # A floor in a node moves each coordinate by at most a step.
    lost = rounding.floors * (1 if cube else records.dimension)
    # A sum has the noise of so many nodes.
    least = least_cube_rate(records.dimension, round(mechanism.largest_row_norm**2)) if cube else SMALLEST_RATE
    width = nodes * records.pure_shift(mechanism.noise, 2) + lost
    units = 2 * min(LOSS_UNITS // 2, laplace_units(privacy, width, least))  # even

    def moved(units: int) -> int:
        return lost + nodes * records.pure_shift(mechanism.noise, units)

    # A shift is not in proportion to the units: the width was that of two.
    while units > 2 and laplace_rate(privacy, moved(units)) < least:
        units //= 2
    shift = moved(units)
    rate = cube_rate(privacy, shift, records.dimension) if cube else laplace_rate(privacy, shift)
    if rate < least:
        raise PrivacyError(
            f"{mechanism} has no exact noise in {records.dimension} dimensions at epsilon={privacy:.3g}: ask for less "
            "privacy, or for Gaussian noise."
        )
    scale = records.worth(units) / rate * ROUND_UP
    return Grid(records, units, scale, Pure(privacy), EXACT, rate, rounding, multiple, cube)
