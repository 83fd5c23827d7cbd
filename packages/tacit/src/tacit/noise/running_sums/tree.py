"""Tree mechanisms: each step closes one node, each sum needs few nodes.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); `TreeBasedAgg` in the online learning
papers. In base b node t has the level v_b(t) and covers the steps (t - b^level, t], so every step has exactly one node
and one fresh noise vector. The sum up to t has as many nodes as the digit sum of t: nodes are added, never subtracted.
A step lies in at most U = floor(log_b m) + 1 of the m nodes. The padding noises that some papers add serve a
follow-the-perturbed-leader argument, not privacy, and are left out.

`Tree` is binary, with Gaussian noise. Under pure differential privacy each node needs Laplace noise of scale
s U / epsilon (s in l1), linear in U (`LaplaceTree`); or cube noise of that scale with s in l_infinity, a factor of the
dimension less (`CubeTree`). A larger base trades fewer levels against more nodes in a sum; from 1e2 to 1e7 steps the
best one, 11 to 22, has about half the standard deviation of the binary tree. The base is public and depends on the
number of steps only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.noise.running_sums.accumulators import (
    Draws,
    GrowingTreeAccumulator,
    TreeAccumulator,
    digit_sum,
    node_level,
    tree_levels,
)
from tacit.noise.running_sums.running_sum import Grid, NoiseKind, RunningSum
from tacit.validation import FloatArray, IntArray, check_integer


@dataclass(frozen=True)
class NodeTree(RunningSum):
    """What trees of every noise share."""

    steady: ClassVar[bool] = False
    base = 2

    @property
    def nodes(self) -> int:
        return tree_levels(self.steps, self.base)

    def row_norm(self, step: int) -> float:
        """Compute the root of the digit sum of `step`: how many nodes make the sum."""
        return math.sqrt(digit_sum(self._check_step(step), self.base))

    @property
    def largest_row_norm(self) -> float:
        return math.sqrt(largest_digit_sum(self.steps, self.base))

    def row_norms(self) -> FloatArray:
        return np.sqrt(digit_sums(self.steps, self.base))

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Give dense (decoder, encoder): which nodes make a sum, which steps a node covers."""
        steps = self.steps
        decoder, encoder = np.zeros((steps, steps)), np.zeros((steps, steps))
        for t in range(1, steps + 1):
            first = t - self.base ** node_level(t, self.base)
            encoder[t - 1, first:t] = 1.0
            if first:
                decoder[t - 1] = decoder[first - 1]
            decoder[t - 1, t - 1] = 1.0
        return decoder, encoder

    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> TreeAccumulator:
        if grid is not None and grid.multiple:
            return GrowingTreeAccumulator(self.steps, dimension, scale, noise, grid, base=self.base)
        return TreeAccumulator(self.steps, dimension, scale, noise, grid, base=self.base)


@dataclass(frozen=True)
class Tree(NodeTree):
    """The binary tree with Gaussian noise: simple and classical, but 2 to 3.5 times as noisy as `Buffered`.

    >>> Tree(steps=1000).start(1, 1.0, np.ones).add(np.zeros(1))
    array([1.])
    """

    @property
    def column_norm(self) -> float:
        """The square root of the number of levels, rounded up."""
        return float(np.sqrt(self.nodes)) * ROUND_UP


@dataclass(frozen=True)
class LaplaceTree(NodeTree):
    """A tree with Laplace noise in the given base; `LaplaceTree.best(steps)` searches the base.

    >>> LaplaceTree.best(10_000).base
    22
    """

    base: int = 2
    noise: ClassVar[NoiseKind] = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "base", self.base, at_least=2)

    @classmethod
    def best(cls, steps: int) -> Self:
        """Give the base from 2 to 64 whose noisiest step has the least noise."""
        return min(
            (cls(steps, base) for base in range(2, 65)),
            key=lambda tree: tree.nodes**2 * largest_digit_sum(steps, tree.base),
        )

    @property
    def column_norm(self) -> float:
        """The number of levels: the l1 norm of a column of zeros and ones, exact."""
        return float(self.nodes)


@dataclass(frozen=True)
class CubeTree(LaplaceTree):
    """The same tree with noise shaped for the cube: P[z] proportional to e^{-max |z_j|/scale} in each node.

    For vectors all of whose coordinates may move at once, by at most s each: losses. A node's noise moves by at most s
    in l_infinity, which costs s/scale; its coordinates have the variance (d+1)(d+2)/3 scale^2, where independent
    Laplace noise, of scale d times as large, has 2 d^2 scale^2. In one dimension both are the same.

    >>> CubeTree.best(100_000).base
    18
    """

    noise: ClassVar[NoiseKind] = "cube"


def digit_sums(steps: int, base: int) -> IntArray:
    """Compute digit sums of 1, ..., steps: the number of nodes in each sum."""
    numbers = np.arange(1, steps + 1)
    return np.asarray(sum(numbers // base**level % base for level in range(tree_levels(steps, base))))


def largest_digit_sum(steps: int, base: int) -> int:
    """Find the largest digit sum of 1, ..., steps: of `steps`, or of a number with the last digits all base - 1."""
    candidates, power = [steps], base
    while power <= steps:
        candidates.append(steps // power * power - 1)
        power *= base
    return max(digit_sum(number, base) for number in candidates)
