"""Membership against linear programming over the vertices."""

import numpy as np
import pytest
from scipy.optimize import linprog

from tacit.domains.hull import is_in_hull
from tacit.errors import InvalidInput


def is_combination(vertices, point):
    columns = np.vstack([vertices.T, np.ones(len(vertices))])
    return linprog(np.zeros(len(vertices)), A_eq=columns, b_eq=np.append(point, 1.0)).status == 0


def some_points(case, domain, stream, count):
    """Points of the hull on both sides of the boundary, none within 1e-6 of it but the vertices."""
    coordinates = stream.standard_normal((count, domain.hull_dimension))
    lengths = stream.uniform(0.3 * domain.inner_radius, domain.radius, size=count)
    return domain.from_hull(coordinates * (lengths / np.linalg.norm(coordinates, axis=1))[:, None])


def test_membership_is_that_of_the_convex_hull(case, domain, stream):
    points = some_points(case, domain, stream, 40)
    truth = [is_combination(case.vertices, point) for point in points]
    assert 0 < sum(truth) < 40
    assert [domain.contains(point) for point in points] == truth
    assert [is_in_hull(domain.minimize_linear, point, 1e-9) for point in points] == truth


def test_mixtures_are_members_and_points_beyond_a_vertex_are_not(case, domain, stream):
    for weights in stream.dirichlet(np.full(len(case.vertices), 0.2), size=40):
        mixture = weights @ case.vertices
        assert domain.contains(mixture)
        assert is_in_hull(domain.minimize_linear, mixture, 1e-9)
    for vertex in case.vertices:
        beyond = vertex + 1e-6 * (vertex - domain.centre)
        assert domain.contains(vertex)
        assert not domain.contains(beyond)
        assert not is_in_hull(domain.minimize_linear, beyond, 1e-9)
        assert domain.contains(beyond, tolerance=1e-4)


def test_points_off_the_hull_are_not_members(domain, stream):
    if domain.hull_dimension == domain.dimension:
        return
    away = stream.standard_normal(domain.dimension)
    away -= domain.lift(domain.restrict(away))
    moved = domain.centre + 1e-5 * away / np.linalg.norm(away)
    assert not domain.contains(moved)
    assert not is_in_hull(domain.minimize_linear, moved, 1e-9)
    assert domain.contains(moved, tolerance=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_oracle_decides_at_every_scale(scale):
    square = scale * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])

    def minimize(direction):
        return square[(square @ direction).argmin()]

    assert is_in_hull(minimize, scale * np.array([0.9, -0.99]), 1e-9 * scale)
    assert not is_in_hull(minimize, scale * np.array([0.9, -1.0001]), 1e-9 * scale)
    assert not is_in_hull(minimize, scale * np.array([30.0, 40.0]), 1e-9 * scale)


def test_bad_points(domain):
    assert not domain.contains(np.full(domain.dimension, np.nan))
    assert not domain.contains(np.full(domain.dimension, np.inf))
    with pytest.raises(InvalidInput, match=r"'point' of .*contains must have shape"):
        domain.contains(np.zeros(domain.dimension + 1))
    with pytest.raises(InvalidInput, match="'tolerance' parameter"):
        domain.contains(domain.centre, tolerance=-1.0)
    with pytest.raises(InvalidInput, match="'tolerance' parameter"):
        domain.contains(domain.centre, tolerance=float("nan"))
