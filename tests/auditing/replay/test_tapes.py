"""Record and replay: with all outputs frozen nothing else may differ, and what differs was paid for."""

import numpy as np
import pytest

from tacit import Experts, Randomness, Tracking
from tacit.algorithms import HedgeOnSums, LazyExperts, NoisyMirrorDescent
from tacit.auditing import attacks
from tacit.auditing.instances import instances
from tacit.auditing.tapes import certified_loss, loss_lower_bound, replay_choices, replay_noise
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


def test_replays_are_identical_and_as_tight_as_the_noise():
    for mechanism in (Tree(11), Buffered(11), LaplaceTree(11, 3), CubeTree(11, 3)):
        plan = HedgeOnSums(Experts(n=3, horizon=12), eta=0.1, mechanism=mechanism, privacy=0.8)
        stream = [np.zeros(3)] * 12
        result = replay_noise(plan, stream, [np.ones(3), *stream[1:]], generator(4))
        assert result.identical
        assert result.loss == pytest.approx(0.8, rel=1e-6)  # a lattice wastes less than two steps
        assert result.loss <= certified_loss(plan)
        same = replay_noise(plan, stream, stream, generator(4))
        assert same.identical
        assert same.loss == 0.0


@pytest.mark.parametrize("noise", ["cube", "laplace", "gaussian"])
@pytest.mark.parametrize("numerics", ["exact", "float"])
@pytest.mark.parametrize("batch", [1, 2])
def test_noise_on_vectors(noise, numerics, batch):
    plan = NoisyMirrorDescent.calibrate(
        Tracking(n=3, horizon=7, switches=1), epsilon=1.0, delta=1e-6, noise=noise, numerics=numerics, batch=batch
    )
    finding = attacks.replayed(instances(plan, "replayed noise")[0], generator(5), pairs=12)
    assert not finding.violation
    assert finding.tightness > 0.999


def test_losses_of_replayed_choices_are_exact():
    """The mean of e^{-loss} over transcripts is 1, and the bound on delta stays under the certificate."""
    plan = LazyExperts(Experts(n=3, horizon=20), eta=0.2, force=0.2)
    stream = [np.array([0.0, 1.0, 1.0])] * 20
    neighbour = [np.array([1.0, 0.0, 0.0]), *stream[1:]]
    source = generator(6)
    replays = [replay_choices(plan, stream, neighbour, source) for _ in range(300)]
    assert all(replay.identical for replay in replays)
    losses = [replay.log_ratio for replay in replays]
    ratios = np.exp(-np.array(losses))
    assert abs(ratios.mean() - 1) < 6 * ratios.std() / np.sqrt(len(ratios))
    assert 0 < loss_lower_bound(losses, 0.0, 1e-3) <= plan.guarantee.delta(0.0)
    assert max(map(abs, losses)) <= plan.guarantee.epsilon(0.0)
    assert loss_lower_bound([1.0], 0.0, 1e-3) == 0.0


def test_a_learner_that_leaks_beside_its_mechanisms_is_seen(monkeypatch):
    from tacit.algorithms.experts.lazy_experts import LazyExpertsLearner

    honest = LazyExpertsLearner._absorb

    def leaky(self, losses):
        honest(self, losses)
        if losses.sum() > 2:
            self._action = 0

    monkeypatch.setattr(LazyExpertsLearner, "_absorb", leaky)
    plan = LazyExperts(Experts(n=3, horizon=6), eta=0.2, force=0.2)
    stream = [np.zeros(3)] * 6
    results = [replay_choices(plan, stream, [np.ones(3), *stream[1:]], generator(seed)) for seed in range(8)]
    assert any(not result.identical for result in results)
