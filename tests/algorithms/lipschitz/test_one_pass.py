"""One pass over records whose losses are only Lipschitz."""

import numpy as np
import pytest

import tacit
from tacit.algorithms.lipschitz import LipschitzGrid, LipschitzNet, LipschitzOnePass
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Lipschitz, StochasticLipschitz

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}


def losses(count, seed=0):
    tips = Randomness.replayable(seed).stream("losses").random(count)
    return [lambda points, tip=tip: np.abs(points[:, 0] - tip) for tip in tips]


@pytest.mark.parametrize(
    ("dimension", "records", "risk"), [(1, 10**4, 0.0221), (1, 10**5, 0.0066), (2, 10**4, 0.105), (2, 10**5, 0.0254)]
)
def test_certified_risk_meets_the_numbers(dimension, records, risk):
    plan = LipschitzOnePass.calibrate(StochasticLipschitz(dimension=dimension, horizon=records), **PRIVACY)
    assert 0.95 * risk < float(plan.regret_bound) < 1.01 * risk
    assert plan.guarantee.epsilon() <= 1.0
    assert plan.guarantee.unit == "one record"
    online = Lipschitz(dimension=dimension, horizon=records)
    bounds = [float(kind.calibrate(online, **PRIVACY).regret_bound) for kind in (LipschitzGrid, LipschitzNet)]
    assert float(plan.regret_bound) == min(bounds) / records


def inner_decisions(plan, seed, records):
    """The decisions of the learner behind the models."""
    return plan.online.start(Randomness.replayable(seed)).run(records)


def test_a_convex_loss_gets_the_average_of_all_decisions():
    plan = LipschitzOnePass.calibrate(StochasticLipschitz(horizon=40, convex=True), epsilon=20.0, delta=1e-3)
    learner = plan.start(Randomness.replayable(9))
    models = learner.run(losses(40))
    decisions = inner_decisions(plan, 9, losses(40))
    np.testing.assert_allclose(models, np.cumsum(decisions, axis=0) / np.arange(1, 41)[:, None])
    np.testing.assert_array_equal(learner.release(), models[-1])


class Scripted:
    """A stream that says what it is told to."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("coins", "kept"),
    [
        ((0.5, 1 / 3, 0.25), 0.0),
        ((0.4999, 1 / 3, 0.25), 1.0),
        ((0.4999, 0.3333, 0.25), 2.0),
        ((0.5, 1 / 3, 0.2499), 3.0),
        ((0.0, 0.0, 0.0), 3.0),
    ],
)
def test_the_decision_of_round_t_takes_its_place_with_probability_one_in_t(coins, kept):
    learner = LipschitzOnePass.calibrate(StochasticLipschitz(horizon=4), **PRIVACY).start(Randomness.replayable(1))
    learner._inner._decision = lambda: np.array([float(learner._inner.rounds)])  # tells the rounds apart
    learner._action = np.array([0.0])
    learner._streams["round"] = Scripted(*coins)
    for record in losses(4):
        learner.play()
        learner.observe(record)
    assert learner.release()[0] == kept
    assert not learner._streams["round"].numbers


def test_the_planner_offers_it_and_says_what_it_holds_for():
    found = tacit.plan(StochasticLipschitz(domain=Ball(2), horizon=500, convex=True), **PRIVACY)
    assert found.algorithm == "LipschitzOnePass"
    assert "independent records" in found.explain()
    assert "convex expected loss" in found.explain()
    pure = tacit.plan(StochasticLipschitz(horizon=500), epsilon=1.0, delta=0.0)
    assert pure.parameters["learner"] == "LipschitzNet"
    assert not hasattr(pure.plan, "mechanism")


def test_what_is_refused():
    for change in ({"horizon": None}, {"horizon": 10, "convex": "yes"}, {"horizon": 10, "dimension": 3}):
        with pytest.raises(InvalidInput):
            StochasticLipschitz(**change)
    problem = StochasticLipschitz(horizon=10)
    with pytest.raises(PrivacyError, match="max_switches"):
        LipschitzOnePass.calibrate(problem, **PRIVACY, max_switches=2)
    with pytest.raises(InvalidInput, match="LipschitzGrid or a LipschitzNet"):
        LipschitzOnePass(problem, "grid")
    with pytest.raises(PrivacyError):
        LipschitzOnePass.calibrate(StochasticLipschitz(horizon=10, delay=2), **PRIVACY)
    other = LipschitzGrid.calibrate(Lipschitz(horizon=11), **PRIVACY)
    with pytest.raises(InvalidInput, match=r"online\.problem"):
        LipschitzOnePass(problem, other)
