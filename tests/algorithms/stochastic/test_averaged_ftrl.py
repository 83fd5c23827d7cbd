"""Averages of private FTRL: the same bits as averaging by hand, and an excess risk below its bound."""

import numpy as np
import pytest

import tacit
from tacit import Convex, Stochastic
from tacit.algorithms import AveragedFTRL, PrivateFTRL
from tacit.domains import Ball
from tacit.losses import CustomLoss, HingeLoss
from tacit.noise.randomness import Randomness

TARGET = {"epsilon": 1.0, "delta": 1e-6}


def records(count, dimension=2, seed=3):
    stream = Randomness.replayable(seed).stream("records")
    rows = stream.standard_normal((count, dimension))
    return rows, np.where(rows[:, 0] + 0.3 * stream.standard_normal(count) > 0, 1.0, -1.0)


def test_models_are_averages_of_the_learners_decisions():
    plan = AveragedFTRL.calibrate(Stochastic(domain=Ball(2), loss=HingeLoss(), horizon=50), **TARGET)
    data = records(50)
    decisions = plan.online.start(Randomness.replayable(1)).run(data)
    learner = plan.start(Randomness.replayable(1))
    models = learner.run(data)
    np.testing.assert_allclose(models, np.cumsum(decisions, axis=0) / np.arange(1, 51)[:, None])
    np.testing.assert_array_equal(learner.model, models[-1])
    np.testing.assert_array_equal(learner.release(), models[-1])


@pytest.mark.parametrize(("records", "risk"), [(100_000, 0.0353), (1_000_000, 0.0120)])
def test_certified_excess_risk(records, risk):
    problem = Stochastic(domain=Ball(3), loss=HingeLoss(), horizon=records)
    plan = AveragedFTRL.calibrate(problem, **TARGET)
    assert float(plan.regret_bound) == pytest.approx(risk, rel=3e-3)
    online = PrivateFTRL.calibrate(Convex(domain=Ball(3), loss=HingeLoss(), horizon=records), **TARGET)
    assert float(plan.regret_bound) == float(online.regret_bound) / records
    assert plan.guarantee.epsilon() == online.guarantee.epsilon()


def test_losses_of_ones_own():
    loss = CustomLoss(lambda x, z: float(np.abs(x - z).sum()), lambda x, z: np.sign(x - z), lipschitz=1.0)
    plan = AveragedFTRL.calibrate(Stochastic(domain=Ball(2), loss=loss, horizon=30), **TARGET)
    learner = plan.start(Randomness.replayable(1))
    learner.run(list(records(30)[0]))
    assert np.linalg.norm(learner.model) <= 1 + 1e-9
    with pytest.raises(tacit.InvalidInput, match="cannot be taken"):
        plan.start().run(["text"] * 30)


def test_the_planner_takes_it_where_nothing_else_fits():
    choice = tacit.plan(Stochastic(domain=Ball(3), loss=HingeLoss(), horizon=10_000), **TARGET)
    assert choice.algorithm == "AveragedFTRL"
    reasons = {candidate.algorithm: candidate.reason for candidate in choice.candidates if candidate.reason}
    assert set(reasons) == {"ObjectivePerturbation", "OnlineToBatch"}
