"""One contract for all learners of arms: loop and array, missing feedback, states, bad input, batches."""

from typing import ClassVar

import numpy as np
import pytest

import tacit
from attacks import rows
from runtime.contract import LearnerContract, numbers, pytest_generate_tests
from tacit import Arms, InvalidInput, ProtocolError, Randomness
from tacit.algorithms import BatchedTsallis, LiveArms, PhasedArms
from tacit.algorithms.arms.draws import Draws
from tacit.testing.rounds import streams

__all__ = ["pytest_generate_tests"]

ROUNDS = 700
STOCHASTIC = Arms(n=4, horizon=ROUNDS, adversary="stochastic")
RANGED = Arms(n=4, horizon=ROUNDS, adversary="stochastic", loss_range=(-1.0, 3.0))
PLANS = {
    "tsallis": lambda: BatchedTsallis(STOCHASTIC, 1.0, 2, 0.75, 0.05, 0.1),
    "tsallis, single": lambda: BatchedTsallis(STOCHASTIC, 3.0, 1, 0.5, 0.05, 0.1, relation="zero-out"),
    "tsallis, range": lambda: BatchedTsallis(RANGED, 1.0, 3, 0.5, 0.05, 0.1, rounds_per_person=2),
    "tsallis, long": lambda: BatchedTsallis(STOCHASTIC, 0.1, 30, 0.75, 0.05, 0.1),
    "phased": lambda: PhasedArms(STOCHASTIC, 1.0, 16),
    "phased, zero-out": lambda: PhasedArms(RANGED, 0.5, 9, relation="zero-out"),
    "phased, middle": lambda: PhasedArms(RANGED, 0.5, 9, relation="zero-out", missing=1.0),
    "live": lambda: LiveArms(STOCHASTIC, 1.0, 16),
    "live, late": lambda: LiveArms(Arms(n=4, horizon=ROUNDS, delay=3, adversary="stochastic"), 1.0, 2),
    "live, range": lambda: LiveArms(RANGED, 1.0, 8, rounds_per_person=2),
    "live, unknown horizon": lambda: LiveArms.calibrate(
        Arms(n=4, horizon=None, adversary="stochastic"), epsilon=1.0, delta=1e-6, rounds_per_person=3
    ),
    "phased, unknown horizon": lambda: PhasedArms.calibrate(
        Arms(n=4, horizon=None, adversary="stochastic"), epsilon=1.0, delta=1e-6
    ),
}


def replies(plan):
    """Losses in general position and at both ends of their range; some are missing."""
    low, high = plan.problem.loss_range
    chances, values = numbers(ROUNDS, name="kinds"), low + (high - low) * numbers(ROUNDS)
    kinds = np.select([chances < 0.1, chances < 0.2, chances < 0.3], [np.nan, low, high], values)
    return [None if np.isnan(loss) else loss for loss in kinds.tolist()]


def alike(part):
    """Losses that are the same for every arm."""
    return np.tile(np.array(part, dtype=float)[:, None], 4)


class TestContract(LearnerContract):
    """Draws did not say whether they are secret: a state without "streams" restored as private, replayable."""

    cases: ClassVar = {
        name: lambda name=name: (PLANS[name](), [0.25] * 40, alike)
        for name in ("tsallis", "phased", "phased, unknown horizon", "live", "live, late")
    }
    long: ClassVar = {name: lambda name=name: (PLANS[name](), replies(PLANS[name]()), alike) for name in PLANS}


@pytest.fixture(params=PLANS, scope="module")
def plan(request):
    return PLANS[request.param]()


@pytest.fixture
def losses(plan):
    rng = np.random.default_rng(9)
    low, high = plan.problem.loss_range
    rows = low + (high - low) * rng.random((ROUNDS, 4))
    rows[rng.random(rows.shape) < 0.05] = low
    rows[rng.random(rows.shape) < 0.05] = high
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def start(plan, seed=4):
    return plan.start(Randomness.replayable(seed))


def test_only_the_entries_of_the_played_arms_matter(plan, losses):
    wanted = start(plan).run(losses)
    other = np.where(np.arange(4) == wanted[:, None], losses, plan.problem.loss_range[1])
    np.testing.assert_array_equal(start(plan).run(other), wanted)


def test_bad_feedback_raises_and_changes_nothing(plan, losses):
    learner = start(plan)
    learner.run(losses[:30])
    learner.play()
    before = repr(learner.state_dict())
    low, high = plan.problem.loss_range
    for bad in (high + 1e-9, low - 1e-9, "1", True, 1j):
        with pytest.raises(InvalidInput):
            learner.observe(bad)
    for worse in (high + 1, low - 1, np.inf):
        rows = losses[30:60].copy()
        rows[7, 2] = worse
        with pytest.raises(InvalidInput, match="in row 7 for arm 2"):
            learner.run(rows)
    with pytest.raises(InvalidInput, match="shape"):
        learner.run(losses[:, :3])
    assert repr(learner.state_dict()) == before
    with pytest.raises(ProtocolError):
        start(plan).observe(0.5)


