"""Limits on switches: Lemma 5 with high probability, and hard limits that cost regret but no privacy."""

from math import inf

import numpy as np
import pytest

import tacit
from tacit.algorithms.convex.ctrl import CTRL, LazyOCO
from tacit.algorithms.convex.ctrl.certificate import overrun
from tacit.auditing import attacks
from tacit.auditing.integration import QUADRATURE_SLACK, interval_law
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import ConvexFamily, LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.runtime.small_instances import SmallInstance

LOUD = {"eta": 0.05, "sigma": 40.0, "force": 0.05, "log_phi": 0.1}


def law_of_sum(chances):
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_coins_of_any_chances_are_bounded_by_equal_ones(spread):
    generator = Randomness.replayable(1).stream("chances")
    for _ in range(20):
        chances = generator.random(60) * spread + 0.1 * (1 - spread)
        law, mean = law_of_sum(chances), chances.sum()
        for limit in range(60):
            exact = law[limit + 1 :].sum()
            assert exact <= overrun(60, mean, limit) + 1e-12
            if spread == 0.0 and limit >= mean:
                assert overrun(60, mean, limit) == pytest.approx(exact, rel=1e-9)
    assert overrun(60, 3.0, 60) == 0.0


def data_for(loss, rounds, dimension, seed=3):
    generator = Randomness.replayable(seed).stream("data")
    vectors = generator.standard_normal((rounds, dimension))
    return (vectors, np.sign(vectors[:, 0])) if loss.family == "glm" else vectors


@pytest.mark.parametrize("loss", [LinearLoss(), LogisticLoss(), QuadraticLoss()], ids=repr)
def test_a_limit_cuts_the_same_run_off(loss):
    problem = Convex(domain=Ball(2), loss=loss, horizon=400)
    data = data_for(loss, 400, 2)
    free = CTRL(problem, **LOUD)
    whole = free.start(Randomness.replayable(4)).run(data)
    moves = np.flatnonzero(np.any(np.diff(whole, axis=0) != 0, axis=1)) + 1
    assert len(moves) > 12
    for limit in (1, 7):
        plan = CTRL(problem, **LOUD, max_switches=limit)
        assert plan.guarantee.epsilon(1e-6) == free.guarantee.epsilon(1e-6)
        learner = plan.start(Randomness.replayable(4))
        actions = learner.run(data)
        assert learner.switches == limit
        np.testing.assert_array_equal(actions[: moves[limit]], whole[: moves[limit]])
        assert np.all(actions[moves[limit] :] == actions[-1])


def test_a_limit_that_binds_leaks_no_more_than_the_chain():
    line = Convex(domain=Ball(1), loss=LinearLoss(), horizon=3)
    plan = CTRL(line, eta=0.5, sigma=20.0, force=0.3, log_phi=0.1, max_switches=1)
    finding = attacks.exact(
        SmallInstance("enumeration", "limited", plan), Randomness.replayable(7).stream("laws"), laws=2,
        law=interval_law, method="integrated", slack=QUADRATURE_SLACK, pair=((0, 0, 0), (3, 0, 0)),
    )  # fmt: skip
    assert not finding.violation
    assert plan.small_instances()[0].plan.max_switches == 1


@pytest.mark.parametrize(("limit", "at_most"), [(1000, 1.01), (200, 2.6)])
def test_calibrated_limits(limit, at_most):
    problem = Convex(domain=Ball(2), loss=ConvexFamily(1.0, 1.0, "glm"), horizon=10_000)
    free = CTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    plan = CTRL.calibrate(problem, epsilon=1.0, delta=1e-6, max_switches=limit)
    assert plan.max_switches == limit
    assert plan.guarantee.epsilon(1e-6) <= 1.0
    assert plan.certificate.overrun <= 1e-4
    assert plan.expected_switches < limit
    assert float(plan.regret_bound) <= at_most * float(free.regret_bound)
    # What the limit may refuse is paid for: G D in every round that is left.
    tight = CTRL(problem, plan.eta, plan.sigma, plan.force, plan.log_phi, max_switches=int(plan.expected_switches) + 1)
    assert float(tight.regret_bound) - float(plan.regret_bound) == pytest.approx(
        2e4 * (tight.certificate.overrun - plan.certificate.overrun), rel=1e-6
    )


