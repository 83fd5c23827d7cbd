"""Responses: certificates, their proof in numbers, the exact law, the learner's own formulas, measured regret."""

from functools import cache
from itertools import product
from math import log, sqrt

import numpy as np
import pytest

import tacit
from attacks import rows
from tacit import PrivacyError
from tacit.accounting.guarantee import EXACT
from tacit.algorithms import PolicyArms, Responses
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.policies.responses import ResponseCost
from tacit.auditing.arms import arms_law
from tacit.auditing.instances import alphabet
from tacit.auditing.script import ExactCurve
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Policies


@cache
def calibrated(n=100, actions=6, horizon=100_000, epsilon=1.0, delta=0.0, delay=0, **options) -> Responses:
    problem = Policies(n=n, actions=actions, horizon=horizon, delay=delay)
    plan = Responses.calibrate(problem, epsilon=epsilon, delta=delta, **options)
    assert isinstance(plan, Responses)
    return plan


TABLE = {
    (10, 3, 10**4): (1037, 334, 171), (100, 6, 10**5): (7231, 2330, 1190), (1000, 20, 10**6): (54440, 17540, 8956),
}  # fmt: skip


@pytest.mark.parametrize("cell", TABLE)
def test_certified_regret(cell) -> None:
    """Up to 3.5% below a certificate that bounds the classes that are not played more crudely: these numbers."""
    for epsilon, certified in zip((0.3, 1.0, 3.0), TABLE[cell], strict=True):
        plan = calibrated(*cell, epsilon)
        assert 0.965 * certified <= float(plan.regret_bound) <= certified
        n, actions, rounds = cell
        leading = sqrt(2 * (min(n, actions) - 1) * plan.release().variance * rounds * log(n))
        assert 0.9997 * leading <= float(plan.regret_bound) <= 1.008 * leading


@pytest.mark.parametrize(
    ("options", "certified"),
    [
        ({"relation": "zero-out", "missing": 0.5}, 1548),
        ({"relation": "zero-out"}, 2324),
        ({"rounds_per_person": 10}, 21480),
        ({"rounds_per_person": 10, "delta": 1e-6}, 21480),
        ({"rounds_per_person": 30, "delta": 1e-6}, 46940),
    ],
    ids=["zero-out, middle", "zero-out", "ten rounds", "ten rounds, delta", "thirty rounds, delta"],
)
def test_relations_and_several_rounds_per_person(options, certified: float) -> None:
    plan = calibrated(**options)
    assert float(plan.regret_bound) == pytest.approx(certified, rel=2e-3)
    target = options.get("delta", 0.0)
    assert 0.9998 <= plan.guarantee.epsilon(target) <= 1.0
    assert plan.guarantee.numerics == EXACT


LATE = {(10, 6): (3430, 5702, 15491), (100, 6): (4851, 8063, 21907), (100, 20): (8226, 10448, 22892)}
TURNS = {(10, 6): (2324, 5454, 16569), (100, 6): (3287, 7717, 23463), (100, 20): (6404, 15021, 45427)}


@pytest.mark.parametrize("size", LATE)
def test_late_feedback_takes_the_smaller_certificate(size) -> None:
    for delay, one, turns in zip((1, 10, 100), LATE[size], TURNS[size], strict=True):
        plan = calibrated(*size, delay=delay)
        assert float(calibrated(*size, delay=delay, copies=1).regret_bound) == pytest.approx(one, abs=2)
        assert float(calibrated(*size, delay=delay, copies=delay + 1).regret_bound) == pytest.approx(turns, abs=2)
        assert float(plan.regret_bound) == pytest.approx(min(one, turns), abs=2)
        assert plan.late == (one < turns)


@pytest.mark.parametrize(("n", "actions"), [(1, 5), (5, 1)])
@pytest.mark.parametrize("delay", [0, 20])
def test_nothing_to_choose_certifies_nothing_to_lose(n: int, actions: int, delay: int) -> None:
    plan = calibrated(n, actions, 1000, delay=delay)
    assert float(plan.regret_bound) == 0.0
    learner = plan.start(Randomness.replayable(1))
    assert learner.play([0] * n) == 0


