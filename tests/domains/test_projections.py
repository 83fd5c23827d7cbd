"""Projections by the variational inequality that characterises them."""

import numpy as np
import pytest

from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
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
