"""Every attack on the life of noise that once worked, on the learners where it was measured.

The contract suite runs the same attacks on all learners; here each is written as it was carried out.
"""

import copy
import json
import pickle
import threading
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from attacks import rows
from planted_bugs.__main__ import run
from planted_bugs.life_of_noise import CONTROLS
from runtime.test_numerics import PROBLEMS
from tacit import (
    Bandit,
    Convex,
    Experts,
    InvalidInput,
    Lipschitz,
    PrivacyError,
    ProtocolError,
    Randomness,
    Stochastic,
)
from tacit.algorithms import (
    BanditFW,
    HedgeOnSums,
    LazyExperts,
    LipschitzGrid,
    OnlineToBatch,
    PrivateFTRL,
    Rounds,
)
from tacit.domains import Ball
from tacit.losses import CustomLoss
from tacit.planning.catalogue import CATALOGUE
from tacit.runtime.state import decode

TARGET = {"epsilon": 0.1, "delta": 1e-6}
GRADIENTS = Convex(
    domain=Ball(2), loss=CustomLoss(lambda x, z: float(x @ z), lambda x, z: z, lipschitz=1.0), horizon=60
)


@pytest.fixture(scope="module")
def ftrl():
    return PrivateFTRL.calibrate(GRADIENTS, **TARGET)


@pytest.fixture(scope="module")
def hedge():
    return HedgeOnSums.calibrate(Experts(n=3, horizon=60), **TARGET)


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_planted_bugs_are_found(control):
    assert run([control], show=False) == []


@pytest.mark.attack(rows.COPY)
def test_copies_do_not_carry_frozen_noise(ftrl):
    """Measured: after deepcopy or pickle every release carried one noise vector; exact gradients in 100% of rounds."""
    learner = ftrl.start(Randomness.replayable(1))
    rows = list(Randomness.replayable(2).stream("z").normal(size=(60, 2)))
    learner.run(rows[:20])
    twin = copy.deepcopy(learner)
    noises = []
    for row in rows[20:59]:
        twin.play()
        twin.observe(row)
        noises.append(twin._sums._buffers[-1].copy())
    assert len(np.unique(np.round(np.diff(noises, axis=0), 12), axis=0)) == 38  # fresh noise in every round
    for how in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ProtocolError, match=r"state_dict.*restore"):
            how(ftrl.start())


@pytest.mark.attack(rows.SHARE)
def test_one_secret_source_for_two_learners(hedge):
    """Measured: identical noise; the difference of two outputs was the private difference, exactly."""
    secret = Randomness.secret()
    first, second = hedge.start(secret), hedge.start(secret)
    rows = np.zeros((30, 3))
    first.run(rows)
    second.run(rows)
    assert not np.array_equal(first._sums._buffers, second._sums._buffers)


@pytest.mark.attack(rows.RESTORE)
def test_one_state_restored_twice(hedge):
    """Measured: both continuations drew the same noise; their difference was the data's."""
    learner = hedge.start()
    learner.run(np.zeros((30, 3)))
    state = json.loads(json.dumps(learner.state_dict()))
    ones, zeros = hedge.restore(state), hedge.restore(state)
    ones.run(np.ones((20, 3)))
    zeros.run(np.zeros((20, 3)))
    assert not np.allclose(ones._sums._buffers, zeros._sums._buffers)
    learner.load_state_dict(state)  # rolled back: fresh noise as well
    learner.run(np.zeros((20, 3)))
    assert not np.allclose(learner._sums._buffers, zeros._sums._buffers)


@pytest.mark.attack(rows.STEAL)
def test_a_stolen_state_does_not_give_past_noise_back():
    """Measured: a state stolen at round 500 held the generator's key, and all earlier noise was recomputed."""
    learner = LazyExperts(Experts(n=3, horizon=600), eta=0.1, force=0.1).start()
    learner.run(np.zeros((500, 3)))
    state = learner.state_dict()
    assert "streams" not in state
    assert set(state) == {
        *("warning", "version", "plan", "digest", "round", "open", "played", "switches", "action"),
        *("_total", "_held_loss", "_redraws", "_keep", "_choice"),
    }
    assert state["_keep"] == state["_choice"] == {}