SQUARE = Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))


@pytest.mark.parametrize(
    "domain", [Ball(3), Box.cube(3), Simplex(4), L1Ball(3), SQUARE], ids=lambda s: type(s).__name__
)
def test_growing_noise_on_every_set(domain):
    problem = Convex(domain=domain, loss=QuadraticLoss(), horizon=300)
    plan = LazyOCO(problem, sigma=3.0, eta=inf, switches=300.0, max_switches=40)
    learner = plan.start(Randomness.replayable(1))
    actions = learner.run(data_for(QuadraticLoss(), 300, domain.dimension) * 0.3)
    assert learner.switches <= 40
    assert all(domain.contains(point) for point in actions)


def test_lazy_plans_are_chosen_only_if_no_privacy_is_asked_for():
    problem = Convex(domain=Ball(2), loss=LogisticLoss(), horizon=10_000)
    private = tacit.plan(problem, epsilon=1.0, delta=1e-6, max_switches=300)
    assert private.algorithm == "PrivateFTRL"  # in batches; CTRL certifies 1,761 with 300 switches
    assert "LazyOCO      -                 -                  NOT PRIVATE" in private.explain()
    assert "LazyOCO is not private and meets no epsilon" in private.explain()
    assert "LazyOCO" not in tacit.plan(problem, epsilon=1.0, delta=1e-6).explain()
    lazy = tacit.plan(problem, epsilon=inf, delta=0.0, max_switches=300)
    assert lazy.algorithm == "LazyOCO"
    assert lazy.plan.max_switches == 300
    assert lazy.plan.overrun <= 1e-4
    assert lazy.plan.batch == 34  # few switches: batches, 426 against the 611 that coins certify
    assert "batches of 34 rounds without noise or coins, which is not the paper's algorithm" in lazy.explain()
    assert "runs:       batches of 34 rounds" in lazy.plan.explain()
    coins = LazyOCO.calibrate(problem, epsilon=inf, delta=0.0, max_switches=300, batches=False)
    assert (coins.batch, coins.form, coins.max_switches) == (0, "", 300)
    assert "batches" not in coins.explain()
    assert float(coins.regret_bound) > 1.4 * float(lazy.regret_bound)
    # Nobody who asks for the paper's algorithm gets another one: batches are asked for, and win where switches are few.
    assert LazyOCO.for_budget(problem, switches=300).batch == 0
    assert LazyOCO.for_budget(problem, switches=300, batches=True).batch == 34
    assert LazyOCO.for_budget(problem, switches=3000, batches=True).batch == 0  # many: coins
    assert float(lazy.regret_bound) < float(private.regret_bound)
    assert "chosen; NOT PRIVATE" in lazy.explain()
    assert lazy.to_dict()["candidates"][0]["epsilon"] is None
    assert all(candidate.plan is None for candidate in lazy.candidates[1:])
    with pytest.raises(PrivacyError, match="not private"):
        tacit.plan(problem, epsilon=1.0, delta=1e-6, max_switches=300, algorithms=["LazyOCO"])
    with pytest.raises(PrivacyError, match="needs max_switches"):
        tacit.plan(problem, epsilon=inf, delta=1e-6)
    with pytest.raises(PrivacyError, match="one switch at least"):
        tacit.plan(problem, epsilon=inf, delta=1e-6, max_switches=0)


def test_no_privacy_is_no_target_for_private_algorithms():
    with pytest.raises(InvalidInput, match="'epsilon'"):
        tacit.plan(tacit.Experts(n=3, horizon=100), epsilon=inf, delta=1e-6)
    with pytest.raises(InvalidInput, match="is private"):
        CTRL.calibrate(Convex(domain=Ball(2), loss=LogisticLoss(), horizon=100), epsilon=inf, delta=1e-6)
