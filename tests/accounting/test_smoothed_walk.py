"""The walk that dominates draws of bounded range: its lemma, its step, its law and what it does to deltas."""

from math import comb, exp, expm1, log

import mpmath
import numpy as np
import pytest

from tacit.accounting.chain_profiles import (
    MOST_POINTS,
    Draws,
    SmoothedWalk,
    WalkTooLong,
    log_moment,
    log_worst_moment,
    response,
    worst_end,
)


def smoothed(kappa, epsilon):
    """The profile of U."""
    epsilon = np.asarray(epsilon, dtype=float)
    positive = np.exp(-(kappa - 0.5) * np.maximum(epsilon, 0)) / (2 * kappa)
    negative = -np.expm1(np.minimum(epsilon, 0)) + np.exp((kappa + 0.5) * np.minimum(epsilon, 0)) / (2 * kappa)
    return np.where(epsilon >= 0, positive, negative)


def two_points(profile, width, end, epsilon):
    """A_t V: losses t and t - r."""
    up = -expm1(end - width) / -expm1(-width)
    return up * profile(epsilon - end) + (1 - up) * profile(epsilon - end + width)


def answered(profile, step, epsilon):
    """D V: losses a and -a."""
    up = 1 / (1 + exp(-step))
    return up * profile(epsilon - step) + (1 - up) * profile(epsilon + step)


def exact_profile(step, law, kappa, epsilon):
    """Sum over the number of draws and their ups, in 60 digits; `law` maps numbers of draws to probabilities."""
    with mpmath.workdps(60):
        a, k = mpmath.mpf(step), mpmath.mpf(kappa)
        up, total = 1 / (1 + mpmath.exp(-a)), mpmath.mpf(0)
        for draws, chance in law.items():
            for ups in range(draws + 1):
                x = mpmath.mpf(epsilon) - (2 * ups - draws) * a
                if x >= 0:
                    value = mpmath.exp(-(k - 0.5) * x) / (2 * k)
                else:
                    value = 1 - mpmath.exp(x) + mpmath.exp((k + 0.5) * x) / (2 * k)
                total += chance * mpmath.binomial(draws, ups) * up**ups * (1 - up) ** (draws - ups) * value
        return total


def binomial_law(count, chance, sure=0, cap=None):
    law = {}
    with mpmath.workdps(60):
        s = mpmath.mpf(chance)
        for k in range(count + 1):
            draws = sure + k if cap is None else min(sure + k, cap)
            law[draws] = law.get(draws, 0) + comb(count, k) * s**k * (1 - s) ** (count - k)
    return law


def test_the_lemma():
    """No pair A_t exceeds D behind U, whatever comes after: shifted profiles V_0 generate all of them."""
    rng = np.random.default_rng(1)
    worst = -1.0
    for _ in range(400):
        width = float(np.exp(rng.uniform(log(1e-3), log(4))))
        kappa = 0.5 + float(np.exp(rng.uniform(log(0.05), log(200))))
        step = response(width, kappa)
        span = 3 * width + 4 / kappa
        epsilon = np.linspace(-span, span, 401)
        bound = answered(lambda e, k=kappa: smoothed(k, e), step, epsilon)
        ends = [0.0, width / 2, width, worst_end(width, kappa - 0.5), *rng.uniform(0, width, 4)]
        for end in ends:
            worst = max(worst, np.max(two_points(lambda e, k=kappa: smoothed(k, e), width, end, epsilon) - bound))
    assert worst <= 1e-15


