"""Lipschitz learning over convex sets other than boxes."""

import numpy as np
import pytest

from tacit.algorithms.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.algorithms.lipschitz.lipschitz_net import LipschitzNet, net_points
from tacit.domains import Ball, Box, KSubsets, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Lipschitz

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
SETS = [
    Ball(1, radius=0.5),
    Ball(2),
    Simplex(2),
    Simplex(3),
    L1Ball(2, radius=2.0),
    Box([0.0, 0.0], [1.0, 0.3]),
    Polytope([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [1.0, 1.0, 0.5]),
]
sets = pytest.mark.parametrize("domain", SETS, ids=lambda domain: f"{type(domain).__name__} {domain.dimension}")


def extension(problem, tip):
    """The distance to a point of the set, through the projection, as a function of the unit cube."""
    return lambda shares: np.linalg.norm(problem.place(shares) - tip, axis=1)


@sets
def test_the_extension_to_the_cube_is_as_steep_and_covers_the_set(domain):
    problem = Lipschitz(domain=domain, horizon=10)
    generator = Randomness.replayable(1).stream("x")
    tip = domain.minimize_linear(generator.standard_normal(domain.dimension))
    loss = extension(problem, tip)
    first, second = generator.random((2, 200, problem.dimension))
    gaps = problem.side * np.linalg.norm(first - second, axis=1)
    assert np.all(np.abs(loss(first) - loss(second)) <= gaps + 1e-12)
    placed = problem.place(first)
    assert all(domain.contains(point) for point in placed)
    # Points of the set stand for themselves.
    shares = (domain.to_hull(placed) - problem.corner) / problem.side
    assert shares.min() > -1e-12
    assert shares.max() < 1 + 1e-12
    np.testing.assert_allclose(problem.place(shares), placed, atol=1e-9)
    spread = np.linalg.norm(placed[:, None] - placed[None], axis=2).max()
    assert spread <= problem.width * (1 + 1e-12)
    assert problem.width <= problem.diagonal


@sets
@pytest.mark.parametrize("kind", [LipschitzGrid, LipschitzNet])
def test_learners_play_points_of_the_set(kind, domain):
    problem = Lipschitz(domain=domain, horizon=40)
    plan = kind.calibrate(problem, **PRIVACY)
    assert plan.guarantee.epsilon(1e-6) <= 1.0
    learner = plan.start(Randomness.replayable(3))
    assert all(domain.contains(point) for point in learner.points)
    played = learner.run([lambda points: np.abs(points[:, 0])] * 4)
    assert played.shape == (4, domain.dimension)
    assert all(domain.contains(point) for point in played)


def test_cells_with_the_same_nearest_point_are_one_expert():
    problem = Lipschitz(domain=Box([0.0, 0.0], [1.0, 0.25]), horizon=100)
    points = net_points(problem, 8)
    assert len(points) == 8 * 3  # two rows of cells inside; all that are above have the upper edge as their nearest
    assert LipschitzNet.calibrate(problem, **PRIVACY, cells=8).experts.problem.n == 24


@pytest.mark.parametrize("domain", [Ball(3), KSubsets(3, 1), "disc"])
def test_other_sets_are_refused(domain):
    with pytest.raises(InvalidInput, match="a set with a projection, of one or two dimensions"):
        Lipschitz(domain=domain, horizon=10)
