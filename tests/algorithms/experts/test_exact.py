"""Learners whose decisions are exact: what they say, and that nothing but integers decides."""

import numpy as np
import pytest

from tacit import Experts, Randomness, Tracking
from tacit.algorithms import L2P, LazyExperts, LazyFixedShare, LimitedUpdates, ScheduledExperts
from tacit.noise import exact_draws as decisions
from tacit.noise.lattice import LOSS_UNITS, quantise_losses

PROBLEM = Experts(n=4, horizon=150)
PLANS = {
    "lazy": lambda: LazyExperts(PROBLEM, eta=0.2, force=0.05, batch=2),
    "lazy, absolute": lambda: LazyExperts(PROBLEM, eta=0.2, force=0.05, relative=False, max_switches=30),
    "L2P": lambda: L2P(PROBLEM, eta=0.2, force=0.05, reference_force=0.1, batch=2, slack=1.5),
    "scheduled": lambda: ScheduledExperts(PROBLEM, eta=0.2),
}


SHIFTING, STILL = (Tracking(n=4, horizon=150, switches=switches) for switches in (3, 0))
TRACKERS = {
    "limited updates": lambda: LimitedUpdates(STILL, epsilon=0.5),
    "shares": lambda: LazyFixedShare(SHIFTING, eta=0.3, force=0.1),
    "shares, no switches": lambda: LazyFixedShare(STILL, eta=0.3, force=0.1),
}


@pytest.fixture(params=list(PLANS))
def plan(request):
    return PLANS[request.param]()


@pytest.fixture
def losses():
    return Randomness.replayable(8).stream("losses").random((150, 4))


def played(plan, rows, seed=3):
    return plan.start(Randomness.replayable(seed)).run(rows)


@pytest.mark.parametrize("name", [*PLANS, *TRACKERS])
def test_decisions_looked_at_more_closely_are_the_same(name, losses, monkeypatch):
    """Every comparison is made again with more digits; what is below 2^-24 decides nothing."""
    plan = {**PLANS, **TRACKERS}[name]()
    wanted = played(plan, losses)
    assert len(set(wanted.tolist())) > 1
    np.testing.assert_array_equal(played(plan, quantise_losses(losses) / LOSS_UNITS), wanted)
    for name in ("COIN_MARGIN", "DRAW_MARGIN"):
        monkeypatch.setattr(decisions, name, 2.0)
    np.testing.assert_array_equal(played(plan, losses), wanted)


def test_losses_are_rounded_one_by_one_before_any_sum(plan, losses):
    """What a loss has below 2^-24 decides nothing, however many rounds there are."""
    learner = plan.start(Randomness.replayable(3))
    learner.run(losses[:100])
    total = learner._measure.total if isinstance(plan, L2P) else learner._total
    np.testing.assert_array_equal(total, quantise_losses(losses[:100]).sum(axis=0))


@pytest.mark.parametrize("low", [-2.0, 0.1, 1e-8])
def test_rescaled_losses_stay_on_the_lattice(low):
    """The ends of a range that float64 cannot divide evenly are 0 and 2^24."""
    problem = Experts(n=2, horizon=3, loss_range=(low, low + 0.3))
    learner = ScheduledExperts(problem, eta=0.1).start(Randomness.replayable(1))
    learner.run([[low, low + 0.3]] * 3)
    assert learner._total.tolist() == [0, 3 * LOSS_UNITS]
