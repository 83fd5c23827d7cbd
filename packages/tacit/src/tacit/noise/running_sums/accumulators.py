"""What runs in a private running sum: the record of a step, its fresh noise, and the noisy sum so far.

A record has a public size. On the lattice a record of the largest size measures `units` steps. The integers, not the
floats before them, are what privacy rests on: one person moves their sum by at most `l2_shift(units)` or
`pure_shift(noise, units)` steps, exactly.

An `Accumulator` adds a record and fresh noise at every step, and corrects the noise by what it drew before. Toeplitz
mechanisms correct by a filter of past noise in constant memory (`BufferedAccumulator`). `TreeAccumulator` keeps the
noise of one prefix a level. Without a lattice, for simulation, noise is drawn and added in float64 as if floats were
real numbers. Both are the same code: float64 holds the integers exactly. Steps of a buffered sum on a lattice run in C
where there is a compiler: the operations of numpy, in the same order.

On a lattice the records of a tree may grow: a node is floor(sum_j k_j n_j / k_t) + z in units of its own step, the k_j
public integers that never fall (docs/numerics.md). Draws are never multiplied by an integer while the data stay: that
would release the data modulo the integer.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit import kernels
from tacit.accounting.curves import ROUND_UP
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.lattice import inner_units, l1_units, round_vectors
from tacit.noise.source import PooledNoise, Source, Streams
from tacit.process import current_process
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
    real_array,
)

if TYPE_CHECKING:
    from tacit.noise.running_sums.running_sum import Grid
    from tacit.noise.running_sums.toeplitz import Buffered

# Draws `count` independent unit noises, or whole numbers on a lattice.
Draws = Callable[[int], FloatArray | IntArray]
UnitNoise = Callable[[np.random.Generator], Callable[[int], FloatArray]]
_INT64 = 2**62

LARGEST_SUMMED = 2**22
"""So many integers of at most 2^30 add up exactly in float64."""


@dataclass(frozen=True)
class Records(ABC):
    """The public facts about what is added each round.

    Attributes:
        dimension: coordinates of a record.
        sides: contributions that a neighbour moves (`Relation.sides`).
        people: rounds in which one person may stand.
        separation: by how many rounds these are apart at least; 1: no two of them are the same round.
    """

    dimension: int
    sides: int = 2
    people: int = 1
    separation: int = field(default=1, kw_only=True)
    off: ClassVar[float] = 1.0
    """By how many steps a coordinate may be off once it is a whole number of them."""

    def __post_init__(self) -> None:
        check_dimension("Records", "dimension", self.dimension)
        check_choice("Records", "sides", self.sides, (1, 2))
        check_integer("Records", "people", self.people)
        check_integer("Records", "separation", self.separation)

    @property
    def apart(self) -> int:
        """How many of a person's rounds are sure to stand in different steps of the sum, if all of them do (else 1)."""
        return self.people

    @property
    def spacing(self) -> int:
        """By how many steps of the sum the rounds of a person are apart at least."""
        return self.separation

    @property
    @abstractmethod
    def size(self) -> float:
        """The largest size of a record."""

    def worth(self, units: int) -> float:
        """Give the worth of one step."""
        return self.size / units

    @property
    def summands(self) -> int:
        """How many records of the largest size a step may add up."""
        return 1

    @abstractmethod
    def move(self, noise: str) -> float:
        """Give by how much one person moves the sum of all records, in sizes of a record.

        In the norm of this kind of noise: "gaussian" l2, "laplace" l1, "cube" l_infinity.
        """

    @abstractmethod
    def pure_shift(self, noise: str, units: int) -> int:
        """Compute by how many steps one person moves that sum, exactly: l_infinity for "cube", else l1."""

    def l2_shift(self, units: int) -> float:
        """Compute the same in l2, rounded up."""
        return units * self.move("gaussian") * ROUND_UP

    def plain(self, rows: FloatArray) -> FloatArray:
        """Give the records as they are added in float64."""
        return rows

    @abstractmethod
    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        """Give the records as whole numbers of steps, if the largest size is now `stretch` times `size`."""


