"""Worlds of policies: what each promises about its policies, and that regret is measured against the best of them."""

import numpy as np
import pytest

import tacit
from tacit import InvalidInput, Randomness
from tacit.algorithms import Responses
from tacit.environments import NeedlePolicy, SkilledPolicies
from tacit.simulation.loop import simulate_run

ROUNDS = 6_000


def dealt(world, seed=1):
    return world.in_context(Randomness.replayable(seed).stream("world"))


def followed(stream):
    """The mean loss of each policy, by the expected losses of what it recommends."""
    return np.take_along_axis(stream.means, stream.contexts, axis=1).mean(axis=0)


@pytest.mark.parametrize(
    ("world", "lead"),
    [
        (SkilledPolicies(8, ROUNDS, 4), 0.06 * 7 / 8),
        (NeedlePolicy(8, ROUNDS, 4, 0.08), 0.08 * 3 / 4),
        (NeedlePolicy(8, ROUNDS, 4, 0.2, "turning"), 0.2 * 3 / 4),
        (NeedlePolicy(8, ROUNDS, 4, 0.2, "lonely"), 0.2),
    ],
    ids=str,
)
def test_the_first_policy_is_the_best_by_what_was_asked(world, lead):
    stream, again = dealt(world), dealt(world)
    np.testing.assert_array_equal(stream.contexts, again.contexts)
    np.testing.assert_array_equal(stream.losses, again.losses)
    assert stream.contexts.shape == (ROUNDS, 8)
    assert stream.losses.shape == stream.means.shape == (ROUNDS, 4)
    assert set(np.unique(stream.losses)) == {0.0, 1.0}
    assert set(np.unique(stream.contexts)) == {0, 1, 2, 3}
    found = np.sort(followed(stream))
    assert int(np.argmin(followed(stream))) == 0
    assert found[1] - found[0] == pytest.approx(lead, abs=0.012)
    assert abs(stream.losses.mean() - stream.means.mean()) < 5.5 * 0.5 / np.sqrt(4 * ROUNDS)


def test_a_lonely_policy_is_alone():
    stream = dealt(NeedlePolicy(8, 500, 4, shape="lonely"))
    assert np.all(stream.contexts[:, 0] == 3)
    assert np.all(stream.contexts[:, 1:] < 3)


def test_regret_is_against_the_best_policy_in_hindsight():
    plan = Responses.calibrate(tacit.Policies(n=5, actions=3, horizon=300), epsilon=2.0, delta=0.0)
    world = SkilledPolicies(5, 300, 3)
    outcome = simulate_run(plan, world, 4, 0)
    actions, streams = outcome.detail["actions"], [dealt(world, seed) for seed in range(3)]
    assert len(actions) == 300
    assert outcome.regret[-1] == int(outcome.regret[-1])  # losses are coins: regret is in realised losses
    assert any(np.any(one.losses != streams[0].losses) for one in streams[1:])
    with pytest.raises(InvalidInput, match="5 policies"):
        simulate_run(plan, SkilledPolicies(4, 300, 3), 4, 0)
