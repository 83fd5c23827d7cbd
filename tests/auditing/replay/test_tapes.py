"""Record and replay: with all outputs frozen nothing else may differ, and what differs was paid for."""

import numpy as np
import pytest

from tacit import Experts, Randomness, Tracking
from tacit.algorithms import HedgeOnSums, NoisyMirrorDescent
from tacit.auditing import attacks
from tacit.auditing.tapes import certified_loss, replay_noise
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


def test_replays_are_identical_and_as_tight_as_the_noise():
    for mechanism in (Tree(11), Buffered(11), LaplaceTree(11, 3), CubeTree(11, 3)):
        plan = HedgeOnSums(Experts(n=3, horizon=12), eta=0.1, mechanism=mechanism, privacy=0.8)
        stream = [np.zeros(3)] * 12
        loss, differs = replay_noise(plan, stream, [np.ones(3), *stream[1:]], generator(4))
        assert not differs
        assert loss == pytest.approx(0.8, rel=1e-6)  # a lattice wastes less than two steps
        assert loss <= certified_loss(plan)
        assert replay_noise(plan, stream, stream, generator(4)) == (0.0, "")


@pytest.mark.parametrize("noise", ["cube", "laplace", "gaussian"])
@pytest.mark.parametrize("numerics", ["exact", "float"])
@pytest.mark.parametrize("batch", [1, 2])
def test_noise_on_vectors(noise, numerics, batch):
    plan = NoisyMirrorDescent.calibrate(
        Tracking(n=3, horizon=7, switches=1), epsilon=1.0, delta=1e-6, noise=noise, numerics=numerics, batch=batch
    )
    small = next(small for small in plan.small_instances() if small.attack == "replayed noise")
    finding = attacks.replayed(small, generator(5), pairs=12)
    assert not finding.violation
    assert finding.tightness > 0.999
