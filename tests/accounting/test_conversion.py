"""The one conversion from Renyi to (epsilon, delta): the formula in high precision, another library, failing closed."""

import warnings

import mpmath
import numpy as np
import pytest

from tacit.accounting.conversion import LEAST_DELTA, log_mixture, nearby_epsilon, renyi_epsilon
from tacit.accounting.curves import BoundedRange, Curve, Gaussian, Pure, Renyi, Repeated, SamplerError, Sum
from tacit.accounting.lazy import LazyChain

GIVEN = 1 + np.geomspace(0.02, 1e5, 60)


def formula(order, divergence, delta):
    a, r, d = mpmath.mpf(float(order)), mpmath.mpf(float(divergence)), mpmath.mpf(delta)
    if 1 - mpmath.exp(-r) <= d**2:
        return mpmath.mpf(0)
    return max(mpmath.mpf(0), r + mpmath.log(1 - 1 / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1))


@pytest.mark.parametrize("curve", [Gaussian(0.3), Gaussian(1e-7), Repeated(BoundedRange(0.05), 100), Pure(3.0)])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.1, 0.5])
def test_given_orders_are_the_formula_rounded_up(curve, delta):
    exact = min(formula(a, r, delta) for a, r in zip(GIVEN, curve.renyi(GIVEN), strict=True))
    got = renyi_epsilon(curve.renyi, delta, orders=GIVEN)
    assert exact <= got <= exact * (1 + mpmath.mpf(1e-9)) + mpmath.mpf(1e-13)
    assert renyi_epsilon(curve.renyi, delta) <= got * 1.02


class Broken(Curve):
    """A curve that answers with one number, whatever it is."""

    def __init__(self, value):
        object.__setattr__(self, "value", value)

    def renyi(self, orders):
        return np.full_like(orders, self.value)

    def pure(self):
        return self.value


@pytest.fixture(autouse=True, scope="module")
def forget_the_broken_curve():
    yield
    Curve._kinds.pop("Broken")


@pytest.mark.parametrize("value", [np.nan, -1.0, -1e-300, np.inf])
def test_what_is_no_divergence_counts_as_infinite(value):
    curve = Broken(value)
    assert curve.epsilon(1e-6) == curve.epsilon(0.0) == np.inf
    assert curve.delta(5.0) == 1.0
    assert Sum((Broken(np.nan), Pure(0.1))).epsilon(1e-6) == np.inf
    assert renyi_epsilon(curve.renyi, 1e-6, orders=GIVEN) == np.inf


def test_one_order_that_is_not_a_number_does_not_hide_the_others():
    def renyi(orders):
        values = Gaussian(0.3).renyi(orders)
        return np.where(orders > 20, np.nan, values)

    assert renyi_epsilon(renyi, 1e-6) >= Gaussian(0.3).epsilon(1e-6)
    assert np.isfinite(renyi_epsilon(renyi, 1e-6))


@pytest.mark.parametrize(
    "curve",
    [
        Gaussian(1e-3),
        LazyChain(1, 0.7, 0.7, 0.0, Gaussian(1e-3)),
        LazyChain(1, 0.7, 0.7, 0.0, Gaussian(1e-59)),
        Repeated(Gaussian(1e-3), 3),
        Renyi([1e9], [1e-200]),
    ],
    ids=repr,
)
def test_a_delta_too_small_for_a_float_is_not_pure(curve):
    assert curve.pure() == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0.0 < curve.delta(700.0) <= 1e-100
        assert curve.delta(1e5) >= LEAST_DELTA > 0.0
        assert SamplerError(curve, 1e-320, 3).delta(0.5) > 0.0
    assert Pure(1.0).delta(1.0) == 0.0


def test_divergences_without_digits_are_lifted():
    """mu = 1e-59 squares to 1e-118, and its mixture below the floats: epsilon is 0 only where delta allows it."""
    curve = LazyChain.of_hazards(1e-300, 0.0, decisions=1, bit=0.0, draw=Gaussian(1e-59))
    assert curve.epsilon(1e-100) == 0.0
    assert curve.epsilon(1e-200) > 0.0


@pytest.mark.parametrize("log_moment", [0.0, 1e-3, 40.0, 1e300, np.inf])
def test_a_draw_that_never_happens_costs_nothing(log_moment):
    assert log_mixture(0.0, np.array([log_moment]))[0] == 0.0
    assert log_mixture(1.0, np.array([log_moment]))[0] == log_moment


@pytest.mark.parametrize("curve", [Gaussian(0.3), Repeated(BoundedRange(0.05), 100)])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("order", [None, 1.001, 30.0, 1e6])
def test_nearby_orders_prove_nearly_the_smallest_epsilon_from_anywhere(curve, delta, order):
    """Safe: never below what its own order proves. Good: close to the full conversion wherever it starts."""
    epsilon, found = nearby_epsilon(curve.renyi, delta, order)
    assert epsilon >= renyi_epsilon(curve.renyi, delta, orders=np.asarray([found]))
    assert epsilon <= renyi_epsilon(curve.renyi, delta) * (1 + 5e-4)


def test_nearby_orders_fail_closed():
    assert nearby_epsilon(lambda orders: np.full_like(orders, np.inf), 1e-6)[0] == np.inf
    assert nearby_epsilon(lambda orders: np.full_like(orders, np.nan), 1e-6, 10.0)[0] == np.inf
