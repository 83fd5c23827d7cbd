"""Few draws, step by step, and columns of running sums: against their definitions."""

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.verification.chains import FewLeak, Profile, Walk, binomial, binomial_chances
from tacit.verification.facts import Facts
from tacit.verification.sums import Shift, _columns


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
    leak, walk = FewLeak(width, draws, 1.0, 0.0, []), Walk(width, 4.0, binomial(draws, 1.0, 1e-12), 1e-12)
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
            assert exact <= bound <= walk(np.array([epsilon]))[0]
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


BUFFERED = {"kind": "Buffered", "steps": 60, "decays": [0.5, 0.9, 0.99], "weights": [0.2, 0.1, 0.05]}


def coefficients(mechanism):
    pairs = list(zip(mechanism["weights"], mechanism["decays"], strict=True))
    return [mp.mpf(1)] + [mp.fsum(mp.mpf(w) * mp.mpf(d) ** k for w, d in pairs) for k in range(1, 60)]


@pytest.mark.parametrize("people", [1, 7, 60, 90])
def test_columns_of_a_person_in_neighbouring_steps(people):
    with mp.workdps(30):
        c = coefficients(BUFFERED)
        count = min(people, 60)
        windows = [mp.fsum(c[max(0, k - count + 1) : k + 1]) for k in range(60)]
        norm = min(mp.sqrt(mp.fsum(w**2 for w in windows)) * people / count, people * mp.sqrt(mp.fsum(x**2 for x in c)))
        shift = Shift(losses=True, units=8, dimension=2, sides=2, people=people)
        together, total = _columns(Facts(BUFFERED, "mechanism"), shift)
        assert float(together / norm) == pytest.approx(1, abs=1e-20)
        assert float(total / mp.fsum(c)) == pytest.approx(1, abs=1e-20)
