"""Private FTRL: its two bounds, its sensitivities, and its decisions when the noise is known."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from algorithms.convex.measured import measured
from tacit.algorithms.convex import PrivateFTRL
from tacit.domains import Ball, Box, KSubsets, Simplex
from tacit.environments.convex import DriftingQuadratic, SignFlips
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import ConvexFamily, CustomLoss, LinearLoss, LogisticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree, Tree
from tacit.noise.sampler_bounds import chi_mean
from tacit.problems import Convex

TARGET = {"epsilon": 1.0, "delta": 1e-6}


def test_linear_losses_have_the_sharper_bound_against_oblivious_adversaries():
    problem = Convex(domain=Ball(10), loss=LinearLoss(), horizon=10_000)
    oblivious = PrivateFTRL.calibrate(problem, **TARGET, numerics="float")
    adaptive = PrivateFTRL.calibrate(problem, **TARGET, adversary="adaptive")
    assert float(oblivious.regret_bound) < 0.2 * float(adaptive.regret_bound)
    assert oblivious.certified_against == ("oblivious",)
    assert adaptive.certified_against == ("oblivious", "adaptive")
    deviation = oblivious.scale * oblivious.mechanism.row_norm(9_999)
    assert float(oblivious.regret_bound) == pytest.approx(np.sqrt(10_000 + 10 * deviation**2), rel=1e-9)
    tree = PrivateFTRL.calibrate(problem, **TARGET, mechanism=Tree(9_999))
    assert tree.certified_against == ("oblivious", "adaptive")  # its noise is not steady


def test_the_rate_is_the_best_one():
    problem = Convex(domain=Ball(3, 2.0), loss=LogisticLoss(), horizon=2000)
    plan = PrivateFTRL.calibrate(problem, **TARGET, streams=1)
    g = problem.lipschitz
    total = g**2 * 2000 + 2 * g * chi_mean(3) * plan.mechanism.standard_deviations(plan.scale).sum()
    assert float(plan.regret_bound) == pytest.approx(2.0 * np.sqrt(total))
    for factor in (0.9, 1.1):
        other = PrivateFTRL(problem, plan.eta * factor, plan.mechanism, plan.privacy)
        assert float(other.regret_bound) > float(plan.regret_bound)


def test_a_given_rate_is_taken_and_priced():
    problem = Convex(domain=Ball(3), loss=LogisticLoss(), horizon=500)
    best = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, streams=1)
    plain = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, streams=1, eta=10 * best.eta)
    assert (plain.eta, plain.rate) == (10 * best.eta, "given")
    assert plain.scale == best.scale
    assert plain.guarantee.epsilon() == best.guarantee.epsilon()
    assert float(plain.regret_bound) > float(best.regret_bound)
    with pytest.raises(InvalidInput, match="'eta'"):
        PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, eta=-1.0)


def test_mechanisms_and_sensitivities():
    problem = Convex(domain=Ball(4), loss=ConvexFamily(0.5, 1.0), horizon=1000)
    bounds = {}
    for mechanism in (Buffered(999), Tree(999)):
        plan = PrivateFTRL.calibrate(problem, **TARGET, mechanism=mechanism, streams=1)
        assert plan.scale == pytest.approx(mechanism.scale(plan.privacy, 2 * 0.5))
        assert plan.guarantee.epsilon(1e-6) <= 1.0
        bounds[type(mechanism).__name__] = float(plan.regret_bound)
    assert bounds["Buffered"] < bounds["Tree"]
    zero = PrivateFTRL.calibrate(problem, **TARGET, streams=1, relation="zero-out")
    three = PrivateFTRL.calibrate(problem, **TARGET, streams=1, rounds_per_person=3)
    moved = three.mechanism.column_norm * three.mechanism.crowding(3) / zero.mechanism.column_norm
    assert three.scale == pytest.approx(6 * zero.scale * moved)
    pure = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=0.0)
    assert isinstance(pure.mechanism, LaplaceTree)
    assert pure.scale == pytest.approx(pure.mechanism.scale(1.0, 2 * 0.5 * 2))  # l1 of an l2 ball: sqrt(4)
    assert pure.guarantee.epsilon(0.0) == 1.0


@pytest.mark.parametrize(
    ("domain", "centre"), [(Ball(2), [0, 0]), (Box([0, 0], [2, 4]), [1, 2]), (Simplex(2), [0.5, 0.5])]
)
def test_without_noise_it_is_projected_gradient_sums(domain, centre):
    problem = Convex(domain=domain, loss=LinearLoss(), horizon=20)
    plan = PrivateFTRL(problem, 0.3, Buffered(19), privacy=1e14, numerics="float")
    data = Randomness.replayable(1).stream("x").standard_normal((20, 2)) / 4
    actions = plan.start(Randomness.replayable(0)).run(data)
    np.testing.assert_allclose(actions[0], centre)
    sums = np.cumsum(problem.loss.pack(data, 2, many=True), axis=0)
    for t in range(1, 20):
        np.testing.assert_allclose(actions[t], domain.project(np.array(centre) - 0.3 * sums[t - 1]), atol=1e-9)


def test_custom_gradients_are_clipped_before_they_are_summed():
    seen = []

    def gradient(x, z):
        seen.append(x.copy())
        return 1e6 * z

    problem = Convex(domain=Ball(1), loss=CustomLoss(lambda x, z: 0.0, gradient, lipschitz=0.25), horizon=5)
    plan = PrivateFTRL(problem, 0.1, Buffered(4), privacy=1e14, numerics="float")
    actions = plan.start(Randomness.replayable(0)).run([np.ones(1)] * 5)
    np.testing.assert_allclose(actions.ravel(), [0.0, -0.025, -0.05, -0.075, -0.1], atol=1e-9)
    assert len(seen) == 5  # asked once a round, before anything of the round is absorbed
    assert any("convex loss" in line for line in plan.regret_bound.assumptions)


def test_refusals():
    problem = Convex(domain=Ball(1), loss=LinearLoss(), horizon=10)
    with pytest.raises(PrivacyError, match="projection"):
        PrivateFTRL.calibrate(Convex(domain=KSubsets(4, 2), loss=LinearLoss(), horizon=10), **TARGET)
    with pytest.raises(PrivacyError, match="takes no delay"):
        PrivateFTRL.calibrate(replace(problem, delay=1), **TARGET, max_switches=3)
    with pytest.raises(InvalidInput, match="at least 3 for so few switches"):
        PrivateFTRL.calibrate(problem, **TARGET, max_switches=3, batch=2)
    with pytest.raises(InvalidInput, match="steps"):
        PrivateFTRL(problem, 0.1, Buffered(10), privacy=1.0)
    for bad in ({"eta": 0.0}, {"privacy": -1.0}, {"adversary": "nobody"}, {"rounds_per_person": 0}):
        with pytest.raises(InvalidInput):
            PrivateFTRL(**{"problem": problem, "eta": 0.1, "mechanism": Buffered(9), "privacy": 1.0, **bad})
    with pytest.raises(InvalidInput, match="constants only"):
        PrivateFTRL.calibrate(Convex(domain=Ball(1), loss=ConvexFamily(1.0), horizon=10), **TARGET).start()


@pytest.mark.parametrize(
    ("environment", "limit"),
    [(SignFlips(2, 600), None), (DriftingQuadratic(2, 600), None), (DriftingQuadratic(2, 600), 40)],
)
def test_mean_regret_is_under_the_certificate(environment, limit):
    problem = Convex(domain=Ball(2), loss=environment.loss, horizon=600)
    plan = PrivateFTRL.calibrate(problem, epsilon=2.0, delta=1e-6, max_switches=limit)
    regrets, switches = measured(plan, environment, 5)
    assert regrets.mean() <= float(plan.regret_bound)
    assert switches.max() <= (limit or 600)


@pytest.mark.parametrize(("dimension", "switches", "bound"), [(10, 300, 498), (2, 100, 736)])
def test_mini_batches_beat_coins_under_a_limit_on_switches(dimension, switches, bound):
    problem = Convex(domain=Ball(dimension), loss=LogisticLoss(), horizon=10_000)
    plan = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, max_switches=switches)
    assert float(plan.regret_bound) < bound  # CTRL certifies 1,762 and 2,696
    assert plan.expected_switches <= switches
    assert tacit.verify(tacit.contract(plan)).exit_code == 0
    free = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    assert free.batch == 1
    assert float(free.regret_bound) < float(plan.regret_bound)


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_a_batch_decides_alike_and_adds_its_gradients_up(streams, numerics):
    """Under the same noise, decisions with and without gradients differ by those of the exact leader of batches."""
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=11)
    plan = PrivateFTRL(problem, 0.05, Buffered(3), privacy=1e3, streams=streams, batch=3, numerics=numerics)
    rows = np.random.default_rng(1).normal(size=(11, 2)) / 4
    learner = plan.start(Randomness.replayable(2))
    actions = learner.run(rows) - plan.run(np.zeros((11, 2)), Randomness.replayable(2))
    leaders = -0.05 * np.array([rows[: 3 * (t // 3)].sum(axis=0) for t in range(11)])
    np.testing.assert_allclose(actions, leaders, atol=1e-8)
    assert learner.switches == 3


def test_a_person_whose_rounds_share_a_batch_is_paid_for():
    """Two rounds of one person in one batch move one step by twice as much: sigma must be twice that of one round."""
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=100)
    one, two = (
        PrivateFTRL(problem, 0.1, Buffered(9), privacy=1.0, batch=10, rounds_per_person=people).scale
        for people in (1, 2)
    )
    assert two >= 2 * one * (1 - 1e-6)
