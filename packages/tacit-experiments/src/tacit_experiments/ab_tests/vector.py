"""The vector that a person adds to the sums of a test, in integers, and how long it can be.

Values of a person are integers y in 0..L, L = 2^16; of a binary metric 0 or L only. A person has

    f_0 = L;   f_m = 2 y_m - L;   g_m = floor(4 y_m (L - y_m)/L), unless m is binary;
    h_p = sign(t) floor(|t|/L) with t = (2 y_k - L)(2 y_l - L), for each pair p = (k, l)

and each is multiplied by a public integer a_0, a_m (of f_m and of g_m) or a_p. With u = ((2y-L)/L)^2,
f^2 + g^2 <= L^2 (u + (1-u)^2) <= L^2, and |h| <= L. So no person's vector is longer than

    D^2 = L^2 (a_0^2 + sum_m a_m^2 + sum_p a_p^2),

with equality where all values are 0 or L (docs/algorithms/tests.md, Lemma 2). The second moment of
a metric is in g, and costs nothing. Sums of the features are linear in the moments: the number of
persons N, S_m = sum y_m, Q_m = sum y_m^2 and X_p = sum y_k y_l, with y in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.validation import FloatArray, IntArray

LATTICE = 2**16
"""Steps in the largest value of a person when sums are made."""
ROW = 2**32
"""Steps in the largest value of a person in a row."""


@dataclass(frozen=True)
class Layout:
    """The coordinates of a person's vector.

    Attributes:
        binary: for each metric of a row, whether only 0 and its largest value occur.
        pairs: the places of two metrics whose product is released.
        lattice: steps in the largest value.
    """

    binary: tuple[bool, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    lattice: int = LATTICE

    @cached_property
    def squared(self) -> tuple[int, ...]:
        """The places of metrics whose second moment has a coordinate."""
        return tuple(place for place, binary in enumerate(self.binary) if not binary)

    @property
    def multipliers(self) -> int:
        """How many multipliers there are: for persons, metrics and pairs."""
        return 1 + len(self.binary) + len(self.pairs)

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.multipliers + len(self.squared)

    @cached_property
    def multiplier_of(self) -> tuple[int, ...]:
        """The place of each coordinate's multiplier: f_m and g_m share one."""
        metrics = len(self.binary)
        pairs = range(1 + metrics, self.multipliers)
        return (*range(1 + metrics), *(1 + place for place in self.squared), *pairs)

    def features(self, values: IntArray) -> IntArray:
        """Compute the vectors, before multiplication, of persons with these values (one row each).

        >>> Layout((True, False), ((0, 1),)).features(np.array([[2**16, 2**15]])).tolist()
        [[65536, 65536, 0, 65536, 0]]
        """
        lattice = self.lattice
        centred = 2 * values - lattice
        columns = [np.full((len(values), 1), lattice, dtype=np.int64), centred]
        kept = values[:, list(self.squared)]
        columns.append(4 * kept * (lattice - kept) // lattice)
        for first, second in self.pairs:
            product = centred[:, first] * centred[:, second]
            columns.append((np.sign(product) * (np.abs(product) // lattice))[:, None])
        return np.concatenate(columns, axis=1)

    def weighted(self, sums: Sequence[int], multipliers: Sequence[int]) -> list[int]:
        """Multiply sums of features by their multipliers, in Python's integers."""
        return [int(total) * multipliers[place] for total, place in zip(sums, self.multiplier_of, strict=True)]

    def squared_norm(self, multipliers: Sequence[int]) -> int:
        """Compute D^2, the largest squared length of a person's vector, exactly."""
        return self.lattice**2 * sum(multiplier**2 for multiplier in multipliers)

    def squared_distance(self, multipliers: Sequence[int]) -> int:
        """Compute a bound on the squared distance of two vectors of one person: persons cancel, discs are met twice."""
        return 4 * self.lattice**2 * sum(multiplier**2 for multiplier in multipliers[1:])

    def draws(self, multipliers: Sequence[int]) -> int:
        """Count the coordinates that are released: those whose multiplier is not 0."""
        return sum(multipliers[place] > 0 for place in self.multiplier_of)

    @property
    def moments(self) -> int:
        """How many moments there are: N, S of each metric, Q of each metric, X of each pair."""
        return 1 + 2 * len(self.binary) + len(self.pairs)

    @cached_property
    def to_moments(self) -> FloatArray:
        """The matrix from sums of features, over L, to the moments N, S_1.., Q_1.., X_1..."""
        metrics, size = len(self.binary), self.size
        matrix = np.zeros((self.moments, size))
        matrix[0, 0] = 1.0
        for place in range(metrics):
            matrix[1 + place, [0, 1 + place]] = 0.5
            matrix[1 + metrics + place] = matrix[1 + place]
        for column, place in enumerate(self.squared, start=1 + metrics):
            matrix[1 + metrics + place, column] = -0.25
        for number, (first, second) in enumerate(self.pairs):
            row = matrix[1 + 2 * metrics + number]
            row[size - len(self.pairs) + number] = 0.25
            row += 0.5 * (matrix[1 + first] + matrix[1 + second]) - 0.25 * matrix[0]
        return matrix

    def row_moments(self, values: FloatArray) -> FloatArray:
        """Compute the moments of persons with these values in [0, 1], one row each, without rounding: for tests."""
        products = [values[:, first] * values[:, second] for first, second in self.pairs]
        columns = [np.ones(len(values)), *values.T, *(values**2).T, *products]
        return np.stack(columns, axis=1)


def lattice_values(rows: IntArray) -> IntArray:
    """Round values of rows, in 0..2^32, to the lattice 0..2^16.

    >>> lattice_values(np.array([0, 2**15, 2**32])).tolist()
    [0, 1, 65536]
    """
    return (rows + 2**15) >> 16