def exact_step(plan: Responses, q: np.ndarray, losses: np.ndarray) -> float:
    """E [<q, y> + ln sum q e^{-eta y}/eta] of one round, by the credits of the learner itself."""
    total = 0.0
    release = plan.release()
    learner = plan.start(Randomness.replayable(0))
    for action in range(len(q)):
        for value, chance in zip(release.values, release.law(release.steps * int(losses[action])), strict=True):
            learner._scores[:] = 0.0
            learner._credit(np.arange(len(q)), q, action, float(value))  # one policy for each action
            y = learner._scores[0]
            total += q[action] * chance * (q @ y + np.log(q @ np.exp(-plan.eta * y)) / plan.eta)
    return total


@pytest.mark.parametrize("actions", [2, 3, 6])
def test_the_exact_step_is_below_the_certificate(actions: int) -> None:
    plan = calibrated(actions, actions, 2000)
    certified, rng, worst = plan.cost.stability(plan.eta), np.random.default_rng(3), 0.0
    for spread in (0.0, 0.3, 1.0, 3.0, 10.0):
        q = np.exp(spread * rng.standard_normal(actions))
        q /= q.sum()
        for losses in product((0, 1), repeat=actions):
            worst = max(worst, exact_step(plan, q, np.array(losses)))
    assert 0.97 * certified <= worst <= certified


@pytest.mark.parametrize("delay", [0, 3])
def test_credits_are_unbiased(delay: int) -> None:
    """The mean credit of a policy is the loss of its recommendation minus 1/2, whatever the weights are."""
    plan = calibrated(4, 3, 500, delay=delay, copies=1) if delay else calibrated(4, 3, 500)
    release, advice = plan.release(), np.array([0, 1, 1, 0])
    losses, weights = np.array([0.2, 0.9, 0.4]), np.array([0.1, 0.2, 0.3, 0.4])
    q = np.bincount(advice, weights, 3)
    mean = np.zeros(4)
    for action in (0, 1):
        for value, *laws in zip(release.values, release.law(0), release.law(release.steps), strict=True):
            chance = q[action] * (laws[0] * (1 - losses[action]) + laws[1] * losses[action])
            learner = plan.start(Randomness.replayable(0))
            with np.errstate(all="raise", divide="ignore"):
                learner._credit(advice, q, action, float(value))
            mean += chance * learner._scores[0]
    np.testing.assert_allclose(mean, losses[advice] - 0.5, atol=1e-12)


def test_late_credits_go_to_the_policies_that_agreed_then() -> None:
    """A response is credited by the recommendations and chances of its own round, not of the newest one."""
    problem = Policies(n=2, actions=2, horizon=50, delay=2)
    plan = Responses(problem, 3.0, 3.0, 0.2, 1)
    learner = plan.start(Randomness.replayable(4))
    first = learner.decide([0, 1]).action
    learner.settle(0, 1.0)
    learner.decide([1, 0]), learner.decide([1 - first, 1 - first])
    before = learner._scores.copy()
    learner.decide([1, 0])  # round 0 closes
    moved = (learner._scores - before)[0]
    low = -plan.release().overshoot
    assert moved[1 - first] == pytest.approx(low - 0.5)
    assert moved[first] - (low - 0.5) == pytest.approx(2 * (1 - 2 * low))  # its response is that of a loss of 1


def test_no_step_is_deeper_than_the_lemma_says() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        cost = ResponseCost(3, ClippedGeometric(1, epsilon))
        scale, baseline = cost._baseline(0.01, np.geomspace(1e-9, 1, 4000))
        deepest = float(((-cost.release.overshoot - baseline) / scale).min())
        assert cost.lowest <= deepest <= 0.999 * cost.lowest


EXACT_CASES = {
    "replace": {},
    "zero-out, middle": {"relation": "zero-out", "missing": 0.5},
    "taking turns": {"delay": 1, "copies": 2},
    "one late learner": {"delay": 1},
}