@pytest.mark.attack(rows.NAMED)
@pytest.mark.parametrize(
    "loss",
    ["0.1251", np.array([0.1251]), 0.1251j, 1251 * 10**400, np.inf, np.float32(1251)],
    ids=["text", "array", "complex", "huge", "infinite", "outside"],
)
def test_errors_do_not_name_the_loss(plan, loss):
    learner = start(plan)
    learner.play()
    with pytest.raises(InvalidInput, match="must be in") as caught:
        learner.observe(loss)
    assert "1251" not in str(caught.value)
    assert "inf" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["tsallis", "phased"])
def test_checks_see_all_streams(name):
    """Words and digits of bits, arms and noise; checks that looked at named streams alone saw none of them."""
    named = len(PLANS[name]().start()._streams)
    assert len(streams(start(PLANS[name]()))) == 6 + named


def test_contradictory_states_are_refused(plan, losses):
    learner = start(plan)
    learner.run(losses[:37])
    if plan.horizon is None:
        return
    good = learner._remembered()
    wrong = [("_filled", 10**6), ("_total", 10**6), ("_size", 10**6)]
    if isinstance(plan, LiveArms):
        for name, value in (("_done", good["_done"] + 10**6), ("_counts", good["_counts"][:3])):
            with pytest.raises(TypeError, match="expected"):
                learner._scatter({**good, name: value})
        wrong = [(name, good[name] + 10**6) for name in ("_counts", "_totals", "_recent")]
        wrong += [("_done", good["_done"] + 1)]
    for name, value in (*wrong, ("action", 9), ("round", 36)):
        learner._scatter({**good, name: value})
        assert not learner._consistent()
    learner._scatter(good)
    assert learner._consistent()


def test_a_missing_reply_adds_the_worst_loss():
    for relation in ("replace", "zero-out"):
        plan = BatchedTsallis(Arms(n=2, horizon=40), 1.0, 20, 0.5, 0.05, 0.1, relation=relation)
        assert (plan.fill, plan.release().steps_per_round) == (1.0, 1)
        learner = plan.start()
        learner.run(np.full((7, 2), np.nan))
        assert learner._total == 7


def test_a_missing_reply_adds_what_was_declared():
    declared = PhasedArms(RANGED, 1.0, 170, missing=0.0).start(Randomness.replayable(1))
    declared.run(np.full((169, 4), np.nan))
    assert abs(declared._total - 42) < 5.5 * np.sqrt(170 * 3 / 16)  # a quarter of the range
    for bad in ("best", 3.5, None, np.nan, True):
        with pytest.raises(InvalidInput, match="'missing'"):
            PhasedArms(RANGED, 1.0, 9, missing=bad)
    middle = {"missing": 0.5}
    exact = BatchedTsallis(Arms(n=2, horizon=40), 1.0, 20, 0.5, 0.05, 0.1, relation="zero-out", **middle).start()
    exact.play()
    exact.observe(None)
    assert exact._total == 1  # one half-step of two
    fair = BatchedTsallis(Arms(n=2, horizon=4000), 1.0, 4000, 0.5, 1e-4, 0.1, **middle).start(Randomness.replayable(1))
    fair.run(np.full((3000, 2), np.nan))
    assert abs(fair._total - 1500) < 5.5 * np.sqrt(750)


def test_a_batch_that_the_horizon_cuts_is_never_released():
    plan = BatchedTsallis(Arms(n=2, horizon=10), 1.0, 4, 0.5, 0.05, 0.1)
    learner = start(plan)
    drawn = []
    honest = learner._draws.noisy
    learner._draws.noisy = lambda total: drawn.append(1) or honest(total)
    learner.run(np.ones((10, 2)))
    assert len(drawn) == 2
    whole = start(BatchedTsallis(Arms(n=2, horizon=8), 1.0, 4, 0.5, 0.05, 0.1))
    whole._draws.noisy = lambda total: drawn.append(1) or 0
    whole.run(np.ones((8, 2)))
    assert len(drawn) == 3  # nothing is decided after the last batch: it is not released either


def test_bits_have_the_mean_of_the_loss():
    draws = Draws(Randomness.replayable(8), 1.0)
    count = 40_000
    bits = draws.bits(np.full(count, 0.3))
    assert abs(bits.mean() - 0.3) < 5.5 * np.sqrt(0.21 / count)
    assert not draws.bits(np.zeros(1000)).any()
    assert draws.bits(np.ones(1000)).all()


def test_the_planner_and_unknown_horizons():
    choice = tacit.plan(Arms(n=4, horizon=None, adversary="stochastic"), epsilon=1.0, delta=1e-6)
    assert choice.algorithm == "PhasedArms"
    assert choice.guarantee.at_delta == 0
    assert len(choice.start().run(np.random.default_rng(0).random((3000, 4)))) == 3000
    twice = tacit.plan(Arms(n=4, horizon=None), epsilon=1.0, delta=0.0, rounds_per_person=2)
    assert twice.guarantee.rounds_per_person == 2
    assert twice.plan.epoch(0).epsilon <= 0.5
