"""Several rounds of one person in a Toeplitz running sum: how far they move the draws together.

**The worst m rounds are the first m, moved alike**, if the encoder's coefficients fall, c_0 >= c_1 >= ... >= 0.
Columns have non-negative inner products, so equal directions are the worst. For i < j, <C_i, C_j> = sum_{l <= T-j}
c_l c_{l+j-i} falls in j and in j - i; the a-th and the b-th of any sorted choice of rounds have i_b >= b and i_b -
i_a >= b - a, so every inner product is at most that of the first m columns, and so is the norm of the sum. It holds
for every choice of rounds and moves, hence for choices that depend on what was released. If sensitivities grow,
entries c_{t-s} are multiplied by the sensitivity of s over that of t, at most 1: non-negative columns with smaller
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit.validation import check_integer

if TYPE_CHECKING:
    from tacit.mechanisms.running_sums.base import RunningSum

# Persons with more rounds than this are charged as if their columns were parallel.
_MOST = 2**20
# Room for the rounding of sums of coefficients.
_ROUND_UP = 1 + 1e-9


def falling_crowding(first_columns: Callable[[int], float], people: int, mechanism: RunningSum) -> float:
    """Norm of the sum of the first `people` columns over `people` times that of one, rounded up.

    Args:
        first_columns: the norm of the sum of the first columns, as many as asked for.
        people: rounds in which one person may stand.
        mechanism: whose coefficients fall.
    """
    people = check_integer(type(mechanism).__name__, "people", people)
    count = min(people, mechanism.steps)
    if people == 1 or count == 0 or count > _MOST:
        return 1.0
    return min(1.0, first_columns(count) / (people * mechanism.column_norm) * _ROUND_UP)
