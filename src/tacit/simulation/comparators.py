"""What a learner is compared with: the best expert, and the best sequence of experts with few switches."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, check_integer, real_array


def best_expert_loss(losses: ArrayLike) -> float:
    """The smallest total loss of any single expert, for losses of shape (rounds, experts)."""
    return float(np.min(np.sum(_checked("best_expert_loss", losses), axis=0)))


def best_switching_sequence(losses: ArrayLike, switches: int) -> tuple[float, IntArray]:
    """The smallest loss of any sequence with at most `switches` switches, and such a sequence.

    Exact dynamic programme over (expert, switches used), O(T N S) time. The table is kept at every
    sqrt(T)-th round only and rebuilt between two of them on the way back: O(sqrt(T) N S) memory.

    >>> best_switching_sequence([[0, 1], [0, 1], [1, 0]], switches=1)
    (0.0, array([0, 0, 1]))
    """
    table = _checked("best_switching_sequence", losses)
    rounds, n = table.shape
    # More switches than rounds - 1 cannot be used.
    allowed = min(check_integer("best_switching_sequence", "switches", switches, at_least=0), rounds - 1)
    step = isqrt(rounds - 1) + 1
    starts = range(0, rounds, step)
    kept = np.empty((len(starts), allowed + 1, n))
    values = np.zeros((allowed + 1, n))  # values[c, j]: best loss so far, ending at j with at most c switches
    for block, first in enumerate(starts):
        kept[block] = values
        for row in table[first : first + step]:
            _step(values)
            values += row
    used = allowed
    expert = int(np.argmin(values[used]))
    sequence = np.empty(rounds, dtype=np.int64)
    for block in reversed(range(len(starts))):
        first = starts[block]
        rows = table[first : first + step]
        moved = np.empty((len(rows), allowed + 1, n), dtype=bool)
        source = np.empty((len(rows), allowed + 1), dtype=np.int64)
        values = kept[block].copy()
        for index, row in enumerate(rows):
            moved[index], source[index] = _step(values)
            values += row
        for index in reversed(range(len(rows))):
            sequence[first + index] = expert
            if moved[index, used, expert]:
                used -= 1
                expert = int(source[index, used])
    return float(np.sum(table[np.arange(rounds), sequence])), sequence


def _step(values: FloatArray) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.bool_]], IntArray]:
    """Allow one switch before the next round, in place; who moved, and from where."""
    source = np.argmin(values, axis=1)
    cheapest = values[np.arange(len(values)), source]
    moved = np.zeros(values.shape, dtype=bool)
    np.less(cheapest[:-1, None], values[1:], out=moved[1:])
    np.minimum(values[1:], cheapest[:-1, None], out=values[1:])
    return moved, source


def _checked(owner: str, losses: ArrayLike) -> FloatArray:
    table = real_array(owner, "losses", losses, (None, None))
    if not table.size or not np.all(np.isfinite(table)):
        raise InvalidInput(f"The 'losses' of {owner} must be finite, with at least one round and one expert.")
    return table
