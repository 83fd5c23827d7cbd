"""Affine hulls, inner balls, radii and diameters against brute force over all vertices."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

from tacit import domains as geometry
from tacit.domains.hull import hull_from_oracle
from tacit.errors import InvalidInput


def depth(vertices, centre, basis):
    """The distance from the centre to the nearest facet, by Quickhull in coordinates of the hull."""
    facets = ConvexHull((vertices - centre) @ basis, qhull_options="QJ" if basis.shape[1] > 4 else "Qt").equations
    return float((-facets[:, -1]).min())


def test_the_hull_is_the_affine_hull_of_the_vertices(case, domain):
    basis = domain.hull_basis
    centred = case.vertices - case.vertices[0]
    assert basis.shape == (domain.dimension, domain.hull_dimension)
    assert domain.hull_dimension == np.linalg.matrix_rank(centred)
    np.testing.assert_allclose(basis.T @ basis, np.eye(domain.hull_dimension), atol=1e-12)
    np.testing.assert_allclose(centred @ basis @ basis.T, centred, atol=1e-12)
    offset = domain.centre - case.vertices[0]
    np.testing.assert_allclose(basis @ (basis.T @ offset), offset, atol=1e-9)


def test_the_inner_ball_is_inside_as_large_as_claimed_and_no_other_is_larger(case, domain, stream):
    deepest = depth(case.vertices, domain.centre, domain.hull_basis)
    assert domain.inner_radius <= deepest * (1.0 + 1e-9)
    if "inner_radius" in case.exact:
        assert domain.inner_radius == pytest.approx(deepest, rel=1e-6)
    inside = case.vertices.T @ stream.dirichlet(np.ones(len(case.vertices)), size=20).T
    moved = [0.8 * domain.centre + 0.2 * point for point in inside.T]
    for centre in moved:
        assert depth(case.vertices, centre, domain.hull_basis) <= domain.inner_radius * (1.0 + 1e-6)


def test_radius_and_diameter_cover_all_vertices(case, domain):
    farthest = np.linalg.norm(case.vertices - domain.centre, axis=1).max()
    widest = pdist(case.vertices).max()
    assert farthest <= domain.radius * (1.0 + 1e-12)
    assert widest <= domain.diameter * (1.0 + 1e-12)
    if "radius" in case.exact:
        assert domain.radius == pytest.approx(farthest, rel=1e-9)
    if "diameter" in case.exact:
        assert domain.diameter == pytest.approx(widest, rel=1e-9)


def test_hull_coordinates_go_there_and_back(case, domain, stream):
    coordinates = stream.standard_normal((7, domain.hull_dimension))
    points = domain.from_hull(coordinates)
    np.testing.assert_allclose(domain.to_hull(points), coordinates, atol=1e-12)
    np.testing.assert_allclose(domain.to_hull(points[3]), coordinates[3], atol=1e-12)
    np.testing.assert_allclose(domain.from_hull(domain.to_hull(case.vertices)), case.vertices, atol=1e-9)
    np.testing.assert_allclose(points, domain.centre + coordinates @ domain.hull_basis.T, atol=1e-12)
    np.testing.assert_array_equal(domain.to_hull(domain.centre), np.zeros(domain.hull_dimension))
    # Inner products with points of the hull may be taken in either coordinates.
    ambient = stream.standard_normal(domain.dimension)
    inner = domain.restrict(ambient) @ coordinates[0]
    assert inner == pytest.approx(ambient @ domain.lift(coordinates[0]), abs=1e-9)


def test_the_centre_cannot_be_written_to(domain):
    with pytest.raises(ValueError, match="read-only"):
        domain.centre[0] = 1.0


@pytest.mark.parametrize("call", ["lift", "from_hull", "restrict", "to_hull"])
def test_vectors_of_the_wrong_length_are_refused(call):
    for domain in (geometry.Ball(3), geometry.Simplex(4), geometry.Birkhoff(3)):
        with pytest.raises(InvalidInput, match=r"must have . coordinates"):
            getattr(domain, call)(np.ones(1))


def test_closed_forms():
    ball = geometry.Ball(3, 0.5)
    assert (ball.inner_radius, ball.radius, ball.diameter) == (0.5, 0.5, 1.0)
    square = geometry.Polytope([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1.0, 2.0, 1.0, 1.0])
    assert square.inner_radius == pytest.approx(1.0)
    assert square.radius == pytest.approx(np.sqrt(2.0))
    assert square.diameter == pytest.approx(np.sqrt(8.0))
    np.testing.assert_allclose(square.centre, np.zeros(2), atol=1e-12)


def test_the_ball_certified_by_the_oracle_alone_is_inside(case, domain):
    hull = hull_from_oracle(domain.minimize_linear, domain.dimension)
    assert 0.0 < hull.inner_radius <= depth(case.vertices, hull.centre, hull.basis) * (1.0 + 1e-9)
    assert hull.basis.shape[1] == domain.hull_dimension
    np.testing.assert_allclose(domain.hull_basis @ (domain.hull_basis.T @ hull.basis), hull.basis, atol=1e-9)


def test_the_certified_radius_of_a_simplex_is_exact(stream):
    corners = stream.standard_normal((5, 4))
    hull = hull_from_oracle(lambda direction: corners[(corners @ direction).argmin()], 4, probes=0)
    assert hull.inner_radius == pytest.approx(depth(corners, hull.centre, np.eye(4)), rel=1e-6)


def test_a_ball_of_the_users_own(stream):
    inner = geometry.KSubsets(20, 5)
    own = geometry.OracleSet(inner.minimize_linear, 20, centre=inner.centre, inner_radius=0.25)
    assert own.inner_radius == 0.25
    assert own.contains(own.from_hull(0.25 * own.restrict(stream.standard_normal(20)) / 100))
    assert own == geometry.OracleSet(inner.minimize_linear, 20, centre=inner.centre, inner_radius=0.25)
    alone = geometry.OracleSet(inner.minimize_linear, 20)
    assert 0.09 < alone.inner_radius < inner.inner_radius
    assert alone.hull_dimension == inner.hull_dimension


def test_a_ball_that_leaves_the_set_is_refused():
    """Any radius was accepted before, in a subclass with a private method."""
    inner = geometry.KSubsets(20, 5)
    for radius in (0.257, 0.3, 2.0):
        with pytest.raises(InvalidInput, match=r"which ends 0\.256495 from its centre at most"):
            geometry.OracleSet(inner.minimize_linear, 20, centre=inner.centre, inner_radius=radius)
