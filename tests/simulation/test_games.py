"""Every kind of problem can be simulated, and what it measures is right where that is easy to see."""

import numpy as np
import pytest

import tacit
from tacit.errors import InvalidInput
from tacit.simulation.loop import simulate_run


@pytest.mark.parametrize(
    ("problem", "environment"),
    [
        (tacit.Experts(n=3, horizon=200), tacit.BernoulliGap(3, 200)),
        (
            tacit.Tracking(n=3, horizon=200, switches=1, adversary="stochastic"),
            tacit.ShiftingBernoulli(3, 200, (100,)),
        ),
        (tacit.Convex(domain=tacit.Ball(2), loss=tacit.LinearLoss(), horizon=200), tacit.SignFlips(2, 200)),
        (tacit.Lipschitz(horizon=200, lipschitz=6.0), tacit.PricingCurve(200)),
        (tacit.MovingTarget(tacit.Ball(2, 0.5), 400).problem, tacit.MovingTarget(tacit.Ball(2, 0.5), 400)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_problem_is_played(problem, environment):
    plan = tacit.plan(problem, epsilon=2.0, delta=1e-6)
    result = tacit.simulate(plan, environment, runs=2, seed=3)
    assert result.regret.shape == (2, len(result.rounds))
    assert result.rounds[-1] == environment.horizon
    assert np.isfinite(result.regret).all()
    assert result.mean[-1] <= result.bound
    again = simulate_run(plan.plan, environment, 3, 1)
    assert np.array_equal(again.regret, result.regret[1])


def test_pricing_regret_is_against_the_best_price():
    """A learner that never learns pays the gap between its price and the best one."""
    environment = tacit.PricingCurve(300)
    problem = tacit.Lipschitz(horizon=300, lipschitz=environment.lipschitz)
    plan = tacit.LipschitzNet.calibrate(problem, epsilon=1e-3, delta=1e-6)
    outcome = simulate_run(plan, environment, 0, 0)
    prices = outcome.detail["points"]
    grid = np.linspace(0, 1, 2049)[:, None]
    expected = np.sum(environment.mean_loss(prices)) - 300 * np.min(environment.mean_loss(grid))
    assert outcome.regret[-1] == pytest.approx(expected, abs=6 * np.sqrt(300))


def test_an_unknown_problem_is_refused():
    problem = tacit.Stochastic(domain=tacit.Ball(2), loss=tacit.LogisticLoss(), horizon=10)
    plan = tacit.plan(problem, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="simulate knows"):
        tacit.simulate(plan, tacit.LogisticStream(2, 10))
