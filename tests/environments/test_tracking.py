import math

import numpy as np

from tacit.environments.tracking import (
    DriftingLosses,
    FingerprintPhases,
    PenaliseHeld,
    ShiftingBernoulli,
)
from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence


def stream(seed=1):
    return Randomness.replayable(seed).stream("environment")


def test_shifting_bernoulli_changes_its_best_expert_where_told():
    environment = ShiftingBernoulli(n=6, horizon=30_000, changes=(10_000, 17_000), gap=0.3, mean=0.6)
    losses = environment.losses(stream())
    best = environment.best(stream())
    assert losses.shape == (30_000, 6)
    assert set(np.unique(losses)) == {0.0, 1.0}
    assert best[0] != best[1] != best[2]
    for (start, end), expert in zip(((0, 10_000), (10_000, 17_000), (17_000, 30_000)), best, strict=True):
        means = losses[start:end].mean(axis=0)
        expected = np.where(np.arange(6) == expert, 0.3, 0.6)
        assert np.abs(means - expected).max() < 6 * 0.5 / math.sqrt(end - start)
    assert not environment.adaptive


def test_drifting_losses_stay_in_range_and_drift_slowly():
    environment = DriftingLosses(n=4, horizon=4000, periods=2.0)
    losses = environment.losses(stream())
    assert losses.min() >= 0
    assert losses.max() <= 1
    best = np.argmin(environment.means(), axis=1)
    assert set(best) == {0, 1, 2, 3}
    assert np.count_nonzero(np.diff(best)) == 8
    assert np.abs(np.diff(environment.means(), axis=0)).max() < 0.001


def test_penalise_held_makes_the_last_action_costly():
    opponent = PenaliseHeld(n=5, horizon=100, mean=0.0).start(stream())
    assert not opponent.respond(None).any()
    np.testing.assert_array_equal(opponent.respond(3), [0, 0, 0, 1, 0])
    assert PenaliseHeld.adaptive


def test_fingerprinting_closes_what_was_played():
    environment = FingerprintPhases(n=30, horizon=26, switches=1)
    assert environment.length == 13
    opponent = environment.start(stream())
    first = opponent.respond(None)
    assert (first[0::2] + first[1::2] == 1).all()
    played = []
    for t in range(1, 13):
        played.append(2 * t)
        losses = opponent.respond(2 * t)
        for action in played:
            assert losses[action] == losses[action + 1] == 1
        assert (losses[0::2] + losses[1::2] == 1).sum() == 15 - t
    again = opponent.respond(0)  # a new phase opens all pairs
    assert (again[0::2] + again[1::2] == 1).all()


def test_fingerprinting_leaves_the_comparator_a_good_expert():
    environment = FingerprintPhases(n=402, horizon=400, switches=1)
    opponent = environment.start(stream())
    action, rows, paid = None, [], 0.0
    for t in range(400):
        row = opponent.respond(action)
        action = 2 * (t % 200)  # a fresh pair each round, without looking at data
        paid += row[action]
        rows.append(row)
    assert best_switching_sequence(np.array(rows), 1)[0] < 0.1 * 400
    assert paid > 0.4 * 400
