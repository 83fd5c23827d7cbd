"""One noisy vector a batch of rounds: the sum of its records on a lattice, plus fresh integers, once.

Given the transcript, only the batches in which a person stands have another law on a neighbour. Noise shaped for the
cube costs its rate times the largest shift of a coordinate, two-sided geometric noise its rate times the l1 shift,
exactly, so that the rounds of a person add up however they are spread. Discrete Gaussian noise costs mu in proportion
to the l2 shift of a batch, squares adding up over batches: a person's rounds cost most if they stand together.
Without a lattice, for simulation, noise is drawn and added in float64.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor, inf, nextafter, sqrt
from typing import Any

import numpy as np

from tacit.accounting.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.accounting.rounding import EXACT, IDEALIZED, exact_up_to
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.cube import least_cube_rate
from tacit.noise.discrete_laplace import SMALLEST_RATE
from tacit.noise.lattice import LARGEST_UNITS, LOSS_UNITS
from tacit.noise.running_sums.accumulators import FloatNoise, Records, unit_noise
from tacit.noise.running_sums.running_sum import FEWEST_UNITS, Grid
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.noise.source import PooledNoise, Streams
from tacit.validation import MALFORMED, FloatArray, check_choice, check_integer, check_positive, real_array

NOISES = ("cube", "laplace", "gaussian")


def together(rounds: int, batch: int) -> float:
    """Compute the largest root of a sum of squares of how many of a person's rounds stand in each batch."""
    full, rest = divmod(rounds, batch)
    return sqrt(full * batch**2 + rest**2)