SHOWN = ("rounds", "decided", "switches")


@pytest.mark.attack(rows.RAISE)
def test_a_function_sees_nothing_of_a_run_that_may_be_taken_back():
    """It looked, raised, and looked again at fresh noise: one record was read off at any epsilon."""
    plan = LipschitzGrid.calibrate(Lipschitz(dimension=1, horizon=4, adversary="stochastic"), epsilon=0.4, delta=1e-6)
    learner = plan.start()

    def spy(points):
        for name in SHOWN:
            with pytest.raises(ProtocolError, match=f"its '{name}' is not shown there"):
                getattr(learner, name)
        return np.abs(points[:, 0])

    assert len(learner.run([spy, spy])) == 2
    with pytest.raises(InvalidInput):
        learner.run([spy, [7.0]])
    assert learner.rounds == 2
    learner.play()
    learner.observe(lambda points: np.full(len(points), 0.1 * learner.rounds))  # complete rounds are no secret
    assert learner.rounds == 3


@pytest.mark.attack(rows.RAISE)
def test_a_thread_waits_for_the_end_of_a_run():
    learner = HedgeOnSums.calibrate(Experts(n=2, horizon=300_000), **TARGET).start()
    losses = np.zeros((200_000, 2))
    losses[-1, 0] = 2.0
    seen, over = [], threading.Event()

    def watch():
        while not over.is_set():
            seen.append((learner.rounds, learner.switches))

    thread = threading.Thread(target=watch)
    thread.start()
    with pytest.raises(InvalidInput):
        learner.run(losses)
    over.set()
    thread.join()
    assert set(seen) <= {(0, 0)}


@pytest.mark.attack(rows.RAISE)
def test_a_loss_that_saw_points_and_raises_gets_no_second_answer(ftrl):
    """Measured: the learner rolled back and replayed; the difference of leaders was the private value."""
    rows = [np.array([1.0, 0.0])] * 10
    for source in (Randomness.replayable(3), Randomness.secret()):
        learner = ftrl.start(source)
        with pytest.raises(InvalidInput):
            learner.run([*rows, "no vector"])
        assert learner.rounds == 10
        learner.observe(np.array([0.0, 1.0]))  # the round in hand was played


@pytest.mark.attack(rows.RAISE)
def test_bandit_values_that_raise_get_no_second_leader():
    """Measured: two leaders with the same noise and different values; their difference was the value."""
    plan = BanditFW.calibrate(
        Bandit(domain=Ball(2), lipschitz=1.0, value_range=(-1.0, 1.0), horizon=400), epsilon=1.0, delta=1e-6
    )
    learner = plan.start(Randomness.replayable(4))
    seen = []

    def values(points, first):
        seen.extend(points)
        if first > 200:
            raise RuntimeError
        return np.ones(len(points))

    with pytest.raises(RuntimeError):
        learner.run(Rounds(values, 400))
    assert learner.rounds > 200
    np.testing.assert_array_equal(learner.play(), seen[learner.rounds])


@pytest.mark.attack(rows.INTERRUPT)
def test_a_retry_after_an_interrupt_does_not_count_a_person_twice(hedge, monkeypatch):
    """Measured: 41 to 43% of interrupts left feedback absorbed and not counted; a retry added the person twice."""
    learner = hedge.start(Randomness.replayable(5))
    learner.play()
    honest = type(learner)._move

    def stopped(self, expert):
        honest(self, expert)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(learner), "_move", stopped)
    with pytest.raises(KeyboardInterrupt):
        learner.observe(np.zeros(3))
    monkeypatch.undo()
    with pytest.raises(ProtocolError, match="none was saved"):
        learner.observe(np.zeros(3))


