"""Measured regret on the moving target (distance .3 from the centre, jumps of deviation .1): uniform play has .31."""

import tracemalloc

import numpy as np
import pytest

from tacit.algorithms.bandit import BanditFW, Rounds
from tacit.algorithms.bandit.bandit_fw import BanditFWLearner
from tacit.domains import Ball
from tacit.environments.bandit import MovingTarget, Routing
from tacit.noise.randomness import Randomness


def regrets(world, seeds, delta=1e-6, **options):
    plan = BanditFW.calibrate(world.problem, epsilon=1.0, delta=delta, **options)
    found = []
    for seed in range(seeds):
        source = Randomness.replayable(seed)
        opponent = world.start(source.stream("world"))
        plan.start(source).run(Rounds(opponent.values, world.horizon, keep=False))
        found.append(opponent.regret / world.horizon)
    return np.array(found), float(plan.regret_bound) / world.horizon


def target(n, horizon):
    return MovingTarget(Ball(n, 0.5), horizon)


def of_fixed_play(world, points):
    """Regret per round of points that do not depend on what is seen."""
    opponent = world.start(Randomness.replayable(0).stream("world"))
    opponent.values(points, 0)
    return opponent.regret / world.horizon


def test_a_hundred_thousand_rounds():
    found, bound = regrets(target(2, 100_000), 5)
    assert found.mean() < 0.028
    assert found.max() < bound


@pytest.mark.slow
@pytest.mark.parametrize(("n", "limit"), [(2, 0.010), (10, 0.020)])
def test_a_million_rounds(n, limit):
    found, bound = regrets(target(n, 1_000_000), 5)
    assert found.mean() < limit
    assert found.max() < bound


def test_pure_privacy():
    found, bound = regrets(target(2, 100_000), 2, delta=0.0)
    assert found.mean() < 0.028
    assert found.max() < bound


def test_the_printed_noise_does_not_beat_uniform_play():
    world = target(2, 100_000)
    stream = Randomness.replayable(1).stream("uniform")
    points = stream.standard_normal((world.horizon, 2))
    points *= (0.5 * np.sqrt(stream.random(world.horizon)) / np.linalg.norm(points, axis=1))[:, None]
    uniform = of_fixed_play(world, points)
    assert uniform == pytest.approx(0.31, abs=0.01)
    found, _ = regrets(world, 2, calibration="paper")
    assert found.mean() > 0.8 * uniform


def test_with_the_printed_sign_regret_is_worse_than_uniform_play(monkeypatch):
    def uphill(self, slope):
        return self._solver.minimize(-slope).point

    monkeypatch.setattr(BanditFWLearner, "_leader", uphill)
    found, _ = regrets(target(2, 30_000), 2)
    assert found.mean() > 0.35  # uniform play has .31


def test_regret_per_round_falls_with_the_horizon():
    # The rate is T^(-1/4) up to logarithms; a slope fitted over a decade and a half is between -.6 and -.2.
    horizons = [4_000, 20_000, 100_000]
    means = [regrets(target(2, horizon), 3)[0].mean() for horizon in horizons]
    slope = np.polyfit(np.log(horizons), np.log(means), 1)[0]
    assert -0.6 < slope < -0.2


def test_routes_beat_the_centre_and_keep_the_bound():
    world = Routing(horizon=60_000)
    found, bound = regrets(world, 2)
    centre = of_fixed_play(world, np.tile(world.domain.centre, (world.horizon, 1)))
    assert found.mean() < 0.75 * centre
    assert found.max() < bound


def test_the_moments_and_errors_that_the_bound_counts_are_not_exceeded(monkeypatch):
    world = target(3, 10_000)
    plan = BanditFW.calibrate(world.problem, epsilon=1.0, delta=1e-6)
    gradients, leaders = [], []
    learner = plan.start(Randomness.replayable(2))
    observe = learner._core.observe

    def spy(gradient):
        gradients.append(gradient * plan.grid.step)
        leaders.append(learner._core.point)
        observe(gradient)

    monkeypatch.setattr(learner._core, "observe", spy)
    learner.run(world.start(Randomness.replayable(2).stream("world")).values)
    second_moment, lag, _ = plan.certified._terms(plan.zeta)
    assert np.mean(np.sum(np.square(gradients), axis=1)) <= second_moment
    exact = [world.domain.project(-plan.eta * s) for s in np.cumsum([np.zeros(3), *gradients[:-1]], axis=0)]
    errors = np.linalg.norm(np.array(leaders) - exact, axis=1)
    assert 0 < errors.sum() <= plan.eta * lag + 98 / np.sqrt(200)


def test_memory_does_not_grow_with_the_horizon():
    def peak(horizon):
        world = target(10, horizon)
        plan = BanditFW.calibrate(world.problem, epsilon=1.0, delta=1e-6)
        opponent, learner = world.start(Randomness.replayable(1).stream("world")), plan.start(Randomness.replayable(1))
        tracemalloc.start()
        learner.run(Rounds(opponent.values, horizon, keep=False))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1000)
    assert peak(80_000) < 2_000_000  # the points alone would be 6.4 MB
