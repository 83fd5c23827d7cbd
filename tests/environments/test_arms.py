"""Worlds of arms: their means, and simulations in them."""

import numpy as np
import pytest

import tacit
from tacit import Arms, InvalidInput
from tacit.environments import BernoulliArms, DecoyArms, DriftingArms
from tacit.environments.named import named_environment


def rng(seed=0):
    return np.random.default_rng(seed)


def test_bernoulli_arms_have_their_means():
    world = BernoulliArms((0.2, 0.5, 0.9), 20_000)
    losses = world.losses(rng())
    assert set(np.unique(losses)) == {0.0, 1.0}
    assert np.all(np.abs(losses.mean(axis=0) - world.means) < 5.5 * 0.5 / np.sqrt(20_000))
    assert (world.n, world.best_arm) == (3, 0)


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


def test_recordings():
    plan = tacit.plan(Arms(n=2, horizon=400), epsilon=2.0, delta=0.0)
    tacit.simulate(plan, tacit.environments.Replay(rng().random((400, 2))), runs=1)
    with pytest.raises(InvalidInput, match="arms"):
        tacit.simulate(plan, BernoulliArms((0.2, 0.8, 0.5), 400), runs=1)
