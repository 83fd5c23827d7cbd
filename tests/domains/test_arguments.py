"""Sets are values, and refuse bad arguments with a sentence."""

import pickle

import numpy as np
import pytest
import scipy

from tacit import domains as geometry
from tacit.domains.hull import hull_from_oracle
from tacit.errors import InvalidInput

NAN = float("nan")
SQUARE = [[1, 0], [-1, 0], [0, 1], [0, -1]]
DIAMOND = [(0, 1), (1, 3), (0, 2), (2, 3)]


def corner(direction):
    """The square [-1, 1]^2."""
    return np.where(direction > 0, -1.0, 1.0)


@pytest.mark.parametrize("bad", [NAN, np.inf, -np.inf])
def test_directions_must_be_finite(domain, bad):
    direction = np.zeros(domain.dimension)
    direction[-1] = bad
    with pytest.raises(InvalidInput, match=f"'direction' of {type(domain).__name__} must be finite. Got .* position"):
        domain.minimize_linear(direction)


@pytest.mark.parametrize("bad", [np.zeros(1), np.zeros((2, 2)), "ab", [True, False], [1j, 0j], [[1.0], [1.0, 2.0]]])
def test_directions_must_be_real_vectors_of_the_right_length(bad):
    with pytest.raises(InvalidInput, match="'direction' of Ball must"):
        geometry.Ball(2).minimize_linear(bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: geometry.Ball(0), "'dim' parameter of Ball must be a whole number"),
        (lambda: geometry.Ball(2, 0.0), "'radius' parameter of Ball"),
        (lambda: geometry.L1Ball(2.0), "'dim' parameter of L1Ball"),
        (lambda: geometry.Simplex(1), "'dim' parameter of Simplex must be a whole number from 2 to"),
        (lambda: geometry.Box([], []), "'high' parameter of Box"),
        (lambda: geometry.Box([0.0], [0.0]), "'high' parameter of Box must be finite and above a finite 'low'"),
        (lambda: geometry.Box([-np.inf], [0.0]), "'high' parameter of Box"),
        (lambda: geometry.Box([0.0], [1.0, 2.0]), "'high' of Box must have shape"),
        (lambda: geometry.Box.cube(2, 0.0), "'half_width' parameter of Box.cube"),
        (lambda: geometry.Box.cube(0), "'dim' parameter of Box.cube"),
        (lambda: geometry.KSubsets(1, 1), "'n' parameter of KSubsets"),
        (lambda: geometry.KSubsets(4, 4), "'k' parameter of KSubsets must be a whole number from 1 to 3"),
        (lambda: geometry.Birkhoff(1), "'k' parameter of Birkhoff"),
        (lambda: geometry.Polytope([[0, 0], [1, 0]], [1, 1]), "'A' parameter of Polytope must be .* without zero rows"),
        (lambda: geometry.Polytope([[NAN, 1]], [1]), "'A' parameter of Polytope"),
        (lambda: geometry.Polytope(SQUARE, [1, 1, 1, NAN]), "'b' parameter of Polytope"),
        (lambda: geometry.Polytope(SQUARE, [1, 1, 1]), "'b' of Polytope must have shape"),
        (lambda: geometry.Polytope(SQUARE[:3], [1, 1, 1]), "unbounded"),
        (lambda: geometry.Polytope(SQUARE, [1, -1, 1, 1]), "no interior"),
        (lambda: geometry.Paths(7, 0, 3), "'edges' parameter of Paths must be pairs"),
        (lambda: geometry.Paths([], 0, 3), "'edges' parameter of Paths must be at least one pair"),
        (lambda: geometry.Paths([(0, 1, 2)], 0, 1), "'edges' parameter of Paths must be pairs"),
        (lambda: geometry.Paths([([0], [1])], 0, 1), "'edges' parameter of Paths must be pairs of hashable"),
        (lambda: geometry.Paths([(0, 1), (1, 1)], 0, 1), "must be pairs of different vertices. Got \\(1, 1\\)"),
        (lambda: geometry.Paths(DIAMOND, 9, 3), "'source' parameter of Paths must be an end of an edge. Got 9"),
        (lambda: geometry.Paths(DIAMOND, 0, 9), "'sink' parameter of Paths"),
        (lambda: geometry.Paths(DIAMOND, 3, 0), "no path from 3 to 0"),
        (lambda: geometry.Paths([*DIAMOND, (3, 0)], 0, 3), "must be acyclic. Got the cycle"),
        (lambda: geometry.Paths(DIAMOND[:2], 0, 3), "single point"),
        (lambda: geometry.OracleSet(3, 2), "'minimize' parameter of OracleSet"),
        (lambda: geometry.OracleSet(corner, 2, centre=[0, 0]), "together, or neither"),
        (lambda: geometry.OracleSet(corner, 2, centre=[0.5, 0], inner_radius=0.6), "which ends 0.5 from its centre"),
        (lambda: geometry.OracleSet(corner, 2, centre=[0, 0], inner_radius=-1), "'inner_radius' parameter"),
        (lambda: geometry.OracleSet(lambda direction: -corner(direction), 2), "does not minimise"),
        (lambda: geometry.OracleSet(lambda direction: [NAN, 0.0], 2), "must return finite points"),
        (
            lambda: geometry.OracleSet(geometry.Simplex(3).minimize_linear, 3, centre=[1, 1, 1], inner_radius=0.1),
            "'centre' of OracleSet must be in the set",
        ),
        (lambda: hull_from_oracle(lambda direction: np.ones(3), 3), "single point"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_solver_failures_are_errors(monkeypatch):
    from types import SimpleNamespace

    square = geometry.Polytope(SQUARE, [1, 1, 1, 1])
    failed = SimpleNamespace(status=4, message="numerical difficulties")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: failed)
    with pytest.raises(InvalidInput, match="was not solved: numerical difficulties"):
        square.minimize_linear([1.0, 0.0])
    with pytest.raises(InvalidInput, match="could not be computed: numerical difficulties"):
        geometry.Polytope(SQUARE, [1, 1, 1, 1])


def test_sets_are_values():
    makers = [
        lambda: geometry.Ball(2, 0.5),
        lambda: geometry.Ball(3, 0.5),
        lambda: geometry.L1Ball(2, 0.5),
        lambda: geometry.Box([0, 0], [1, 1]),
        lambda: geometry.Box([0, 0], [1, 2]),
        lambda: geometry.Simplex(3),
        lambda: geometry.Polytope(SQUARE, [1, 1, 1, 1]),
        lambda: geometry.KSubsets(5, 2),
        lambda: geometry.Birkhoff(3),
        lambda: geometry.Paths(DIAMOND, 0, 3),
        lambda: geometry.OracleSet(corner, 2),
    ]
    assert len({make() for make in makers} | {make() for make in makers}) == len(makers)
    for make in makers:
        domain = make()
        assert domain == make()
        assert domain != 3
        assert repr(domain).startswith(type(domain).__name__ + "(")
        assert pickle.loads(pickle.dumps(domain)) == domain
        with pytest.raises(AttributeError):
            domain.anything = 1


def test_arguments_are_copied():
    low, high = np.zeros(2), np.ones(2)
    box = geometry.Box(low, high)
    low[0] = -5.0
    np.testing.assert_array_equal(box.low, [0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        box.high[0] = 3.0
