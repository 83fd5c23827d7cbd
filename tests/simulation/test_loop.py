"""The one simulation loop: repeatable, honest about regret, and strict about what fits together."""

import json

import numpy as np
import pytest

import tacit
from tacit import Experts, InvalidInput, Randomness
from tacit.algorithms import LazyExperts, ScheduledExperts
from tacit.environments import BernoulliGap, Replay, SwitchingAdversary
from tacit.simulation.loop import simulate

PROBLEM = Experts(n=4, horizon=600)
PLAN = LazyExperts(PROBLEM, eta=0.1, force=0.05)
GAP = BernoulliGap(4, 600, gap=0.2)


class Recorded(BernoulliGap):
    """A stream that keeps what it dealt."""

    def losses(self, generator):
        dealt.append(super().losses(generator))
        return dealt[-1]


dealt = []


@pytest.mark.parametrize("seed", [0, 5])
def test_regret_is_that_of_the_actions_played(seed):
    """Regret at every checkpoint, recomputed from the losses that were dealt and the actions that were played."""
    dealt.clear()
    result = simulate(PLAN, Recorded(4, 600, gap=0.2), runs=2, seed=seed)
    assert len(dealt) == 2
    losses, actions = dealt[-1], result.last["actions"]
    paid = np.cumsum(losses[np.arange(600), actions])
    best = np.cumsum(losses, axis=0).min(axis=1)
    at = result.rounds.astype(int) - 1
    np.testing.assert_allclose(result.regret[-1], (paid - best)[at], atol=1e-9)
    assert result.switches[-1] - np.count_nonzero(np.diff(actions)) in (0, 1)


def test_seeds_repeat_and_differ():
    first, again, other = (simulate(PLAN, GAP, runs=2, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.regret, again.regret)
    assert not np.array_equal(first.regret, other.regret)
    assert not np.array_equal(first.regret[0], first.regret[1])


def test_checkpoints_and_statistics():
    result = simulate(PLAN, GAP, runs=5, seed=3)
    assert (result.rounds[0], result.rounds[-1]) == (1, 600)
    assert np.all(np.diff(result.rounds) > 0)
    assert result.regret.shape == (5, len(result.rounds))
    np.testing.assert_allclose(result.standard_error, result.regret.std(axis=0, ddof=1) / np.sqrt(5))
    assert result.per_round == pytest.approx(result.regret[:, -1].mean() / 600)
    assert result.bound == float(PLAN.regret_bound)
    short = simulate(PLAN, BernoulliGap(4, 3), runs=1)
    np.testing.assert_array_equal(short.rounds, [1, 2, 3])
    np.testing.assert_array_equal(short.standard_error, 0.0)


def test_results_are_stamped_and_stored():
    result = simulate(PLAN, GAP, runs=2, seed=9)
    assert "replayable: not private" in result.summary()
    assert "LazyExperts" in result.summary()
    content = json.loads(json.dumps(result.to_dict()))
    assert content["seed"] == 9
    assert content["runs"] == 2
    assert content["rounds"] == 600
    assert content["certified_bound"] == result.bound


def test_progress_goes_to_standard_error(capsys):
    simulate(PLAN, GAP, runs=2, progress=True)
    captured = capsys.readouterr()
    assert "simulating: 2/2" in captured.err
    assert captured.out == ""
    simulate(PLAN, GAP, runs=2)
    assert capsys.readouterr().err == ""


def test_what_does_not_fit_is_refused():
    for runs in (0, 1.5, True):
        with pytest.raises(InvalidInput, match="'runs'"):
            simulate(PLAN, GAP, runs=runs)
    with pytest.raises(InvalidInput, match="'seed'"):
        simulate(PLAN, GAP, runs=1, seed=-1)
    with pytest.raises(InvalidInput, match="4 experts, the environment 5"):
        simulate(PLAN, BernoulliGap(5, 600), runs=1)
    with pytest.raises(InvalidInput, match="covers 600 rounds, the environment has 601"):
        simulate(PLAN, BernoulliGap(4, 601), runs=1)


# --- environments --------------------------------------------------------------------------------------------


def stream(seed=1):
    return Randomness.replayable(seed).stream("losses")


def test_bernoulli_gap():
    """Means within five standard deviations of 20,000 coins."""
    losses = BernoulliGap(3, 20_000, gap=0.1, mean=0.6).losses(stream())
    assert losses.shape == (20_000, 3)
    assert set(np.unique(losses)) == {0.0, 1.0}
    np.testing.assert_allclose(losses.mean(axis=0), [0.5, 0.6, 0.6], atol=5 * 0.5 / np.sqrt(20_000))
    np.testing.assert_array_equal(losses, BernoulliGap(3, 20_000, gap=0.1, mean=0.6).losses(stream()))


def test_switching_adversary_takes_turns():
    losses = SwitchingAdversary(4, 20_000, phase=50).losses(stream())
    assert set(np.unique(losses)) == {0.0, 1.0}
    np.testing.assert_array_equal(losses[:, 1], losses[:, 3])
    np.testing.assert_array_equal(losses[:, 1], 1 - losses[:, 2])
    phases = np.sum(np.diff(losses[:, 1]) != 0)
    assert 300 <= phases <= 500
    assert losses[:, 0].mean() < losses[:, 2].mean()


def test_replay():
    matrix = np.arange(6.0).reshape(3, 2) / 6
    environment = Replay(matrix)
    assert (environment.n, environment.horizon, environment.adaptive) == (2, 3, False)
    np.testing.assert_array_equal(environment.losses(stream()), matrix)
    result = simulate(LazyExperts(Experts(n=2, horizon=3), eta=0.1, force=0.1), Replay(matrix.tolist()), runs=2)
    assert result.regret.shape == (2, 3)


class TestMissing:
    """Feedback that never comes."""

    def test_missing_rounds_are_counted(self):
        plan = LazyExperts(Experts(n=4, horizon=600, delay=10), eta=0.1, force=0.05)
        result = simulate(plan, GAP, runs=4, missing=0.5)
        assert 250 < result.missing.mean() < 350
        assert result.bound == pytest.approx(float(plan.regret_bound) + result.missing.mean())
        assert "without feedback" in result.summary()
        assert result.to_dict()["mean_missing"] == result.missing.mean()

    @pytest.mark.parametrize(
        ("plan", "environment"),
        [
            (ScheduledExperts(PROBLEM, eta=0.1), SwitchingAdversary(4, 600)),
            (
                tacit.algorithms.PrivateFTRL.calibrate(
                    tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=60),
                    epsilon=1.0,
                    delta=1e-6,
                ),
                tacit.environments.LogisticStream(2, 60),
            ),
            (tacit.algorithms.BatchedTsallis(tacit.Arms(n=4, horizon=600), 1.0, 2, 0.75, 0.05, 0.1), GAP),
        ],
        ids=["adaptive", "convex", "arms"],
    )
    def test_every_game_takes_missing_feedback(self, plan, environment):
        result = simulate(plan, environment, runs=2, missing=0.3)
        assert 0.1 < result.missing.mean() / plan.horizon < 0.5
        assert np.isfinite(result.regret).all()


