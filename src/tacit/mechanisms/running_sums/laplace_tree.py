"""The b-ary tree with Laplace noise: running sums under pure differential privacy.

As the binary tree of `tree.py`, in base b: one node a step and no subtraction of nodes. A step lies in
U = floor(log_b m) + 1 nodes, so each node needs Laplace noise of scale s U / epsilon (s in l1), linear in U; or
cube noise of that scale with s in l_infinity, a factor of the dimension less (`CubeTree`). A larger
base trades fewer levels against more nodes in a sum; from 1e2 to 1e7 steps the best one, 11 to 22, has about half the
standard deviation of the binary tree. The base is public and depends on the number of steps only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.mechanisms.running_sums.base import Draws, NoiseKind, RunningSum
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.tree import (
    TreeAccumulator,
    digit_sum,
    digit_sums,
    largest_digit_sum,
    tree_accumulator,
    tree_levels,
    tree_matrices,
)
from tacit.validation import FloatArray, check_integer

BASES = range(2, 65)


@dataclass(frozen=True)
class LaplaceTree(RunningSum):
    """A tree with Laplace noise in the given base; `LaplaceTree.best(steps)` searches the base.

    >>> LaplaceTree.best(10_000).base
    22
    """

    base: int = 2
    noise: ClassVar[NoiseKind] = "laplace"
    steady: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "base", self.base, at_least=2)

    @classmethod
    def best(cls, steps: int) -> Self:
        """The base from 2 to 64 whose noisiest step has the least noise."""
        return min((cls(steps, base) for base in BASES), key=lambda tree: tree._worst_variance)

    @property
    def column_norm(self) -> float:
        """The number of levels: the l1 norm of a column of zeros and ones, exact."""
        return float(self.nodes)

    @property
    def nodes(self) -> int:
        """The number of levels."""
        return tree_levels(self.steps, self.base)

    def row_norm(self, step: int) -> float:
        """The root of the digit sum of `step`."""
        return math.sqrt(digit_sum(self._check_step(step), self.base))

    @property
    def largest_row_norm(self) -> float:
        """The root of the largest digit sum of any step."""
        return math.sqrt(largest_digit_sum(self.steps, self.base))

    def row_norms(self) -> FloatArray:
        """Square roots of the digit sums: how many nodes make each sum."""
        return np.sqrt(digit_sums(self.steps, self.base))

    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """Dense (decoder, encoder), all zeros and ones."""
        return tree_matrices(self.steps, self.base)

    def _accumulator(self, dimension: int, scale: float, noise: Draws, grid: Grid | None) -> TreeAccumulator:
        return tree_accumulator(self.steps, dimension, scale, noise, grid, base=self.base)

    @property
    def _worst_variance(self) -> int:
        """Squared largest noise over the steps, per squared unit of s / epsilon."""
        return tree_levels(self.steps, self.base) ** 2 * largest_digit_sum(self.steps, self.base)


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
