"""Attacks on the life of noise that once worked, where the contract of learners does not try them on all learners."""

import threading
from contextlib import nullcontext
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from attacks import rows
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
    CTRL,
    AveragedFTRL,
    BanditFW,
    HedgeOnSums,
    LazyExperts,
    LipschitzGrid,
    OnlineToBatch,
    PrivateFTRL,
    Rounds,
)
from tacit.domains import Ball
from tacit.losses import CustomLoss, LogisticLoss
from tacit.planning.catalogue import CATALOGUE

TARGET = {"epsilon": 0.1, "delta": 1e-6}
GRADIENTS = Convex(
    domain=Ball(2), loss=CustomLoss(lambda x, z: float(x @ z), lambda x, z: z, lipschitz=1.0), horizon=60
)


@pytest.fixture(scope="module")
def ftrl():
    return PrivateFTRL.calibrate(GRADIENTS, **TARGET)


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


class Seen(list):
    """What code of a user's has seen; at the seventh time it raises."""

    def look(self, *values):
        self.append(values)
        if len(self) == 7:
            raise RuntimeError


SEEN = Seen()


class OwnBall(Ball):
    def nearest(self, point):
        SEEN.look(point)
        return super().nearest(point)


class OwnLoss(LogisticLoss):
    def slope(self, margins, labels):
        SEEN.look(margins)
        return super().slope(margins, labels)


class OwnLearner:
    def play(self):
        return np.zeros(2)

    def observe(self, gradient):
        SEEN.look(gradient)


@pytest.mark.attack(rows.RAISE)
@pytest.mark.parametrize(
    ("algorithm", "own"),
    [*product([PrivateFTRL, AveragedFTRL, OnlineToBatch], ["loss", "set"]), (OnlineToBatch, "learner"), (CTRL, "set")],
)
def test_what_a_class_of_the_users_saw_is_not_taken_back(algorithm, own, record_property):
    """Each run that raised was taken back, and the next one showed the same people's sums under fresh noise."""
    record_property("attacked", algorithm.__name__)
    made = {"domain": (OwnBall if own == "set" else Ball)(2), "loss": (OwnLoss if own == "loss" else LogisticLoss)()}
    problem = (Convex if algorithm in (PrivateFTRL, CTRL) else Stochastic)(**made, horizon=200)
    inner = {"learner": OwnLearner() if own == "learner" else "subgradient", "batch": 1}
    options = {PrivateFTRL: {"rate": "practical"}, OnlineToBatch: inner}.get(algorithm, {})
    learner = algorithm.calibrate(problem, **TARGET, **options).start(Randomness.replayable(1))
    records = (np.tile([1.0, 0.0], (150, 1)), np.ones(150))
    SEEN.clear()
    with pytest.raises(RuntimeError):
        learner.run(records)
    for again in (lambda: learner.run(records), lambda: learner.observe((records[0][0], 1.0)), learner.state_dict):
        with pytest.raises(ProtocolError, match="cannot go on"):
            again()
    assert len(SEEN) == 7


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
