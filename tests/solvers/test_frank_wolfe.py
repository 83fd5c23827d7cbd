import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.domains import Ball, Birkhoff, Box, KSubsets, L1Ball, Paths, Simplex
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.solvers.frank_wolfe import FrankWolfe

SETS = [
    Ball(3, 0.5),
    L1Ball(3, 0.7),
    Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5]),
    Simplex(4),
    KSubsets(5, 2),
    Birkhoff(3),
    Paths([("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")], "s", "t"),
]
NAMES = [type(domain).__name__ for domain in SETS]


def slopes(domain, count, name="slopes"):
    stream = Randomness.replayable(5).stream(name)
    scales = stream.uniform(0.05, 3.0, (count, 1)) * domain.radius
    return scales * stream.standard_normal((count, domain.hull_dimension))


def exact(domain, slope):
    """The minimiser, by projection or by a solver over mixtures of listed vertices."""
    if isinstance(domain, Ball | Box | L1Ball | Simplex):
        return domain.to_hull(domain.project(domain.from_hull(-slope)))
    if isinstance(domain, Birkhoff):
        points = [np.eye(3)[list(p)].ravel() for p in itertools.permutations(range(3))]
    elif isinstance(domain, KSubsets):
        points = [np.isin(np.arange(5), chosen).astype(float) for chosen in itertools.combinations(range(5), 2)]
    else:  # the four paths of the graph, as edges in their order
        points = [np.isin(np.arange(6), path).astype(float) for path in ((0, 3), (1, 4), (0, 2, 4), (5,))]
    vertices = domain.to_hull(np.array(points))

    def objective(w):
        x = w @ vertices
        return x @ x / 2 + slope @ x, vertices @ (x + slope)

    start = np.full(len(vertices), 1 / len(vertices))
    answer = minimize(
        objective, start, jac=True, method="SLSQP", bounds=[(0, 1)] * len(start),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}, options={"ftol": 1e-14},
    )  # fmt: skip
    return answer.x @ vertices


@pytest.mark.parametrize("domain", SETS, ids=NAMES)
@pytest.mark.parametrize("tolerance", [1e-1, 1e-4])
def test_the_gap_bounds_the_squared_distance_and_the_calls_are_bounded(domain, tolerance):
    solver = FrankWolfe(domain, tolerance=tolerance)
    for slope in slopes(domain, 15):
        solution = solver.minimize(slope)
        best = exact(domain, slope)
        value = solution.point @ solution.point / 2 + slope @ solution.point
        assert solution.gap <= tolerance
        assert np.sum((solution.point - best) ** 2) <= solution.gap + 1e-6
        assert -1e-9 <= value - (best @ best / 2 + slope @ best) <= solution.gap + 1e-9
        assert 1 <= solution.oracle_calls <= solver.most_calls
        assert domain.contains(domain.from_hull(solution.point), 1e-7)


def test_plain_steps_finish_when_the_pairwise_budget_is_spent():
    solver = FrankWolfe(Simplex(4), tolerance=1e-3)
    solver._pairwise_calls = 2
    slope = np.array([0.01, -0.02, 0.005])
    solution = solver.minimize(slope)
    assert solution.oracle_calls > 4
    assert solution.gap <= 1e-3
    again = solver.minimize(slope)  # the mixture is unknown now: it starts from a vertex
    assert np.sum((again.point - solution.point) ** 2) <= 4e-3


def test_the_worst_case_number_of_calls_is_never_passed():
    # Without a reachable tolerance the limit itself ends the search, and the gap is reported as it is.
    solver = FrankWolfe(Simplex(3), tolerance=1e-3)
    solver._pairwise, solver._tolerance = False, -1.0
    solver.__class__ = type("Limited", (FrankWolfe,), {"_plain_calls": 7})
    solution = solver.minimize(np.array([0.3, 0.1]))
    assert solution.oracle_calls == 7
    assert solution.gap >= 0.0


def test_errors():
    with pytest.raises(InvalidInput, match="'tolerance' parameter of FrankWolfe"):
        FrankWolfe(Ball(2), tolerance=0.0)
    with pytest.raises(InvalidInput, match=r"must have shape \(2\)"):
        FrankWolfe(Ball(2), tolerance=0.1).minimize(np.zeros(3))
