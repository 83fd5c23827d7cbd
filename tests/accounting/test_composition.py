"""Composition: never dearer than the sums, exact for pure parts and parts known at one point, failing closed."""

from itertools import combinations_with_replacement, product
from math import comb

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting import composition, curves
from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.composition import Composition, Failing, Responses, TwoSteps, compose, joint, two_steps
from tacit.accounting.lazy import CappedChain, LazyChain
from tacit.errors import InvalidInput

CHAIN = LazyChain(20, 0.5, 0.7, 0.1, curves.BoundedRange(0.1))
ONE = curves.Gaussian(gaussian_mu(1.0, 1e-6))
CONTRACTS = {  # a curve and the delta at which it is stated
    "pure": (curves.Pure(1.0), 0.0),
    "point": (curves.Approximate(1.0, 1e-6), 1e-6),
    "other point": (curves.Approximate(0.3, 1e-9), 1e-8),
    "gaussian": (ONE, 1e-6),
    "range": (curves.BoundedRange(0.8), 1e-7),
    "chain": (CHAIN, 1e-6),
    "capped": (CappedChain(CHAIN, 4), 0.0),
    "sampler": (curves.SamplerError(curves.Gaussian(0.3), 1e-12, 4), 1e-6),
    "nested": (Composition((curves.Pure(0.2), curves.Approximate(0.2, 1e-7), ONE), (0.0, 1e-7, 1e-6)), 1.1e-6),
    "zeroed": (two_steps(curves.Renyi([2.0, 8.0, 64.0], [0.01, 0.05, 0.5])), 1e-6),
}


def walk_delta(steps, epsilon):
    """E(1 - e^{eps - walk})_+ in high precision, by listing every path."""
    total = mpmath.mpf(0)
    for signs in product((1, -1), repeat=len(steps)):
        place = sum((s * mpmath.mpf(v) for s, v in zip(signs, steps, strict=True)), mpmath.mpf(0))
        chance = mpmath.mpf(1)
        for sign, value in zip(signs, steps, strict=True):
            chance /= 1 + mpmath.exp(-sign * mpmath.mpf(value))
        total += chance * max(0, 1 - mpmath.exp(epsilon - place))
    return total


def binomial_delta(value, count, epsilon):
    value, up = mpmath.mpf(value), 1 / (1 + mpmath.exp(-mpmath.mpf(value)))
    places = ((k, (2 * k - count) * value) for k in range(count + 1))
    return sum(
        comb(count, k) * up**k * (1 - up) ** (count - k) * (1 - mpmath.exp(epsilon - z))
        for k, z in places
        if z > epsilon
    )


# --- never more than the sums ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(CONTRACTS, 2)))
def test_no_dearer_than_epsilons_and_deltas_added(first, second):
    (a, delta_a), (b, delta_b) = CONTRACTS[first], CONTRACTS[second]
    whole = compose([a, b], [delta_a, delta_b])
    delta = delta_a + delta_b
    most = a.epsilon(delta_a) + b.epsilon(delta_b)
    assert whole.epsilon(delta) <= most * (1 + 1e-9)
    assert whole.epsilon(delta) >= max(a.epsilon(delta), b.epsilon(delta)) * (1 - 1e-9)
    assert whole.delta(most) <= delta * (1 + 1e-6)


# --- exact references ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps", [(0.3,) * 5, (1.0, 1.0), (0.1, 0.7, 1.3), (2.0, 0.01), (0.2, 0.2, 0.5, 0.5, 0.5, 3.0)], ids=str
)
def test_responses_are_the_listed_walk(steps):
    whole = compose([curves.Pure(step) for step in steps])
    for epsilon in (0.0, 0.05, 0.3, 1.0, 0.9 * sum(steps)):
        exact = walk_delta(steps, epsilon)
        got = whole.joint.delta(epsilon)
        assert exact <= got <= exact * (1 + mpmath.mpf(1e-9)) + mpmath.mpf(1e-13)
    for delta in (1e-9, 1e-4, 0.1):
        epsilon = whole.epsilon(delta)
        assert walk_delta(steps, epsilon) <= delta
        assert epsilon == 0 or walk_delta(steps, epsilon * (1 - 1e-6)) > delta


@pytest.mark.parametrize(("value", "count"), [(0.1, 100), (0.01, 500), (1e-4, 300)])
def test_equal_responses_are_binomial(value, count):
    curve = joint([curves.Repeated(curves.Pure(value), count)])
    for delta in (1e-12, 1e-6, 1e-2):
        epsilon = curve.epsilon(delta)
        assert binomial_delta(value, count, epsilon) <= delta
        assert epsilon == 0 or binomial_delta(value, count, epsilon * (1 - 1e-5)) > delta
        assert epsilon <= curves.Repeated(curves.Pure(value), count).epsilon(delta)


