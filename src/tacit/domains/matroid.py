"""Bases of a matroid by an independence oracle, and base polytopes of submodular functions, by the greedy algorithm.

Edmonds: over {x: x(A) <= f(A) for all A, x(E) = f(E)} with f submodular and f(empty) = 0, a linear function is
minimised by taking the elements in increasing order of weight and giving each its marginal value. For the rank
function of a matroid this picks a base of least weight. Up to 12 elements all subsets are listed at the start: the
oracle is then checked to be a matroid (or submodular), and the inner ball is the largest one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from tacit.domains.hull import SHAVE
from tacit.domains.oracle_set import LISTED, ProbedSet, ZeroOneSet
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_dimension, check_integer, check_level, invalid


@dataclass(frozen=True)
class AtMostOfEach:
    """Say whether at most `most` elements of each group are chosen; elements are positions in `groups`."""

    groups: tuple[Hashable, ...]
    most: int

    def __call__(self, chosen: frozenset[Hashable]) -> bool:
        """Tell whether the set is independent."""
        counts = Counter(self.groups[element] for element in chosen if isinstance(element, int))
        return max(counts.values(), default=0) <= self.most


@dataclass(frozen=True)
class BySize:
    """A function of the number of elements, by its values for 1, 2, ... of them."""

    values: tuple[float, ...]

    def __call__(self, chosen: frozenset[int]) -> float:
        """Give the value of this set."""
        return self.values[len(chosen) - 1] if chosen else 0.0


@dataclass(frozen=True, eq=False)
class Matroid(ZeroOneSet):
    """The convex hull of the bases of a matroid.

    `independent` takes a frozenset of elements of `ground` and says whether they are independent. That it describes a
    matroid is checked for up to 12 elements, and assumed beyond. The inner ball that the oracle certifies is small
    there: `partition` knows the largest one, and `ball` takes your own.

    >>> at_most_one_of_each_kind = lambda chosen: len({name[0] for name in chosen}) == len(chosen)
    >>> Matroid(("a1", "a2", "b1"), at_most_one_of_each_kind).minimize_linear([2.0, 1.0, 5.0])
    array([0., 1., 1.])
    """

    ground: Sequence[Hashable]
    independent: Callable[[frozenset[Hashable]], bool]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ground", _checked_ground(self.ground))
        if not callable(self.independent):
            raise invalid("Matroid", "independent", "a function of a frozenset of elements", self.independent)
        if not self.independent(frozenset()):
            raise InvalidInput("The 'independent' oracle of Matroid must accept the empty set.")
        if self._ranks is not None:
            _check_submodular("The 'independent' oracle of Matroid does not describe a matroid", self._ranks)
        self._find_hull()

    @classmethod
    def partition(cls, groups: Sequence[Hashable], most: int) -> Matroid:
        """Make the matroid of at most `most` elements of each group; one group is the uniform matroid.

        Its polytope is a product of k-subsets, so its inner radius is the smallest of theirs.

        >>> round(Matroid.partition(["any"] * 20, 5).inner_radius, 3)
        0.256
        """
        groups = tuple(groups)
        most = check_integer("Matroid.partition", "most", most)
        independent = AtMostOfEach(groups, most)
        sizes = Counter(groups)
        radii = [min(most, n - most) / sqrt(n * (n - 1)) for n in sizes.values() if n > most]
        centre = [min(1.0, most / sizes[group]) for group in groups]
        ball = (centre, min(radii) * SHAVE) if radii else None
        return cls(tuple(range(len(groups))), independent, ball=ball)

    @property
    def dimension(self) -> int:
        return len(self.ground)

    @cached_property
    def _ranks(self) -> FloatArray | None:
        count = self.dimension
        if count > LISTED:
            return None
        ranks = np.zeros(2**count)
        for mask in range(1, 2**count):
            parts = [mask ^ (1 << bit) for bit in range(count) if mask >> bit & 1]
            if self.independent(frozenset(self.ground[bit] for bit in range(count) if mask >> bit & 1)):
                ranks[mask] = len(parts)
            else:
                ranks[mask] = max(ranks[part] for part in parts)
        return ranks

    def _minimize(self, direction: FloatArray) -> FloatArray:
        vertex = np.zeros(self.dimension)
        chosen: frozenset[Hashable] = frozenset()
        for number in np.argsort(direction, kind="stable"):
            larger = chosen | {self.ground[number]}
            if self.independent(larger):
                chosen = larger
                vertex[number] = 1.0
        return vertex

    def _inequalities(self) -> tuple[FloatArray, FloatArray] | None:
        # x >= 0 follows: x_e = r(E) - x(E without e) >= r(E) - r(E without e).
        return None if self._ranks is None else (_indicators(self.dimension), self._ranks[1:])


@dataclass(frozen=True, eq=False)
class SubmodularBase(ProbedSet):
    """The base polytope {x: x(A) <= f(A) for all A, x(E) = f(E)} of a submodular function with f(empty) = 0.

    `set_function` takes a frozenset of numbers from 0 to dim - 1. That it is submodular is checked for up to 12
    elements, and assumed beyond. The inner ball that the oracle certifies is small there: `of_size` knows the largest
    one, and `ball` takes your own.

    >>> SubmodularBase(3, lambda chosen: float(len(chosen)) ** 0.5).minimize_linear([2.0, 1.0, 3.0]).round(3)
    array([0.414, 1.   , 0.318])
    """

    dim: int
    set_function: Callable[[frozenset[int]], float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_dimension("SubmodularBase", "dim", self.dim, at_least=2))
        if not callable(self.set_function):
            raise invalid("SubmodularBase", "set_function", "a function of a frozenset of numbers", self.set_function)
        at_empty = self._value(frozenset())
        if at_empty != 0.0:
            raise InvalidInput(
                f"The 'set_function' of SubmodularBase must be 0 at the empty set. Got {at_empty} instead."
            )
        if self._values is not None:
            _check_submodular("The 'set_function' of SubmodularBase is not submodular", self._values)
        self._find_hull()

    @classmethod
    def of_size(cls, values: Sequence[float]) -> SubmodularBase:
        """Make the base polytope of a function of the number of elements, given for 1, 2, ... elements.

        About the centre the facet of k of n elements is (g(k) - k g(n)/n)/sqrt(k (n-k)/n) away.

        >>> round(SubmodularBase.of_size([sum(range(13 - k, 13)) / 13 for k in range(1, 14)]).inner_radius, 3)
        0.48
        """
        known = BySize(tuple(check_level("SubmodularBase.of_size", "values", value) for value in values))
        n = check_dimension("SubmodularBase.of_size", "values", len(known.values), at_least=2)
        steps = np.diff(np.array([0.0, *known.values]))
        if np.diff(steps).max() > 1e-9 * max(1e-300, float(np.abs(steps).max())):
            raise invalid(
                "SubmodularBase.of_size",
                "values",
                "those of a submodular function: no step above the one before",
                values,
            )
        k = np.arange(1.0, n)
        share = known.values[-1] / n
        radius = float(((np.array(known.values[:-1]) - k * share) / np.sqrt(k * (n - k) / n)).min())
        return cls(n, known, ball=([share] * n, radius * SHAVE) if radius > 0 else None)

    @property
    def dimension(self) -> int:
        return self.dim

    @cached_property
    def _values(self) -> FloatArray | None:
        if self.dim > LISTED:
            return None
        members = (frozenset(bit for bit in range(self.dim) if mask >> bit & 1) for mask in range(2**self.dim))
        return np.array([self._value(member) for member in members])

    def _value(self, members: frozenset[int]) -> float:
        return check_level("SubmodularBase", "set_function", self.set_function(members))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        order = np.argsort(direction, kind="stable")
        chosen: frozenset[int] = frozenset()
        values = np.zeros(self.dim + 1)
        for place, number in enumerate(order):
            chosen = chosen | {int(number)}
            values[place + 1] = self._value(chosen)
        point = np.empty(self.dim)
        point[order] = np.diff(values)
        return point

    def _inequalities(self) -> tuple[FloatArray, FloatArray] | None:
        return None if self._values is None else (_indicators(self.dim), self._values[1:])


def _checked_ground(ground: Sequence[Hashable]) -> tuple[Hashable, ...]:
    try:
        elements = tuple(ground)
        distinct = len(set(elements))
    except TypeError:
        raise invalid("Matroid", "ground", "a sequence of hashable elements", ground) from None
    if not elements or distinct < len(elements):
        raise invalid("Matroid", "ground", "a non-empty sequence of distinct elements", elements)
    return elements


def _indicators(count: int) -> FloatArray:
    # Row m - 1 is the indicator of the subset whose bits are those of m.
    return (np.arange(1, 2**count)[:, None] >> np.arange(count) & 1).astype(np.float64)


def _check_submodular(complaint: str, values: FloatArray) -> None:
    # Submodular exactly if no pair of elements is worth more together than apart, given any other set.
    count = len(values).bit_length() - 1
    masks = np.arange(len(values))
    slack = 1e-9 * max(1e-300, float(np.abs(values).max()))
    for first in range(count):
        for second in range(first + 1, count):
            one, other = 1 << first, 1 << second
            rest = masks[(masks & (one | other)) == 0]
            gain = values[rest | one] + values[rest | other] - values[rest | one | other] - values[rest]
            if gain.min() < -slack:
                given = [bit for bit in range(count) if int(rest[gain.argmin()]) >> bit & 1]
                raise InvalidInput(f"{complaint}: see elements number {first} and {second} given those in {given}.")
