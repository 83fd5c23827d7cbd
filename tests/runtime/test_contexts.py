"""Contexts of rounds: where decisions depend on them, and where they do not; loop, array, states, late feedback."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LearnerContract, pytest_generate_tests
from tacit import Arms, InvalidInput, ProtocolError, Randomness
from tacit.accounting.curves import Pure
from tacit.algorithms import LiveArms
from tacit.errors import TacitError
from tacit.runtime.learner import OptionLearner
from tacit.runtime.plan import OptionPlan
from tacit.runtime.target import RegretBound
from tacit.validation import Rows, check_number

__all__ = ["pytest_generate_tests"]

ARMS, ROUNDS = 3, 40


@dataclass(frozen=True)
class Advised(OptionPlan):
    """Play the recommended arm that has cost least, or once in a while a random one; not private."""

    problem: Arms
    released: ClassVar[str] = "every decision"
    theorem: ClassVar[str] = "none"
    released_streams: ClassVar[tuple[str, ...]] = ("coin",)
    _no_delay: ClassVar[str] = ""

    @property
    def curve(self):
        return Pure(1e9)

    @property
    def regret_bound(self):
        return RegretBound(self.trivial_regret, "T", ())

    @classmethod
    def _calibrate(cls, problem, target):
        return cls(problem)

    def _learner(self, randomness):
        return AdvisedLearner(self, randomness)


class AdvisedLearner(OptionLearner):
    """Keeps the recommendations and the decision of each open round."""

    _state = ("_paid", "_rounds_of")
    _stream_names = ("coin",)
    _takes_context = True
    _context = "recommendations"
    _reacts = True

    def __init__(self, plan, randomness):
        super().__init__(plan, randomness)
        self._paid, self._rounds_of, self._action = np.zeros(ARMS), np.zeros(ARMS, dtype=np.int64), 0

    def _check_context(self, context):
        recommended = np.array(context)
        fits = recommended.shape == (2,) and recommended.dtype == np.int64
        if not fits or not ((recommended >= 0) & (recommended < ARMS)).all():
            raise InvalidInput("The recommendations of Advised must be two whole numbers from 0 to 2.")
        return recommended

    _loaded_context = _check_context

    def _choose(self, number, context):
        if self._streams["coin"].random() < 0.2:
            return int(self._streams["coin"].integers(ARMS))
        return int(min(context, key=lambda arm: (self._paid[arm], arm)))

    def _check(self, loss):
        return None if loss is None else check_number("Advised", "loss", loss, above=0, below=1, closed_low=True)

    def _check_many(self, losses):
        return Rows("Advised", "losses", losses, ARMS)

    def _check_row(self, number, row):
        return self._check(float(row[self._opened[number][1]]))

    def _absorb(self, loss):
        _, arm = self._taken()
        self._paid[arm] += 0.5 if loss is None else loss
        self._rounds_of[arm] += 1

    def _consistent(self):
        return super()._consistent() and int(self._rounds_of.sum()) == self._round


def plan(delay=0):
    return Advised(Arms(n=ARMS, horizon=ROUNDS, delay=delay))


ADVICE = list(np.random.default_rng(3).integers(ARMS, size=(ROUNDS, 2)))


def alike(part):
    return np.tile(np.array(part, dtype=float)[:, None], ARMS)


class TestContract(LearnerContract):
    """The whole contract of learners, with a context in each round."""

    cases: ClassVar = {
        name: lambda delay=delay: (plan(delay), list(np.random.default_rng(4).random(ROUNDS)), alike, ADVICE)
        for name, delay in (("at once", 0), ("late", 3))
    }


def test_a_learner_without_contexts_refuses_one():
    learner = LiveArms(Arms(n=ARMS, horizon=ROUNDS), 1.0, 4).start(Randomness.replayable(1))
    before = learner.state_dict()
    for call in (learner.play, learner.decide, lambda given: learner.run(np.zeros((1, ARMS)), contexts=[given])):
        with pytest.raises(InvalidInput, match="LiveArms takes no context"):
            call([0, 1])
    assert learner.state_dict() == before
    assert "opened" not in before


def test_a_learner_with_contexts_asks_for_one():
    learner = plan().start(Randomness.replayable(1))
    before = learner.state_dict()
    for call in (learner.play, learner.decide, lambda: learner.run(np.zeros((1, ARMS)))):
        with pytest.raises(InvalidInput, match=r"Advised decides by the recommendations of each round"):
            call()
    for bad in ([0], [0, 3], [0.5, 1.0], "ab", [[0, 1]], {}):
        for call in (learner.play, learner.decide, lambda given: learner.run(np.zeros((1, ARMS)), contexts=[given])):
            with pytest.raises(TacitError):
                call(bad)
    with pytest.raises(InvalidInput, match=r"as many as its rows, 2\. Got 1 instead"):
        learner.run(np.zeros((2, ARMS)), contexts=[[0, 1]])
    assert learner.state_dict() == before


def test_a_round_in_hand_keeps_its_context():
    learner = plan().start(Randomness.replayable(1))
    arm = learner.play([0, 1])
    assert learner.play([0, 1]) == learner.play() == arm
    with pytest.raises(ProtocolError, match="Round 0 was played with other recommendations"):
        learner.play([0, 2])
    with pytest.raises(ProtocolError, match="Round 0 was played with other recommendations"):
        learner.run(np.zeros((1, ARMS)), contexts=[[0, 2]])
    assert learner.run(np.zeros((1, ARMS)), contexts=[[0, 1]]).tolist() == [arm]
    with pytest.raises(InvalidInput, match="Advised decides by"):
        learner.play()


def test_feedback_is_credited_to_the_decision_of_its_round():
    learner = plan(delay=2).start(Randomness.replayable(1))
    arms = [learner.decide(advice).action for advice in ADVICE[:3]]
    for number in (2, 0, 1):
        learner.settle(number, (number + 1) / 10)
    learner.decide(ADVICE[3])
    learner.decide(ADVICE[4])
    wanted = np.zeros(ARMS)
    for arm, paid in zip(arms[:2], (0.1, 0.2), strict=True):
        wanted[arm] += paid
    np.testing.assert_array_equal(learner._paid, wanted)


def test_states_hold_the_contexts_of_open_rounds():
    learner = plan(delay=2).start(Randomness.replayable(1))
    learner.decide(ADVICE[0])
    state = learner.state_dict()
    assert len(state["opened"]) == 1
    again = plan(delay=2).restore(state)
    with pytest.raises(InvalidInput):
        again.load_state_dict({**state, "opened": []})
    np.testing.assert_array_equal(again._opened[0][0], ADVICE[0])