@pytest.mark.attack(rows.FORGE)
def test_forged_states_are_refused(hedge):
    """Measured: a reset round counter, NaN totals and "replayable" relabelled "computational" were accepted."""
    learner = hedge.start(Randomness.replayable(6))
    learner.run(np.zeros((30, 3)))
    state = learner.state_dict()
    for edit in ({"round": 0}, {"randomness": "computational: AES-128-CTR keyed by the operating system"}):
        with pytest.raises(InvalidInput, match="changed after it was saved"):
            hedge.restore({**state, **edit})
    poisoned = {**state, "_sums": {**state["_sums"], "sum": state["_sums"]["buffers"]}}
    with pytest.raises(InvalidInput):
        hedge.restore(poisoned)
    assert decode(state["_sums"])["sum"].shape == (3,)
    assert not hedge.restore(state).guarantee.private


@pytest.mark.attack(rows.SWITCHES)
@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [(kind, algorithm) for kind, known in CATALOGUE.items() for algorithm in known],
    ids=lambda value: value.__name__,
)
def test_a_limit_on_switches_needs_a_horizon(kind, algorithm, record_property):
    """Measured: asked for 0 switches, an unknown horizon gave 4."""
    record_property("attacked", algorithm.__name__)
    with pytest.raises((InvalidInput, PrivacyError), match=r"max_switches=0|horizon"):
        algorithm.calibrate(replace(PROBLEMS[kind], horizon=None), epsilon=1.0, delta=1e-6, max_switches=0)


@pytest.mark.parametrize("bad", [np.nan, 1e308, "error"])
def test_gradients_that_are_none_count_as_zero(bad):
    """Measured: gradients that overflow, or are NaN at a model on the way, raised in mid-stream."""

    def gradient(x, z):
        if not z or not np.any(x):
            return np.array([0.1, 0.0])
        if bad == "error":
            raise OverflowError
        return np.array([bad, -bad])

    loss = CustomLoss(lambda x, z: 0.0, gradient, lipschitz=1.0)
    problem = Stochastic(domain=Ball(2), loss=loss, horizon=40)
    plan = OnlineToBatch.calibrate(problem, epsilon=1.0, delta=1e-6, smoothness=1.0)
    learner = plan.start(Randomness.replayable(8))
    learner.run([False, True] * 20)
    assert np.isfinite(learner.model).all()


@pytest.mark.attack(rows.NAMED)
def test_refused_values_are_not_named():
    learner = LazyExperts(Experts(n=3, horizon=20), eta=0.1, force=0.1).start()
    learner.play()
    with pytest.raises(InvalidInput, match="the one of expert 1 is not") as error:
        learner.observe([0.5, 1.7345, 0.5])
    assert "1.7345" not in str(error.value)
    with pytest.raises(InvalidInput, match="expert 2 in row 3 is not") as error:
        learner.run([[0.5, 0.5, 0.5]] * 3 + [[0.5, 0.5, -0.7345]])
    assert "0.7345" not in str(error.value)


@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize("inner", ["observe", "decide", "run", "load_state_dict"])
@pytest.mark.parametrize("outer", ["observe", "settle", "run"])
def test_a_loss_that_uses_the_learner_counts_no_round_twice(outer, inner, delay):
    """One played round was counted twice, or settle() lost its slot in a KeyError."""

    def gradient(x, data):
        if data == "ask" and not asked:
            asked.append(x)
            again = state if inner == "load_state_dict" else ["more"] if inner == "run" else "more"
            getattr(learner, inner)(*(() if inner == "decide" else (again,)))
        return [0.5, 0.0]

    loss = CustomLoss(lambda x, data: 0.0, gradient, lipschitz=1.0)
    problem = Convex(domain=Ball(2), loss=loss, horizon=20, delay=delay)
    learner, asked = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).start(), []
    state = learner.state_dict()
    learner.decide() if outer == "settle" else learner.play()
    before = learner.decided
    kept = outer == "settle" and delay and inner in ("decide", "run")  # its round is still open
    call = {"observe": ("ask",), "settle": (0, "ask"), "run": (["ask"],)}[outer]
    with nullcontext() if kept else pytest.raises(ProtocolError):
        getattr(learner, outer)(*call)
    assert learner.decided <= before + (inner in ("decide", "run"))
    assert learner._sums.step == learner.rounds <= learner.decided
