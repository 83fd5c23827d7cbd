"""The s-t paths of an acyclic graph, by scipy's graph algorithms.

Vertices may be any hashable labels, and the edges of a networkx graph can be handed over as they are. A point has
one coordinate for each edge, in the order given. Parallel edges are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
import scipy

from tacit.domains.convex_set import read_only
from tacit.domains.hull import Hull, chebyshev_centre, hull_from_oracle
from tacit.domains.oracle_set import ProbedSet
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, invalid

Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class Paths(ProbedSet):
    """The unit flows from source to sink in an acyclic directed graph: the convex hull of its paths.

    >>> roads = Paths([("s", "a"), ("a", "t"), ("s", "t")], source="s", sink="t")
    >>> roads.minimize_linear([1.0, -2.0, 0.0])
    array([1., 1., 0.])
    """

    edges: Sequence[Edge]
    source: Hashable
    sink: Hashable

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _checked_edges(self.edges))
        for name, label in (("source", self.source), ("sink", self.sink)):
            if not isinstance(label, Hashable) or label not in self._index:
                raise invalid("Paths", name, "an end of an edge", label)
        graph: dict[Hashable, set[Hashable]] = {}
        for tail, head in self.edges:
            graph.setdefault(head, set()).add(tail)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            raise InvalidInput(
                f"The graph of Paths must be acyclic. Got the cycle {error.args[1]!r} instead."
            ) from None
        if self.source == self.sink or not len(self._useful):
            raise InvalidInput(f"The graph of Paths has no path from {self.source!r} to {self.sink!r}.")
        _ = self._hull

    @property
    def dimension(self) -> int:
        return len(self.edges)

    @cached_property
    def radius(self) -> float:
        """The largest distance from the centre: |v - c|^2 = <1 - 2c, v> + |c|^2, one call of the oracle."""
        farthest = self._minimize(2.0 * self.centre - 1.0)
        return float(np.linalg.norm(farthest - self.centre))

    @cached_property
    def diameter(self) -> float:
        """An upper bound: two vertices differ in at most 2s and at most 2n - 2z of the n coordinates that vary.

        Here s is the largest and z the smallest number of ones of a vertex among these coordinates.
        """
        low, high = self._bounding_box
        varies = np.where(high > low, 1.0, 0.0)
        most = float(self._minimize(-varies) @ varies)
        least = float(self._minimize(varies) @ varies)
        count = float(varies.sum())
        return min(2.0 * self.radius, math.sqrt(min(2.0 * most, 2.0 * (count - least), count)))

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        labels = dict.fromkeys(label for edge in self.edges for label in edge)
        return {label: number for number, label in enumerate(labels)}

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        pairs = np.array([[self._index[u], self._index[v]] for u, v in self.edges])
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def _useful(self) -> IntArray:
        # Edges that are on some path from source to sink; the others are 0 everywhere.
        tails, heads = self._ends
        ones = np.ones(len(tails))
        forward, backward = self._sparse(ones, tails, heads), self._sparse(ones, heads, tails)
        after = scipy.sparse.csgraph.breadth_first_order(forward, self._index[self.source], return_predecessors=False)
        before = scipy.sparse.csgraph.breadth_first_order(backward, self._index[self.sink], return_predecessors=False)
        return np.flatnonzero(np.isin(tails, after) & np.isin(heads, before))

    def _sparse(self, weights: FloatArray, tails: IntArray, heads: IntArray) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array((weights, (tails, heads)), shape=(len(self._index), len(self._index)))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        size = float(np.abs(direction).max())
        weights = direction / size if size > 0.0 else direction  # no overflow along a path
        tails, heads = self._ends
        order = self._useful[np.argsort(weights[self._useful], kind="stable")]
        # Of parallel edges the lightest; a sparse matrix would add them up.
        best = order[np.unique(tails[order] * len(self._index) + heads[order], return_index=True)[1]]
        graph = self._sparse(weights[best], tails[best], heads[best])
        # Weights may be negative, which is harmless in an acyclic graph.
        start = self._index[self.source]
        _, before = scipy.sparse.csgraph.bellman_ford(graph, indices=[start], return_predecessors=True)
        edge_of = {(tail, head): edge for tail, head, edge in zip(tails[best], heads[best], best, strict=True)}
        vertex = np.zeros(self.dimension)
        place = self._index[self.sink]
        while place != start:
            previous = int(before[0, place])
            vertex[edge_of[previous, place]] = 1.0
            place = previous
        return vertex

    @cached_property
    def _hull(self) -> Hull:
        return hull_from_oracle(self._minimize, self.dimension, 0)

    @cached_property
    def _inner_ball(self) -> tuple[FloatArray, float]:
        # Conservation of flow is the affine hull; what is left is that flows are not negative.
        certified = (self._hull.centre, self._hull.inner_radius)
        largest = chebyshev_centre(-np.eye(self.dimension), np.zeros(self.dimension), certified[0], self._hull.basis)
        centre, radius = max(certified, largest, key=lambda ball: ball[1])
        return read_only(centre), radius

    def _contains(self, point: FloatArray, tolerance: float) -> bool:
        offset = point - self._hull.centre
        away = offset - self._hull.basis @ (self._hull.basis.T @ offset)
        return bool(np.linalg.norm(away) <= tolerance and (point >= -tolerance).all())


def _checked_edges(edges: Sequence[Edge]) -> tuple[Edge, ...]:
    try:
        pairs = tuple((tail, head) for tail, head in edges)
        loops = [pair for pair in pairs if pair[0] == pair[1]]
        hash(pairs)
    except (TypeError, ValueError):
        raise invalid("Paths", "edges", "pairs of hashable vertices", edges) from None
    if not pairs:
        raise invalid("Paths", "edges", "at least one pair of vertices", edges)
    if loops:
        raise invalid("Paths", "edges", "pairs of different vertices", loops[0])
    return pairs
