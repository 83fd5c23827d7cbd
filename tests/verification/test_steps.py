"""Few draws, step by step: a bound on every sequence of draws, and the best one where that is known."""

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.verification.chains import FewLeak, Profile, binomial_chances


def test_one_draw_is_the_worst_of_all():
    """max_t p_t (1 - e^{eps-t})_+, on a fine grid of t."""
    width, t = 0.7, np.linspace(0, 0.7, 20_001)
    profile = Profile(width, 1)
    drawn = profile.drawn()
    for epsilon in (-1.0, 0.0, 0.1, 0.43, 0.69, 0.8):
        up = np.expm1(t - width) / np.expm1(-width)
        exact = up * np.maximum(-np.expm1(epsilon - t), 0) + (1 - up) * np.maximum(-np.expm1(epsilon - t + width), 0)
        assert exact.max() <= drawn(epsilon) <= exact.max() * (1 + 1e-4) + 5e-6
        assert exact.max() <= profile.drawn_at(epsilon) <= exact.max() + 1e-9  # between places too


@pytest.mark.parametrize(
    ("count", "chance"), [(1, 0.3), (49, 0.2), (10**5, 0.0045), (10**6, 0.5), (10**6, 1e-12), (10**6, 1 - 1e-6)]
)
def test_binomial_chances_are_never_too_small_and_hardly_too_large(count, chance):
    reach = 8 * (count * chance * (1 - chance)) ** 0.5 + 4
    ups = np.unique(np.clip(np.linspace(count * chance - reach, count * chance + reach, 25), 0, count).astype(int))
    found = binomial_chances(np.array([count]), ups, chance)[0]
    with mp.workdps(40):
        p = mp.mpf(chance)
        for up, value in zip(ups.tolist(), found.tolist(), strict=True):
            exact = mp.binomial(count, up) * p**up * (1 - p) ** (count - up)
            assert exact <= value <= exact * (1 + mp.mpf(10) ** -10)


def test_steps_are_above_every_sequence_of_draws():
    width, draws = 0.4, 7
    leak = FewLeak(width, draws, 1.0, 0.0, [])
    generator = np.random.default_rng(1)
    closest = 0.0
    for attempt in range(30):
        losses, chances = np.zeros(1), np.ones(1)
        for end in generator.uniform(0, width, draws) if attempt else np.full(draws, width / 2):
            up = np.expm1(end - width) / np.expm1(-width)
            losses = np.concatenate([losses + end, losses + end - width])
            chances = np.concatenate([chances * up, chances * (1 - up)])
        for epsilon in (0.1, 0.8, 1.2):
            exact = np.sum(chances * np.maximum(-np.expm1(epsilon - losses), 0.0))
            bound = float(leak.delta(mp.mpf(epsilon)))
            assert exact <= bound
            closest = max(closest, exact / bound)
    assert closest > 0.9


@pytest.mark.parametrize(
    "algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.ScheduledExperts, tacit.algorithms.L2P]
)
def test_plans_of_a_few_tosses_follow_and_forged_ones_do_not(algorithm):
    problem = tacit.Experts(n=3, horizon=8)
    made = tacit.contract(algorithm.calibrate(problem, epsilon=1.0, delta=1e-6))
    verdict = tacit.verify(made)
    assert verdict.answer == "yes"
    assert 0.98 * made["epsilon"] < verdict.epsilon <= made["epsilon"]
    assert tacit.verify({**made, "epsilon": verdict.epsilon * 0.99}).answer == "no"