THREE_ROUNDS = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]


def test_a_learner_of_a_fixed_expert_is_compared_with_the_best_sequence():
    """Three rounds by hand: the best sequence (0, 0, 1) loses 0, the best fixed expert 1."""
    plan = tacit.algorithms.LazyExperts(tacit.Experts(n=2, horizon=3), eta=0.1, force=0.1)
    world = tacit.environments.Replay(np.array(THREE_ROUNDS))
    static = tacit.simulate(plan, world, runs=4, progress=False)
    dynamic = tacit.simulate(plan, world, runs=4, switches=1, progress=False)
    paid = np.array(
        [
            np.cumsum(
                np.array(THREE_ROUNDS)[
                    np.arange(3), tacit.simulate(plan, world, runs=run + 1, progress=False).last["actions"]
                ]
            )
            for run in range(4)
        ]
    )
    assert paid[:, -1].min() < paid[:, -1].max(), "some runs differ"
    np.testing.assert_array_equal(dynamic.regret, paid)
    np.testing.assert_array_equal(dynamic.regret[:, -1], static.regret[:, -1] + 1)
    assert dynamic.last["comparator"].tolist() == [0, 0, 1]
    assert (static.switches_allowed, dynamic.switches_allowed) == (None, 1)
    assert dynamic.bound == float("inf")
    assert "for which nothing is certified" in dynamic.summary()
    none = tacit.simulate(plan, world, runs=4, switches=0, progress=False)
    np.testing.assert_array_equal(none.regret[:, -1], static.regret[:, -1])
    assert none.bound == static.bound
    assert "at most 0 switches, certified regret" in none.summary()


def test_a_fixed_expert_on_a_stream_of_a_changing_world_by_name():
    plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=4, horizon=300), epsilon=1.0, delta=1e-6)
    found = tacit.simulate(plan, "shifting", runs=1, switches=2, progress=False)
    assert type(found.environment).__name__ == "ShiftingBernoulli"
    assert found.environment.changes == (100, 200)
    for name in ("drifting", "penalising"):
        assert tacit.simulate(plan, name, runs=1, switches=2, progress=False).regret.shape == (1, 256)


@pytest.mark.parametrize("switches", [-1, 1.5, 300])
def test_switches_that_are_none(switches):
    plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=4, horizon=300), epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="switches"):
        tacit.simulate(plan, "shifting", switches=switches)


def test_only_learners_of_a_fixed_expert_take_switches():
    problem = tacit.Tracking(n=4, horizon=300, switches=2)
    plan = tacit.algorithms.LazyFixedShare.calibrate(problem, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="has switches of its own"):
        tacit.simulate(plan, "shifting", switches=3)


def test_fingerprinting_by_name():
    problem = tacit.Tracking(n=102, horizon=100, switches=1, adversary="adaptive")
    plan = tacit.algorithms.NoisyMirrorDescent.calibrate(problem, epsilon=8.0, delta=0.0)
    found = tacit.simulate(plan, "fingerprint", runs=1, progress=False)
    assert type(found.environment).__name__ == "FingerprintPhases"
    assert found.environment.switches == 1
    few = tacit.Tracking(n=10, horizon=100, switches=1)
    with pytest.raises(InvalidInput, match=r"n >= 2 T/\(S\+1\) \+ 2 = 102"):
        tacit.simulate(tacit.algorithms.NoisyMirrorDescent.calibrate(few, epsilon=8.0, delta=0.0), "fingerprint")
