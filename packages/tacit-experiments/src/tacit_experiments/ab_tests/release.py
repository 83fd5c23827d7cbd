"""A look: sums of persons' vectors over arms and cells, multiplied, with exact noise, and back to moments.

Every arm and every declared cell is released, also where nobody is. The noise is a pseudorandom
function of a key outside of all databases, the test's salt, the look and the exact sums: the same
sums have the same release, and other sums would have independent noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Sealed
from tacit.noise.sampler_bounds import SIGMA_ABOVE
from tacit.noise.source import Streams
from tacit.validation import FloatArray
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.promise import Look, Promise
from tacit_experiments.ab_tests.vector import Layout
from tacit_experiments.policy import canonical

FORMAT = "tacit-test-release/1"

Table = list[list[int]]
"""Sums of features: one row an arm."""


@dataclass(frozen=True)
class Sums:
    """Exact sums of features at one look: private."""

    total: Table
    cells: list[list[Table]]  # by dimension, then by cell

    def __repr__(self) -> str:
        return "Sums(...)"

    def weighted(self, layout: Layout, look: Look) -> list[int]:
        """Multiply by the look's multipliers; all released integers in one list, before noise."""
        flat = [layout.weighted(row, look.total) for row in self.total]
        for tables, multipliers in zip(self.cells, look.cells, strict=True):
            flat += [layout.weighted(row, multipliers) for table in tables for row in table]
        return [value for row in flat for value in row]


def add_noise(weighted: Sequence[int], streams: Streams) -> list[int]:
    """Add one exact draw of the discrete Gaussian to each integer."""
    drawn = DiscreteGaussian.from_streams(streams, "release").draw(len(weighted)).tolist()
    return [value + noise for value, noise in zip(weighted, drawn, strict=True)]


def make_release(
    design: ABTest, promise: Promise, look: int, sums: Sums, key: Sealed, salt: str, contract: str
) -> dict[str, Any]:
    """Release one look, as JSON.

    Args:
        design: the test.
        promise: its multipliers.
        look: which look, counted from 1.
        sums: the exact sums at this look.
        key: the secret of noise.
        salt: the nonce of the test.
        contract: the digest of its contract.
    """
    weighted = sums.weighted(promise.layout, promise.looks[look - 1])
    rows = canonical([str(value) for value in weighted])  # beyond 2^53 numbers are not the same everywhere
    streams = key.batch(plan=FORMAT, learner=salt.encode(), first=look, rows=rows, state=contract.encode())
    noisy = add_noise(weighted, streams)
    return {
        "format": FORMAT,
        "test": design.name,
        "salt": salt,
        "look": look,
        "arms": list(design.arms),
        "segments": {dimension: list(cells) for dimension, cells in design.segments.items()},
        "sums": [str(value) for value in noisy],
        "contract": contract,
    }


@dataclass(frozen=True, eq=False)
class Block:
    """Noisy moments of the arms, of everybody or of one cell.

    Attributes:
        moments: N, S_1.., Q_1.., X_1..., one row an arm; axes before are free (runs of a simulation).
        noise: the covariance of the noise in the moments of one arm.
    """

    moments: FloatArray
    noise: FloatArray


@dataclass(frozen=True, eq=False)
class Released:
    """What one look tells: the totals, and each cell of each dimension."""

    look: int
    total: Block
    cells: list[list[Block]]


def read_release(design: ABTest, promise: Promise, look: int, noisy: Sequence[int]) -> Released:
    """Turn released integers into moments; the totals also use what the cells say of them."""
    layout, multipliers = promise.layout, promise.looks[look - 1]
    arms = len(design.arms)
    counts = [len(cells) for cells in design.segments.values()]
    values = np.array([float(value) for value in noisy]).reshape(1 + sum(counts), arms, layout.size)
    total, variance = _scaled(layout, values[0], multipliers.total)
    weights, mean = 1 / variance, total / variance
    cells, first = [], 1
    for count, used in zip(counts, multipliers.cells, strict=True):
        part, cell_variance = _scaled(layout, values[first : first + count], used)
        cells.append([_block(layout, cell, cell_variance) for cell in part])
        weights = weights + 1 / (count * cell_variance)
        mean = mean + part.sum(axis=0) / (count * cell_variance)
        first += count
    return Released(look, _block(layout, mean / weights, 1 / weights), cells)


def _scaled(layout: Layout, values: FloatArray, multipliers: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Divide released integers by what a person adds at most; the variance of the noise that is left."""
    units = np.array([float(layout.lattice * multipliers[place]) for place in layout.multiplier_of])
    return values / units, (SIGMA_ABOVE / units) ** 2


def _block(layout: Layout, sums: FloatArray, variance: FloatArray) -> Block:
    matrix = layout.to_moments
    return Block(sums @ matrix.T, matrix * variance @ matrix.T)
