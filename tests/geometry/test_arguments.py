"""Sets are values, and refuse bad arguments with a sentence."""

import pickle

import numpy as np
import pytest
import scipy

from tacit.errors import InvalidInput
from tacit.geometry import (
    Ball,
    Birkhoff,
    Box,
    KSubsets,
    L1Ball,
    Matroid,
    NuclearBall,
    Paths,
    Polytope,
    Simplex,
    SpanningTrees,
    SubmodularBase,
    hull_from_oracle,
)

NAN = float("nan")
SQUARE = [[1, 0], [-1, 0], [0, 1], [0, -1]]
DIAMOND = [(0, 1), (1, 3), (0, 2), (2, 3)]


def free(chosen):
    return len(chosen) <= 1


@pytest.mark.parametrize("bad", [NAN, np.inf, -np.inf])
def test_directions_must_be_finite(domain, bad):
    direction = np.zeros(domain.dimension)
    direction[-1] = bad
    with pytest.raises(InvalidInput, match=f"'direction' of {type(domain).__name__} must be finite. Got .* position"):
        domain.minimize_linear(direction)


@pytest.mark.parametrize("bad", [np.zeros(1), np.zeros((2, 2)), "ab", [True, False], [1j, 0j], [[1.0], [1.0, 2.0]]])
def test_directions_must_be_real_vectors_of_the_right_length(bad):
    with pytest.raises(InvalidInput, match="'direction' of Ball must"):
        Ball(2).minimize_linear(bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ball(0), "'dim' parameter of Ball must be a whole number"),
        (lambda: Ball(True), "'dim' parameter of Ball"),
        (lambda: Ball(2, 0.0), "'radius' parameter of Ball"),
        (lambda: Ball(2, NAN), "'radius' parameter of Ball"),
        (lambda: L1Ball(2.0), "'dim' parameter of L1Ball"),
        (lambda: L1Ball(2, -1.0), "'radius' parameter of L1Ball"),
        (lambda: Simplex(1), "'dim' parameter of Simplex must be a whole number from 2 to"),
        (lambda: Box([], []), "'high' parameter of Box"),
        (lambda: Box([0.0], [0.0]), "'high' parameter of Box must be finite and above a finite 'low'"),
        (lambda: Box([0.0], [NAN]), "'high' parameter of Box"),
        (lambda: Box([-np.inf], [0.0]), "'high' parameter of Box"),
        (lambda: Box([0.0], [1.0, 2.0]), "'high' of Box must have shape"),
        (lambda: Box.cube(2, 0.0), "'half_width' parameter of Box.cube"),
        (lambda: Box.cube(0), "'dim' parameter of Box.cube"),
        (lambda: KSubsets(1, 1), "'n' parameter of KSubsets"),
        (lambda: KSubsets(4, 4), "'k' parameter of KSubsets must be a whole number from 1 to 3"),
        (lambda: Birkhoff(1), "'k' parameter of Birkhoff"),
        (lambda: NuclearBall(0, 2), "'rows' parameter of NuclearBall"),
        (lambda: NuclearBall(2, 0), "'columns' parameter of NuclearBall"),
        (lambda: NuclearBall(2, 2, np.inf), "'radius' parameter of NuclearBall"),
        (lambda: Polytope([[0, 0], [1, 0]], [1, 1]), "'A' parameter of Polytope must be .* without zero rows"),
        (lambda: Polytope([[NAN, 1]], [1]), "'A' parameter of Polytope"),
        (lambda: Polytope(SQUARE, [1, 1, 1, NAN]), "'b' parameter of Polytope"),
        (lambda: Polytope(SQUARE, [1, 1, 1]), "'b' of Polytope must have shape"),
        (lambda: Polytope(SQUARE[:3], [1, 1, 1]), "unbounded"),
        (lambda: Polytope(SQUARE[:1], [1]), "unbounded"),
        (lambda: Polytope(SQUARE, [1, -1, 1, 1]), "no interior"),
        (lambda: Polytope(SQUARE, [1, -2, 1, 1]), "no interior"),
        (lambda: SpanningTrees([]), "'edges' parameter of SpanningTrees must be at least one pair"),
        (lambda: SpanningTrees([(0, 1, 2)]), "'edges' parameter of SpanningTrees must be pairs"),
        (lambda: SpanningTrees([([0], [1])]), "'edges' parameter of SpanningTrees must be pairs of hashable"),
        (lambda: SpanningTrees([(0, 1), (1, 1)]), "must be pairs of different vertices. Got \\(1, 1\\)"),
        (lambda: SpanningTrees([(0, 1), (2, 3)]), "must be connected"),
        (lambda: SpanningTrees([(0, 1), (1, 2)]), "single point"),
        (lambda: Paths(7, 0, 3), "'edges' parameter of Paths must be pairs"),
        (lambda: Paths(DIAMOND, 9, 3), "'source' parameter of Paths must be an end of an edge. Got 9"),
        (lambda: Paths(DIAMOND, 0, 9), "'sink' parameter of Paths"),
        (lambda: Paths(DIAMOND, 3, 0), "no path from 3 to 0"),
        (lambda: Paths(DIAMOND, 0, 0), "no path from 0 to 0"),
        (lambda: Paths([*DIAMOND, (3, 0)], 0, 3), "must be acyclic. Got the cycle"),
        (lambda: Paths(DIAMOND[:2], 0, 3), "single point"),
        (lambda: Matroid([], free), "'ground' parameter of Matroid must be a non-empty"),
        (lambda: Matroid([1, 1], free), "'ground' parameter of Matroid must be .* distinct"),
        (lambda: Matroid([[1], [2]], free), "'ground' parameter of Matroid must be a sequence of hashable"),
        (lambda: Matroid(5, free), "'ground' parameter of Matroid"),
        (lambda: Matroid([1, 2], 3), "'independent' parameter of Matroid"),
        (lambda: Matroid([1, 2], lambda chosen: len(chosen) > 0), "must accept the empty set"),
        (lambda: Matroid([1, 2, 3], lambda chosen: len(chosen) <= 1 or chosen == {1, 2}), "not describe a matroid"),
        (lambda: Matroid([1, 2], lambda chosen: True), "single point"),
        (lambda: SubmodularBase(1, len), "'dim' parameter of SubmodularBase"),
        (lambda: SubmodularBase(2, 3.0), "'set_function' parameter of SubmodularBase"),
        (lambda: SubmodularBase(2, lambda chosen: 1.0), "must be 0 at the empty set. Got 1.0"),
        (lambda: SubmodularBase(2, lambda chosen: NAN), "'set_function' parameter of SubmodularBase"),
        (lambda: SubmodularBase(3, lambda chosen: len(chosen) ** 2), "is not submodular: see elements"),
        (lambda: SubmodularBase(2, len), "single point"),
        (lambda: hull_from_oracle(lambda direction: np.ones(3), 3), "single point"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_solver_failures_are_errors(monkeypatch):
    from types import SimpleNamespace

    square = Polytope(SQUARE, [1, 1, 1, 1])
    failed = SimpleNamespace(status=4, message="numerical difficulties")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: failed)
    with pytest.raises(InvalidInput, match="was not solved: numerical difficulties"):
        square.minimize_linear([1.0, 0.0])
    with pytest.raises(InvalidInput, match="could not be computed: numerical difficulties"):
        Polytope(SQUARE, [1, 1, 1, 1])


def test_sets_are_values():
    makers = [
        lambda: Ball(2, 0.5),
        lambda: Ball(3, 0.5),
        lambda: L1Ball(2, 0.5),
        lambda: Box([0, 0], [1, 1]),
        lambda: Box([0, 0], [1, 2]),
        lambda: Simplex(3),
        lambda: Polytope(SQUARE, [1, 1, 1, 1]),
        lambda: KSubsets(5, 2),
        lambda: Birkhoff(3),
        lambda: NuclearBall(2, 3),
        lambda: SpanningTrees([(0, 1), (1, 2), (0, 2)]),
        lambda: Paths(DIAMOND, 0, 3),
        lambda: Matroid(range(3), free),
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
    box = Box(low, high)
    low[0] = -5.0
    np.testing.assert_array_equal(box.low, [0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        box.high[0] = 3.0
