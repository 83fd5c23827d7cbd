"""Searches return the safe side."""

from math import inf, log

import numpy as np
import pytest

from tacit.accounting.calibration import descend, gaussian_mu, largest, minimise, smallest
from tacit.accounting.conversion import gaussian_delta
from tacit.accounting.curves import Gaussian
from tacit.errors import PrivacyError

COSTS = {
    "power": lambda x: 3 * x**1.7,
    "exponential": lambda x: float(np.expm1(x)),
    "flat then steep": lambda x: 0.1 if x < 0.5 else 0.1 + (x - 0.5) * 1e4,
    "step": lambda x: 0.5 if x < 0.7 else 2.0,
    "zero then power": lambda x: max(0.0, x - 0.2) ** 2 * 10,
    "infinite above": lambda x: x if x < 0.9 else float("inf"),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("limit", [0.6, 1.0])
def test_largest_is_safe_and_tight(name, limit):
    cost = COSTS[name]
    x = largest(cost, limit, 1e-6, 10.0)
    assert cost(x) <= limit
    assert cost(x) >= limit * (1 - 1e-4) or cost(x * (1 + 2e-4)) > limit


def test_largest_ends():
    assert largest(lambda x: x, 5.0, 1.0, 2.0) == 2.0
    with pytest.raises(PrivacyError, match="No value from 1 to 2"):
        largest(lambda x: x, 0.5, 1.0, 2.0)
    with pytest.raises(PrivacyError):
        largest(lambda x: float("nan"), 0.5, 1.0, 2.0)


@pytest.mark.parametrize("root", [1e-12, 0.3, 7.0])
def test_smallest_is_safe_and_tight(root):
    x = smallest(lambda x: x >= root, 0.0, 10.0)
    assert x >= root
    assert x <= root * (1 + 1e-8) + 1e-20


@pytest.mark.parametrize(("low", "high"), [(1e200, 1e300), (1e-300, 1e300), (1e-300, 1e-200)])
def test_largest_with_ends_far_apart(low, high):
    """Their product or their ratio is no float."""
    root = np.sqrt(low) * np.sqrt(high)
    assert largest(lambda x: log(x) + 1000, log(root) + 1000, low, high, 1e-9) == pytest.approx(root, rel=1e-5)


def test_smallest_ends():
    assert smallest(lambda x: True, 1.0, 2.0) == 1.0
    with pytest.raises(PrivacyError, match="No value from 1 to 2"):
        smallest(lambda x: False, 1.0, 2.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.4])
def test_gaussian_mu_calibrates_then_prices_below_the_target(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert Gaussian(mu).delta(epsilon) <= delta
    assert epsilon * (1 - 1e-9) <= Gaussian(mu).epsilon(delta) <= epsilon
    assert Gaussian(mu * (1 + 1e-6)).delta(epsilon) > delta


def test_gaussian_mu_far_out():
    for epsilon, delta in ((1e6, 1e-12), (1e6, 0.9), (1e-12, 1e-12), (1e3, 1e-300)):
        assert gaussian_delta(gaussian_mu(epsilon, delta), epsilon) <= delta
        assert gaussian_delta(gaussian_mu(epsilon, delta) * (1 + 1e-3), epsilon) > delta


def test_gaussian_mu_anchor_and_refusal():
    assert gaussian_mu(1.0, 1e-6) == pytest.approx(0.23670, abs=1e-5)
    with pytest.raises(PrivacyError, match="needs delta > 0"):
        gaussian_mu(1.0, 0.0)


def test_minimise_finds_the_bottom():
    assert minimise(lambda x: x + 4 / x, 1e-6, 1e6, 1e-6) == pytest.approx(2.0, rel=1e-3)
    assert minimise(lambda x: x, 1e-3, 1.0) == pytest.approx(1e-3, rel=1e-2)
    assert minimise(lambda x: -x, 1e-3, 1.0) == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize("start", [1e-6, 0.5, 2.0, 1e6])
def test_descend_finds_the_bottom_from_anywhere(start):
    probes = []

    def cost(x):
        probes.append(x)
        return x + 4 / x

    assert descend(cost, start, 1e-6, 1e6, 0.5, 1e-2) == pytest.approx(2.0, rel=2e-2)
    assert len(probes) == len(set(probes)) <= 25
    assert descend(lambda x: x, start, 1e-3, 1.0, 0.5, 1e-2) == pytest.approx(1e-3, rel=1e-2)
    assert descend(lambda x: -x, start, 1e-3, 1.0, 0.5, 1e-2) == pytest.approx(1.0, rel=1e-2)


def test_descend_is_not_deceived_by_a_wall():
    """Steep to the left, as a regret below its best cap: no parabola fits."""
    found = descend(lambda x: x + 1e6 * max(0.0, 7.0 - x), 30.0, 1.0, 1e4, 0.3, 1e-3)
    assert found == pytest.approx(7.0, rel=2e-2)


def test_descend_goes_right_from_infinity_and_left_on_a_plain():
    assert descend(lambda x: inf if x < 3 else x, 0.1, 1e-3, 1e3, 0.5, 1e-2) == pytest.approx(3.0, rel=0.05)
    assert descend(lambda x: 1.0, 5.0, 1e-3, 1e3, 0.5, 1e-2) == pytest.approx(1e-3)
    assert descend(lambda x: x, 2.0, 2.0, 2.0, 0.5, 1e-2) == pytest.approx(2.0)
