"""The multiscale transform of functions on a dyadic grid.

Paper: "Differentially Private and Lazy Online Convex Optimization" (COLT 2023), Section 4. Grid points
are t/2^k for t = 0, ..., 2^k in each coordinate. The parent p(t) clears the lowest set bit of t (in two
dimensions the lowest set bit of t1 | t2, in both), so M l = l - l(p(.)) measures a G-Lipschitz function at distances
that shrink with the bit, and M^+ m = m + m(p(.)) + m(p(p(.))) + ... takes it back, relative to l(0).

|M l(x)| <= G |x - p(x)|, hence |M l|^2 <= G^2 D^2 C with C the sum of |x - p(x)|^2/D^2 over the grid:
C_1 = 3/2 - 2^{-k-1}, reached by l(x) = G x, and C_2 = k + 5 - 2^{-k}. The print has C_1 = 1, which is too small: it
leaves out the point t = 2^k, the right end of the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt

import numpy as np

from tacit.geometry.base import read_only
from tacit.validation import FloatArray, check_choice, check_integer


@dataclass(frozen=True)
class Multiscale:
    """The grid of `bits` bits a coordinate on the unit box, in one or two dimensions.

    >>> Multiscale(bits=2).transform(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    array([0., 1., 2., 1., 4.])
    """

    bits: int
    dimension: int = 1

    def __post_init__(self) -> None:
        check_integer("Multiscale", "bits", self.bits, at_least=0)
        check_choice("Multiscale", "dimension", self.dimension, (1, 2))

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each coordinate."""
        return (2**self.bits + 1,) * self.dimension

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return int((2**self.bits + 1) ** self.dimension)

    @property
    def squared_norm(self) -> float:
        """C: the sum over the grid of |x - p(x)|^2, which bounds |M l|^2 for 1-Lipschitz l."""
        if self.dimension == 1:
            return 1.5 - 2.0 ** (-self.bits - 1)
        return self.bits + 5.0 - 2.0**-self.bits

    @property
    def depth(self) -> int:
        """The most coefficients that make one value: k, or k + 1 in two dimensions."""
        return max(1, self.bits) if self.dimension == 1 else self.bits + 1

    @cached_property
    def points(self) -> FloatArray:
        """The grid as rows of coordinates in [0, 1], shape (size, dimension)."""
        axis = np.arange(2**self.bits + 1) / 2.0**self.bits
        rows = np.stack(np.meshgrid(*[axis] * self.dimension, indexing="ij"), axis=-1)
        return read_only(np.ascontiguousarray(rows.reshape(-1, self.dimension)))

    @cached_property
    def distances(self) -> FloatArray:
        """|x - p(x)| for every point, shape (size,)."""
        result = np.zeros(self.shape)
        for level, child, _ in self._families():
            odd = sum(1 for part in child if part.start)
            result[child] = sqrt(odd) * 2.0 ** (level - self.bits)
        return read_only(result.reshape(-1))

    def transform(self, values: FloatArray) -> FloatArray:
        """M: every value less its parent's; shape (size,) in and out."""
        grid = values.reshape(self.shape)
        result = np.zeros(self.shape)
        for _, child, parent in self._families():
            np.subtract(grid[child], grid[parent], out=result[child])
        return result.reshape(-1)

    def inverse(self, coefficients: FloatArray) -> FloatArray:
        """M^+: coefficients summed along the parents, with value 0 at the origin."""
        grid = coefficients.reshape(self.shape)
        result = np.zeros(self.shape)
        for _, child, parent in self._families():  # from coarse to fine: parents are ready
            np.add(grid[child], result[parent], out=result[child])
        return result.reshape(-1)

    def _families(self) -> list[tuple[int, tuple[slice, ...], tuple[slice, ...]]]:
        """(bit, children, their parents) as strided slices, from the highest bit down."""
        families = []
        for level in range(self.bits, -1, -1):
            unit, end = 2**level, 2**self.bits
            even = slice(0, end + 1, 2 * unit)  # the multiples of 2 unit
            odd, cleared = slice(unit, end + 1, 2 * unit), slice(0, end + 1 - unit, 2 * unit)
            for which in product((False, True), repeat=self.dimension):
                if any(which):
                    child = tuple(odd if bit else even for bit in which)
                    parent = tuple(cleared if bit else even for bit in which)
                    families.append((level, child, parent))
        return families
