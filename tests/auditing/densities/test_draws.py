"""Claims about draws in several dimensions: they are densities, the shipped learners keep them, and bugs show."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from planted_bugs.catalogue import swap
from tacit import Randomness
from tacit.algorithms.convex.ctrl import CTRL, coupled, ctrl
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.auditing import draws
from tacit.auditing import integration as keep_probabilities
from tacit.auditing.claimed_laws import (
    QUADRATURE,
    Draw,
    Gibbs,
    PerturbedMinimiser,
    Reading,
    Transcript,
    claim_of,
    normals_of,
    read,
    surprises,
    transcript,
)
from tacit.auditing.instances import Instance, alphabet, instances
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.losses import ConvexFamily, HuberLoss, LinearLoss, LogisticLoss, QuadraticLoss, SquaredLoss
from tacit.problems import Convex

SOURCE = Randomness.replayable(11)
SQUARE = Box(np.array([-1.0, -0.5]), np.array([1.0, 1.5]))


def minimiser(domain, loss, horizon=5, **changes):
    problem = Convex(domain=domain, loss=loss, horizon=horizon)
    settings = {"eta": 1.0, "sigma": 2 * problem.lipschitz, "force": 0.1, "log_phi": 0.5, **changes}
    return CTRL(problem, **settings)


def weights(domain, loss, horizon=4, **changes):
    settings = {"rate": 2.0, "regularisation": 2.0, "force": 0.3, "clip": 0.5, "sampler_distance": 1e-12, **changes}
    return L2PConvex(Convex(domain=domain, loss=loss, horizon=horizon), **settings)


def instance_of(plan):
    return Instance("test", plan, alphabet(plan))


def feedback_of(plan, shift=0):
    letters = alphabet(plan)
    return letters.stream([(3 * k + shift) % len(letters.symbols) for k in range(plan.horizon)])


def grid_integral(domain, density_at, cells):
    """The integral over a box around the domain by midpoints."""
    low = np.array([domain.minimize_linear(axis)[k] for k, axis in enumerate(np.eye(2))])
    high = np.array([domain.minimize_linear(-axis)[k] for k, axis in enumerate(np.eye(2))])
    width = (high - low) / cells
    steps = [low[k] + width[k] * (np.arange(cells) + 0.5) for k in range(2)]
    points = np.array(np.meshgrid(*steps)).reshape(2, -1).T
    inside = np.array([domain.contains(point, -0.0) for point in points])
    return sum(density_at(point) for point in points[inside]) * width.prod()


@pytest.mark.parametrize(
    ("domain", "loss"), [(Ball(2), LinearLoss()), (SQUARE, LogisticLoss()), (Ball(2), QuadraticLoss())]
)
def test_claimed_densities_integrate_to_one(domain, loss):
    plan = minimiser(domain, loss)
    claim = PerturbedMinimiser(plan, feedback_of(plan))
    total = grid_integral(domain, lambda x: np.exp(claim.log_density(Draw(3, x))), cells=41)
    assert total == pytest.approx(1.0, abs=0.05)
    gibbs = weights(domain, loss)
    drawn = Gibbs(gibbs, feedback_of(gibbs))
    total = grid_integral(domain, lambda x: np.exp(drawn.log_density(Draw(3, x))), cells=41)
    assert total == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("domain", [Ball(1), Ball(2), Ball(3), SQUARE], ids=["line", "disc", "ball", "box"])
def test_quadrature_has_converged(domain):
    plan = weights(domain, HuberLoss(transition=0.7), sampler_distance=0.0 if domain.dimension == 1 else 1e-12)
    stream = feedback_of(plan)
    coarse, fine = Gibbs(plan, stream), Gibbs(plan, stream, nodes=36)
    points = 0.4 * SOURCE.stream("points").uniform(-1.0, 1.0, (20, domain.dimension))
    draws = [Draw(3, point) for point in points]
    assert coarse.log_density(draws[0]) == pytest.approx(fine.log_density(draws[0]), abs=1e-3)
    np.testing.assert_allclose(ndtr(coarse.normals(draws)), ndtr(fine.normals(draws)), atol=QUADRATURE / 4)


def test_rosenblatt_transform_of_a_gaussian():
    """On a wide box with linear losses the law is Gaussian up to 1e-5: the transform only standardises."""
    plan = weights(Box(np.full(2, -4.0), np.full(2, 4.0)), LinearLoss(), rate=1.0, regularisation=1.0)
    claim = Gibbs(plan, [np.array([1.0, 0.0])] * 4, nodes=48)
    points = SOURCE.stream("gauss").uniform(-1.5, 1.0, (30, 2))
    expected = (points - np.array([-1.0, 0.0])) * np.sqrt(2.0)  # two rounds move the mean by 2 * 1/(2 lambda)
    np.testing.assert_allclose(claim.normals([Draw(2, point) for point in points]), expected, atol=1e-4)


MADE = [
    minimiser(Ball(2), LinearLoss()),
    minimiser(SQUARE, SquaredLoss()),
    minimiser(Simplex(3), LogisticLoss()),
    weights(Ball(2), LogisticLoss(), reference_force=0.3),
    weights(SQUARE, QuadraticLoss(), batch=2),
    weights(Ball(3), LinearLoss(), force=1.0),
    weights(Ball(1), LogisticLoss(), sampler_distance=0.0),
]


@pytest.mark.parametrize("plan", MADE, ids=lambda plan: f"{plan.algorithm} {type(plan.problem.domain).__name__}")
def test_shipped_learners_keep_their_laws(plan):
    finding = draws.law(instance_of(plan), SOURCE, draws=80)
    assert not finding.violation, finding.detail
    assert finding.lower > 0
    assert finding.failure < 2e-7
    if plan.force < 1:
        assert not keep_probabilities.coins(instance_of(plan), SOURCE, runs=3).violation


@pytest.mark.parametrize("plan", [minimiser(Ball(2), LinearLoss(), 3), weights(Ball(2), LogisticLoss(), 3)])
def test_likelihood_ratios_are_those_of_the_learner(plan):
    """E[1/(1 + p/q)] under p and E[1/(1 + q/p)] under q are the same number, if the ratio is right."""
    letters = alphabet(plan)
    streams = letters.stream([0, 0, 0]), letters.stream([len(letters.symbols) - 1, 0, 0])
    claims = [claim_of(plan, feedback) for feedback in streams]
    means, spread = [], 0.0
    for side in (0, 1):
        values = []
        for run in range(80):
            seen = transcript(plan, streams[side], SOURCE.child(f"{side} {run}"))
            ratio = read(claims[side], seen) - read(claims[1 - side], seen)
            values.append(1 / (1 + np.exp(ratio)))
        means.append(np.mean(values))
        spread += np.var(values) / len(values)
    assert means[0] < 0.49
    assert abs(means[0] - means[1]) < 5 * np.sqrt(spread)


def test_a_point_that_moves_without_a_decision_is_impossible():
    plan = weights(Ball(2), LinearLoss(), batch=2)
    claim = claim_of(plan, feedback_of(plan))
    points = np.zeros((4, 2))
    points[1:] = 0.1
    assert read(claim, Transcript(points, np.zeros((4, 2)))) == -np.inf
    reading = Reading()
    read(claim, Transcript(np.full((4, 2), 2.0), np.zeros((4, 2))), reading)
    assert reading.draws[0].finished == 0
    assert surprises(claim, reading, 1, 1, 0.0)[0].value == np.inf


def test_noise_is_read_back_from_the_released_point():
    """The normals of CTRL's draws are the numbers of its own stream."""
    plan = minimiser(Ball(2), QuadraticLoss())
    stream = feedback_of(plan)
    source = SOURCE.child("read back")
    seen = transcript(plan, stream, source)
    reading = Reading()
    claim = claim_of(plan, stream)
    read(claim, seen, reading)
    drawn = source.stream("noise").standard_normal((len(reading.draws), 2))
    np.testing.assert_allclose(-normals_of(claim, reading.draws), drawn, atol=1e-5)