@pytest.mark.parametrize("width", [1e-8, 1e-4, 0.01, 0.5, 4.0])
@pytest.mark.parametrize("scaled", [1e-4, 9e-4, 1.1e-3, 0.05, 1.0, 10.0])
def test_step_and_moment_in_high_precision(width, scaled):
    kappa = max(scaled / width, 0.75)
    with mpmath.workdps(60):
        r, k = mpmath.mpf(width), mpmath.mpf(kappa)

        def moment(end):
            return (
                mpmath.sinh((r - end) / 2) * mpmath.exp(k * end) + mpmath.sinh(end / 2) * mpmath.exp(k * (end - r))
            ) / (mpmath.sinh(r / 2))

        order = k - mpmath.mpf(1) / 2
        end = mpmath.log(order * mpmath.expm1((order + 1) * r) / ((order + 1) * mpmath.expm1(order * r)))
        worst = moment(end)
        assert all(moment(r * share / 20) <= worst for share in range(21))
        a = mpmath.mpf(response(width, kappa))
        assert a >= r / 2
        assert mpmath.cosh(k * a) / mpmath.cosh(a / 2) >= worst
        assert mpmath.log(worst) <= log_worst_moment(width, float(order)) <= mpmath.log(worst) * (1 + 1e-5) + 1e-12
        less = a * (1 - mpmath.mpf(2e-6))
        assert less < r / 2 or mpmath.cosh(k * less) / mpmath.cosh(less / 2) < worst
    assert log_moment(width, float(order), 0.3 * width) <= log_worst_moment(width, float(order)) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize(
    ("draws", "law"),
    [
        (Draws([(30, 0.2)]), binomial_law(30, 0.2)),
        (Draws([(8, 1.0)]), {8: 1}),
        (Draws([(0, 0.3)]), {0: 1}),
        (Draws([(20, 0.1)], sure=3), binomial_law(20, 0.1, 3)),
        (Draws([(40, 0.3)], sure=1, cap=9), binomial_law(40, 0.3, 1, 9)),
        (Draws([(12, 1.0)], cap=5), {5: 1}),
        (Draws([(12, 0.5)], cap=0), {0: 1}),
    ],
    ids=lambda value: str(value) if isinstance(value, Draws) else "",
)
@pytest.mark.parametrize("tilt", [0.0, 2.0, 10.0])
def test_profiles_are_sums_over_the_walk(draws, law, tilt):
    width, kappa = 0.3, 20.0
    walk = SmoothedWalk(width, draws, kappa, tilt)
    for epsilon in (-0.7, 0.0, 0.11, 0.5, 1.3):
        exact = exact_profile(walk.step, law, kappa, epsilon)
        got = walk(np.array([epsilon]))[0]
        assert exact <= got
        # A tilt to the wrong side costs digits, never safety.
        assert got <= exact * (1 + mpmath.mpf(1e-9 if tilt < 10 or epsilon > 0 else 1e-5)) + mpmath.mpf(2e-13)


def test_two_kinds_of_tosses():
    width, kappa, epsilon = 0.3, 20.0, 0.4
    walk = SmoothedWalk(width, Draws([(10, 0.2), (6, 0.5)]), kappa, 1.0)
    one, other = binomial_law(10, 0.2), binomial_law(6, 0.5)
    law = {}
    for first, p in one.items():
        for second, q in other.items():
            law[first + second] = law.get(first + second, 0) + p * q
    assert walk(np.array([epsilon]))[0] == pytest.approx(float(exact_profile(walk.step, law, kappa, epsilon)), rel=1e-9)


def test_tiny_deltas_keep_their_digits():
    """Tilted, a delta of 1e-22 is as good as one of 1e-6."""
    width, kappa, draws = 0.1, 30.0, Draws([(60, 0.3)])
    law, found = binomial_law(60, 0.3), {}
    for tilt in (0.0, 20.0):
        walk = SmoothedWalk(width, draws, kappa, tilt)
        found[tilt] = walk(np.array([3.0]))[0]
        exact = exact_profile(walk.step, law, kappa, 3.0)
        assert found[tilt] >= exact
    assert exact < 1e-16
    assert found[20.0] <= exact * (1 + mpmath.mpf(1e-6))
    assert found[0.0] > 1.01 * float(exact)


def test_one_draw_more():
    walk, longer = (SmoothedWalk(0.3, Draws([(10, 0.4)], sure), 15.0, 3.0) for sure in (0, 1))
    epsilon = np.linspace(-1, 2, 30)
    kept, drawn = walk.kept_and_drawn(epsilon, epsilon)
    np.testing.assert_allclose(kept, walk(epsilon), rtol=1e-12)
    np.testing.assert_allclose(drawn, longer(epsilon), rtol=1e-9)
    assert np.all(drawn >= kept * (1 - 1e-9))


def test_far_epsilons_are_safe():
    walk = SmoothedWalk(0.2, Draws([(50, 0.5)]), 30.0, 8.0)
    far = walk(np.array([-1e3, -50.0, 60.0, 1e3, 1e6]))
    assert far[0] == far[1] == 1.0
    assert np.all(far[2:] <= 1e-30)


def test_walks_end_somewhere():
    for width, count in ((1e-12, 10), (5.0, 10), (0.01, MOST_POINTS**2)):
        with pytest.raises(WalkTooLong):
            SmoothedWalk(width, Draws([(count, 0.5)]), 30.0, 1.0)
