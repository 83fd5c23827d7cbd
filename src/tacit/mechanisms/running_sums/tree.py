"""The tree mechanism with Gaussian noise: each step closes one node, each sum needs few nodes.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); `TreeBasedAgg` in the online learning
papers. Node t covers the steps (t - lowbit(t), t], so every step has exactly one node and one fresh noise
vector. The sum up to t is made of the nodes t, t - lowbit(t), ..., one for each binary one of t, and step q lies in
at most floor(log2 m) + 1 of the m nodes. The padding noises that some papers add serve a
follow-the-perturbed-leader argument, not privacy, and are left out.

Everything here is written for any base b (node t has the level v_b(t) and covers (t - b^level, t]; the sum up to t
has as many nodes as the digit sum of t), because the Laplace tree uses larger bases.

On a lattice records may grow. A node then adds records of several steps, each a whole number n_j of steps of its own
length gamma k_j, where the k_j are public integers that never fall. In units of the node's own step it is

    floor(sum_j k_j n_j / k_t) + z.

One person moves sum_j k_j n_j / k_t by no more than the records themselves, because k_j <= k_t, and the floor by at
most one unit a coordinate more: sqrt(d) in l2, d in l1, in each of the nodes that hold the step. Draws are never
multiplied by an integer while the data stay: that would release the data modulo the integer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.mechanisms.running_sums.base import Accumulator, Draws, RunningSum
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.privacy.curves import ROUND_UP
from tacit.validation import FloatArray, IntArray

_INT64 = 2**62


@dataclass(frozen=True)
class Tree(RunningSum):
    """The binary tree with Gaussian noise: simple and classical, but 2 to 3.5 times as noisy as `Buffered`.

    >>> Tree(steps=1000).start(1, 1.0, np.ones).add(np.zeros(1))
    array([1.])
    """

    steady: ClassVar[bool] = False

    @property
    def column_norm(self) -> float:
        """The square root of the number of levels, rounded up."""
        return float(np.sqrt(self.nodes)) * ROUND_UP

    @property
    def nodes(self) -> int:
        """The number of levels."""
        return tree_levels(self.steps, 2)

    def row_norm(self, step: int) -> float:
        """The root of the number of binary ones of `step`."""
        return math.sqrt(digit_sum(self._check_step(step), 2))

    @property
    def largest_row_norm(self) -> float:
        """The root of the most binary ones of any step."""
        return math.sqrt(largest_digit_sum(self.steps, 2))

    def row_norms(self) -> FloatArray:
        """Square roots of the digit sums: how many nodes make each sum."""
        return np.sqrt(digit_sums(self.steps, 2))

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Dense (decoder, encoder), all zeros and ones."""
        return tree_matrices(self.steps, 2)

    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> TreeAccumulator:
        return tree_accumulator(self.steps, dimension, scale, noise, grid, base=2)


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

    def _advance(self, fresh: FloatArray, stretch: float) -> FloatArray:
        if stretch != 1.0:
            raise ProtocolError("This tree's lattice is made for records of one size: make it with growing=True.")
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
        """What a node holds, in its own steps."""
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


def tree_accumulator(
    steps: int, dimension: int, scale: float, noise: Draws, grid: Grid | None, *, base: int
) -> TreeAccumulator:
    """The running state of a tree: on a lattice whose records grow, or of one size."""
    if grid is not None and grid.multiple:
        return GrowingTreeAccumulator(steps, dimension, scale, noise, grid, base=base)
    return TreeAccumulator(steps, dimension, scale, noise, grid, base=base)


def tree_levels(steps: int, base: int) -> int:
    """The most nodes that contain one step: floor(log_b steps) + 1, and 1 for an empty stream."""
    levels, power = 1, base
    while power <= steps:  # integers: a rounded logarithm would miss a level at exact powers
        levels, power = levels + 1, power * base
    return levels


def node_level(step: int, base: int) -> int:
    """How many times `base` divides `step`."""
    if base == 2:
        return (step & -step).bit_length() - 1
    level = 0
    while step % base == 0:
        step, level = step // base, level + 1
    return level


def digit_sums(steps: int, base: int) -> IntArray:
    """Digit sums of 1, ..., steps: the number of nodes in each sum."""
    rest = np.arange(1, steps + 1)
    sums = np.zeros(steps, dtype=np.int64)
    for _ in range(tree_levels(steps, base)):
        rest, digit = np.divmod(rest, base)
        sums += digit
    return sums


def largest_digit_sum(steps: int, base: int) -> int:
    """The largest digit sum of 1, ..., steps: that of `steps`, or of a number with the last digits all base - 1."""
    candidates, power = [steps], base
    while power <= steps:
        candidates.append(steps // power * power - 1)
        power *= base
    return max(digit_sum(number, base) for number in candidates)


def digit_sum(number: int, base: int) -> int:
    """The digit sum of one number."""
    total = 0
    while number:
        number, digit = divmod(number, base)
        total += digit
    return total


def tree_matrices(steps: int, base: int) -> tuple[FloatArray, FloatArray]:
    """Dense decoder (which nodes make a sum) and encoder (which steps a node covers)."""
    decoder, encoder = np.zeros((steps, steps)), np.zeros((steps, steps))
    for t in range(1, steps + 1):
        first = t - base ** node_level(t, base)
        encoder[t - 1, first:t] = 1.0
        if first:
            decoder[t - 1] = decoder[first - 1]
        decoder[t - 1, t - 1] = 1.0
    return decoder, encoder
