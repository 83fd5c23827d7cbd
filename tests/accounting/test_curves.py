"""Privacy curves against closed forms in high precision and exact mechanisms, as JSON, and what they refuse."""

import itertools
import json

import mpmath
import numpy as np
import pytest

from tacit.accounting import curves
from tacit.accounting.composition import Composition, Failing, Responses, TwoSteps, compose, two_steps
from tacit.accounting.conversion import ORDERS, log_mixture
from tacit.accounting.lazy import CappedChain, LazyChain
from tacit.errors import InvalidInput

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 3.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.1)
CURVES = [
    curves.Pure(0.7),
    curves.Pure(0.0),
    curves.Gaussian(0.6),
    curves.Gaussian(0.0),
    curves.Approximate(0.5, 1e-7),
    curves.Approximate(0.5, 0.0),
    curves.BoundedRange(0.3),
    curves.Renyi([1.5, 2.0, 8.0, 64.0], [0.1, 0.12, 0.5, 3.0]),
    LazyChain(1, 0.7, 0.7, 0.0, curves.Gaussian(0.5)),
    curves.Repeated(curves.BoundedRange(0.1), 20),
    curves.Repeated(curves.Gaussian(0.1), 0),
    curves.Sum((curves.Pure(0.1), curves.Gaussian(0.2), curves.Repeated(curves.BoundedRange(0.1), 3))),
    curves.SamplerError(curves.Gaussian(0.4), 1e-10, 5),
    curves.SamplerError(curves.Pure(0.4), 0.0, 0),
    LazyChain(10, 0.5, 0.7, 0.3, curves.BoundedRange(0.6)),
    LazyChain(10, 0.3, 0.7, 0.9, curves.BoundedRange(1.2), batch=2, rounds_per_person=2, drift=0.01),
    LazyChain.of_hazards(1e-15, 5e-17, decisions=10, bit=5e-17, draw=curves.BoundedRange(1e-16)),
    CappedChain(LazyChain(10, 0.5, 0.7, 0.3, curves.BoundedRange(0.6)), 4),
    Composition((curves.Pure(0.2), curves.Gaussian(0.3))),
    Composition((curves.Pure(0.2), curves.Approximate(0.2, 1e-7), curves.Gaussian(0.3)), (0.0, 1e-7, 1e-6)),
    Responses((0.1, 0.2), (3, 4)),
    Failing(curves.Gaussian(0.3), 1e-6),
    TwoSteps(curves.BoundedRange(0.3)),
    two_steps(curves.Renyi([2.0, 8.0, 64.0], [0.01, 0.05, 0.5])),
]
every = pytest.mark.parametrize("curve", CURVES, ids=repr)


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    below, above = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mpmath.ncdf(below) - mpmath.exp(epsilon) * mpmath.ncdf(above)


def two_point_renyi(order, first, second):
    """Renyi divergence of two distributions on two points, from the probabilities of the first point."""
    order = mpmath.mpf(order)
    total = sum(p**order * q ** (1 - order) for p, q in ((first, second), (1 - first, 1 - second)))
    return mpmath.log(total) / (order - 1)


def response(value):
    value = mpmath.mpf(value)
    return mpmath.exp(value) / (1 + mpmath.exp(value))


def hockey_stick(first, second, epsilon):
    return max(
        sum(max(p - mpmath.exp(epsilon) * q, 0) for p, q in pairs)
        for pairs in (list(zip(first, second, strict=True)), list(zip(second, first, strict=True)))
    )


# --- closed forms in high precision ------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-4, 0.01, 0.2367, 1.0, 7.0, 40.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.1, 1.0, 5.0, 50.0, 300.0])
def test_gaussian_delta_is_exact_and_rounded_up(mu, epsilon):
    exact = gaussian_delta(mu, epsilon)
    scale = mpmath.ncdf(mpmath.mpf(mu) / 2 - mpmath.mpf(epsilon) / mu)  # errors are relative to this term
    if exact > 1e-300:
        got = curves.Gaussian(mu).delta(epsilon)
        assert exact <= got <= exact + scale * mpmath.mpf(2e-12)


