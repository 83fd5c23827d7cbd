"""One contract for all learners that take advice: loop and array, late and missing feedback, states, bad input."""

from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LearnerContract, numbers, pytest_generate_tests
from tacit import InvalidInput, ProtocolError, Randomness
from tacit.algorithms import BatchedTsallis, LiveArms, PolicyArms, Responses
from tacit.problems import Arms, Policies

__all__ = ["pytest_generate_tests"]

POLICIES, ACTIONS, ROUNDS = 5, 3, 40
PROBLEM = Policies(n=POLICIES, actions=ACTIONS, horizon=ROUNDS)
LATE = Policies(n=POLICIES, actions=ACTIONS, horizon=ROUNDS, delay=4)
PRIVATE = Policies(n=POLICIES, actions=ACTIONS, horizon=ROUNDS, delay=3, recommendations="private")


def advice(rounds: int = ROUNDS):
    """Recommended actions, one row a round."""
    return list((numbers(rounds, POLICIES, name="advice") * ACTIONS).astype(np.int64))


def alike(part):
    """Losses that are the same for every action."""
    return np.tile(np.array(part, dtype=float)[:, None], ACTIONS)


def over_arms(problem: Policies, kind, *parameters, **named) -> PolicyArms:
    same = {name: getattr(problem, name) for name in ("n", "horizon", "delay", "adversary")}
    return PolicyArms(problem, kind(Arms(**same), *parameters, **named))


PLANS = {
    "responses": lambda: Responses(PROBLEM, 1.0, 1.0, 0.1),
    "responses, two rounds": lambda: Responses(PROBLEM, 1.0, 0.5, 0.3, rounds_per_person=2),
    "responses, taking turns": lambda: Responses(LATE, 1.0, 1.0, 0.1, 5),
    "responses, one late learner": lambda: Responses(LATE, 2.0, 2.0, 0.1, 1, relation="zero-out", missing=0.5),
    "responses, unknown horizon": lambda: Responses.calibrate(
        Policies(n=POLICIES, actions=ACTIONS, horizon=None), epsilon=1.0, delta=0.0
    ),
    "responses, unknown horizon, late": lambda: Responses.calibrate(
        Policies(n=POLICIES, actions=ACTIONS, horizon=None, delay=2), epsilon=1.0, delta=0.0
    ),
    "policies as arms": lambda: over_arms(PRIVATE, BatchedTsallis, 1.0, 2, 0.75, 0.05, 0.1),
    "policies as arms, live": lambda: over_arms(
        Policies(n=POLICIES, actions=ACTIONS, horizon=ROUNDS, adversary="stochastic"), LiveArms, 1.0, 4
    ),
}


class TestContract(LearnerContract):
    cases: ClassVar = {
        name: lambda name=name: (
            PLANS[name](),
            [0.25, 0.9] * (ROUNDS // 2),
            alike,
            advice(),
        )
        for name in PLANS
    }
    long: ClassVar = {
        name: lambda name=name: (PLANS[name](), numbers(1710).tolist(), alike, advice(1710))
        for name in ("responses, unknown horizon", "responses, unknown horizon, late")
    }


@pytest.mark.parametrize("name", ["responses", "policies as arms"])
@pytest.mark.parametrize(
    "context",
    [[0, 1, 2, 0], [0, 1, 2, 0, 3], [0, 1, 2, 0, -1], [0, 1, 2, 0, 0.5], np.ones((5, 3)), [np.nan] * 5, "x"],
    ids=["too few", "no action", "negative", "half", "too many", "NaN", "text"],
)
def test_recommendations_are_checked(name: str, context) -> None:
    learner = PLANS[name]().start(Randomness.replayable(1))
    before = repr(learner.state_dict())
    with pytest.raises(InvalidInput, match="recommendations"):
        learner.play(context)
    with pytest.raises(InvalidInput, match="recommendations"):
        learner.play()
    assert repr(learner.state_dict()) == before
    learner.play([0, 1, 2, 0, 1])
    with pytest.raises(ProtocolError, match="other recommendations"):
        learner.play([1, 1, 2, 0, 1])


@pytest.mark.parametrize("name", PLANS)
def test_only_the_loss_of_the_action_matters(name: str) -> None:
    plan, losses, contexts = PLANS[name](), numbers(ROUNDS, ACTIONS), np.array(advice())
    losses[numbers(ROUNDS, ACTIONS, name="gaps") < 0.1] = np.nan
    wanted = plan.start(Randomness.replayable(2)).run(losses, contexts=contexts)
    assert all(action in context for action, context in zip(wanted, contexts, strict=True))
    other = np.where(np.arange(ACTIONS) == wanted[:, None], losses, 1.0)
    np.testing.assert_array_equal(plan.start(Randomness.replayable(2)).run(other, contexts=contexts), wanted)


def test_weights_are_a_law_over_policies() -> None:
    learner = PLANS["responses, taking turns"]().start(Randomness.replayable(2))
    for number, context in enumerate(advice(20)):
        learner.decide(context)
        learner.settle(number, 0.3)
        assert learner.weights.shape == (POLICIES,)
        assert learner.weights.sum() == pytest.approx(1)
