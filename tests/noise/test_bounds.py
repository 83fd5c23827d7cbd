"""The constants are on the safe side of high-precision values, and the Gaussian curve covers the discrete law."""

from math import exp, sqrt

import mpmath
import numpy as np
import pytest
from scipy import stats

from tacit.noise.discrete_gaussian import SIGMA_SQUARED
from tacit.noise.sampler_bounds import (
    DELTA_EXPONENT_PER_DRAW,
    EXTRA_EPSILON_PER_DRAW,
    GAUSSIAN_SIGMA,
    SIGMA_ABOVE,
    WIDE_DISTANCE,
    WIDE_FAILURE,
    WIDE_SIGMA,
    WIDE_SIGMA_SQUARED,
    gaussian_slack,
    wide_step,
)


def poisson_error(r):
    """eps_r of Lemma 1."""
    return 2 * mpmath.nsum(lambda k: mpmath.exp(-2 * mpmath.pi**2 * r**2 * k**2), [1, 10])


def ratio_error(s, k):
    """The bound of Lemma 2."""
    epsilon = poisson_error(s / mpmath.sqrt(1 + k * k))
    return mpmath.log((1 + epsilon) / (1 - epsilon))


def test_scales_are_rounded_to_the_safe_side():
    with mpmath.workprec(200):
        assert 0 <= mpmath.sqrt(SIGMA_SQUARED - 4) / GAUSSIAN_SIGMA - 1 < 1e-15
        assert 0 <= SIGMA_ABOVE / mpmath.sqrt(SIGMA_SQUARED) - 1 < 1e-15
        assert 0 <= mpmath.sqrt(WIDE_SIGMA_SQUARED - 4) / WIDE_SIGMA - 1 < 1e-15
        assert 0 <= wide_step(0.3) / (mpmath.mpf(0.3) / mpmath.sqrt(WIDE_SIGMA_SQUARED - 4)) - 1 < 1e-15


def test_errors_of_a_draw_are_covered():
    with mpmath.workprec(300):
        inner, s = ratio_error(256, 128), 256 * mpmath.sqrt(1 + 128**2)
        law = 2 * inner + ratio_error(s, 16384)
        assert law < mpmath.mpf(2) ** -110.2
        kernel = poisson_error(mpmath.mpf(2)) * 1.01
        assert kernel < mpmath.mpf(2) ** -112.8
        assert 2 * (law + kernel) < EXTRA_EPSILON_PER_DRAW
        assert law + kernel < DELTA_EXPONENT_PER_DRAW


def test_errors_of_a_wide_draw_are_covered():
    """Kernel tail beyond 24 with r = 2, two roundings of a number below 13 sigma, and the law itself."""
    with mpmath.workprec(300):
        tail = 2 * mpmath.erfc(24 / (2 * mpmath.sqrt(2)))
        assert tail + ratio_error(mpmath.sqrt(SIGMA_SQUARED), 2**28) < WIDE_FAILURE
        distance = 24 / mpmath.mpf(WIDE_SIGMA) + 13 * mpmath.mpf(2) ** -52
        assert distance < WIDE_DISTANCE


def test_slack_grows_with_the_draws_and_is_rounded_up():
    slack = gaussian_slack(10**10)
    assert slack.epsilon == 10**10 * 2.0**-109
    assert slack.delta_exponent == slack.epsilon / 2
    assert slack.total_variation == 10**10 * 2.0**-179 < 1.4e-44
    many = 2**60 + 1
    assert gaussian_slack(many).epsilon > 2.0 ** (60 - 109)
    assert gaussian_slack(0).epsilon == 0.0


def hockey_stick(s, shift, epsilon):
    """max over events of P - e^epsilon Q, P a D(Z, s) and Q the same moved by `shift`; exact up to rounding."""
    k = np.arange(-int(40 * s), int(40 * s) + 1)
    weights = np.exp(-(k**2) / (2 * s**2))
    moved = np.exp(-((k - shift) ** 2) / (2 * s**2))
    return float(np.maximum(weights - exp(epsilon) * moved, 0).sum() / weights.sum())


def gaussian_delta(mu, epsilon):
    low, high = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    return float(stats.norm.cdf(low) - exp(epsilon) * stats.norm.cdf(high))


@pytest.mark.parametrize("s", [4, 8, 20, 256])
def test_the_smaller_gaussian_covers_the_discrete_one(s):
    for shift in {1, s // 4, s, 2 * s}:
        for epsilon in (0.0, 0.1, 0.3, 1.0, 3.0):
            exact, certified = hockey_stick(s, shift, epsilon), gaussian_delta(shift / sqrt(s**2 - 4), epsilon)
            assert exact <= certified * (1 + 1e-9) + 1e-13


def test_the_gaussian_of_the_same_variance_does_not():
    exact = hockey_stick(20, 5, 0.3)
    assert exact == pytest.approx(0.016216, abs=5e-7)
    assert gaussian_delta(5 / 20, 0.3) == pytest.approx(0.016210, abs=5e-7)
    assert gaussian_delta(5 / sqrt(396), 0.3) == pytest.approx(0.016493, abs=5e-7)
    assert gaussian_delta(5 / 20, 0.3) < exact < gaussian_delta(5 / sqrt(396), 0.3)