@dataclass(frozen=True)
class LossRecords(Records):
    """Losses in [0, 1], taken from their centre 1/2; `units`, even, is the whole range. The caller checks the range."""

    @property
    def size(self) -> float:
        return 1.0

    def move(self, noise: str) -> float:
        # Every coordinate moves by the whole range, or by half of it to the centre.
        length = {"gaussian": sqrt(self.dimension), "laplace": self.dimension, "cube": 1}[noise]
        return self.sides / 2 * self.people * length

    def pure_shift(self, noise: str, units: int) -> int:
        return units // 2 * self.sides * self.people * (1 if noise == "cube" else self.dimension)  # units are even

    def plain(self, rows: FloatArray) -> FloatArray:
        return rows - 0.5

    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        # The range is enforced all the same, also for NaN: it counts as the largest loss.
        steps = np.floor(rows * units)
        np.fmin(steps, units, out=steps)
        np.fmax(steps, 0.0, out=steps)
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

    def move(self, noise: str) -> float:
        return self.sides * self.people * (sqrt(self.dimension) if noise == "laplace" else 1.0)

    def pure_shift(self, noise: str, units: int) -> int:
        return (units if noise == "cube" else l1_units(units, self.dimension)) * self.sides * self.people

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
        # Rounds that are less than a batch apart may all be in one sum.
        return self.people if self.batch <= self.separation and self.separation > 1 else 1

    @property
    def spacing(self) -> int:
        return max(1, self.separation // self.batch)  # rounds i and j >= i + b are in batches floor(b/batch) apart

    def each(self, rows: FloatArray, units: int, stretch: float = 1.0) -> FloatArray:
        """Give the vectors of the sums, one a row, before they are added up."""
        return super().quantised(rows, units, stretch) if units else rows

    def quantised(self, rows: FloatArray, units: int, stretch: float) -> FloatArray:
        return rows


def unit_noise(noise: str, generator: np.random.Generator, dimension: int = 1) -> Callable[[int], FloatArray]:
    """Draw standard normal ("gaussian"), standard Laplace or cube variables from `generator`.

    Cube noise of unit scale comes in whole vectors of `dimension` numbers with the density exp(-max |z_j|).
    """
    # No closure: a copy of what holds this must draw from its own copy of the generator.
    if noise == "cube":
        return partial(_cube, generator, dimension)
    return partial(_laplace, generator) if noise == "laplace" else generator.standard_normal


def unit_variance(noise: str, dimension: int) -> float:
    """Give the variance of a coordinate of `unit_noise`; cube noise is Gamma(d + 1) times uniform on [-1, 1]^d."""
    return {"gaussian": 1.0, "laplace": 2.0, "cube": (dimension + 1) * (dimension + 2) / 3}[noise]


class FloatNoise(Source):
    """Unit noises on a stream of their own; states and copies are those of every other source.

    Args:
        unit: makes a function that draws so many unit noises from a generator.
        streams: where its stream comes from.
        name: of the stream.
    """

    def __init__(self, unit: UnitNoise, streams: Streams, name: str) -> None:
        super().__init__()
        self._unit, self._stream = unit, streams.stream(name)

    @property
    def private(self) -> bool:
        return self._stream.private

    def draw(self, count: int) -> FloatArray:
        """Draw the next `count` unit noises."""
        self._check_process()
        return self._unit(self._stream)(count)

    def renew(self) -> None:
        self._stream.renew()

    def _saved(self) -> dict[str, Any]:
        return {"stream": self._stream.position()}

    def _load(self, state: dict[str, Any]) -> None:
        self._stream.move_to(state["stream"])


def _cube(generator: np.random.Generator, dimension: int, count: int) -> FloatArray:
    # Uniforms alone, row by row: one long draw gives the same vectors as many short ones.
    uniforms = generator.random((count // dimension, 2 * dimension + 1))
    radii = -np.log1p(-uniforms[:, : dimension + 1]).sum(axis=1, keepdims=True)
    return np.asarray(radii * (2 * uniforms[:, dimension + 1 :] - 1)).ravel()


def _laplace(generator: np.random.Generator, count: int) -> FloatArray:
    return generator.laplace(0.0, 1.0, count)


def next_draws(source: PooledNoise, count: int) -> FloatArray:
    """Take the next `count` integers of a source as floats: out of its pool, as long as that lasts."""
    start, stop = source.given, source.given + count
    if start <= stop <= source.pool.size and source.home == current_process():
        source.given = stop  # before they are given out: an interrupt may lose draws, never repeat them
        return source.pool[start:stop].astype(np.float64)
    return source.draw(count).astype(np.float64)


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

    def nodes(self, step: int) -> int:
        """Count the nodes of a tree that make the sum up to a step (0: this is no tree)."""
        return 0

    @property
    def private(self) -> bool | None:
        """Whether the keys behind the noise are secret (None: the noise is handed in from outside)."""
        return None if self._source is None else self._source.private

    def fresh(self, count: int) -> FloatArray | IntArray:
        """Draw `count` noises as the next steps would have drawn them: for audits of their law."""
        return self._noise(count)

    def add(self, x: FloatArray, sensitivity: float = 1.0) -> FloatArray:
        """Add one vector and return a new array: the noisy sum so far.

        `sensitivity` multiplies the size of a record, hence this step's fresh noise, and may not fall between steps.
        On a lattice longer vectors are shortened to that size; without one, that `x` is finite and inside its
        sensitivity is for the caller to enforce.
        """
        sums = None if kernels.compiled is None else self._add_in_c(x, sensitivity)
        if sums is not None:
            return sums
        self._check_room(1)
        sensitivity = self._check_sensitivity(sensitivity)
        if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == self._sum.shape:
            x = x.copy()  # what `real_array` does, without the call: this is the hot path
        else:
            x = real_array("Accumulator", "x", x, self._sum.shape)
        record, fresh, stretch = self._inputs(x, sensitivity)
        self._sensitivity = sensitivity
        self._step += 1
        self._include(record, fresh, stretch)
        return self._sum * self._worth

    def _add_in_c(self, x: FloatArray, sensitivity: float) -> FloatArray | None:
        """Take the whole step in C, or change nothing and give None."""
        return None

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
        """Give a vector as it enters the sum, in its own units: on a lattice, cut to whole steps. PRIVATE."""
        if self._grid is None:
            return x if self._records is None else self._records.plain(x)
        return self._grid.records.quantised(x, self._grid.units, sensitivity) * (self._worth * sensitivity)

    def _inputs(self, x: FloatArray, sensitivity: float) -> tuple[FloatArray, FloatArray, float]:
        """Give records and fresh noise in steps, and how much longer steps are than at sensitivity 1."""
        grid = self._grid
        # Records first: one that is refused has used up no noise.
        record = self.record(x) if grid is None else grid.records.quantised(x, grid.units, sensitivity)
        fresh = np.asarray(self._noise(x.size), dtype=np.float64).reshape(x.shape)
        return (record, fresh * (self._scale * sensitivity), 1.0) if grid is None else (record, fresh, sensitivity)

    def _rounded(self, correction: FloatArray) -> FloatArray:
        """Give a correction in steps, as it is subtracted from the fresh noise: whole on a lattice."""
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
        """Give the state that continues bit for bit. PRIVATE: the state holds the noise, from which the data follow."""
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
        """Give the part of `state_dict` that is the mechanism's own, copied."""

    @abstractmethod
    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        """Take over a copy of `_noise_state`; raise before changing anything if it does not fit."""

    def _fitting(self, state: dict[str, Any], name: str, rows: int) -> FloatArray:
        """Give a copy of the array `name` of a state, checked to have `rows` rows of this dimension."""
        array = np.array(state[name], dtype=float)
        if array.shape != (rows, self.dimension):
            raise InvalidInput(
                f"The '{name}' of this running sum's state must have shape {(rows, self.dimension)}. "
                f"Got {array.shape} instead."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"The '{name}' of this running sum's state must be finite.")
        return array


class BufferedAccumulator(Accumulator):
    """v = z - sum_i omega_i buffer_i; buffer_i = theta_i (buffer_i + v)."""

    def __init__(
        self, mechanism: Buffered, dimension: int, scale: float, noise: Draws, grid: Grid | None = None
    ) -> None:
        super().__init__(mechanism.steps, dimension, scale, noise, grid)
        self._theta = np.array(mechanism.decays)[:, None]
        self._omega = np.array(mechanism.weights)
        self._buffers = np.zeros((self._omega.size, self.dimension))
        self._weights = self._omega[:, None]
        self._products = np.empty(self._buffers.shape)
        # A single column would be added up in another order, and floats are for simulation.
        self._in_steps = grid is not None and self.dimension > 1
        self._in_c = None if grid is None else _record_in_c(grid.records, grid.units)

    def _add_in_c(self, x: FloatArray, sensitivity: float) -> FloatArray | None:
        if self._in_c is None or sensitivity != 1.0 or self._sensitivity > 1.0:
            return None
        name, size = self._in_c
        draws = self._noise
        # Audits and tests hand in other draws than those of a pool.
        if not (type(draws) is partial and draws.func is next_draws and self._in_steps and type(x) is np.ndarray):
            return None
        source: PooledNoise = draws.args[0]
        start, stop = source.given, source.given + self.dimension
        if stop > source.pool.size or source.home != current_process() or self._step >= self._steps:
            return None
        sums = np.empty(self.dimension)
        kept = (self._omega, self._theta, self._buffers, self._sum, self._worth)
        source.given = stop  # before they are used: an interrupt may lose draws, never repeat them
        if not getattr(kernels.compiled, name)(x, *size, source.pool, start, *kept, sums):
            source.given = start  # nothing was used
            return None
        self._step += 1
        self._sensitivity = 1.0
        return sums

    def _advance(self, fresh: FloatArray, stretch: float) -> FloatArray:
        buffers = self._buffers
        correction = np.add.reduce(np.multiply(self._weights, buffers, out=self._products), axis=0)
        if stretch != 1.0:
            correction /= stretch
        added: FloatArray = fresh - self._rounded(correction)
        buffers += added if stretch == 1.0 else added * stretch
        buffers *= self._theta
        return added

    def _advance_many(self, records: FloatArray, fresh: FloatArray, stretch: float, sums: FloatArray) -> None:
        if not self._in_steps or stretch != 1.0 or kernels.compiled is None:
            super()._advance_many(records, fresh, stretch, sums)
            return
        self._step += len(records)
        kernels.compiled.buffered(records, fresh, self._omega, self._theta, self._buffers, sums)

    def _noise_state(self) -> dict[str, Any]:
        return {"buffers": self._buffers.copy()}

    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        self._buffers[:] = self._fitting(state, "buffers", len(self._buffers))


def _record_in_c(records: Records, units: int) -> tuple[str, tuple[float, ...]] | None:
    """Name the function in C that makes such records whole, and its sizes (None: there is none)."""
    if type(records) is LossRecords:
        return "add_loss_record", (float(units),)
    return ("add_vector_record", (records.norm, float(units))) if type(records) is VectorRecords else None


class TreeAccumulator(Accumulator):
    """Keeps, for each level, the noise of the longest prefix that ends on that level's grid.

    The noise of the sum up to t is that of the sum up to t - b^level plus the fresh noise of node t: one vector
    addition a step and one vector a level. Kept vectors are never written to, so levels may share them.
    """

    def __init__(
        self, steps: int, dimension: int, scale: float, noise: Draws, grid: Grid | None = None, *, base: int
    ) -> None:
        super().__init__(steps, dimension, scale, noise, grid)
        self._base = base
        self._prefixes = [np.zeros(self.dimension)] * tree_levels(steps, base)

    def nodes(self, step: int) -> int:
        """Count the nodes that make the sum up to a step."""
        return digit_sum(step, self._base)

    def _advance(self, fresh: FloatArray, stretch: float) -> FloatArray:
        if stretch != 1.0:
            raise ProtocolError("This tree's lattice is made for records of one size: give `lattice_grid` a multiple.")
        level = node_level(self._step, self._base)
        noise = fresh + self._prefixes[level]
        added = noise - self._prefixes[0]  # level 0 holds the noise of the step before
        for lower in range(level + 1):  # a multiple of b^level lies on all the finer grids as well
            self._prefixes[lower] = noise
        return added

    def _noise_state(self) -> dict[str, Any]:
        return {"prefixes": np.stack(self._prefixes)}

    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        self._prefixes = list(self._fitting(state, "prefixes", len(self._prefixes)))


class GrowingTreeAccumulator(TreeAccumulator):
    """Keeps, for each level, the exact sum of its open node, and the released sum that the node will be added to.

    Sums of k_j n_j are int64 as long as public bounds say that they fit, and Python integers afterwards.
    """

    def __init__(self, steps: int, dimension: int, scale: float, noise: Draws, grid: Grid, *, base: int) -> None:
        super().__init__(steps, dimension, scale, noise, grid, base=base)
        self._multiple = grid.multiple
        self._largest = grid.units * grid.records.summands
        self._bound = 0  # of the sums of open nodes, in modulus
        self._open: Any = np.zeros((len(self._prefixes), self.dimension), dtype=np.int64)

    def _check_sensitivity(self, sensitivity: float) -> float:
        sensitivity = super()._check_sensitivity(sensitivity)
        count = round(sensitivity / self._multiple)
        if count < 1 or abs(count * self._multiple - sensitivity) > 1e-9 * sensitivity:
            raise InvalidInput(
                f"Sensitivities of this tree must be whole multiples of {self._multiple!r}: see Grid.admissible. "
                f"Got {sensitivity!r} instead."
            )
        return sensitivity

    def _include(self, record: FloatArray, fresh: FloatArray, stretch: float) -> None:
        count = round(stretch / self._multiple)
        level = node_level(self._step, self._base)
        self._bound += count * self._largest
        whole: Any = record.astype(np.int64)
        if self._bound >= _INT64:
            whole, self._open = whole.astype(object), self._open.astype(object)
        self._open += count * whole
        node = self._node(self._open[level], count) + fresh
        self._open[: level + 1] = 0
        self._sum = self._prefixes[level] + node * stretch
        for lower in range(level + 1):
            self._prefixes[lower] = self._sum

    @staticmethod
    def _node(total: Any, count: int) -> FloatArray:
        """Give the sum that a node holds, in the node's own steps."""
        return np.asarray(total // count, dtype=np.float64)

    def _advance_many(self, records: FloatArray, fresh: FloatArray, stretch: float, sums: FloatArray) -> None:
        for row, draw in enumerate(fresh):
            self._step += 1
            self._include(records[row], draw, stretch)
            sums[row + 1] = self._sum

    def _noise_state(self) -> dict[str, Any]:
        # As lists: Python integers may be too long for an array of numbers.
        return {**super()._noise_state(), "open": self._open.tolist(), "bound": self._bound}

    def _load_noise_state(self, state: dict[str, Any], step: int) -> None:
        rows, bound = state["open"], state["bound"]
        whole = all(type(x) is int for row in rows for x in row) and type(bound) is int and bound >= 0
        if not whole or [len(row) for row in rows] != [self.dimension] * len(self._prefixes):
            raise TypeError("whole numbers expected")
        kept = np.array(rows, dtype=object if bound >= _INT64 else np.int64)
        super()._load_noise_state(state, step)
        self._open, self._bound = kept, bound


def tree_levels(steps: int, base: int) -> int:
    """Give the most nodes that contain one step: floor(log_b steps) + 1, and 1 for an empty stream."""
    levels, power = 1, base
    while power <= steps:  # integers: a rounded logarithm would miss a level at exact powers
        levels, power = levels + 1, power * base
    return levels


def node_level(step: int, base: int) -> int:
    """Compute how many times `base` divides `step`."""
    if base == 2:
        return (step & -step).bit_length() - 1
    level = 0
    while step % base == 0:
        step, level = step // base, level + 1
    return level


def digit_sum(number: int, base: int) -> int:
    """Compute the digit sum of one number."""
    total = 0
    while number:
        number, digit = divmod(number, base)
        total += digit
    return total