def vector_grid(
    noise: str, scale: float, records: Records, rounds: int, numerics: str = "exact", batch: int = 1
) -> Grid:
    """Give the lattice on which noise of at least this scale hides sums of `batch` records, and what it leaks.

    Args:
        noise: "cube" or "laplace" (scale: 1/rate), or "gaussian" (scale: the standard deviation).
        scale: of the noise, in the units of the records.
        records: what is hidden each round; one person stands in one of them.
        rounds: in how many rounds one person stands.
        numerics: "exact", or "float" for simulation.
        batch: rounds that are added up before noise.
    """
    check_choice("vector_grid", "noise", noise, NOISES)
    check_positive("vector_grid", "scale", scale)
    relative = scale / records.size
    if numerics == "float":
        move = records.move(noise) / relative * ROUND_UP
        curve: Curve = Gaussian(together(rounds, batch) * move) if noise == "gaussian" else Pure(rounds * move)
        return Grid(records, 0, scale, curve, IDEALIZED)
    if noise != "gaussian":
        return _pure(noise, relative, records, rounds)
    # Sums of a batch stay below 2^52, where float64 holds every integer.
    units = min(LARGEST_UNITS, floor(GAUSSIAN_SIGMA / relative), 2**53 // batch) // 2 * 2
    if units < FEWEST_UNITS:
        raise _too_coarse(scale)
    slack = gaussian_slack(rounds * records.dimension)
    mu = together(rounds, batch) * records.l2_shift(units) / GAUSSIAN_SIGMA * ROUND_UP
    curve = SamplerError(Gaussian(mu), slack.total_variation, 1, slack.epsilon, slack.delta_exponent)
    return Grid(records, units, records.worth(units) * SIGMA_ABOVE * ROUND_UP, curve, exact_up_to(slack.epsilon))


class NoisyVectors:
    """Releases the sum of each batch of records with fresh noise. Between releases it holds the sum so far: PRIVATE.

    Attributes:
        grid: the lattice, or float64.
        noise: the kind of noise.
        filled: how many records wait for the end of their batch.
    """

    def __init__(self, grid: Grid, noise: str, streams: Streams, name: str, batch: int = 1) -> None:
        self.grid = grid
        self.noise = noise
        self._batch = check_integer("NoisyVectors", "batch", batch)
        self.filled = 0
        self._waiting = np.zeros(grid.records.dimension)  # in steps
        self._source: PooledNoise | FloatNoise = (
            grid.noise(streams, name)
            if grid.units
            else FloatNoise(partial(unit_noise, noise, dimension=grid.records.dimension), streams, name)
        )

    @property
    def private(self) -> bool:
        """Whether the keys behind the noise are secret: a learner that loads a state compares it with its own."""
        return self._source.private

    def add(self, rows: FloatArray) -> FloatArray:
        """Add rows; return the noisy sums of the batches that they end, one a row (none: no row).

        What is returned does not depend on how many rows are added at a time.
        """
        grid = self.grid
        rows = real_array("NoisyVectors", "rows", rows, (None, grid.records.dimension))
        steps = grid.records.quantised(rows, grid.units, 1.0) if grid.units else grid.records.plain(rows)
        ended = (self.filled + len(steps)) // self._batch
        sums = steps if self._batch == 1 else np.empty((ended, self._waiting.size))
        if self._batch > 1:
            first = 0
            for index in range(ended + 1):
                last = min(len(steps), first + self._batch - self.filled)
                # Added one after the other, so that floats round in the same way whoever calls.
                self._waiting = np.add.accumulate(np.vstack([self._waiting, steps[first:last]]))[-1]
                self.filled += last - first
                if index < ended:
                    sums[index], self._waiting, self.filled = self._waiting, np.zeros(self._waiting.size), 0
                first = last
        return self.release(sums) if ended else sums

    def release(self, sums: FloatArray) -> FloatArray:
        """Release sums of records in steps, with fresh noise, in the units of the records and as a new array."""
        grid, drawn = self.grid, self._source.draw(sums.size).reshape(sums.shape)
        if not grid.units:
            return np.asarray(sums + grid.scale * np.asarray(drawn, dtype=np.float64))
        return (sums + drawn) * grid.step  # float64 holds these integers exactly

    def state_dict(self) -> dict[str, Any]:
        """Give the sum that waits, and the state of the noise. PRIVATE."""
        return {"noise": self._source.state_dict(), "waiting": self._waiting.copy(), "filled": self.filled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        try:
            waiting, filled = np.array(state["waiting"], dtype=float), int(state["filled"])
            most = filled * self.grid.records.size / self.grid.step * (1 + 1e-9)
            if not (
                waiting.shape == self._waiting.shape and 0 <= filled < self._batch and np.abs(waiting).max() <= most
            ):
                raise ValueError("the sum does not fit the batch")
            self._source.load_state_dict(state["noise"])
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of noisy vectors ({error!r}).") from None
        self._waiting, self.filled = waiting, filled


def _pure(noise: str, scale: float, records: Records, rounds: int) -> Grid:
    """Give rate a, the largest float64 with a * units * scale <= 1, on the finest lattice that leaves a large enough.

    That of cube noise is at most 1/dimension (`cube_rate`): more noise than asked for, where it hardly matters.
    """
    cube = noise == "cube"
    units, least = LOSS_UNITS, least_cube_rate(records.dimension) if cube else SMALLEST_RATE
    while units > 2 and units * scale * least > 1:
        units //= 2
    wanted = 1 / (Fraction(scale) * units)
    rate = float(wanted)
    if Fraction(rate) > wanted:
        rate = nextafter(rate, 0.0)
    rate = min(rate, 1 / records.dimension) if cube else rate
    if rate < least:
        raise _too_coarse(scale)
    exact = Fraction(rate) * records.pure_shift(noise, units) * rounds
    epsilon = float(exact) if Fraction(float(exact)) >= exact else nextafter(float(exact), inf)
    return Grid(records, units, records.worth(units) / rate * ROUND_UP, Pure(epsilon), EXACT, rate, cube=cube)


def _too_coarse(scale: float) -> PrivacyError:
    return PrivacyError(
        f"Noise of scale {scale:.3g} leaves no lattice to hide records on: ask for less privacy, or take "
        "numerics='float' for a simulation."
    )
