"""One contract for every learner over experts, whatever its algorithm."""

from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LearnerContract, pytest_generate_tests
from runtime.contract import losses as small_losses
from tacit import Experts, InvalidInput, Randomness
from tacit.algorithms import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.noise.running_sums import Tree

__all__ = ["pytest_generate_tests"]

SMALL = Experts(n=3, horizon=40)
WIDE = Experts(n=3, horizon=40, loss_range=(-2.0, 3.0))
OPEN = Experts(n=3, horizon=None)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
ROUNDS = 2300  # two whole blocks of 1024 rounds and a bit; two epochs of doubling and a bit
UNIT = Experts(n=3, horizon=ROUNDS)
RANGED = Experts(n=3, horizon=ROUNDS, loss_range=(-2.0, 3.0))
MANY = Experts(n=40, horizon=ROUNDS)

MAKERS = {
    "lazy": lambda: LazyExperts(UNIT, eta=0.05, force=0.02),
    "lazy, batch 3": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=3),
    "lazy, absolute": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=2, relative=False),
    "lazy, wide range": lambda: LazyExperts(RANGED, eta=0.05, force=0.02, batch=2),
    "lazy, 40 experts": lambda: LazyExperts(MANY, eta=0.05, force=0.0, batch=1),
    "lazy, batch beyond a block": lambda: LazyExperts(UNIT, eta=0.001, force=0.5, batch=1100),
    "lazy, one batch": lambda: LazyExperts(UNIT, eta=0.001, force=0.5, batch=ROUNDS),
    "lazy, capped": lambda: LazyExperts(UNIT, eta=0.05, force=0.02, batch=2, max_switches=20),
    "L2P": lambda: L2P(UNIT, eta=0.05, force=0.02),
    "L2P, wide range": lambda: L2P(RANGED, eta=0.05, force=0.02, reference_force=0.1, batch=3, slack=2.0),
    "scheduled": lambda: ScheduledExperts(UNIT, eta=0.05),
    "scheduled, wide range": lambda: ScheduledExperts(RANGED, eta=0.05, batch=7),
    "hedge": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=1e-6),
    "hedge, wide range": lambda: HedgeOnSums.calibrate(RANGED, epsilon=1.0, delta=1e-6),
    "hedge, fresh draws": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=1e-6, hold=False),
    "hedge, Laplace": lambda: HedgeOnSums.calibrate(UNIT, epsilon=1.0, delta=0.0),
    "hedge, padded tree": lambda: HedgeOnSums.calibrate(UNIT, mechanism=Tree(ROUNDS - 1), **TARGET),
    "doubling lazy": lambda: LazyExperts.calibrate(OPEN, **TARGET),
    "doubling L2P": lambda: L2P.calibrate(OPEN, **TARGET),
    "doubling scheduled": lambda: ScheduledExperts.calibrate(OPEN, **TARGET),
    "doubling hedge": lambda: HedgeOnSums.calibrate(OPEN, **TARGET),
}


@cache
def plan_of(name):
    return MAKERS[name]()


# Losses and calls are checked in one place for all plans of a class.
few = pytest.mark.parametrize("plan", ["lazy, wide range", "L2P", "scheduled", "hedge", "doubling lazy"], indirect=True)


@pytest.fixture(params=list(MAKERS))
def plan(request):
    """Each plan in turn."""
    return plan_of(request.param)


@cache
def _matrix(n, low, high):
    generator = Randomness.replayable(99).stream("losses")
    losses = generator.random((ROUNDS, n))
    coins = (generator.random((ROUNDS, n)) < 0.5).astype(float)
    losses[::2] = coins[::2]  # extremes and ties as well as general position
    losses[:, 0] *= 0.7
    return low + (high - low) * losses


def stream(plan):
    return _matrix(plan.problem.n, *plan.problem.loss_range).copy()


@pytest.fixture
def losses(plan):
    """A stream in the plan's range, its own copy."""
    return stream(plan)


@pytest.fixture
def start(plan):
    """Start the plan from one seed."""
    return lambda seed=5: plan.start(Randomness.replayable(seed))


def step(learner, row):
    action = learner.play()
    learner.observe(row)
    return action


def loop(learner, rows):
    return np.array([step(learner, row) for row in rows])


class TestContract(LearnerContract):
    """Two plans of each learner, and one of unknown horizon."""

    cases: ClassVar = {
        "lazy": lambda: (LazyExperts(WIDE, eta=0.3, force=0.1, batch=2), small_losses(3)),
        "lazy, capped": lambda: (LazyExperts(SMALL, eta=0.3, force=0.1, max_switches=4), small_losses(3)),
        "L2P": lambda: (L2P(SMALL, eta=0.3, force=0.1), small_losses(3)),
        "L2P, reference": lambda: (L2P(SMALL, eta=0.3, force=0.1, reference_force=0.1, batch=3), small_losses(3)),
        "scheduled": lambda: (ScheduledExperts(SMALL, eta=0.3), small_losses(3)),
        "scheduled, batches": lambda: (ScheduledExperts(WIDE, eta=0.3, batch=7), small_losses(3)),
        "hedge": lambda: (HedgeOnSums.calibrate(SMALL, **TARGET), small_losses(3)),
        "hedge, fresh": lambda: (HedgeOnSums.calibrate(SMALL, hold=False, **TARGET), small_losses(3)),
        "hedge, pure": lambda: (HedgeOnSums.calibrate(SMALL, epsilon=1.0, delta=0.0), small_losses(3)),
        "hedge, square root": lambda: (
            HedgeOnSums.calibrate(SMALL, mechanism=Tree(39), **TARGET),
            small_losses(3),
        ),
        "doubling": lambda: (LazyExperts.calibrate(OPEN, **TARGET), small_losses(3)),
    }
    # Cut in the first block's last round: loops and states cross into the second.
    long: ClassVar = {name: lambda name=name: (plan_of(name), list(stream(plan_of(name))[:1706])) for name in MAKERS}