def test_points_compose_as_they_should():
    """(1, 1e-6) twice: 2.000; (.1, 1e-7) x 10: .994; (.1, 1e-8) x 100: 4.330, where Renyi gives 4.637."""
    for value, at, count, expected in ((1.0, 1e-6, 2, 2.0), (0.1, 1e-7, 10, 0.994), (0.1, 1e-8, 100, 4.330)):
        part = curves.Approximate(value, at)
        assert compose([part] * count).epsilon(1e-5) == pytest.approx(expected, abs=6e-4)
        assert joint([curves.Repeated(part, count)]).epsilon(1e-5) == pytest.approx(expected, abs=6e-4)
        lost = -mpmath.expm1(count * mpmath.log1p(-mpmath.mpf(at)))
        left = (mpmath.mpf(1e-5) - lost) / (1 - lost)
        assert binomial_delta(value, count, compose([part] * count).epsilon(1e-5)) <= left
        assert compose([part] * count).epsilon(float(lost) * 0.99) == np.inf
    assert curves.Repeated(curves.Pure(0.1), 100).epsilon(9e-6) == pytest.approx(4.637, abs=5e-3)


@pytest.mark.parametrize("seed", [1, 2])
def test_many_different_responses_against_an_independent_accountant(seed, monkeypatch):
    values = np.random.default_rng(seed).uniform(0.01, 0.3, 40)
    laws = [pld.from_randomized_response(2 / (1 + np.exp(v)), 2, pessimistic_estimate=False) for v in values]
    exact = laws[0]
    for law in laws[1:]:
        exact = exact.compose(law)
    whole = compose([curves.Pure(float(v)) for v in values])
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        lower = exact.get_delta_for_epsilon(epsilon)
        assert lower <= whole.delta(epsilon) <= lower * 1.25 + 1e-9
    assert whole.epsilon(1e-6) < 0.99 * curves.Sum((Responses(tuple(values), (1,) * 40),)).epsilon(1e-6)
    monkeypatch.setattr(composition, "_PLACES", 256)  # a coarser grid only rounds up more
    coarse = Responses(tuple(values), (1,) * 40)
    assert all(coarse.delta(e) >= whole.joint.delta(e) for e in (0.0, 0.5, 1.0, 2.0))


def test_failing_is_the_exact_mixture():
    curve = Failing(curves.Gaussian(0.5), 1e-3)
    for epsilon in (0.0, 0.5, 2.0):
        exact = 1e-3 + (1 - 1e-3) * curves.Gaussian(0.5).delta(epsilon)
        assert exact <= curve.delta(epsilon) <= exact * (1 + 1e-9)
    assert curve.epsilon(9e-4) == np.inf
    assert curve.delta(curve.epsilon(2e-3)) <= 2e-3 * (1 + 1e-9)
    assert Failing(curves.Pure(0.5), 0.0).epsilon(0.0) == 0.5
    whole = compose([curves.Approximate(0.0, 1e-7), curves.Gaussian(0.5)])
    assert whole.epsilon(1e-6) == pytest.approx(curves.Gaussian(0.5).epsilon(9e-7), rel=1e-6)


# --- two steps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "curve",
    [
        curves.Pure(0.4),
        curves.Gaussian(0.3),
        curves.Approximate(0.3, 1e-8),
        curves.BoundedRange(0.3),
        CHAIN,
    ],
)
def test_two_steps_cover_the_chained_inequality(curve):
    """P <= e^a P0 + d(a) twice: delta(2a) <= (1 + e^a) d(a), and closed forms are no worse."""
    far = two_steps(curve)
    for half in (0.1, 0.3, 1.0):
        assert far.delta(2 * half) <= (1 + np.exp(half)) * curve.delta(half) * (1 + 1e-9)
    for delta in (1e-9, 1e-5):
        epsilon = far.epsilon(delta)
        assert curve.epsilon(delta) <= epsilon
        assert not np.isfinite(epsilon) or far.delta(epsilon) <= delta * (1 + 1e-6)


def test_two_steps_of_gaussians_by_the_generic_way():
    """The generic curve stays above the exact one."""
    generic, exact = TwoSteps(curves.Gaussian(0.2)), curves.Gaussian(0.4)
    for delta in (1e-9, 1e-6, 1e-3):
        assert exact.epsilon(delta) <= generic.epsilon(delta) <= 1.5 * exact.epsilon(delta)
    assert TwoSteps(curves.Pure(0.2)).epsilon(0.0) == 0.4
    assert two_steps(curves.Approximate(3.0, 0.1)).epsilon(0.05) == np.inf


# --- storage, questions, failing closed ---------------------------------------------------------------------------


def test_an_infinite_part_makes_the_whole_infinite():
    broken = LazyChain(5, 0.5, 1.0, 0.5, curves.Renyi([2.0], [0.1]))
    whole = compose([curves.Pure(0.1), broken])
    assert whole.epsilon(1e-6) == whole.epsilon(0.0) == np.inf
    assert whole.delta(10.0) == 1.0
    assert compose([curves.Approximate(1.0, 0.6), curves.Approximate(1.0, 0.7)]).epsilon(0.8) == np.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: Composition(()),
        lambda: Composition([curves.Pure(1.0)]),
        lambda: Composition((curves.Pure(1.0), 2)),
        lambda: Composition((curves.Pure(1.0),), (0.1, 0.2)),
        lambda: Composition((curves.Pure(1.0),), (-0.1,)),
        lambda: Failing(3, 0.1),
        lambda: Failing(curves.Pure(1.0), 1.0),
        lambda: TwoSteps(1),
        lambda: Responses((), ()),
        lambda: Responses((0.1,), (1, 2)),
        lambda: Responses((-0.1,), (1,)),
        lambda: Responses((0.1,), (0,)),
    ],
)
def test_bad_arguments(make):
    with pytest.raises(InvalidInput, match="must be"):
        make()
