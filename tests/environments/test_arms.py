"""Worlds of arms: their means, missing replies, and the estimate from a log."""

import numpy as np
import pytest

import tacit
from tacit import Arms, InvalidInput
from tacit.environments import BernoulliArms, DecoyArms, DriftingArms, LoggedArms
from tacit.environments.named import named_environment
from tacit.simulation.logs import evaluate


def rng(seed=0):
    return np.random.default_rng(seed)


def test_bernoulli_arms_have_their_means():
    world = BernoulliArms((0.2, 0.5, 0.9), 20_000)
    losses = world.losses(rng())
    assert set(np.unique(losses)) == {0.0, 1.0}
    assert np.all(np.abs(losses.mean(axis=0) - world.means) < 5.5 * 0.5 / np.sqrt(20_000))
    assert (world.n, world.best_arm) == (3, 0)
    assert BernoulliArms.with_gap(4, 10, best=2).means == (0.5, 0.5, 0.3, 0.5)


def test_missing_replies():
    losses = BernoulliArms((0.2, 0.5), 4000, missing=0.25).losses(rng())
    missing = np.isnan(losses)
    assert np.array_equal(missing[:, 0], missing[:, 1])
    assert abs(missing[:, 0].mean() - 0.25) < 5.5 * np.sqrt(0.1875 / 4000)


def test_the_decoy_turns():
    losses = DecoyArms(4, 20_000).losses(rng())
    assert losses[:10_000, 0].mean() < 0.35
    assert losses[10_000:, 0].mean() > 0.65
    assert losses.sum(axis=0).argmin() == 1


def test_drifting_arms_take_turns():
    losses = DriftingArms(3, 30_000).losses(rng())
    thirds = losses.reshape(3, 10_000, 3).mean(axis=1)
    assert len(set(thirds.argmin(axis=1).tolist())) > 1
    assert losses.sum(axis=0).argmin() == 0


@pytest.mark.parametrize("name", ["coins", "decoy", "rotating", "clicks", "swings", "broken", "falling"])
def test_simulations(name):
    problem = Arms(n=3, horizon=600, adversary="stochastic")
    plan = tacit.plan(problem, epsilon=2.0, delta=0.0)
    simulation = tacit.simulate(plan, named_environment(name, problem), runs=2)
    assert simulation.regret.shape[0] == 2
    assert simulation.mean[-1] <= simulation.bound or name != "coins"


def test_simulations_with_missing_replies_and_recordings():
    plan = tacit.plan(Arms(n=2, horizon=400), epsilon=2.0, delta=0.0)
    assert np.isfinite(tacit.simulate(plan, BernoulliArms((0.2, 0.8), 400, missing=0.3), runs=1).mean).all()
    tacit.simulate(plan, tacit.environments.Replay(rng().random((400, 2))), runs=1)
    with pytest.raises(InvalidInput, match="arms"):
        tacit.simulate(plan, BernoulliArms((0.2, 0.8, 0.5), 400), runs=1)


def test_a_log_estimates_what_a_plan_pays():
    generator = rng(4)
    means = np.array([0.2, 0.8, 0.8])
    arms = generator.integers(3, size=12_000)
    paid = (generator.random(12_000) < means[arms]).astype(float)
    plan = tacit.plan(Arms(n=3, horizon=3000, adversary="stochastic"), epsilon=2.0, delta=0.0)
    estimate = evaluate(plan, LoggedArms(arms, paid, 3))
    assert estimate.rounds == 3000
    live = BernoulliArms(tuple(means), 3000).losses(rng(5))
    pays = live[np.arange(3000), plan.run(live, tacit.Randomness.replayable(1))].mean()
    assert abs(estimate.mean_loss - pays) < 5.5 * (estimate.standard_error + 0.5 / np.sqrt(3000))
    assert estimate.logged_loss == pytest.approx(0.6, abs=0.03)
    assert estimate.mean_loss < 0.4


def test_bad_logs_and_worlds():
    for wrong in (([0, 3], [0.1, 0.2]), ([0, 0.5], [0.1, 0.2]), ([0], [0.1, 0.2])):
        with pytest.raises(InvalidInput):
            LoggedArms(*wrong, 3)
    log = LoggedArms([0, 1], [0.1, float("nan")], 2)
    assert "0.1" not in repr(log)
    plan = tacit.plan(Arms(n=3, horizon=10), epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidInput, match="'log'"):
        evaluate(plan, log)
    with pytest.raises(InvalidInput, match="'plan'"):
        evaluate(tacit.plan(tacit.Experts(n=2, horizon=10), epsilon=1.0, delta=1e-6), log)
    with pytest.raises(InvalidInput):  # a log has one loss a round
        tacit.simulate(tacit.plan(Arms(n=2, horizon=10), epsilon=1.0, delta=0.0), log, runs=1)
    with pytest.raises(InvalidInput):
        BernoulliArms((), 10)
    with pytest.raises(InvalidInput):
        BernoulliArms((0.5, 1.5), 10)
    with pytest.raises(InvalidInput, match="too short"):
        evaluate(tacit.plan(Arms(n=2, horizon=10), epsilon=1.0, delta=0.0), LoggedArms([0], [float("nan")], 2))
