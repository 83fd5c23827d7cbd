"""Projections against a generic solver and by the variational inequality that characterises them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.domains import Ball, Box, L1Ball, NuclearBall, Polytope, Simplex
from tacit.errors import InvalidInput

TRIANGLE = Polytope([[-1.0, 0.0], [0.0, -3.0], [2.0, 2.0]], [0.0, 0.0, 2.0])


def random_polytope(stream, rows, columns):
    normals = stream.standard_normal((rows, columns))
    bounds = stream.uniform(0.1, 2.0, size=rows)
    box = np.vstack([np.eye(columns), -np.eye(columns)])
    return Polytope(np.vstack([normals, box]), np.concatenate([bounds, np.full(2 * columns, 3.0)]))


SETS = {
    "ball": Ball(5, 0.7),
    "l1": L1Ball(6, 1.3),
    "box": Box([-1.0, 0.0, 2.0], [1.0, 0.5, 3.0]),
    "simplex": Simplex(6),
    "nuclear": NuclearBall(3, 4, 1.5),
    "triangle": TRIANGLE,
}


@pytest.fixture(params=[*SETS, "polytope"], scope="module")
def projectable(request):
    from tacit.noise.randomness import Randomness

    if request.param == "polytope":
        return random_polytope(Randomness.replayable(1).stream("polytope"), 15, 6)
    return SETS[request.param]


def test_the_angle_at_the_projection_is_obtuse(projectable, stream):
    # <x - p, v - p> <= 0 for all v in the set, where the oracle finds the worst v.
    for scale in (1e-3, 0.3, 1.0, 10.0, 1e4):
        for point in scale * stream.standard_normal((20, projectable.dimension)):
            nearest = projectable.project(point)
            assert projectable.contains(nearest)
            worst = projectable.minimize_linear(nearest - point)
            assert (point - nearest) @ (worst - nearest) <= 1e-9 * max(1.0, scale)


def test_members_are_their_own_projection(projectable, stream):
    for direction in stream.standard_normal((20, projectable.hull_dimension)):
        step = direction * (0.99 * projectable.inner_radius / np.linalg.norm(direction))
        point = projectable.from_hull(step)
        np.testing.assert_allclose(projectable.project(point), point, atol=1e-12)
    assert projectable.project(projectable.centre) is not projectable.centre


def constraints_of(domain):
    if isinstance(domain, Simplex):
        return [{"type": "eq", "fun": lambda x: x.sum() - 1.0}, {"type": "ineq", "fun": lambda x: x}]
    if isinstance(domain, Ball):
        return [{"type": "ineq", "fun": lambda x: domain.radius**2 - x @ x}]
    if isinstance(domain, Box):
        return [{"type": "ineq", "fun": lambda x: np.append(x - domain.low, domain.high - x)}]
    return [{"type": "ineq", "fun": lambda x: domain.b - domain.A @ x}]


@pytest.mark.parametrize("name", ["ball", "box", "simplex", "triangle"])
def test_the_projection_agrees_with_a_generic_solver(name, stream):
    domain = SETS[name]
    for point in 2.0 * stream.standard_normal((15, domain.dimension)):
        answer = minimize(
            lambda x, point=point: 0.5 * (x - point) @ (x - point),
            domain.centre,
            jac=lambda x, point=point: x - point,
            constraints=constraints_of(domain),
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(domain.project(point), answer.x, atol=1e-6)


def test_the_l1_projection_agrees_with_soft_thresholding(stream):
    ball = L1Ball(6, 1.3)
    for point in 2.0 * stream.standard_normal((30, 6)):
        low, high = 0.0, np.abs(point).max()
        for _ in range(100):
            middle = (low + high) / 2.0
            low, high = (middle, high) if np.maximum(np.abs(point) - middle, 0).sum() > 1.3 else (low, middle)
        np.testing.assert_allclose(
            ball.project(point), np.sign(point) * np.maximum(np.abs(point) - high, 0), atol=1e-12
        )


def test_polytopes_are_projected_onto_to_machine_precision(stream):
    # Known answers: normals of a face, or of a vertex, lead back to it.
    domain = random_polytope(stream, 12, 4)
    for _ in range(50):
        vertex = domain.minimize_linear(stream.standard_normal(4))
        active = np.flatnonzero(np.abs(domain.A @ vertex - domain.b) < 1e-8)
        outward = stream.uniform(0.1, 1.0, size=len(active)) @ domain.A[active]
        for length in (1e-6, 1.0, 1e3):
            np.testing.assert_allclose(domain.project(vertex + length * outward), vertex, atol=1e-9)


def test_projections_reject_bad_points(projectable):
    with pytest.raises(InvalidInput, match="must be finite"):
        projectable.project(np.full(projectable.dimension, np.nan))
    with pytest.raises(InvalidInput, match="must have shape"):
        projectable.project(np.zeros(projectable.dimension + 1))
