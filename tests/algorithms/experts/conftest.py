"""Every plan over experts, small enough to run in a blink and long enough to cross blocks and epochs."""

from functools import cache

import pytest

from tacit import Experts, Randomness
from tacit.algorithms import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.noise.running_sums import Tree

ROUNDS = 2300  # two whole blocks of 1024 rounds and a bit; two epochs of doubling and a bit
UNIT = Experts(n=3, horizon=ROUNDS)
WIDE = Experts(n=3, horizon=ROUNDS, loss_range=(-2.0, 3.0))
MANY = Experts(n=40, horizon=ROUNDS)
OPEN = Experts(n=3, horizon=None)
TARGET = {"epsilon": 1.0, "delta": 1e-6}

MAKERS = {
    "lazy": lambda: LazyExperts(UNIT, eta=0.05, force=0.02),
    "lazy, batch 3": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=3),
    "lazy, absolute": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=2, relative=False),
    "lazy, wide range": lambda: LazyExperts(WIDE, eta=0.05, force=0.02, batch=2),
    "lazy, 40 experts": lambda: LazyExperts(MANY, eta=0.05, force=0.0, batch=1),
    "lazy, batch beyond a block": lambda: LazyExperts(UNIT, eta=0.001, force=0.5, batch=1100),
    "lazy, one batch": lambda: LazyExperts(UNIT, eta=0.001, force=0.5, batch=ROUNDS),
    "lazy, capped": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=2, max_switches=20),
    "L2P": lambda: L2P(UNIT, eta=0.05, force=0.02),
    "L2P, wide range": lambda: L2P(WIDE, eta=0.05, force=0.02, reference_force=0.1, batch=3, slack=2.0),
    "scheduled": lambda: ScheduledExperts(UNIT, eta=0.05),
    "scheduled, wide range": lambda: ScheduledExperts(WIDE, eta=0.05, batch=7),
    "hedge": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=1e-6),
    "hedge, wide range": lambda: HedgeOnSums.calibrate(WIDE, epsilon=1.0, delta=1e-6),
    "hedge, fresh draws": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=1e-6, hold=False),
    "hedge, Laplace": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=0.0),
    "hedge, padded tree": lambda: HedgeOnSums.calibrate(UNIT, mechanism=Tree(ROUNDS - 1), **TARGET),
    "doubling lazy": lambda: LazyExperts.calibrate(OPEN, **TARGET),
    "doubling L2P": lambda: L2P.calibrate(OPEN, **TARGET),
    "doubling scheduled": lambda: ScheduledExperts.calibrate(OPEN, **TARGET),
    "doubling hedge": lambda: HedgeOnSums.calibrate(OPEN, **TARGET),
}


@cache
def made(name):
    return MAKERS[name]()


@pytest.fixture(params=list(MAKERS))
def plan(request):
    """Each plan in turn."""
    return made(request.param)


@cache
def _matrix(n, low, high):
    generator = Randomness.replayable(99).stream("losses")
    losses = generator.random((ROUNDS, n))
    coins = (generator.random((ROUNDS, n)) < 0.5).astype(float)
    losses[::2] = coins[::2]  # extremes and ties as well as general position
    losses[:, 0] *= 0.7
    return low + (high - low) * losses


@pytest.fixture
def losses(plan):
    """A stream in the plan's range, its own copy."""
    return _matrix(plan.problem.n, *plan.problem.loss_range).copy()


@pytest.fixture
def start(plan):
    """Start the plan from one seed."""
    return lambda seed=5: plan.start(Randomness.replayable(seed))
