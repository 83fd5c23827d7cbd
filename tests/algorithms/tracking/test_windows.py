"""The regret of every window of limited updates."""

import numpy as np
import pytest

from tacit.accounting.guarantee import REPLACE
from tacit.algorithms.tracking import LimitedUpdates
from tacit.algorithms.tracking.limited_updates import noise_mean
from tacit.algorithms.tracking.thresholds import selection_regret
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking

ROUNDS, N = 240, 3


def tracking(adversary="oblivious", switches=2):
    return Tracking(n=N, horizon=ROUNDS, switches=switches, adversary=adversary)


def worst_windows(expected, losses, lengths):
    """For each length, the largest regret of a window against the best expert in it."""
    ours = np.append(0.0, np.cumsum(expected))
    theirs = np.vstack([np.zeros(N), np.cumsum(losses, axis=0)])
    worst = []
    for length in lengths:
        gained = ours[length:] - ours[:-length]
        worst.append((gained - (theirs[length:] - theirs[:-length]).min(axis=1)).max())
    return np.array(worst)


def test_limited_updates():
    plan = LimitedUpdates(tracking("stochastic", 0), epsilon=4.0)
    assert float(plan.window_regret(ROUNDS)) == float(plan.regret_bound)
    assert 1.0 <= float(plan.window_regret(10)) < float(plan.window_regret(100)) < float(plan.regret_bound)
    assert float(LimitedUpdates(tracking("stochastic"), epsilon=4.0).window_regret(10)) == float("inf")


def test_all_windows_of_limited_updates_at_once():
    """Single runs. On fair coins all gaps are 0: luck alone must cover every window, and some come near."""
    rounds = 4096
    plan = LimitedUpdates(Tracking(n=N, horizon=rounds, switches=0, adversary="stochastic"), epsilon=0.5)
    lengths = np.unique(np.geomspace(40, rounds, 60).astype(int))
    luck = np.sqrt(2 * lengths * np.log(N * rounds * (rounds + 1) / 0.05))
    allowed = selection_regret(N, rounds, noise_mean(0.5, REPLACE, 1), lengths.astype(float), 0.025)
    bounds = [float(plan.window_regret(int(length), confidence=0.95)) for length in lengths]
    assert bounds == pytest.approx(np.minimum(lengths, allowed + luck + lengths / 2**24))
    nearest, gaps_nearest = 0.0, 0.0
    for seed in range(12):
        coins = Randomness.replayable(seed).stream("losses").random((rounds, N))
        for means in (np.full(N, 0.5), np.array([0.2, 0.9, 0.9])):
            losses = (coins < means).astype(float)
            played = plan.start(Randomness.replayable(seed)).run(losses)
            worst = worst_windows(losses[np.arange(rounds), played], losses, lengths)
            assert (worst <= bounds).all()
            gaps = worst_windows(means[played], np.tile(means, (rounds, 1)), lengths)
            assert (gaps <= allowed).all()
            gaps_nearest = max(gaps_nearest, (gaps / allowed).max())
            if means[0] == 0.5:
                assert (worst <= luck).all()
                nearest = max(nearest, (worst / luck).max())
    assert nearest > 0.4, "luck without its logarithm would be exceeded"
    assert gaps_nearest > 0.15, "and so would gaps without theirs"


def test_what_all_windows_at_once_say():
    problem = Tracking(n=N, horizon=10**6, switches=0, adversary="stochastic", loss_range=(0.0, 2.0))
    plan = LimitedUpdates(problem, epsilon=8.0)
    sure = plan.window_regret(10**6, confidence=0.99)
    assert (sure.confidence, sure.assumptions[0]) == (0.99, "all windows of all lengths at once")
    assert float(plan.regret_bound) < float(plan.window_regret(10**6, confidence=0.9)) < float(sure) < 0.1 * 2e6
    assert float(plan.window_regret(10, confidence=0.9)) == 20.0
    alone = LimitedUpdates(Tracking(n=1, horizon=9, switches=0, adversary="stochastic"), epsilon=1.0)
    assert float(alone.window_regret(9, confidence=0.9)) == 0.0
    assert float(LimitedUpdates(tracking("stochastic"), epsilon=4.0).window_regret(10, confidence=0.9)) == float("inf")
    with pytest.raises(InvalidInput, match="confidence"):
        plan.window_regret(10, confidence=0.2)


@pytest.mark.parametrize("bad", [0, ROUNDS + 1, 1.5])
def test_windows_that_are_none(bad):
    with pytest.raises(InvalidInput, match="rounds"):
        LimitedUpdates(tracking(), epsilon=1.0).window_regret(bad)
