"""Private running sums: one interface, chosen by the plan.

A `RunningSum` is a public, frozen description: how many steps, what structure. It knows its noise before
any data (`scale`, `standard_deviations`) and its dense factorisation (`matrices`, for tests). `start`
makes the stateful `Accumulator` whose `add(x)` returns the noisy sum of everything added so far.

The sum of rows is written A = decoder @ encoder: the encoder's rows times the data, plus independent noise, is what
is released; everything after it is post-processing. A row that moves by at most s (in l2 for Gaussian noise, in l1 for
Laplace noise, in l_infinity for cube noise) moves the encoded data by at most s times the encoder's largest column
norm (l2; l1 for the last two), so noise of scale `s * column_norm / privacy` gives mu-Gaussian DP with privacy = mu, or
pure DP with privacy = epsilon. A person with m rounds moves m columns together: m times as far as one at most, and
less where the columns point in different directions (`crowding`). Sensitivities may grow along the stream as long as
they are predictable (they depend on what was released) and never fall: the noise of a step has the scale of its own
sensitivity, and nothing already drawn is rescaled.

On a lattice (`lattice_sums`) records and noise are integers, the correction that correlates the noise is rounded to
one, and every sum is a function of the integers that were released. Without one, for simulation, noise is drawn and
added in float64 as if floats were real numbers. Both are the same code: float64 holds the integers exactly.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from tacit.errors import InvalidInput, PrivacyError, ProtocolError
from tacit.mechanisms.running_sums.float_noise import FloatNoise, UnitNoise, unit_noise, unit_variance
from tacit.mechanisms.running_sums.lattice_sums import FIRST_MULTIPLE, Grid, Rounding, float_grid, lattice_grid
from tacit.mechanisms.running_sums.records import Records
from tacit.numerics.source import PooledNoise, Source, Streams
from tacit.privacy.curves import Curve, Gaussian, Pure
from tacit.validation import (
    LARGEST,
    MALFORMED,
    FloatArray,
    IntArray,
    check_choice,
    check_dimension,
    check_integer,
    check_level,
    check_positive,
    invalid,
    plain_fields,
    real_array,
)

LONGEST_LIST = 10**8
NoiseKind = Literal["gaussian", "laplace", "cube"]
# Draws `count` independent unit noises: what `RunningSum.noise_from` gives, or ones in a test.
NoiseSource = Callable[[int], FloatArray]
# The same, or whole numbers on a lattice.
Draws = Callable[[int], FloatArray | IntArray]


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

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.steps} steps)"

    @property
    @abstractmethod
    def column_norm(self) -> float:
        """Largest column norm of the encoder (l2 for Gaussian, l1 for Laplace and cube noise), rounded up."""

    def crowding(self, people: int) -> float:
        """How far a person with so many rounds moves the draws, over that many times as far as one round does.

        At most 1, which is what is known of any encoder; rounds of a tree next to each other share nearly all nodes.
        """
        return 1.0

    @abstractmethod
    def row_norms(self) -> FloatArray:
        """l2 norm of each row of the decoder: the noise at step t per unit of drawn noise, shape (steps,)."""

    @abstractmethod
    def row_norm(self, step: int) -> float:
        """The noise at one step (from 1 on) per unit of drawn noise, without the steps before it."""

    @property
    def largest_row_norm(self) -> float:
        """The largest of `row_norms`: the last one if the noise is steady."""
        return self.row_norm(self.steps) if self.steps else 0.0

    @abstractmethod
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Dense (decoder, encoder) with decoder @ encoder = lower triangle of ones; for tests, small steps."""

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
            source: PooledNoise | FloatNoise = grid.noise(streams, name)
            sums = self._accumulator(grid.records.dimension, scale, source.draw, grid)
        else:
            dimension = grid.records.dimension
            source = FloatNoise.from_streams(unit or partial(self.noise_from, dimension=dimension), streams, name)
            sums = self.start(dimension, scale, source.draw)
            sums._records = grid.records
        sums._source = source
        return sums

    def grid(self, privacy: float, records: Records, *, numerics: str = "exact", growing: bool = False) -> Grid:
        """The lattice on which the sums meet `privacy`, or with numerics="float" plain float64, for simulation.

        `growing`: sensitivities may rise along the stream; those of trees through the values of `Grid.admissible`.
        """
        check_choice(type(self).__name__, "numerics", numerics, ("exact", "float"))
        check_positive(type(self).__name__, "privacy", privacy)
        if numerics == "float":
            return float_grid(self, privacy, records)
        multiple = 1 / FIRST_MULTIPLE if growing and self.nodes else 0.0
        return lattice_grid(self, privacy, records, growing=growing, multiple=multiple)

    @property
    def nodes(self) -> int:
        """In how many nodes of a tree a step stands at most (0: this is no tree)."""
        return 0

    @property
    def response(self) -> float:
        """By how much the last sum moves if every step's correction moves by 1 (0: nothing is corrected)."""
        return 0.0

    def rounding(self, budget: float, dimension: int, *, growing: bool = False) -> Rounding:
        """What rounding its correlated noise to integers costs; `budget` bounds how far one person moves the draws."""
        return Rounding()

    def noise_from(self, generator: np.random.Generator, dimension: int = 1) -> NoiseSource:
        """The unit noise that this mechanism adds to vectors of that dimension, drawn from `generator`."""
        return unit_noise(self.noise, generator, dimension)

    def scale(self, privacy: float, sensitivity: float = 1.0) -> float:
        """Noise scale that gives `privacy` (mu for Gaussian, epsilon for Laplace and cube noise)."""
        check_positive(type(self).__name__, "privacy", privacy)
        check_positive(type(self).__name__, "sensitivity", sensitivity)
        return sensitivity * self.column_norm / privacy

    def _check_step(self, step: int) -> int:
        return check_integer(f"{type(self).__name__}.row_norm", "step", step)

    def standard_deviations(self, scale: float, dimension: int = 1) -> FloatArray:
        """Standard deviation of one coordinate of the noise in each released sum, shape (steps,).

        That of cube noise grows with the dimension of the vectors; others do not mind it.
        """
        if self.steps > LONGEST_LIST:
            raise PrivacyError(
                f"The noise of each step can be listed for at most {LONGEST_LIST} steps. Got {self} instead."
            )
        return self.row_norms() * (scale * sqrt(unit_variance(self.noise, dimension)))

    def curve(self, privacy: float) -> Curve:
        """What the whole stream of released sums leaks at that privacy."""
        if self.steps == 0:
            return Pure(0.0)
        return Gaussian(privacy) if self.noise == "gaussian" else Pure(privacy)


