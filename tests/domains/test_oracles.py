"""Every linear oracle against brute force over all vertices."""

import numpy as np
import pytest

from tacit.domains import Ball


def directions_of(stream, dimension, count=1000):
    """Generic directions, and as many with ties, zeros and both signs."""
    normal = stream.standard_normal((count, dimension))
    normal[::2] = np.round(normal[::2])
    normal[0] = 0.0
    return normal


def test_the_oracle_finds_a_best_vertex(case, domain, stream):
    directions = directions_of(stream, domain.dimension)
    best = (directions @ case.vertices.T).min(axis=1)
    found = np.array([domain.minimize_linear(direction) for direction in directions])
    np.testing.assert_allclose(np.einsum("ij,ij->i", directions, found), best, rtol=0, atol=1e-9)
    distances = np.abs(found[:, None, :] - case.vertices[None]).max(axis=2).min(axis=1)
    assert distances.max() < 1e-9, "not a vertex"


@pytest.mark.parametrize("dim", [1, 2, 30])
def test_the_ball_attains_cauchy_schwarz(dim, stream):
    ball = Ball(dim, 0.7)
    for direction in directions_of(stream, dim):
        point = ball.minimize_linear(direction)
        assert direction @ point == pytest.approx(-0.7 * np.linalg.norm(direction), abs=1e-12)
        assert np.linalg.norm(point) == pytest.approx(0.7, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e308])
def test_the_ball_survives_extreme_directions(scale):
    np.testing.assert_allclose(Ball(2).minimize_linear([scale, scale]), -np.sqrt([0.5, 0.5]), rtol=1e-2)
    np.testing.assert_allclose(Ball(2).project([scale, scale]), np.minimum(scale, np.sqrt([0.5, 0.5])), rtol=1e-12)


def test_answers_are_new_arrays_and_the_direction_is_left_alone(domain):
    direction = np.linspace(-1.0, 1.0, domain.dimension)
    before = direction.copy()
    first = domain.minimize_linear(direction)
    kept = first.copy()
    first[:] = 7.0
    np.testing.assert_array_equal(domain.minimize_linear(direction), kept)
    np.testing.assert_array_equal(direction, before)
