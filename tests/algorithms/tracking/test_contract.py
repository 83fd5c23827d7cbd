"""What every tracking learner promises, whichever algorithm it runs."""

from typing import ClassVar

import numpy as np
import pytest

import tacit
from runtime.contract import LearnerContract, pytest_generate_tests
from runtime.contract import losses as small_losses
from tacit.algorithms.tracking import lower_bound_warning
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Tracking

__all__ = ["pytest_generate_tests"]

ROUNDS, EXPERTS = 1500, 4
PROBLEM = Tracking(n=EXPERTS, horizon=ROUNDS, switches=2)
PLANS = {
    "limited updates": tacit.algorithms.LimitedUpdates(PROBLEM, epsilon=2.0),
    "restarts": tacit.algorithms.RestartOnShift(PROBLEM, epsilon=4.0, interval=9, slope=0.5, margin=4.0),
    "lazy, markov": tacit.algorithms.LazyFixedShare(PROBLEM, eta=0.1, force=0.05, batch=2),
    "lazy, capped": tacit.algorithms.LazyFixedShare(PROBLEM, eta=0.1, force=0.05, max_redraws=30, delta=0.0),
    "on sums": tacit.algorithms.TrackingOnSums(PROBLEM, eta=0.05, mix=0.05, scale=2.0, block=7),
    "on sums, leader": tacit.algorithms.TrackingOnSums(PROBLEM, eta=1.0, mix=0.05, scale=2.0, block=11, base="leader"),
    "recent leader": tacit.algorithms.RecentLeader(PROBLEM, epsilon=2.0, block=50),
    "mirror, cube": tacit.algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, batch=7),
    "mirror, laplace": tacit.algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, noise="laplace"),
    "mirror, gaussian": tacit.algorithms.NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, noise="gaussian"),
}


SMALL = Tracking(n=3, horizon=40, switches=2)


class TestContract(LearnerContract):
    """Plans of each learner, short enough to run in a blink."""

    cases: ClassVar = {
        "limited updates": lambda: (tacit.algorithms.LimitedUpdates(SMALL, epsilon=2.0), small_losses(3)),
        "restarts": lambda: (
            tacit.algorithms.RestartOnShift(SMALL, epsilon=4.0, interval=4, slope=0.5, margin=1.0),
            small_losses(3),
        ),
        "lazy, markov": lambda: (tacit.algorithms.LazyFixedShare(SMALL, eta=0.3, force=0.1, batch=2), small_losses(3)),
        "on sums": lambda: (
            tacit.algorithms.TrackingOnSums(SMALL, eta=0.1, mix=0.1, scale=2.0, block=3),
            small_losses(3),
        ),
        "on sums, leader": lambda: (
            tacit.algorithms.TrackingOnSums(SMALL, eta=1.0, mix=0.1, scale=2.0, block=4, base="leader"),
            small_losses(3),
        ),
        "recent leader": lambda: (tacit.algorithms.RecentLeader(SMALL, epsilon=2.0, block=6), small_losses(3)),
        "mirror, cube": lambda: (tacit.algorithms.NoisyMirrorDescent(SMALL, eta=0.1, scale=2.0), small_losses(3)),
        "mirror, batches": lambda: (
            tacit.algorithms.NoisyMirrorDescent(SMALL, eta=0.1, scale=2.0, batch=6),
            small_losses(3),
        ),
        "mirror, laplace": lambda: (
            tacit.algorithms.NoisyMirrorDescent(SMALL, eta=0.1, scale=2.0, noise="laplace"),
            small_losses(3),
        ),
        "mirror, gaussian": lambda: (
            tacit.algorithms.NoisyMirrorDescent(SMALL, eta=0.1, scale=2.0, noise="gaussian"),
            small_losses(3),
        ),
    }


@pytest.fixture(params=list(PLANS))
def plan(request):
    return PLANS[request.param]


@pytest.fixture
def losses():
    return Randomness.replayable(9).stream("losses").random((ROUNDS, EXPERTS))


def test_state_continues_bit_for_bit_in_mid_stream(plan, losses):
    learner = plan.start(Randomness.replayable(3))
    learner.run(losses[:701])
    learner.play()
    state = learner.state_dict()
    assert "PRIVATE" in state["warning"]
    restored = plan.restore(state)
    for row in losses[701:1100]:
        assert restored.play() == learner.play()
        restored.observe(row)
        learner.observe(row)
    np.testing.assert_array_equal(restored.run(losses[1100:]), learner.run(losses[1100:]))
    assert restored.switches == learner.switches


def test_other_loss_ranges_are_rescaled(plan, losses):
    problem = Tracking(n=EXPERTS, horizon=ROUNDS, switches=2, loss_range=(-4.0, 4.0))
    wide = type(plan)(problem, **plan.parameters)
    quarters = np.round(losses * 4) / 4  # exact in both ranges
    first = plan.start(Randomness.replayable(4)).run(quarters)
    np.testing.assert_array_equal(wide.start(Randomness.replayable(4)).run(quarters * 8 - 4), first)
    assert float(wide.regret_bound) == pytest.approx(8 * float(plan.regret_bound))


def test_unknown_horizons_double():
    problem = Tracking(n=3, horizon=None, switches=1, adversary="stochastic")
    losses = Randomness.replayable(1).stream("losses").random((2000, 3))
    for make in (
        tacit.algorithms.LimitedUpdates,
        tacit.algorithms.RestartOnShift,
        tacit.algorithms.NoisyMirrorDescent,
        tacit.algorithms.RecentLeader,
        tacit.algorithms.TrackingOnSums,
    ):
        plan = make.calibrate(problem, epsilon=1.0, delta=0.0)
        assert len(plan.start(Randomness.replayable(1)).run(losses)) == 2000
        assert plan.guarantee.epsilon() <= 1.0


def test_lower_bound_warning():
    problem = Tracking(n=10_000, horizon=10_000, switches=4, adversary="adaptive")
    assert "linear dynamic regret" in lower_bound_warning(problem, 0.01)
    assert lower_bound_warning(problem, 0.03) is None
    static = Tracking(n=10_000, horizon=10_000, switches=0, adversary="adaptive")
    assert lower_bound_warning(static, 0.009) is not None
    assert lower_bound_warning(Tracking(n=10, horizon=10_000, switches=4), 0.01) is None
    assert lower_bound_warning(Tracking(n=10, horizon=None, switches=4, adversary="adaptive"), 0.01) is None
    assert lower_bound_warning(Experts(n=10, horizon=100), 0.01) is None
    with pytest.raises(InvalidInput, match="epsilon"):
        lower_bound_warning(problem, 0.0)
