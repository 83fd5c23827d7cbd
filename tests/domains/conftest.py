"""Small sets, each with all its vertices listed independently of the code under test."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tacit import domains as geometry
from tacit.domains.convex_set import ConvexSet
from tacit.noise.randomness import Randomness

K4 = list(itertools.combinations(range(4), 2))
DOUBLED_TRIANGLE = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("c", "d")]
STREETS = [((i, j), (i + 1, j)) for i in range(2) for j in range(3)] + [
    ((i, j), (i, j + 1)) for i in range(3) for j in range(2)
]
TANGLE = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("b", "t"), ("a", "x"), ("y", "t"), ("s", "t")]
PARTITION = ("a1", "a2", "b1", "b2", "b3", "c1")
CUTS = [(0, 1, 1.0), (1, 2, 2.0), (0, 3, 0.5), (2, 3, 1.5), (1, 4, 0.7), (3, 4, 1.1)]
CORNERED = (
    np.array(
        [[1.0, 2.0, 0.5], [-1.0, 0.3, 0.0], [0.0, -1.0, 0.2], [0.1, 0.0, -2.0], [3.0, -1.0, 1.0], [0.0, 1.0, 1.0]]
    ),
    np.array([3.0, 1.0, 0.5, 1.0, 4.0, 1.5]),
)


def one_per_kind(chosen):
    return len({name[0] for name in chosen}) == len(chosen)


def cut(chosen):
    return sum(weight for u, v, weight in CUTS if (u in chosen) != (v in chosen))


def root(chosen):
    return math.sqrt(len(chosen)) + 0.3 * (1 in chosen)


def signs(dim):
    return np.array(list(itertools.product((-1.0, 1.0), repeat=dim)))


def indicator(size, chosen):
    vector = np.zeros(size)
    vector[list(chosen)] = 1.0
    return vector


def subsets(n, k):
    return np.array([indicator(n, chosen) for chosen in itertools.combinations(range(n), k)])


def permutations(k):
    return np.array([np.eye(k)[list(order)].ravel() for order in itertools.permutations(range(k))])


def trees(edges):
    labels = {label for edge in edges for label in edge}
    found = []
    for chosen in itertools.combinations(range(len(edges)), len(labels) - 1):
        reached = {next(iter(labels))}
        for _ in labels:
            for number in chosen:
                if reached & set(edges[number]):
                    reached |= set(edges[number])
        if reached == labels:
            found.append(indicator(len(edges), chosen))
    return np.array(found)


def paths(edges, source, sink):
    found = []

    def walk(place, used):
        if place == sink:
            found.append(indicator(len(edges), used))
            return
        for number, (tail, head) in enumerate(edges):
            if tail == place:
                walk(head, [*used, number])

    walk(source, [])
    return np.array(found)


def bases(ground, independent):
    for size in range(len(ground), 0, -1):
        found = [
            indicator(len(ground), chosen)
            for chosen in itertools.combinations(range(len(ground)), size)
            if independent({ground[number] for number in chosen})
        ]
        if found:
            return np.array(found)
    raise AssertionError


def greedy_points(n, function):
    found = []
    for order in itertools.permutations(range(n)):
        values = [function(frozenset(order[:size])) for size in range(n + 1)]
        point = np.zeros(n)
        point[list(order)] = np.diff(values)
        found.append(point)
    return np.unique(np.round(found, 12), axis=0)


def corners(rows, bounds):
    found = []
    for chosen in itertools.combinations(range(len(bounds)), rows.shape[1]):
        block = rows[list(chosen)]
        if abs(np.linalg.det(block)) > 1e-9:
            point = np.linalg.solve(block, bounds[list(chosen)])
            if (rows @ point <= bounds + 1e-9).all():
                found.append(point)
    return np.array(found)


@dataclass
class Case:
    """A set, its vertices, and which of its sizes are exact rather than bounds."""

    make: Callable[[], ConvexSet]
    vertices: np.ndarray
    exact: frozenset[str]


ALL = frozenset({"inner_radius", "radius", "diameter"})
INNER = frozenset({"inner_radius"})
ROUND = frozenset({"inner_radius", "radius"})
CASES = {
    "l1": Case(lambda: geometry.L1Ball(4, 1.5), np.vstack([1.5 * np.eye(4), -1.5 * np.eye(4)]), ALL),
    "box": Case(
        lambda: geometry.Box([-1.0, 0.0, 2.0], [1.0, 0.5, 3.0]),
        np.array(list(itertools.product((-1.0, 1.0), (0.0, 0.5), (2.0, 3.0)))),
        ALL,
    ),
    "cube": Case(lambda: geometry.Box.cube(4, 0.5), 0.5 * signs(4), ALL),
    "simplex": Case(lambda: geometry.Simplex(5), np.eye(5), ALL),
    "subsets": Case(lambda: geometry.KSubsets(6, 2), subsets(6, 2), ALL),
    "large subsets": Case(lambda: geometry.KSubsets(5, 4), subsets(5, 4), ALL),
    "birkhoff": Case(lambda: geometry.Birkhoff(3), permutations(3), ALL),
    "polytope": Case(lambda: geometry.Polytope(*CORNERED), corners(*CORNERED), INNER),
    "trees of K4": Case(lambda: geometry.SpanningTrees(K4), trees(K4), ALL),
    "trees, parallel edges and a bridge": Case(
        lambda: geometry.SpanningTrees(DOUBLED_TRIANGLE), trees(DOUBLED_TRIANGLE), ROUND
    ),
    "streets": Case(lambda: geometry.Paths(STREETS, (0, 0), (2, 2)), paths(STREETS, (0, 0), (2, 2)), ALL),
    "paths, parallel edges and dead ends": Case(
        lambda: geometry.Paths(TANGLE, "s", "t"), paths(TANGLE, "s", "t"), ROUND
    ),
    "partition matroid": Case(lambda: geometry.Matroid(PARTITION, one_per_kind), bases(PARTITION, one_per_kind), ALL),
    "uniform matroid": Case(lambda: geometry.Matroid(range(5), lambda chosen: len(chosen) <= 2), subsets(5, 2), ALL),
    "cut function": Case(lambda: geometry.SubmodularBase(5, cut), greedy_points(5, cut), INNER),
    "root function": Case(lambda: geometry.SubmodularBase(4, root), greedy_points(4, root), INNER),
}


@pytest.fixture(params=list(CASES), scope="session")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="session")
def domain(case):
    return case.make()


@pytest.fixture
def stream():
    return Randomness.replayable(5).stream("geometry")
