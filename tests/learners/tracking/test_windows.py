"""The regret of every window: exact expected losses of fixed share, over all windows of hostile streams."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.learners.tracking import LazyFixedShare, LimitedUpdates, NoisyMirrorDescent, SampledFixedShare
from tacit.problems import Tracking
from tacit.randomness import Randomness

ROUNDS, N = 240, 3


def tracking(adversary="oblivious", switches=2):
    return Tracking(n=N, horizon=ROUNDS, switches=switches, adversary=adversary)


def streams():
    """One expert after the other is the best one, for long, for short, and by coins."""
    for length in (120, 60, 17):
        best = np.arange(ROUNDS) // length % N
        yield 1.0 - np.eye(N)[best]
    yield (Randomness.replayable(1).stream("losses").random((ROUNDS, N)) < 0.5).astype(float)


def worst_windows(expected, losses):
    """For each length, the largest regret of a window against the best expert in it."""
    ours = np.append(0.0, np.cumsum(expected))
    theirs = np.vstack([np.zeros(N), np.cumsum(losses, axis=0)])
    worst = np.empty(ROUNDS + 1)
    for length in range(1, ROUNDS + 1):
        gained = ours[length:] - ours[:-length]
        worst[length] = (gained - (theirs[length:] - theirs[:-length]).min(axis=1)).max()
    return worst


def lazy_losses(plan, losses):
    """The exact expected loss of each round: paths drawn at the beginning of a batch move as the prior does."""
    prior = plan.paths
    weights, expected = prior.initial(), []
    move = prior.share / (N - 1)
    for first in range(0, ROUNDS, plan.batch):
        law = prior.law(weights, first).ravel() / prior.law(weights, first).sum()
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
        worst = worst_windows(lazy_losses(plan, losses), losses)[1:]
        assert (worst <= bounds).all()
        nearest = max(nearest, (worst / bounds)[30:].max())
    assert nearest > 0.45, "and not far under it"
    assert bounds[0] == 1.0
    whole = float(plan.window_regret(ROUNDS))
    assert whole < float(plan.regret_bound), "one expert is compared with, not a sequence"


def test_sampled_fixed_share():
    plan = SampledFixedShare(tracking("adaptive"), eta=0.3, epoch=100)
    bounds = [float(plan.window_regret(length)) for length in range(1, ROUNDS + 1)]
    nearest = 0.0
    for losses in streams():
        learner, expected = plan.start(Randomness.replayable(1)), []
        for row in losses:
            learner.play()
            expected.append(learner._weights @ row / learner._weights.sum())
            learner.observe(row)
        worst = worst_windows(np.array(expected), losses)[1:]
        assert (worst <= bounds).all()
        nearest = max(nearest, (worst / bounds)[30:].max())
    assert nearest > 0.5


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
            runs.append(worst_windows(np.array(expected), losses)[1:])
        assert (np.mean(runs, axis=0) <= bounds).all()
    assert bounds[-1] < ROUNDS


def test_limited_updates():
    plan = LimitedUpdates(tracking("stochastic", 0), epsilon=4.0)
    assert float(plan.window_regret(ROUNDS)) == float(plan.regret_bound)
    assert 1.0 <= float(plan.window_regret(10)) < float(plan.window_regret(100)) < float(plan.regret_bound)
    assert float(LimitedUpdates(tracking("stochastic"), epsilon=4.0).window_regret(10)) == float("inf")


def test_limits_of_what_is_certified():
    capped = LazyFixedShare(tracking(), eta=0.3, force=0.1, max_redraws=30)
    free = LazyFixedShare(tracking(), eta=0.3, force=0.1)
    assert float(capped.window_regret(100)) > float(free.window_regret(100))
    uniform = LazyFixedShare(tracking(), eta=0.3, force=0.1, prior="uniform")
    assert float(uniform.window_regret(100)) == 100.0, "nothing but what no learner exceeds"
    wide = Tracking(n=N, horizon=ROUNDS, switches=2, loss_range=(-2.0, 2.0))
    assert float(LazyFixedShare(wide, eta=0.3, force=0.1).window_regret(100)) == pytest.approx(
        4 * float(free.window_regret(100))
    )
    alone = Tracking(n=1, horizon=10, switches=0)
    for plan in (LazyFixedShare(alone, eta=0.3, force=0.1), NoisyMirrorDescent(alone, eta=0.3, scale=1.0)):
        assert float(plan.window_regret(5)) < 1e-5
    for plan in (free, SampledFixedShare(tracking(), eta=0.3, epoch=50), LimitedUpdates(tracking(), epsilon=1.0)):
        for bad in (0, ROUNDS + 1, 1.5):
            with pytest.raises(InvalidInput, match="rounds"):
                plan.window_regret(bad)
