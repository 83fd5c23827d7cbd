"""Many steps of a buffered sum on a lattice in one compiled pass: the same integers as step by step, bit for bit.

Every operation is the one that numpy makes, in the same order: products with the weights added from the first buffer
to the last, one rounding, and one addition and one product a buffer. The compiler contracts none of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tacit.validation import require


def _block(records: Any, fresh: Any, omega: Any, theta: Any, buffers: Any, sums: Any) -> None:
    """Write the sums after each row; `buffers` go on, `sums` has the sum so far in its first row."""
    for step in range(records.shape[0]):
        for place in range(records.shape[1]):
            correction = omega[0] * buffers[0, place]
            for index in range(1, omega.size):
                correction += omega[index] * buffers[index, place]
            added = fresh[step, place] - np.rint(correction)
            for index in range(omega.size):
                buffers[index, place] = (buffers[index, place] + added) * theta[index]
            sums[step + 1, place] = sums[step, place] + (added + records[step, place])


@cache
def compiled_block() -> Any:
    """The loop compiled by numba, or an error that names the extra that installs it."""
    return require("numba", "fast").njit(_block)
