"""What every tracking learner promises, whichever algorithm it runs."""

import copy

import numpy as np
import pytest

from tacit.errors import InvalidInput, ProtocolError
from tacit.learners.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RestartOnShift,
    SampledFixedShare,
    lower_bound_warning,
)
from tacit.problems import Experts, Tracking
from tacit.randomness import Randomness

ROUNDS, EXPERTS = 1500, 4
PROBLEM = Tracking(n=EXPERTS, horizon=ROUNDS, switches=2)
PLANS = {
    "limited updates": LimitedUpdates(PROBLEM, epsilon=2.0),
    "restarts": RestartOnShift(PROBLEM, epsilon=4.0, interval=9, slope=0.5, margin=4.0),
    "lazy, markov": LazyFixedShare(PROBLEM, eta=0.1, force=0.05, batch=2),
    "lazy, uniform": LazyFixedShare(PROBLEM, eta=0.1, force=0.05, prior="uniform"),
    "lazy, capped": LazyFixedShare(PROBLEM, eta=0.1, force=0.05, max_redraws=30, delta=0.0),
    "sampled": SampledFixedShare(PROBLEM, eta=0.1, epoch=400),
    "mirror, laplace": NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0),
    "mirror, gaussian": NoisyMirrorDescent(PROBLEM, eta=0.05, scale=2.0, noise="gaussian"),
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
    state = copy.deepcopy(learner.state_dict())
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


def test_bad_losses_change_nothing(plan, losses):
    learner = plan.start(Randomness.replayable(5))
    learner.run(losses[:100])
    before = learner.state_dict()
    spoilt = losses[100:300].copy()
    spoilt[150, 2] = np.nan
    with pytest.raises(InvalidInput, match="row 150"):
        learner.run(spoilt)
    learner.play()
    for bad in ([0.0] * 3, [0.0, 0.0, 0.0, 2.0], [True] * 4):
        with pytest.raises(InvalidInput):
            learner.observe(bad)
    other = plan.restore(before)
    np.testing.assert_array_equal(learner.run(losses[100:]), other.run(losses[100:]))
    with pytest.raises(ProtocolError, match="planned for 1500 rounds"):
        learner.play()


def test_inputs_are_not_kept(plan, losses):
    learner, other = plan.start(Randomness.replayable(6)), plan.start(Randomness.replayable(6))
    for row in losses[:60]:
        mine = row.copy()
        assert learner.play() == other.play()
        learner.observe(mine)
        other.observe(row)
        mine[:] = 1.0
    np.testing.assert_array_equal(learner.run(losses[60:]), other.run(losses[60:]))


def test_play_is_idempotent_and_actions_are_experts(plan, losses):
    learner = plan.start(Randomness.replayable(7))
    assert learner.play() == learner.play()
    learner.observe(losses[0])
    actions = learner.run(losses[1:])
    assert actions.dtype == np.int64
    assert set(actions.tolist()) <= set(range(EXPERTS))
    assert learner.guarantee.randomness.startswith("replayable")


def test_unknown_horizons_double():
    problem = Tracking(n=3, horizon=None, switches=1, adversary="stochastic")
    losses = Randomness.replayable(1).stream("losses").random((2000, 3))
    for make in (LimitedUpdates, RestartOnShift, NoisyMirrorDescent):
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
