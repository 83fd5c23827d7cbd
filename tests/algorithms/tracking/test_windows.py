"""The regret of every window: exact expected losses of fixed share, over all windows of hostile streams."""

from dataclasses import replace
from math import tanh

import numpy as np
import pytest

from tacit.accounting.guarantee import REPLACE
from tacit.algorithms.tracking import LazyFixedShare, LimitedUpdates, NoisyMirrorDescent
from tacit.algorithms.tracking.limited_updates import noise_mean
from tacit.algorithms.tracking.thresholds import selection_regret
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking

ROUNDS, N = 240, 3


def tracking(adversary="oblivious", switches=2):
    return Tracking(n=N, horizon=ROUNDS, switches=switches, adversary=adversary)


def streams():
    """One expert after the other is the best one, for long, for short, and by coins."""
    for length in (120, 60, 17):
        best = np.arange(ROUNDS) // length % N
        yield 1.0 - np.eye(N)[best]
    yield (Randomness.replayable(1).stream("losses").random((ROUNDS, N)) < 0.5).astype(float)


def worst_windows(expected, losses, lengths=range(1, ROUNDS + 1)):
    """For each length, the largest regret of a window against the best expert in it."""
    ours = np.append(0.0, np.cumsum(expected))
    theirs = np.vstack([np.zeros(N), np.cumsum(losses, axis=0)])
    worst = []
    for length in lengths:
        gained = ours[length:] - ours[:-length]
        worst.append((gained - (theirs[length:] - theirs[:-length]).min(axis=1)).max())
    return np.array(worst)


def lazy_losses(plan, losses):
    """The exact expected loss of each round: paths drawn at the beginning of a batch move as the prior does."""
    prior = plan.paths
    weights, expected = prior.initial(), []
    move = prior.share / (N - 1)
    for first in range(0, ROUNDS, plan.batch):
        law = weights / weights.sum()
        for row in losses[first : first + plan.batch]:
            expected.append(law @ row)
            law = (1 - prior.share - move) * law + move
        prior.advance(weights, losses[first : first + plan.batch])
    return np.array(expected)


@pytest.mark.parametrize("batch", [1, 4])
def test_lazy_fixed_share(batch):
    plan = LazyFixedShare(tracking(), eta=0.3, force=0.1, batch=batch)
    bounds = [float(plan.window_regret(length)) for length in range(1, ROUNDS + 1)]
    nearest = 0.0
    for losses in streams():
        worst = worst_windows(lazy_losses(plan, losses), losses)
        assert (worst <= bounds).all()
        nearest = max(nearest, (worst / bounds)[30:].max())
    assert nearest > 0.45, "and not far under it"
    assert bounds[0] == 1.0
    whole = float(plan.window_regret(ROUNDS))
    assert whole < float(plan.regret_bound), "one expert is compared with, not a sequence"


@pytest.mark.parametrize("adversary", ["oblivious", "adaptive"])
def test_noisy_mirror_descent(adversary):
    """The mean over noises, with six standard errors."""
    plan = NoisyMirrorDescent(tracking(adversary), eta=0.3, scale=0.05, batch=4)
    bounds = [float(plan.window_regret(length)) for length in range(1, ROUNDS + 1)]
    for losses in streams():
        runs = []
        for seed in range(3):
            learner, expected = plan.start(Randomness.replayable(seed)), []
            for row in losses:
                learner.play()
                expected.append(learner._weights @ row)
                learner.observe(row)
            runs.append(worst_windows(np.array(expected), losses))
        assert (np.mean(runs, axis=0) <= bounds).all()
    assert bounds[-1] < ROUNDS


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


def test_limits_of_what_is_certified():
    capped = LazyFixedShare(tracking(), eta=0.3, force=0.1, max_redraws=30)
    free = LazyFixedShare(tracking(), eta=0.3, force=0.1)
    assert float(capped.window_regret(100)) > float(free.window_regret(100))
    wide = Tracking(n=N, horizon=ROUNDS, switches=2, loss_range=(-2.0, 2.0))
    assert float(LazyFixedShare(wide, eta=0.3, force=0.1).window_regret(100)) == pytest.approx(
        4 * float(free.window_regret(100))
    )
    alone = Tracking(n=1, horizon=10, switches=0)
    for plan in (LazyFixedShare(alone, eta=0.3, force=0.1), NoisyMirrorDescent(alone, eta=0.3, scale=1.0)):
        assert float(plan.window_regret(5)) < 1e-5
    for plan in (free, LimitedUpdates(tracking(), epsilon=1.0)):
        for bad in (0, ROUNDS + 1, 1.5):
            with pytest.raises(InvalidInput, match="rounds"):
                plan.window_regret(bad)


@pytest.mark.parametrize("batch", [1, 4])
def test_the_cost_of_late_losses_in_a_window(batch):
    late = LazyFixedShare(replace(tracking(), delay=3), eta=0.05, force=0.1, batch=batch)
    prompt = replace(late, problem=tracking())
    added = float(late.window_regret(200)) - float(prompt.window_regret(200))
    assert added == pytest.approx(200 * tanh(0.05 * (3 + batch - 1) / 4))
    assert "w tanh" in late.window_regret(200).formula
    assert "tanh" not in prompt.window_regret(200).formula
