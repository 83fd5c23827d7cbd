"""Spanning trees of a graph and s-t paths of an acyclic one, by scipy's graph algorithms.

Vertices may be any hashable labels, and the edges of a networkx graph can be handed over as they are. A point has
one coordinate for each edge, in the order given. Parallel edges are allowed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
import scipy

from tacit.domains.oracle_set import LISTED, ZeroOneSet
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, invalid

Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class _EdgeSets(ZeroOneSet):
    """Sets of edges of a graph, as 0/1 vectors."""

    edges: Sequence[Edge]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _checked_edges(type(self).__name__, self.edges))

    @property
    def dimension(self) -> int:
        return len(self.edges)

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        labels = dict.fromkeys(label for edge in self.edges for label in edge)
        return {label: number for number, label in enumerate(labels)}

    @property
    def _count(self) -> int:
        return len(self._index)


@dataclass(frozen=True, eq=False)
class SpanningTrees(_EdgeSets):
    """The convex hull of the spanning trees of a connected graph.

    >>> SpanningTrees([("a", "b"), ("b", "c"), ("a", "c")]).minimize_linear([1.0, 3.0, 2.0])
    array([1., 0., 1.])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        tails, heads = self._ends
        links = _sparse(np.ones(len(tails)), tails, heads, self._count)
        if (
            len(scipy.sparse.csgraph.breadth_first_order(links, 0, directed=False, return_predecessors=False))
            < self._count
        ):
            raise InvalidInput("The graph of SpanningTrees must be connected: it has no spanning tree.")
        _ = self._hull

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        pairs = np.sort(np.array([[self._index[u], self._index[v]] for u, v in self.edges]), axis=1)
        return pairs[:, 0], pairs[:, 1]

    def _minimize(self, direction: FloatArray) -> FloatArray:
        # Only the order of the weights matters. Ranks are positive, whereas scipy reads a zero weight as no edge.
        order = np.argsort(direction, kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = np.arange(1.0, len(order) + 1.0)
        tails, heads = self._ends
        lightest = order[_first_of_each(tails[order], heads[order], self._count)]
        tree = scipy.sparse.csgraph.minimum_spanning_tree(
            _sparse(ranks[lightest], tails[lightest], heads[lightest], self._count)
        )
        vertex = np.zeros(self.dimension)
        vertex[order[tree.data.astype(np.int64) - 1]] = 1.0
        return vertex

    def _inequalities(self) -> tuple[FloatArray, FloatArray] | None:
        # Edmonds: x >= 0, and inside every set S of vertices at most |S| - 1.
        if self._count > LISTED:
            return None
        member = _subsets(self._count)
        member = member[member.sum(axis=1) >= 2]
        tails, heads = self._ends
        inside = (member[:, tails] & member[:, heads]).astype(np.float64)
        bounds = member.sum(axis=1) - 1.0
        kept = inside.any(axis=1)
        zeros = np.zeros(self.dimension)
        return np.vstack([inside[kept], -np.eye(self.dimension)]), np.concatenate([bounds[kept], zeros])


@dataclass(frozen=True, eq=False)
class Paths(_EdgeSets):
    """The unit flows from source to sink in an acyclic directed graph: the convex hull of its paths.

    >>> roads = Paths([("s", "a"), ("a", "t"), ("s", "t")], source="s", sink="t")
    >>> roads.minimize_linear([1.0, -2.0, 0.0])
    array([1., 1., 0.])
    """

    source: Hashable
    sink: Hashable

    def __post_init__(self) -> None:
        super().__post_init__()
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

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        pairs = np.array([[self._index[u], self._index[v]] for u, v in self.edges])
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def _useful(self) -> IntArray:
        # Edges that are on some path from source to sink; the others are 0 everywhere.
        tails, heads = self._ends
        ones = np.ones(len(tails))
        forward = _sparse(ones, tails, heads, self._count)
        backward = _sparse(ones, heads, tails, self._count)
        after = scipy.sparse.csgraph.breadth_first_order(forward, self._index[self.source], return_predecessors=False)
        before = scipy.sparse.csgraph.breadth_first_order(backward, self._index[self.sink], return_predecessors=False)
        return np.flatnonzero(np.isin(tails, after) & np.isin(heads, before))

    def _minimize(self, direction: FloatArray) -> FloatArray:
        size = float(np.abs(direction).max())
        weights = direction / size if size > 0.0 else direction  # no overflow along a path
        tails, heads = self._ends
        order = self._useful[np.argsort(weights[self._useful], kind="stable")]
        best = order[_first_of_each(tails[order], heads[order], self._count)]
        graph = _sparse(weights[best], tails[best], heads[best], self._count)
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

    def _inequalities(self) -> tuple[FloatArray, FloatArray]:
        # Conservation of flow is the affine hull; what is left is that flows are not negative.
        return -np.eye(self.dimension), np.zeros(self.dimension)


def _checked_edges(owner: str, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    try:
        pairs = tuple((tail, head) for tail, head in edges)
        loops = [pair for pair in pairs if pair[0] == pair[1]]
        hash(pairs)
    except (TypeError, ValueError):
        raise invalid(owner, "edges", "pairs of hashable vertices", edges) from None
    if not pairs:
        raise invalid(owner, "edges", "at least one pair of vertices", edges)
    if loops:
        raise invalid(owner, "edges", "pairs of different vertices", loops[0])
    return pairs


def _sparse(weights: FloatArray, tails: IntArray, heads: IntArray, count: int) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((weights, (tails, heads)), shape=(count, count))


def _first_of_each(tails: IntArray, heads: IntArray, count: int) -> IntArray:
    # Of parallel edges in increasing order of weight, the first; a sparse matrix would add them up.
    first: IntArray = np.unique(tails * count + heads, return_index=True)[1]
    return first


def _subsets(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.bool_)