@pytest.mark.parametrize("value", [1e-5, 0.01, 0.3, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("order", [1.0001, 1.01, 1.5, 2.0, 17.0, 1e3, 2e5])
def test_pure_renyi_is_randomised_response_rounded_up(value, order):
    exact = two_point_renyi(order, response(value), 1 - response(value))
    got = curves.Pure(value).renyi(np.array([order]))[0]
    assert exact <= got
    # Near order 1 the looser alpha eps^2 / 2 may be used.
    assert got <= float(exact) * 1.0001 or got <= order * value**2 / 2 * 1.0001


@pytest.mark.parametrize("value", [0.01, 0.7, 3.0, 20.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_delta_is_randomised_response(value, epsilon):
    p = response(value)
    exact = hockey_stick((p, 1 - p), (1 - p, p), epsilon)
    got = curves.Pure(value).delta(epsilon)
    assert float(exact) * (1 - 1e-15) - 1e-30 <= got <= float(exact) * (1 + 1e-10) + 1e-15


@pytest.mark.parametrize("value", [0.01, 0.7, 3.0, 20.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.5, 0.99])
def test_pure_epsilon_inverts_delta(value, delta):
    epsilon = curves.Pure(value).epsilon(delta)
    p = response(value)
    assert hockey_stick((p, 1 - p), (1 - p, p), epsilon) <= delta * (1 + 1e-9) + 1e-30
    assert epsilon <= value
    if epsilon > 1e-6:
        assert hockey_stick((p, 1 - p), (1 - p, p), epsilon * (1 - 1e-6)) > delta


@pytest.mark.parametrize("probability", [0.0, 1e-6, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("log_moment", [0.0, 1e-12, 1e-3, 1.0, 29.9, 30.1, 400.0])
def test_log_mixture_keeps_its_digits(probability, log_moment):
    s, x = mpmath.mpf(probability), mpmath.mpf(log_moment)
    exact = mpmath.log(1 + s * mpmath.expm1(x))
    got = log_mixture(probability, np.array([log_moment]))[0]
    assert got == pytest.approx(float(exact), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("width", [0.1, 0.3, 1.0])
def test_bounded_range_covers_every_selection_of_two_and_is_nearly_attained(width):
    """Log ratios t - width and t: the probabilities follow, and t moves through the whole range."""
    curve = curves.BoundedRange(width)
    shares = []
    for order in (1.01, 2.0, 9.0):
        exact = 0.0
        for t in np.linspace(0.0, width, 201)[1:-1]:
            p = float(np.expm1(width - t) / np.expm1(width)) * float(np.exp(t))
            q = float(np.expm1(width - t) / np.expm1(width))
            moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
            exact = max(exact, float(np.log(moment)) / (order - 1))
        bound = curve.renyi(np.array([order]))[0]
        assert exact <= bound * (1 + 1e-12)
        shares.append(exact / bound)
    assert max(shares) > 0.9


# --- conversions ---------------------------------------------------------------------------------------


@every
def test_epsilon_and_delta_agree(curve):
    for delta in DELTAS:
        epsilon = curve.epsilon(delta)
        assert epsilon >= 0
        if np.isfinite(epsilon):
            assert curve.delta(epsilon) <= delta * (1 + 1e-6)


@every
def test_monotone(curve):
    epsilons = [curve.epsilon(delta) for delta in (0.0, *DELTAS)]
    assert all(a >= b for a, b in itertools.pairwise(epsilons))
    deltas = [curve.delta(epsilon) for epsilon in EPSILONS]
    assert all(0 <= d <= 1 for d in deltas)
    if not isinstance(curve, curves.SamplerError):  # the price of a sampler's error grows with epsilon
        assert all(a >= b for a, b in itertools.pairwise(deltas))
    renyi = curve.renyi(ORDERS)
    assert not np.any(np.isnan(renyi))
    if not isinstance(curve, TwoSteps):  # a bound that is not the divergence itself
        assert np.all(renyi[1:] >= renyi[:-1] * (1 - 1e-9))


@every
def test_pure_is_epsilon_at_zero_and_bounds_all(curve):
    assert curve.epsilon(0.0) == curve.pure()
    if np.isfinite(curve.pure()):
        assert curve.delta(curve.pure()) == 0.0
        assert all(curve.epsilon(delta) <= curve.pure() for delta in DELTAS)


# --- composition ---------------------------------------------------------------------------------------


def test_compose_is_exact_for_gaussians_and_adds_pure_parts():
    assert compose([curves.Gaussian(0.3), curves.Gaussian(0.4)]).mu == pytest.approx(0.5, rel=1e-9)
    assert compose([curves.Gaussian(0.3), curves.Gaussian(0.4)]).mu >= 0.5
    assert 0.7 <= compose([curves.Pure(0.3), curves.Pure(0.4)]).pure() <= np.nextafter(0.7, 1)
    assert compose([curves.Pure(0.3)]) == curves.Pure(0.3)
    assert compose([curves.Pure(0.3), curves.BoundedRange(0.5)]).epsilon(0.0) == pytest.approx(0.8)
    assert compose([curves.Pure(0.3), curves.Gaussian(0.5)]).epsilon(0.0) == np.inf
    assert (
        compose([curves.Pure(0.3), curves.Gaussian(0.5)]).epsilon(1e-6) < 0.3 + curves.Gaussian(0.5).renyi(ORDERS)[-1]
    )


def test_compose_prices_sampler_errors_last():
    """The total variation errors add; their price is paid once, at the epsilon of the whole."""
    whole = compose(
        [
            curves.SamplerError(curves.Gaussian(0.3), 1e-9, 2),
            curves.SamplerError(curves.Gaussian(0.4), 1e-9, 3),
            curves.Gaussian(1.2),
        ]
    )
    assert isinstance(whole.joint, curves.SamplerError)
    exact = curves.Gaussian(1.3).delta(1.0) + (1 + np.e) * 5e-9
    assert whole.delta(1.0) == pytest.approx(exact, rel=1e-6)
    assert whole.delta(1.0) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-10, 1e-9, 3e-9, 1e-8])
def test_sampler_error_epsilon_is_the_smallest_that_works(distance):
    """Where some epsilon meets delta = 1e-6, one is found; where none does, infinity is said."""
    curve = curves.SamplerError(curves.Gaussian(1.0), distance, 1)
    grid = np.linspace(0.0, 12.0, 2401)
    safe = grid[[curve.delta(e) <= 1e-6 for e in grid]]
    epsilon = curve.epsilon(1e-6)
    if len(safe):
        assert curve.delta(epsilon) <= 1e-6
        assert epsilon <= safe[0] + 1e-6
    else:
        assert epsilon == np.inf


def test_approximate_is_the_worst_mechanism_with_that_point():
    """It reveals all with probability `at`, else it is randomised response."""
    value, at = 0.5, 0.01
    p = response(value)
    first = (at, (1 - at) * p, (1 - at) * (1 - p), 0)
    second = (0, (1 - at) * (1 - p), (1 - at) * p, at)
    for epsilon in EPSILONS:
        exact = hockey_stick(first, second, epsilon)
        assert exact <= curves.Approximate(value, at).delta(epsilon) <= exact * (1 + 1e-9)
    assert curves.Approximate(value, at).epsilon(at) == value
    assert curves.Approximate(value, at).epsilon(at / 2) == np.inf
    assert curves.Approximate(value, 0.0).renyi(np.array([2.0]))[0] == curves.Pure(value).renyi(np.array([2.0]))[0]


def test_renyi_table_uses_the_next_larger_order():
    curve = curves.Renyi([2.0, 4.0], [0.1, 0.3])
    np.testing.assert_allclose(curve.renyi(np.array([1.5, 2.0, 2.1, 4.0])), [0.1, 0.1, 0.3, 0.3], rtol=1e-9)
    assert curve.renyi(np.array([4.1]))[0] == np.inf
    assert curves.Repeated(curve, 0).epsilon(1e-6) == 0.0


@every
def test_json_round_trip(curve):
    again = curves.Curve.from_dict(json.loads(json.dumps(curve.to_dict())))
    assert again == curve
    assert again.epsilon(1e-6) == curve.epsilon(1e-6)


def test_numpy_integers_serialise():
    json.dumps(curves.Repeated(curves.Pure(0.1), np.int64(3)).to_dict())


@pytest.mark.parametrize("content", [{}, {"curve": "Nonsense"}, {"curve": None}])
def test_unknown_curve(content):
    with pytest.raises(InvalidInput, match="A curve must be one of"):
        curves.Curve.from_dict(content)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: curves.Pure(x),
        lambda x: curves.Gaussian(x),
        lambda x: curves.BoundedRange(x),
        lambda x: curves.Approximate(x, 0.1),
        lambda x: curves.Approximate(0.1, x),
        lambda x: curves.Repeated(curves.Pure(1.0), x),
        lambda x: curves.SamplerError(curves.Pure(1.0), x, 1),
        lambda x: curves.SamplerError(curves.Pure(1.0), 0.1, x),
        lambda x: LazyChain(x, 0.5, 0.7, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, x, 0.7, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, x, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, 0.7, x, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), batch=x),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), rounds_per_person=x),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), drift=x),
        lambda x: CappedChain(LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0)), x),
    ],
)
def test_bad_arguments(make):
    for bad in (-1.0, np.nan, np.inf, True, "1", None, 1j):
        with pytest.raises(InvalidInput, match="must be"):
            make(bad)


@every
def test_bad_questions(curve):
    for bad in (-0.1, np.nan, np.inf, True, "1", None):
        with pytest.raises(InvalidInput, match="'epsilon'"):
            curve.delta(bad)
        with pytest.raises(InvalidInput, match="'delta'"):
            curve.epsilon(bad)
    with pytest.raises(InvalidInput, match="'delta'"):
        curve.epsilon(1.0)


def test_lazy_chain_needs_ordered_keep_probabilities():
    with pytest.raises(InvalidInput, match="keep"):
        LazyChain(3, 0.8, 0.7, 0.1, curves.Pure(1.0))


@pytest.mark.parametrize(
    ("orders", "values"),
    [
        ([], []),
        ([2.0], [1.0, 2.0]),
        ([[2.0]], [[1.0]]),
        ([1.0], [1.0]),
        ([3.0, 2.0], [1.0, 1.0]),
        ([2.0], [-1.0]),
        ([2.0], [np.nan]),
    ],
)
def test_bad_renyi_tables(orders, values):
    with pytest.raises(InvalidInput, match="Renyi"):
        curves.Renyi(orders, values)
