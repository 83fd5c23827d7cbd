"""The worlds of the lower bounds: no learner has less than the floor in them, and who cheats has."""

import numpy as np
import pytest

import tacit
from tacit.environments.named import named_environment
from tacit.noise.randomness import Randomness
from tacit.planning.lower_bounds import chance_floor, floor, privacy_floor, signs_floor
from tacit.runtime.target import Target

DEVIATIONS = 6.0
"""Standard errors: a mean is off by more once in 10^9 tests."""


def stream(seed=1):
    return Randomness.replayable(seed).stream("worlds")


def mean_of(values):
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def regrets(plan, environment, runs):
    return mean_of(tacit.simulate(plan, environment, runs=runs, seed=3).regret[:, -1])


@pytest.mark.parametrize(
    "algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums, tacit.algorithms.ScheduledExperts]
)
def test_private_learners_pay_the_floor_by_privacy(algorithm):
    problem, target = tacit.Experts(n=50, horizon=60), Target(0.2, 1e-6)
    plan = algorithm.calibrate(problem, epsilon=0.2, delta=1e-6)
    mean, error = regrets(plan, tacit.environments.PerfectExpert(50, 60), 60)
    assert mean + DEVIATIONS * error >= privacy_floor(50, 60, target)


def test_who_is_not_private_pays_less():
    """Following the leader finds the perfect expert in one round: far less than a private learner's floor."""
    lost = []
    for _ in range(200):
        losses = tacit.environments.PerfectExpert(50, 60).losses(stream(len(lost)))
        played = np.append(0, np.argmin(np.cumsum(losses, axis=0)[:-1], axis=1))
        lost.append(losses[np.arange(60), played].sum() - losses.sum(axis=0).min())
    mean, error = mean_of(lost)
    assert mean + DEVIATIONS * error < 0.2 * privacy_floor(50, 60, Target(0.2, 1e-6))


@pytest.mark.parametrize("algorithm", [tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums])
def test_every_learner_has_the_luck_of_the_best_coin(algorithm):
    plan = algorithm.calibrate(tacit.Experts(n=8, horizon=100), epsilon=5.0, delta=1e-6)
    mean, error = regrets(plan, tacit.environments.FairCoins(8, 100), 150)
    exact = chance_floor(8, 100)
    assert abs(mean - exact) < DEVIATIONS * error  # on fair coins it is not only a bound
    assert error < 0.1 * exact


def test_phases_of_both_worlds_for_trackers():
    problem = tacit.Tracking(n=20, horizon=203, switches=3)
    target = Target(0.5, 1e-6)
    plan = tacit.algorithms.LazyFixedShare.calibrate(problem, epsilon=0.5, delta=1e-6)
    perfect = named_environment("perfect", problem)
    assert perfect == tacit.environments.PerfectExpert(20, 203, phases=4)
    losses = perfect.losses(stream())
    assert (losses.sum(axis=1) == 19).all()
    assert len(np.unique(np.argmin(losses[:200].reshape(4, 50, 20)[:, 0], axis=1))) > 1
    assert (np.ptp(losses[:200].reshape(4, 50, 20), axis=1) == 0).all()  # the same all through a phase
    mean, error = regrets(plan, perfect, 40)
    assert mean + DEVIATIONS * error >= 4 * privacy_floor(20, 50, target)
    mean, error = regrets(plan, named_environment("fair", problem), 40)
    assert mean + DEVIATIONS * error >= 4 * chance_floor(20, 50)
    assert float(floor(problem, target)) == pytest.approx(4 * max(chance_floor(20, 50), privacy_floor(20, 50, target)))


@pytest.mark.parametrize(
    "domain",
    [tacit.domains.Ball(3, radius=2.0), tacit.domains.Box([0.0, -1.0], [1.0, 2.0]), tacit.domains.Simplex(4)],
    ids=repr,
)
def test_points_of_convex_sets_pay_for_random_signs(domain):
    loss, rounds = tacit.losses.LinearLoss(lipschitz=1.5), 80
    problem = tacit.Convex(domain=domain, loss=loss, horizon=rounds)
    world = named_environment("signs", problem)
    gradients = world.data(stream())
    assert np.linalg.norm(gradients, axis=1) == pytest.approx(np.full(rounds, 1.5))
    ends = [domain.minimize_linear(sign * world.direction) for sign in (1, -1)]
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(domain.diameter)
    exact = 1.5 * domain.diameter / 2 * signs_floor(rounds)
    assert float(floor(problem, Target(1.0, 1e-6))) == pytest.approx(exact)
    plan = tacit.algorithms.PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    mean, error = regrets(plan, world, 120)
    assert abs(mean - exact) < DEVIATIONS * error
