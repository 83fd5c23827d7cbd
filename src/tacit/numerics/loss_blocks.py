"""Rows of losses in one compiled pass: checked, rounded down to the lattice, added up, and judged by lazy coins.

It stops where a coin is lost. Sums are of integers and coins are decided by the uniform alone (`decisions`), so that it
plays what numpy plays.
"""

from __future__ import annotations

from functools import cache
from math import exp
from typing import Any, NamedTuple

import numpy as np

from tacit.numerics.decisions import COIN_MARGIN
from tacit.numerics.lattice import LOSS_UNITS
from tacit.numerics.source import Words
from tacit.validation import FloatArray, IntArray, require

KEPT, LOST, OPEN, BAD = range(4)
"""How a compiled stretch ends: at the last row, with a lost coin, with one that 53 bits do not decide, a bad loss."""
_WHOLE = 2.0**-53


class Chain(NamedTuple):
    """What a lazy chain's coins depend on, besides losses.

    Attributes:
        batch: rows from one coin to the next.
        stay: the probability to keep an expert without any loss.
        rate: times the loss of a batch in units of 2^-24, the hazard of losing it.
        relative: whether losses count from the least one of their row.
    """

    batch: int
    stay: float
    rate: float
    relative: bool


def play_until_lost(
    block: FloatArray,
    first: int,
    held: int,
    total: IntArray,
    words: Words,
    loss_range: tuple[float, float],
    chain: Chain,
) -> tuple[int, int, int]:
    """Play the rows from `first` on with the expert that is held, and add them to `total`: compiled.

    Returns:
        how it ended, the row after the last one that was played, and the score of the last coin.
    """
    low, high = loss_range
    end, stop, score = compiled_loop()(block, first, held, total, words, low, high - low, high, *chain)
    return int(end), int(stop), int(score)


def _play_rows(
    block: Any,
    first: int,
    held: int,
    total: Any,
    words: Any,
    low: float,
    scale: float,
    high: float,
    batch: int,
    stay: float,
    rate: float,
    relative: bool,
) -> tuple[int, int, int]:
    """The loop for the compiler; what a bad loss adds is never looked at."""
    unit = low == 0.0 and scale == 1.0
    score = 0
    for row in range(first, block.shape[0]):
        losses = block[row]
        bad, least = np.int32(0), np.int32(LOSS_UNITS)
        for place in range(losses.size):
            loss = losses[place]
            bad += np.int32(not ((loss >= low) & (loss <= high)))
            whole = np.int32((loss if unit else (loss - low) / scale) * LOSS_UNITS)
            least = min(least, whole)
            total[place] += whole
        if bad:
            return BAD, row, 0
        mine = losses[held] if unit else (losses[held] - low) / scale
        score += int(mine * LOSS_UNITS) - (int(least) if relative else 0)
        if (row + 1) % batch == 0:
            gap = np.float64(words[row // batch] >> np.uint64(11)) * _WHOLE - stay * exp(-(score * rate))
            if abs(gap) <= COIN_MARGIN:
                return OPEN, row + 1, score
            if gap >= 0.0:
                return LOST, row + 1, score
            score = 0
    return KEPT, block.shape[0], 0


@cache
def compiled_loop() -> Any:
    """The loop compiled by numba, or an error that names the extra that installs it."""
    return require("numba", "fast").njit(_play_rows)
