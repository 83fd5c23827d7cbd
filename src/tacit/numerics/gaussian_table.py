"""The cumulative table of the discrete Gaussian D(Z, 256), in integers.

D(Z, s) has P[k] proportional to e^{-k^2/(2 s^2)} on the integers. With s = 256 the weights are
e^{-k^2/131072}, k = -4224..4224 (beyond lies less than 2^-195), and the table holds

    C_k = floor(2^192 P[X <= k]),   C_4224 = 2^192.

A base draw is -4224 plus the number of thresholds C_k <= U, U a uniform integer of 192 bits. Its law differs
from D(Z, 256) by at most 2^-181.6 in total variation. Only integers are used: q = e^{-2^-17} by its series with
400 fractional bits, then w_{k+1} = w_k q^{2k+1}.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 4224
TABLE_BITS = 192
UNDECIDED = -(2**15)  # what the guide says if 16 bits do not decide
_FRACTION = 400


@dataclass(frozen=True)
class GaussianTable:
    """The thresholds, and arrays that find most base draws from the first 16 or 64 bits of U.

    Attributes:
        thresholds: C_k for k = -4224..4224, as Python integers.
        guide: the base draw for each value of the first 16 bits, or `UNDECIDED`.
        first: how many thresholds are at most g 2^176, for g = 0..65536: where a search starts.
        high: the first 64 bits of each threshold but the last.
    """

    thresholds: tuple[int, ...]
    guide: NDArray[np.int16]
    first: NDArray[np.int16]
    high: NDArray[np.uint64]

    def base_draw(self, uniform: int) -> int:
        """The base draw of 192 uniform bits."""
        return bisect_right(self.thresholds, uniform) - LARGEST


def gaussian_thresholds() -> tuple[int, ...]:
    """C_k for k = -4224..4224."""
    one = 1 << _FRACTION
    q = term = one
    power = 0
    while term:
        power += 1
        term = (term >> 17) // power
        q += -term if power % 2 else term
    square = q * q >> _FRACTION
    half, ratio = [one], q
    for _ in range(LARGEST):
        half.append(half[-1] * ratio >> _FRACTION)
        ratio = ratio * square >> _FRACTION
    weights = half[:0:-1] + half
    total, running, thresholds = sum(weights), 0, []
    for weight in weights:
        running += weight
        thresholds.append((running << TABLE_BITS) // total)
    return tuple(thresholds)


@cache
def gaussian_table() -> GaussianTable:
    """The table, made at its first use (a tenth of a second)."""
    thresholds = gaussian_thresholds()
    edges = [g << (TABLE_BITS - 16) for g in range(2**16 + 1)]
    first = np.array([bisect_right(thresholds, edge) for edge in edges])
    last = np.array([bisect_right(thresholds, edge - 1) for edge in edges[1:]])
    guide = np.where(first[:-1] == last, last - LARGEST, UNDECIDED)
    high = [threshold >> (TABLE_BITS - 64) for threshold in thresholds[:-1]]
    return GaussianTable(
        thresholds,
        _frozen(guide.astype(np.int16)),
        _frozen(first.astype(np.int16)),
        _frozen(np.array(high, dtype=np.uint64)),
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