def test_release_noise_and_minimisers():
    plan = minimiser(Ball(2), LogisticLoss())
    assert not draws.release(instance_of(plan), SOURCE, draws=60).violation
    longer = minimiser(Ball(2), LinearLoss(), horizon=20)  # a horizon of which only the first rounds are played
    assert not draws.release(instance_of(longer), SOURCE, draws=40).violation
    kept = coupled.perturbed_minimum
    assert transcript(plan, feedback_of(plan), SOURCE).minima
    assert coupled.perturbed_minimum is kept

    def bare(honest):
        return lambda self, point: point

    with swap(coupled.CoupledLearner, "_released", bare)():
        assert draws.release(instance_of(plan), SOURCE, draws=30).violation


def test_small_changes_of_a_coin_are_seen():
    """A coin whose range is wrong by a thousandth; nothing is left swapped."""
    plan = minimiser(Ball(2), LogisticLoss())
    scan = coupled.held_point(LogisticLoss(), 2).scan

    def wider(honest):
        def coins(self, first, count, clocks):
            return replace(honest(self, first, count, clocks), log_phi=np.full(count, 0.501))

        return coins

    with swap(ctrl.CTRLLearner, "_coins", wider)():
        assert keep_probabilities.coins(instance_of(plan), SOURCE, runs=3).violation
    assert type(coupled.held_point(LogisticLoss(), 2)).scan is scan.__func__


@pytest.mark.parametrize("domain", [Ball(9), Box(np.zeros(7), np.ones(7)), Simplex(9), L1Ball(8), Ball(1)])
def test_instances_are_small_and_of_the_same_kind(domain):
    for loss in (LogisticLoss(), ConvexFamily(1.0, 1.0, "glm")):
        plan = CTRL(Convex(domain=domain, loss=loss, horizon=50), eta=1.0, sigma=9.0, force=0.1, log_phi=0.1)
        for instance in instances(plan, "draws"):
            assert type(instance.plan.problem.domain) is type(domain)
            assert instance.plan.problem.domain.hull_dimension <= 3
            assert len(feedback_of(instance.plan)) == instance.plan.horizon


def test_other_domains_keep_their_shape_or_become_balls():
    square = np.vstack([np.eye(2), -np.eye(2)])
    cube = np.vstack([np.eye(7), -np.eye(7)])
    for matrix, kind in ((square, Polytope), (cube, Ball)):
        problem = Convex(domain=Polytope(matrix, np.ones(len(matrix))), loss=LogisticLoss(), horizon=9)
        plan = CTRL(problem, eta=1.0, sigma=9.0, force=0.1, log_phi=0.1)
        assert isinstance(instances(plan, "draws")[0].plan.problem.domain, kind)


def test_regularised_weights_have_a_loud_and_a_steep_instance():
    plan = weights(Ball(5), LogisticLoss(), horizon=9, reference_force=0.2, batch=3)
    loud, steep = instances(plan, "draws")
    assert loud.plan.reference_force == 0.3
    assert loud.plan.batch == 2
    assert steep.plan.force == 1.0
    assert len(instances(weights(Ball(2), LinearLoss()), "draws")) == 1
