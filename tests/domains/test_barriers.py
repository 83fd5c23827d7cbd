"""Barriers: derivatives by finite differences, their minimum, and their infinity outside."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput

SETS = {
    "ball": Ball(3, 0.7),
    "unit ball": Ball(1),
    "l1": L1Ball(4, 1.3),
    "box": Box([-1.0, 0.0, 2.0], [1.0, 0.5, 3.0]),
    "simplex": Simplex(4),
    "triangle": Polytope([[-1.0, 0.0], [0.0, -3.0], [2.0, 2.0]], [0.0, 0.0, 2.0]),
    "pyramid": Polytope(np.vstack([np.eye(3), -np.eye(3), [[1.0, 1.0, 1.0]]]), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
}


@pytest.fixture(params=list(SETS))
def barred(request):
    return SETS[request.param]


def interior_points(domain, stream, count=20):
    """Random mixtures of the centre and of vertices."""
    for direction in stream.standard_normal((count, domain.dimension)):
        share = stream.uniform(0.0, 0.97)
        yield (1.0 - share) * domain.centre + share * domain.minimize_linear(direction)


def slopes(function, point, width):
    steps = width * np.eye(len(point))
    return np.array([(function(point + step) - function(point - step)) / (2.0 * width) for step in steps])


def test_derivatives_are_slopes_in_ambient_and_in_hull_coordinates(barred, stream):
    for point in interior_points(barred, stream):
        inside = barred.to_hull(point)
        assert barred.hull_barrier.value(inside) == pytest.approx(barred.barrier.value(point))
        for barrier, x in ((barred.barrier, point), (barred.hull_barrier, inside)):
            hessian = barrier.hessian(x)
            np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
            np.testing.assert_allclose(slopes(barrier.value, x, 1e-6), barrier.gradient(x), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(slopes(barrier.gradient, x, 1e-7), hessian, rtol=1e-4, atol=1e-4)


def test_the_barrier_is_at_least_zero_and_zero_at_its_minimum(barred, stream):
    barrier = barred.hull_barrier
    lowest = np.zeros(barred.hull_dimension)
    for _ in range(50):
        gradient = barrier.gradient(lowest)
        step = np.linalg.solve(barrier.hessian(lowest), gradient)
        lowest = lowest - step / (1.0 + np.sqrt(gradient @ step))
    assert 0.0 <= barrier.value(lowest) < 1e-9
    assert all(barred.barrier.value(point) >= 0.0 for point in interior_points(barred, stream))


def test_the_squared_newton_decrement_is_at_most_the_parameter(barred, stream):
    barrier = barred.hull_barrier
    for point in interior_points(barred, stream, 50):
        coordinates = barred.to_hull(point)
        gradient = barrier.gradient(coordinates)
        decrement = gradient @ np.linalg.solve(barrier.hessian(coordinates), gradient)
        assert decrement <= barrier.parameter * (1.0 + 1e-9)


def test_gradients_bound_hessians(barred, stream):
    """Also close to the boundary, where the bound is what counts; and it is not far from the truth there."""
    barrier, closest = barred.hull_barrier, 0.0
    for point in interior_points(barred, stream, 40):
        for pull in (1.0, 1.03 * (1 - 1e-7)):
            x = barred.to_hull(barred.centre + pull * (point - barred.centre))
            if barrier.value(x) < np.inf:
                size = np.sqrt(np.trace(barrier.hessian(x)))
                bound = barred.barrier_stiffness(float(np.linalg.norm(barrier.gradient(x))))
                assert size <= bound
                closest = max(closest, size / bound)
    assert closest > 0.02


def test_outside_the_value_is_infinite_and_the_derivatives_raise(barred):
    vertex = barred.minimize_linear(np.linspace(1.0, 2.0, barred.dimension))
    beyond = vertex + 0.1 * (vertex - barred.centre)
    for point in (beyond, np.full(barred.dimension, np.nan)):
        assert barred.barrier.value(point) == np.inf
        with pytest.raises(InvalidInput, match="only in the interior"):
            barred.barrier.gradient(point)
        with pytest.raises(InvalidInput, match="only in the interior"):
            barred.barrier.hessian(point)
    with pytest.raises(InvalidInput, match="must have shape"):
        barred.barrier.value(np.zeros(barred.dimension + 1))


def test_the_l1_barrier_is_the_partial_minimum_it_claims_to_be(stream):
    domain = L1Ball(3, 2.0)

    def extended(point):
        def value(slack):
            inside = slack.min() > 0.0 and slack.sum() + np.abs(point).sum() < 2.0
            reach = slack + np.abs(point)
            return -np.log(reach**2 - point**2).sum() - np.log(2.0 - reach.sum()) if inside else np.inf

        start = np.full(3, (2.0 - np.abs(point).sum()) / 6.0)
        return minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).fun

    origin = extended(np.zeros(3))
    for point in interior_points(domain, stream, 4):
        assert domain.barrier.value(point) == pytest.approx(extended(point) - origin, abs=1e-8)
