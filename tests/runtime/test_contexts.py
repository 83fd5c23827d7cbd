"""Contexts of rounds: where decisions depend on them, and where they do not; tests of policies run the contract."""

import numpy as np
import pytest

from tacit import Arms, InvalidInput, Policies, ProtocolError, Randomness
from tacit.algorithms import LiveArms, Responses
from tacit.errors import TacitError

ARMS, ROUNDS = 3, 40
ADVICE = list(np.random.default_rng(3).integers(ARMS, size=(ROUNDS, 2)))


def plan(delay=0):
    return Responses.calibrate(Policies(n=2, actions=ARMS, horizon=ROUNDS, delay=delay), epsilon=1.0, delta=0.0)


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
        with pytest.raises(InvalidInput, match=r"Responses decides by the recommendations of each round"):
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
    with pytest.raises(InvalidInput, match="Responses decides by"):
        learner.play()


def test_feedback_is_credited_to_the_decision_of_its_round(monkeypatch):
    learner, taken = plan(delay=2).start(Randomness.replayable(1)), []
    honest = learner._taken
    monkeypatch.setattr(learner, "_taken", lambda: taken.append(honest()) or taken[-1])
    actions = [learner.decide(advice).action for advice in ADVICE[:3]]
    for number in (2, 0, 1):
        learner.settle(number, (number + 1) / 10)
    learner.decide(ADVICE[3])
    learner.decide(ADVICE[4])
    assert [action for _, action in taken] == actions[:2]
    np.testing.assert_array_equal([advice for advice, _ in taken], ADVICE[:2])


def test_states_hold_the_contexts_of_open_rounds():
    learner = plan(delay=2).start(Randomness.replayable(1))
    learner.decide(ADVICE[0])
    state = learner.state_dict()
    assert len(state["opened"]) == 1
    again = plan(delay=2).restore(state)
    with pytest.raises(InvalidInput):
        again.load_state_dict({**state, "opened": []})
    np.testing.assert_array_equal(again._opened[0][0], ADVICE[0])
