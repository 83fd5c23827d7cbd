"""One small set of each kind, and how to make it from nearly right arguments."""

from hypothesis import strategies as st

import tacit
from fuzz.strategies import nearly, one_of, values

TRIANGLE = (("a", "b"), ("b", "c"), ("a", "c"))
ROADS = (("s", "a"), ("a", "t"), ("s", "t"))


def square(direction):
    """The oracle of [-1, 1]^d."""
    return [-1.0 if slope > 0 else 1.0 for slope in direction]


SETS = {
    "Ball": lambda: tacit.domains.Ball(3),
    "tiny Ball": lambda: tacit.domains.Ball(3, radius=1e-30),
    "large Ball": lambda: tacit.domains.Ball(3, radius=1e30),
    "L1Ball": lambda: tacit.domains.L1Ball(3),
    "tiny L1Ball": lambda: tacit.domains.L1Ball(3, radius=1e-30),
    "Box": lambda: tacit.domains.Box([0.0, -1.0, 2.0], [1.0, 2.0, 3.0]),
    "large Box": lambda: tacit.domains.Box.cube(3, 1e30),
    "Simplex": lambda: tacit.domains.Simplex(3),
    "KSubsets": lambda: tacit.domains.KSubsets(3, 2),
    "Birkhoff": lambda: tacit.domains.Birkhoff(2),
    "Polytope": lambda: tacit.domains.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]),
    "Paths": lambda: tacit.domains.Paths(ROADS, "s", "t"),
    "OracleSet": lambda: tacit.domains.OracleSet(square, 3, centre=[0.0] * 3, inner_radius=1.0),
}

_edges = (
    one_of(TRIANGLE, ROADS, ROADS[:1], ())
    | st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)
    | st.lists(values, max_size=3)
)
_matrices = st.lists(st.lists(values, min_size=2, max_size=2), min_size=2, max_size=4) | one_of(
    [[-1, 0], [0, -1], [1, 1]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [[1, 1], [-1, -1]], [[]]
)

MAKERS = {
    tacit.domains.Ball: nearly(dim=one_of(1, 3), radius=1.0),
    tacit.domains.L1Ball: nearly(dim=one_of(1, 3), radius=1.0),
    tacit.domains.Box: nearly(
        low=st.lists(values, min_size=2, max_size=2) | st.just([0.0, 0.0]), high=one_of([1.0, 2.0])
    ),
    tacit.domains.Box.cube: nearly(dim=one_of(1, 3), half_width=1.0),
    tacit.domains.Simplex: nearly(dim=3),
    tacit.domains.KSubsets: nearly(n=one_of(2, 4), k=1),
    tacit.domains.Birkhoff: nearly(k=2),
    tacit.domains.Polytope: nearly(
        A=_matrices, b=st.lists(values, min_size=2, max_size=4) | one_of([0, 0, 1], [1, 1, 1, 1])
    ),
    tacit.domains.Paths: nearly(edges=_edges, source=one_of("s", 0), sink=one_of("t", 1)),
    tacit.domains.OracleSet: nearly(
        minimize=one_of(square, len, lambda _: [1.0]),
        dimension=one_of(2, 3),
        centre=one_of(None, [0.0, 0.0]),
        inner_radius=one_of(None, 1.0),
    ),
}
