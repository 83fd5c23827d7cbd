"""One noisy vector a round: a record on a lattice, plus fresh integers. Nothing is added up.

Given the transcript, only the rounds in which a person stands have another law on a neighbour. Two-sided geometric
noise costs its rate times the l1 shift of each of them, exactly; discrete Gaussian noise mu each, squares adding up.
Without a lattice, for simulation, noise is drawn and added in float64.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor, inf, nextafter, sqrt
from typing import Any

import numpy as np

from tacit.errors import PrivacyError
from tacit.mechanisms.running_sums.float_noise import FloatNoise, unit_noise
from tacit.mechanisms.running_sums.lattice_sums import FEWEST_UNITS, Grid
from tacit.mechanisms.running_sums.records import Records
from tacit.numerics.bounds import GAUSSIAN_SIGMA, SIGMA_ABOVE, gaussian_slack
from tacit.numerics.discrete_laplace import SMALLEST_RATE
from tacit.numerics.lattice import LARGEST_UNITS, LOSS_UNITS
from tacit.numerics.source import PooledNoise, Streams
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian, Pure, SamplerError
from tacit.privacy.numerics import EXACT, IDEALIZED, exact_up_to
from tacit.validation import FloatArray, check_choice, check_positive


def vector_grid(noise: str, scale: float, records: Records, rounds: int, numerics: str = "exact") -> Grid:
    """The lattice on which noise of at least this scale hides records, and what it leaks.

    Args:
        noise: "laplace" (scale b) or "gaussian" (scale: the standard deviation).
        scale: of the noise, in the units of the records.
        records: what is hidden each round; one person stands in one of them.
        rounds: in how many rounds one person stands.
        numerics: "exact", or "float" for simulation.
    """
    check_choice("vector_grid", "noise", noise, ("laplace", "gaussian"))
    check_positive("vector_grid", "scale", scale)
    relative = scale / records.size
    if numerics == "float":
        move = (records.l1_move if noise == "laplace" else records.l2_move) / relative * ROUND_UP
        curve: Curve = Pure(rounds * move) if noise == "laplace" else Gaussian(sqrt(rounds) * move)
        return Grid(records, 0, scale, curve, IDEALIZED)
    if noise == "laplace":
        return _geometric(relative, records, rounds)
    units = min(LARGEST_UNITS, floor(GAUSSIAN_SIGMA / relative)) // 2 * 2
    if units < FEWEST_UNITS:
        raise _too_coarse(scale)
    slack = gaussian_slack(rounds * records.dimension)
    mu = sqrt(rounds) * records.l2_shift(units) / GAUSSIAN_SIGMA * ROUND_UP
    curve = SamplerError(Gaussian(mu), slack.total_variation, 1, slack.epsilon, slack.delta_exponent)
    return Grid(records, units, records.worth(units) * SIGMA_ABOVE * ROUND_UP, curve, exact_up_to(slack.epsilon))


class NoisyVectors:
    """Releases each record with fresh noise. Its memory is the source of the noise alone."""

    def __init__(self, grid: Grid, noise: str, streams: Streams, name: str) -> None:
        self._grid = grid
        self.noise = noise
        self._source: PooledNoise | FloatNoise = (
            grid.noise(streams, name)
            if grid.units
            else FloatNoise.from_streams(partial(unit_noise, noise), streams, name)
        )

    @property
    def private(self) -> bool:
        """Whether the keys behind the noise are secret."""
        return self._source.private

    @property
    def scale(self) -> float:
        """Scale of the noise."""
        return self._grid.scale

    def record(self, rows: FloatArray) -> FloatArray:
        """Records as they are hidden, in their own units: on a lattice, cut to whole steps. PRIVATE."""
        grid = self._grid
        return grid.records.quantised(rows, grid.units, 1.0) * grid.step if grid.units else grid.records.plain(rows)

    def release(self, rows: FloatArray) -> FloatArray:
        """The records with noise, as a new array."""
        grid = self._grid
        if not grid.units:
            noise: FloatArray = np.asarray(self._source.draw(rows.size), dtype=np.float64).reshape(rows.shape)
            return np.asarray(grid.records.plain(rows) + grid.scale * noise)
        noisy = grid.records.quantised(rows, grid.units, 1.0)
        noisy += self._source.draw(rows.size).reshape(rows.shape)  # float64 holds these integers exactly
        noisy *= grid.step
        return noisy

    def state_dict(self) -> dict[str, Any]:
        """That of the noise."""
        return self._source.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        self._source.load_state_dict(state)


def _geometric(scale: float, records: Records, rounds: int) -> Grid:
    """Rate a, the largest float64 with a * units * scale <= 1, on the finest lattice that leaves it large enough."""
    units = LOSS_UNITS
    while units > 2 and units * scale * SMALLEST_RATE > 1:
        units //= 2
    wanted = 1 / (Fraction(scale) * units)
    rate = float(wanted)
    if Fraction(rate) > wanted:
        rate = nextafter(rate, 0.0)
    if rate < SMALLEST_RATE:
        raise _too_coarse(scale)
    exact = Fraction(rate) * records.l1_shift(units) * rounds
    epsilon = float(exact) if Fraction(float(exact)) >= exact else nextafter(float(exact), inf)
    return Grid(records, units, records.worth(units) / rate * ROUND_UP, Pure(epsilon), EXACT, rate)


def _too_coarse(scale: float) -> PrivacyError:
    return PrivacyError(
        f"Noise of scale {scale:.3g} leaves no lattice to hide records on: ask for less privacy, or take "
        "numerics='float' for a simulation."
    )