@pytest.mark.attack(rows.LAWS)
@pytest.mark.parametrize("case", EXACT_CASES)
def test_the_exact_law_meets_the_certified_one(case: str, record_property) -> None:
    """All neighbouring pairs of two rounds: the ratio is e^epsilon to nine digits, missing feedback among the data."""
    record_property("attacked", "Responses")
    options = dict(EXACT_CASES[case])
    problem = Policies(n=2, actions=2, horizon=3, delay=options.pop("delay", 0))
    plan = Responses(problem, 1.0, 1.0, 0.3, options.pop("copies", 1), **options)
    letters = alphabet(plan)
    laws = {stream: arms_law(plan, letters.stream((*stream, 0))) for stream in product((-1, 0, 3), repeat=2)}
    zero_out = plan.relation is tacit.ZERO_OUT
    losses = [
        ExactCurve.of(laws[one], laws[other]).largest_loss
        for one, other in product(laws, repeat=2)
        if sum(x != y for x, y in zip(one, other, strict=True)) == 1
        and (not zero_out or any(y == -1 != x for x, y in zip(one, other, strict=True)))
    ]
    assert max(losses) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.attack(rows.LAWS)
def test_two_rounds_of_a_person_compose(record_property) -> None:
    """The exact curve of two changed rounds is that of two randomised responses, at every epsilon."""
    record_property("attacked", "Responses")
    problem = Policies(n=2, actions=2, horizon=3)
    plan = Responses(problem, 1.9, 1.0, 0.3, rounds_per_person=2, delta=0.1)
    letters = alphabet(plan)
    one, other = (arms_law(plan, letters.stream((symbol, symbol, 0))) for symbol in (0, 3))
    curve = ExactCurve.of(one, other)
    for epsilon in (0.0, 0.5, 1.0, 1.5, 1.9):
        assert curve.delta(epsilon) == pytest.approx(plan.guarantee.delta(epsilon), rel=1e-9, abs=1e-12)


@pytest.mark.attack(rows.LAWS)
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_joint_privacy_of_policies_as_arms(relation: str, record_property) -> None:
    """Records are recommendations and losses together: all that others see has the ratio e^epsilon, and no more."""
    record_property("attacked", "PolicyArms")
    problem = Policies(n=2, actions=2, horizon=3, recommendations="private")
    arms = tacit.algorithms.BatchedTsallis(
        tacit.Arms(n=2, horizon=3, adversary="oblivious"), 1.0, 1, 0.5, 0.3, 0.2, relation=relation
    )
    plan = PolicyArms(problem, arms)
    letters = alphabet(plan)
    laws = {first: arms_law(plan, letters.stream((first, 5, 0))) for first in range(-1, 16)}
    losses = [
        ExactCurve.of(laws[one], laws[other]).largest_loss
        for one, other in product(laws, repeat=2)
        if one != other and (relation == "replace" or other == -1)
    ]
    assert max(losses) == pytest.approx(1.0, abs=1e-9)


def test_private_recommendations_are_refused() -> None:
    private = Policies(n=3, actions=2, horizon=100, recommendations="private")
    with pytest.raises(PrivacyError, match="protect losses only"):
        Responses.calibrate(private, epsilon=1.0, delta=0.0)
    choice = tacit.plan(private, epsilon=1.0, delta=0.0)
    assert choice.algorithm == "PolicyArms"
    assert "joint differential privacy" in str(choice.guarantee)
    assert choice.guarantee.unit == "one round's recommendations and feedback"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rate": 1.1}, "do not meet"),
        ({"eta": 0.0}, "eta"),
        ({"copies": 3}, "copies"),
        ({"rounds_per_person": 2}, "do not meet"),
    ],
)
def test_parameters_are_checked(parameters, words: str) -> None:
    with pytest.raises((InvalidInput, PrivacyError), match=words):
        Responses(Policies(n=3, actions=2, horizon=10), 1.0, **{"rate": 1.0, "eta": 0.1, **parameters})
    with pytest.raises(PrivacyError, match="max_switches"):
        calibrated(3, 2, 100, max_switches=5)