def check_mechanism(
    owner: str, mechanism: object, steps: int, noises: tuple[NoiseKind, ...] = ("gaussian", "laplace")
) -> None:
    """Refuse what is no running sum of exactly this many steps with one of these noises."""
    if not isinstance(mechanism, RunningSum):
        raise invalid(owner, "mechanism", "a running sum", mechanism)
    check_choice(owner, "mechanism.noise", mechanism.noise, noises)
    check_choice(owner, "mechanism.steps", mechanism.steps, (steps,))


class Accumulator(ABC):
    """The running state of a mechanism. Its memory is private: only what `add` returns may be released.

    Everything is kept in steps of the lattice; without one, a step is worth 1 and nothing is rounded.
    """

    def __init__(self, steps: int, dimension: int, scale: float, noise: Draws, grid: Grid | None = None) -> None:
        self.dimension = check_dimension("Accumulator", "dimension", dimension)
        self._steps = steps
        self._scale = check_positive("Accumulator", "scale", scale)
        self._noise = noise
        self._records: Records | None = None  # of a simulation in float64
        self._source: Source | None = None  # where the noise comes from, if its state is kept here
        self._grid = grid
        self._worth = 1.0 if grid is None else grid.step
        self._step = 0
        self._sensitivity = 0.0
        self._sum = np.zeros(self.dimension)

    @property
    def step(self) -> int:
        """How many vectors were added."""
        return self._step

    @property
    def private(self) -> bool | None:
        """Whether the keys behind the noise are secret (None: the noise is handed in from outside)."""
        return None if self._source is None else self._source.private

    def add(self, x: FloatArray, sensitivity: float = 1.0) -> FloatArray:
        """Add one vector and return a new array: the noisy sum so far.

        `sensitivity` multiplies the size of a record, hence this step's fresh noise, and may not fall between steps.
        On a lattice longer vectors are shortened to that size; without one, that `x` is finite and inside its
        sensitivity is for the caller to enforce.
        """
        self._check_room(1)
        sensitivity = self._check_sensitivity(sensitivity)
        if not (type(x) is np.ndarray and x.dtype == np.float64 and x.shape == self._sum.shape):
            x = real_array("Accumulator", "x", x, self._sum.shape)
        record, fresh, stretch = self._inputs(x, sensitivity)
        self._sensitivity = sensitivity
        self._step += 1
        self._include(record, fresh, stretch)
        return self._sum * self._worth

    def add_many(self, rows: FloatArray, sensitivity: float = 1.0) -> FloatArray:
        """Add rows one after the other and return the noisy sum after each: what `add` would return, bit for bit."""
        rows = real_array("Accumulator", "rows", rows, (None, self.dimension))
        self._check_room(len(rows))
        if not len(rows):
            return np.empty((0, self.dimension))
        sensitivity = self._check_sensitivity(sensitivity)
        # One long draw gives the same numbers as many short ones, and accumulate adds in the same order.
        records, fresh, stretch = self._inputs(rows, sensitivity)
        self._sensitivity = sensitivity
        sums = np.empty((len(rows) + 1, self.dimension))
        sums[0] = self._sum
        self._advance_many(records, fresh, stretch, sums)
        self._sum[:] = sums[-1]
        return sums[1:] * self._worth

    def record(self, x: FloatArray, sensitivity: float = 1.0) -> FloatArray:
        """A vector as it enters the sum, in its own units: on a lattice, cut to whole steps. PRIVATE."""
        if self._grid is None:
            return x if self._records is None else self._records.plain(x)
        return self._grid.records.quantised(x, self._grid.units, sensitivity) * (self._worth * sensitivity)

    def _inputs(self, x: FloatArray, sensitivity: float) -> tuple[FloatArray, FloatArray, float]:
        """Records and fresh noise in steps, and how much longer steps are than at sensitivity 1."""
        grid = self._grid
        # Records first: one that is refused has used up no noise.
        record = self.record(x) if grid is None else grid.records.quantised(x, grid.units, sensitivity)
        fresh = np.asarray(self._noise(x.size), dtype=np.float64).reshape(x.shape)
        return (record, fresh * (self._scale * sensitivity), 1.0) if grid is None else (record, fresh, sensitivity)

    def _rounded(self, correction: FloatArray) -> FloatArray:
        """A correction in steps, as it is subtracted from the fresh noise: whole on a lattice."""
        return correction if self._grid is None else np.rint(correction, out=correction)

    def _check_room(self, count: int) -> None:
        if self._step + count > self._steps:
            raise ProtocolError(
                f"This running sum was planned for {self._steps} steps and has {self._steps - self._step} left. "
                f"Got {count} more."
            )

    def _check_sensitivity(self, sensitivity: float) -> float:
        if type(sensitivity) is not float:
            sensitivity = check_level("Accumulator", "sensitivity", sensitivity)
        if not self._sensitivity <= sensitivity <= LARGEST:
            raise InvalidInput(
                f"Sensitivities of a running sum may not fall: got {sensitivity!r} after {self._sensitivity!r}."
            )
        return sensitivity

    def _include(self, record: FloatArray, fresh: FloatArray, stretch: float) -> None:
        """Add this step's record and noise to the sum."""
        released = self._advance(fresh, stretch)
        released += record
        if stretch != 1.0:
            released *= stretch
        self._sum += released

    @abstractmethod
    def _advance(self, fresh: FloatArray, stretch: float) -> FloatArray:
        """Take this step's fresh noise (not to be written to); return, as an array of its own, what this step adds.

        `stretch`: how many steps of sensitivity 1 a step is worth now. Past noise is kept in the former.
        """

    def _advance_many(self, records: FloatArray, fresh: FloatArray, stretch: float, sums: FloatArray) -> None:
        """Write the sum after each row below the sum so far, which is in the first row of `sums`."""
        for row, draw in enumerate(fresh):
            self._step += 1
            released = self._advance(draw, stretch)
            released += records[row]
            sums[row + 1] = released
        if stretch != 1.0:
            sums[1:] *= stretch
        np.add.accumulate(sums, out=sums)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on bit for bit. PRIVATE: it holds the noise, from which the data follow."""
        return {
            "step": self._step,
            "sensitivity": self._sensitivity,
            "sum": self._sum.copy(),
            "noise": {} if self._source is None else self._source.state_dict(),
            **self._noise_state(),
        }

    def __copy__(self) -> Accumulator:
        return copy.deepcopy(self)  # a shallow one would share the arrays that this one writes to

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        try:
            step, total = int(state["step"]), np.array(state["sum"], dtype=float)
            sensitivity = float(state["sensitivity"])
            if total.shape != self._sum.shape or not 0 <= step <= self._steps:
                raise InvalidInput(
                    f"This running sum has {self._steps} steps of dimension {self.dimension}; "
                    f"the state is at step {step} of dimension {total.size}."
                )
            if not (np.isfinite(total).all() and 0.0 <= sensitivity <= LARGEST):
                raise InvalidInput("The sum and the sensitivity in the state of a running sum must be finite.")
            if self._source is not None:
                self._source.load_state_dict(state["noise"])
            self._load_noise_state(state, step)
        except InvalidInput:
            raise
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of a running sum ({error!r}).") from None
        self._step, self._sum, self._sensitivity = step, total, sensitivity

    @abstractmethod
    def _noise_state(self) -> dict[str, Any]:
        """The part of `state_dict` that is the mechanism's own, copied."""

    @abstractmethod
    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        """Take over a copy of `_noise_state`; raise before changing anything if it does not fit."""

    def _fitting(self, state: dict[str, Any], name: str, rows: int) -> FloatArray:
        """A copy of the array `name` of a state, checked to have `rows` rows of this dimension."""
        array = np.array(state[name], dtype=float)
        if array.shape != (rows, self.dimension):
            raise InvalidInput(
                f"The '{name}' of this running sum's state must have shape {(rows, self.dimension)}. "
                f"Got {array.shape} instead."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"The '{name}' of this running sum's state must be finite.")
        return array


def lower_toeplitz(coefficients: FloatArray) -> FloatArray:
    """The dense lower-triangular Toeplitz matrix with this first column."""
    index = np.arange(coefficients.size)
    return np.tril(coefficients[np.abs(index[:, None] - index)])
