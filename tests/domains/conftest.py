"""Small sets, each with all its vertices listed independently of the code under test."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tacit import domains as geometry
from tacit.domains.convex_set import ConvexSet
from tacit.noise.randomness import Randomness

STREETS = [((i, j), (i + 1, j)) for i in range(2) for j in range(3)] + [
    ((i, j), (i, j + 1)) for i in range(3) for j in range(2)
]
TANGLE = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("b", "t"), ("a", "x"), ("y", "t"), ("s", "t")]
CORNERED = (
    np.array(
        [[1.0, 2.0, 0.5], [-1.0, 0.3, 0.0], [0.0, -1.0, 0.2], [0.1, 0.0, -2.0], [3.0, -1.0, 1.0], [0.0, 1.0, 1.0]]
    ),
    np.array([3.0, 1.0, 0.5, 1.0, 4.0, 1.5]),
)


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
    "streets": Case(lambda: geometry.Paths(STREETS, (0, 0), (2, 2)), paths(STREETS, (0, 0), (2, 2)), ALL),
    "paths, parallel edges and dead ends": Case(
        lambda: geometry.Paths(TANGLE, "s", "t"), paths(TANGLE, "s", "t"), ROUND
    ),
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