# --- playing -------------------------------------------------------------------------------------------------


def test_decisions_are_experts_and_changes_are_counted(plan, start, losses):
    learner = start()
    assert isinstance(learner.play(), int)
    actions = learner.run(losses)
    assert actions.dtype == np.int64
    assert set(actions.tolist()) <= set(range(plan.problem.n))
    changes = np.flatnonzero(np.diff(actions)) + 1
    if plan.horizon is None:  # a new epoch is no switch
        changes = changes[~np.isin(changes, (1024, 1024 + 2048))]
    assert learner.switches - len(changes) in (0, 1)  # one more if the decision after the last round changed


@few
def test_every_layout_and_number_type_is_the_same(plan, start, losses):
    low, high = plan.problem.loss_range
    rough = np.where(losses > (low + high) / 2, high, low)[:1100]  # exact in every type
    wanted = start().run(rough)
    strided = np.repeat(np.repeat(rough, 2, axis=0), 3, axis=1)[::2, ::3]
    frozen = rough.copy()
    frozen.flags.writeable = False
    assert not strided.flags.c_contiguous
    types = (rough[:99].astype(kind) for kind in (np.float16, np.int64, np.int8))
    for matrix in (np.asfortranarray(rough), strided, frozen, rough.astype(np.float32), *types, rough[:99].tolist()):
        np.testing.assert_array_equal(start().run(matrix), wanted[: len(matrix)])
        np.testing.assert_array_equal(loop(start(), matrix[:20]), wanted[:20])


# --- bad input -----------------------------------------------------------------------------------------------

BAD_VALUES = (np.nan, np.inf, -np.inf)


def bad_rows(plan):
    n = plan.problem.n
    low, high = plan.problem.loss_range
    good = np.full(n, low)
    for at in (0, n - 1):
        for value in (*BAD_VALUES, np.nextafter(low, -np.inf), np.nextafter(high, np.inf), 1e300, -1e300):
            row = good.copy()
            row[at] = value
            yield row
            yield row.tolist()
    for first, second in ((np.inf, -np.inf), (np.nan, high)):
        yield np.append([first, second], good[2:])
    yield np.full(n, np.float32(high) + np.float32(1))
    yield from (good[:-1], np.append(good, low), good[None, :], good[:, None], low, [], {}, "text", b"text")
    yield from (np.zeros(n, dtype=bool), [True] * n, good.astype(complex), good.astype(str), good.astype(object))
    yield from ([low] * (n - 1) + ["x"], [[low], [low, low], [low]], [None] * n, np.array(["2020"] * n, dtype="M8[s]"))
    yield from ([10**400] + [low] * (n - 1), good.astype(np.longdouble))


@few
def test_bad_rows_raise_and_change_nothing(plan, start, losses):
    learner, untouched = start(), start()
    learner.run(losses[:1000])
    wanted = untouched.run(losses)[1000:]
    learner.play()
    before = learner.state_dict()
    for row in bad_rows(plan):
        with pytest.raises(InvalidInput):
            learner.observe(row)
    assert before == learner.state_dict()
    np.testing.assert_array_equal(loop(learner, losses[1000:1100]), wanted[:100])
    np.testing.assert_array_equal(learner.run(losses[1100:]), wanted[100:])


@pytest.mark.parametrize("at", [0, 950, 1299])
def test_a_bad_row_in_a_run_undoes_the_whole_run(plan, start, losses, at):
    learner = start()
    learner.run(losses[:100])
    learner.play()
    before = learner.state_dict()
    spoiled = losses[100:1400].copy()
    spoiled[at, -1] = BAD_VALUES[at % 3]
    with pytest.raises(InvalidInput, match=f"in row {at} "):
        learner.run(spoiled)
    assert before == learner.state_dict()
    np.testing.assert_array_equal(learner.run(losses[100:1400]), start().run(losses[:1400])[100:])


# --- what it says about itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [5, "seed", np.random.default_rng(1)], ids=["int", "text", "generator"])
def test_other_sources_of_randomness_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r"Randomness\.secret"):
        plan_of("lazy").start(wrong)


def test_mean_regret_is_under_the_certified_bound(plan, losses):
    """Twelve fixed seeds; losses of one good expert. A bound on the mean, so a margin of three standard errors."""
    total = losses.sum(axis=0)
    rounds = np.arange(len(losses))
    regrets = []
    for seed in range(12):
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[rounds, actions].sum() - total.min())
    bound = plan.regret_bound_at(len(losses)) if plan.horizon is None else plan.regret_bound
    error = np.std(regrets, ddof=1) / np.sqrt(len(regrets))
    assert np.mean(regrets) - 3 * error <= float(bound)
