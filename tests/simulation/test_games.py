"""Every kind of problem can be simulated, and what it measures is right where that is easy to see."""

import numpy as np
import pytest

import tacit
from tacit.environments.named import NAMED, named_environment
from tacit.errors import InvalidInput
from tacit.simulation.games import GAMES, game_for
from tacit.simulation.loop import simulate_run


@pytest.mark.parametrize(
    ("problem", "environment"),
    [
        (tacit.Experts(n=3, horizon=200), tacit.environments.BernoulliGap(3, 200)),
        (
            tacit.Tracking(n=3, horizon=200, switches=1, adversary="stochastic"),
            tacit.environments.ShiftingBernoulli(3, 200, (100,)),
        ),
        (
            tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LinearLoss(), horizon=200),
            tacit.environments.SignFlips(2, 200),
        ),
        (tacit.Lipschitz(horizon=200, lipschitz=6.0), tacit.environments.PricingCurve(200)),
        (
            tacit.environments.MovingTarget(tacit.domains.Ball(2, 0.5), 400).problem,
            tacit.environments.MovingTarget(tacit.domains.Ball(2, 0.5), 400),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_problem_is_played(problem, environment):
    plan = tacit.plan(problem, epsilon=2.0, delta=1e-6)
    result = tacit.simulate(plan, environment, runs=2, seed=3)
    assert result.regret.shape == (2, len(result.rounds))
    assert result.rounds[-1] == environment.horizon
    assert np.isfinite(result.regret).all()
    many = tacit.simulate(plan, environment, runs=20, seed=3)  # the bound is on the expectation
    assert many.mean[-1] <= many.bound
    again = simulate_run(plan.plan, environment, 3, 1)
    assert np.array_equal(again.regret, result.regret[1])


def test_pricing_regret_is_against_the_best_price():
    """By the losses of every buyer, at the prices that were posted and at those of a grid."""
    environment = tacit.environments.PricingCurve(300)
    problem = tacit.Lipschitz(horizon=300, lipschitz=environment.lipschitz)
    plan = tacit.algorithms.LipschitzNet.calibrate(problem, epsilon=1e-3, delta=1e-6)
    outcome = simulate_run(plan, environment, 0, 0)
    buyers = environment.functions(tacit.Randomness.replayable(0).child("environment 0").stream("feedback"))
    paid = sum(float(loss(price[None])[0]) for loss, price in zip(buyers, outcome.detail["points"], strict=True))
    best = min(sum(loss(np.linspace(0, 1, 2049)[:, None]) for loss in buyers))
    assert outcome.regret[-1] == pytest.approx(paid - best)


class Elsewhere(tacit.Experts):
    """A problem of somebody else's class."""


def test_an_unknown_problem_is_refused():
    """Both sentences say the same: there is no game for it, whatever the environment."""
    problem = Elsewhere(n=2, horizon=10)
    with pytest.raises(InvalidInput, match=r"simulate plays the problems Experts, .*Stochastic"):
        game_for(problem, tacit.environments.BernoulliGap(2, 10))
    with pytest.raises(InvalidInput, match="Elsewhere has no environments by name: give simulate an environment"):
        named_environment("gap", problem)


def test_every_named_environment_is_of_the_kind_that_its_problem_takes():
    problems = {
        tacit.Experts: tacit.Experts(n=2, horizon=9),
        tacit.Tracking: tacit.Tracking(n=12, horizon=9, switches=1),
        tacit.Lipschitz: tacit.Lipschitz(horizon=9, lipschitz=6.0),
        tacit.Bandit: tacit.Bandit(domain=tacit.domains.Ball(2, 0.5), horizon=9),
    }
    for name, loss in (("logistic", "LogisticLoss"), ("quadratic", "QuadraticLoss")):
        problem = tacit.Stochastic(domain=tacit.domains.Ball(2), loss=getattr(tacit.losses, loss)(), horizon=9)
        assert game_for(problem, named_environment(name, problem)) is GAMES[tacit.Stochastic]
    assert set(NAMED[tacit.Stochastic]) == {"logistic", "quadratic"}
    for kind, problem in problems.items():
        for name in NAMED[kind]:
            environment = named_environment(name, problem)
            assert game_for(problem, environment) is GAMES[kind]
    losses = {"logistic": "LogisticLoss", "circling": "QuadraticLoss", "flipping": "LinearLoss", "signs": "LinearLoss"}
    for name, loss in losses.items():
        problem = tacit.Convex(domain=tacit.domains.Ball(2), loss=getattr(tacit.losses, loss)(), horizon=9)
        assert game_for(problem, named_environment(name, problem)) is GAMES[tacit.Convex]
    assert set(NAMED[tacit.Convex]) == set(losses)


def test_an_environment_of_another_kind_is_refused_in_one_sentence():
    problem = tacit.Experts(n=2, horizon=9)
    with pytest.raises(InvalidInput, match=r"ExpertStream or ExpertAdversary.*Got SignFlips"):
        game_for(problem, tacit.environments.SignFlips(2, 9))
    with pytest.raises(InvalidInput, match="the kind BanditStream"):
        game_for(tacit.Bandit(domain=tacit.domains.Ball(2), horizon=9), tacit.environments.BernoulliGap(2, 9))
    with pytest.raises(InvalidInput, match="Got ndarray instead"):
        game_for(problem, np.full((9, 2), 0.125))
