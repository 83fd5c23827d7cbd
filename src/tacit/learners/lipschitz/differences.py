"""First differences of functions on an interval: the coordinates in which Lipschitz losses are hidden with least noise.

Grid points are t/2^k for t = 0, ..., 2^k. M l = l(t) - l(t - 1) is at most G D/2^k in each of 2^k coordinates, so
|M l|^2 <= G^2 D^2/2^k; a value is the sum of at most 2^k of them, relative to l(0). Noise of variance v in every
coefficient has variance at most 2^k v in a value: at the sensitivity above, exactly as much as if the single number
l(D) - l(0) were hidden, which every way to hide the losses must. (Multiscale differences have 3k/2 times that variance;
the paper has only those.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.geometry.base import read_only
from tacit.validation import FloatArray, check_integer


@dataclass(frozen=True)
class Differences:
    """The grid of `bits` bits on the unit interval.

    >>> Differences(bits=2).transform(np.array([0.0, 1.0, 3.0, 3.0, 4.0]))
    array([0., 1., 2., 0., 1.])
    """

    bits: int

    def __post_init__(self) -> None:
        check_integer("Differences", "bits", self.bits, at_least=0)

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return int(2**self.bits) + 1

    @property
    def squared_norm(self) -> float:
        """The sum over the grid of |x - p(x)|^2, p(x) the point before x: it bounds |M l|^2 for 1-Lipschitz l."""
        return 2.0**-self.bits

    @property
    def depth(self) -> int:
        """The most coefficients that make one value."""
        return int(2**self.bits)

    @cached_property
    def points(self) -> FloatArray:
        """The grid as rows of one coordinate in [0, 1], shape (size, 1)."""
        return read_only(np.arange(self.size)[:, None] / 2.0**self.bits)

    @cached_property
    def distances(self) -> FloatArray:
        """|x - p(x)| for every point, shape (size,)."""
        return read_only(np.append(0.0, np.full(self.size - 1, 2.0**-self.bits)))

    def transform(self, values: FloatArray) -> FloatArray:
        """M: every value less the one before it; shape (size,) in and out."""
        return np.diff(values, prepend=values[:1])

    def inverse(self, coefficients: FloatArray) -> FloatArray:
        """M^+: coefficients summed, with value 0 at the origin."""
        return np.asarray(np.cumsum(coefficients) - coefficients[0])
