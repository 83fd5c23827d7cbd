"""The minimiser is a total function: at kinks, at the boundary and in every dimension it is found and certified.

The data set `crowded_records` made Newton's method raise for an interval of noises: a hole in the law of the released
model that its neighbour does not have, and that showed delta(1) >= .009 where 1e-6 was certified.
"""

from dataclasses import replace
from math import fsum

import mpmath
import numpy as np
import pytest

from tacit.algorithms.stochastic import ObjectivePerturbation
from tacit.algorithms.stochastic.objective_perturbation.model_noise import SHRUNK
from tacit.auditing.integration import lattice_noise
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import (
    HuberLoss,
    LinearLoss,
    LogisticLoss,
    QuadraticLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic
from tacit.solvers import minimum
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.minimum import (
    TRUNCATION,
    PerturbedObjective,
    attainable_accuracy,
    bisected_minimum,
    newton_minimum,
    perturbed_minimum,
    proximal_minimum,
    truncated_norm,
    truncated_normal,
)

HINGE, PLAIN = SmoothedHingeLoss(smoothing=0.01), (LinearLoss(), QuadraticLoss())
KINKED = [
    *(SmoothedHingeLoss(smoothing=width) for width in (1e-2, 1e-3, 1e-4)),
    *(HuberLoss(transition=width) for width in (1e-2, 1e-3)),
    LogisticLoss(),
]


def calibrated(loss=HINGE, records=100):
    problem = Stochastic(domain=Ball(1), loss=loss, horizon=records)
    return ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=1e-6)


def crowded_records():
    """A hundred records whose kinks crowd: there Newton's steps go round in circles for an interval of noises."""
    index = np.arange(100)
    features = np.where(index % 2 == 0, 1.0, 0.2 + 0.8 * ((index * 0.618033988749895) % 1))
    return features[:, None], np.where(index % 5 == 4, -1.0, 1.0)


def minimiser(rows, ridge, noise):
    """Where the slope of the losses, the ridge and the noise add up to nothing, by halving an interval."""

    def slope(x):
        return fsum([*HINGE.gradients(np.array([x]), rows)[:, 0].tolist(), ridge * x, noise])

    high = (abs(slope(0.0)) + 1e-300) / ridge
    low = -high
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


def farthest(plan, records, noises):
    """The largest distance of a released model from its minimiser, over the certified one, without protection."""
    rows = HINGE.pack(records, 1, many=True)
    rows[:, :-1] *= SHRUNK
    found = []
    for noise in noises:
        learner = plan.start(Randomness.replayable(0))
        learner.run(records)
        with lattice_noise(noise):
            released = float(learner.release()[0])
        found.append(abs(released - minimiser(rows, plan.regularisation, plan.noise_scale * noise)) / plan.accuracy)
    return max(found)


def test_no_noise_is_without_a_model():
    """For most noises of this interval the learner used to raise."""
    assert 0 < farthest(calibrated(), crowded_records(), np.linspace(-0.592, -0.553, 60)) <= 1


def test_neighbours_have_the_same_law():
    """Models in the former hole: both neighbours release them, with probabilities within a factor e of each other."""
    plan = calibrated()
    features, labels = crowded_records()
    other = labels.copy()
    other[0] = -1.0
    edges = -plan.noise_scale * np.array([0.592, 0.553])
    ends = [minimiser(HINGE.pack((features, labels), 1, many=True), plan.regularisation, z) for z in edges]
    shares = []
    for neighbour in (labels, other):
        rows = HINGE.pack((features, neighbour), 1, many=True)
        noises = [-(HINGE.gradients(np.array([x]), rows).sum() + plan.regularisation * x) for x in ends]
        grid = np.linspace(*noises, 40) / plan.noise_scale
        assert farthest(plan, (features, neighbour), grid) <= 1
        shares.append(np.ptp(grid) * np.exp(-(grid**2) / 2).mean() / np.sqrt(2 * np.pi))
    assert shares[0] > 0.008
    assert 1 / np.e < shares[0] / shares[1] < np.e


def exact_minimum(loss, features, labels, ridge, noise, near):
    """Fifty digits: halve an interval that holds the minimiser."""
    points = [mpmath.mpf(float(v)) for v in features]
    signs = [mpmath.mpf(float(y)) for y in labels]

    def slope(x):
        return (
            ridge * x + noise + mpmath.fsum(v * link_slope(loss, v * x, y) for v, y in zip(points, signs, strict=True))
        )

    low, high = mpmath.mpf(near) - mpmath.mpf("1e-6"), mpmath.mpf(near) + mpmath.mpf("1e-6")
    assert slope(low) < 0 < slope(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


def link_slope(loss, s, y):
    if isinstance(loss, HuberLoss):
        h = mpmath.mpf(loss.transition)
        return max(-h, min(h, s - y))
    if isinstance(loss, SmoothedHingeLoss):
        return -y * max(0, min(1, (1 - y * s) / mpmath.mpf(loss.smoothing)))
    return -y / (1 + mpmath.exp(y * s))


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_distances_hold_against_fifty_digits(loss):
    """Noises on a grid around those at which the minimiser stands on a kink."""
    generator = Randomness.replayable(5).stream("kinks")
    records = 12
    features = generator.choice([0.5, 0.8, 1.0], records)
    labels = generator.choice([-1.0, 1.0], records, p=[0.3, 0.7])
    losses = loss_sum(loss, 1)
    losses.add(hull_rows(loss, None, loss.pack((features[:, None], labels), 1, many=True)))
    ridge = 3.0
    constants = loss.constants(None)
    accuracy = attainable_accuracy(
        rounds=records, dimension=1, lipschitz=constants.lipschitz, smoothness=constants.smoothness, ridge=ridge,
        noise=100.0, domain=None,
    )  # fmt: skip
    if isinstance(loss, HuberLoss):
        kinks = [(labels + edge) / features for edge in (-loss.transition, loss.transition)]
    else:
        kinks = [(1 - edge) / (features * labels) for edge in (0.0, getattr(loss, "smoothing", 1.0))]
    with mpmath.workdps(50):
        for kink in np.unique(kinks):
            base = -(losses.gradient(np.array([kink]))[0][0] + ridge * kink)
            for shift in np.linspace(-1e-3, 1e-3, 3):
                noise = base + shift
                found = perturbed_minimum(losses, ridge=ridge, noise=np.array([noise]), accuracy=accuracy)
                assert not found.substitute
                exact = exact_minimum(loss, features, labels, ridge, mpmath.mpf(noise), found.point[0])
                assert abs(exact - mpmath.mpf(float(found.point[0]))) <= found.distance <= accuracy


def drawn_objective(generator):
    """Kinked and smooth losses in one to twenty dimensions, free or pressed against the boundary."""
    loss = [*KINKED, SquaredLoss(), *PLAIN][generator.integers(9)]
    d = int(generator.integers(1, 21))
    thin = Box(np.r_[-np.ones(d - 1), -1e-4], np.r_[np.ones(d - 1), 1e-4])
    domain = [None, Ball(d, 2.0), Box.cube(d, 0.5), thin, L1Ball(d), Simplex(d + 1), None][generator.integers(7)]
    if domain is None and d < 4:
        normals = np.vstack([generator.standard_normal((3 * d, d)), np.eye(d), -np.eye(d)])
        domain = Polytope(normals, np.full(5 * d, np.abs(normals).max()))
    n = d if domain is None else domain.dimension
    rounds = int(10 ** generator.uniform(0, 2.5))
    vectors = generator.standard_normal((rounds, n))
    if generator.random() < 0.4:
        vectors[:] = 10 * vectors[0]
    data = (vectors, np.where(generator.random(rounds) < 0.8, 1.0, -1.0)) if loss.family == "glm" else vectors
    losses = loss_sum(loss, d)
    losses.add(hull_rows(loss, domain, loss.pack(data, n, many=True)))
    constants = loss.constants(domain if domain is not None else Ball(d, 100.0))
    ridge, sigma = 10 ** generator.uniform(-0.5, 4), 10 ** generator.uniform(-1, 3)
    weight = 0.0 if domain is None else constants.lipschitz * domain.diameter / (5 * domain.barrier.parameter)
    noise = sigma * truncated_normal(generator, d)
    accuracy = attainable_accuracy(
        rounds=rounds, dimension=d, lipschitz=constants.lipschitz, smoothness=constants.smoothness, ridge=ridge,
        noise=sigma * truncated_norm(d), domain=domain, weight=weight,
    )  # fmt: skip
    return PerturbedObjective(losses, ridge, noise, domain, weight), accuracy


def minimised(objective, accuracy, **options):
    return perturbed_minimum(
        objective.losses, ridge=objective.ridge, noise=objective.noise, domain=objective.domain,
        weight=objective.weight, accuracy=accuracy, **options,
    )  # fmt: skip


def test_every_release_is_certified():
    generator = Randomness.replayable(3).stream("newton")
    for _ in range(60):
        objective, accuracy = drawn_objective(generator)
        found = minimised(objective, accuracy)
        assert found.distance <= accuracy
        for start in (found.point, np.full(found.point.size, 1e3)):  # one outside is replaced
            again = minimised(objective, accuracy, start=start)
            assert np.linalg.norm(found.point - again.point) <= found.distance + again.distance


def test_the_certain_method_certifies_everywhere():
    """Every method that can, certifies; Newton's and the certain one agree."""
    generator = Randomness.replayable(3).stream("total")
    for _ in range(30):
        objective, accuracy = drawn_objective(generator)
        if objective.losses.smoothness > 30 * objective.modulus:
            continue
        method = bisected_minimum if objective.losses.dimension == 1 else proximal_minimum
        found = method(objective, accuracy, minimum._reach(objective))
        assert found.distance <= accuracy
        fast = newton_minimum(objective, np.zeros(objective.losses.dimension), accuracy)
        if fast is not None:
            assert np.linalg.norm(fast.point - found.point) <= fast.distance + found.distance


def test_without_a_certificate_the_data_are_forgotten(monkeypatch):
    """A solver that finds nothing for these losses: what is released is a function of the noise alone."""
    honest = minimum._certified

    def blind(objective, accuracy, start):
        return honest(objective, accuracy, start) if objective.losses.count == 0 else None

    monkeypatch.setattr(minimum, "_certified", blind)
    noise, points = np.array([3.0, -1.0]), []
    for sign in (1.0, -1.0):
        losses = loss_sum(LogisticLoss(), 2)
        losses.add(
            hull_rows(LogisticLoss(), None, LogisticLoss().pack((np.ones((9, 2)), np.full(9, sign)), 2, many=True))
        )
        found = perturbed_minimum(losses, ridge=2.0, noise=noise, accuracy=1e-12)
        assert found.substitute
        points.append(found.point)
    np.testing.assert_allclose(points, [-noise / 2.0] * 2, atol=1e-12)
    learner = calibrated().start(Randomness.replayable(1))
    learner.run(crowded_records())
    assert np.isfinite(learner.release()).all()
    assert learner.state_dict()["_substitutes"] == 1


def test_long_noise_is_drawn_anew():
    class Script:
        def __init__(self):
            self.vectors = [np.array([11.8, 0.1]), np.array([-12.5, 0.0]), np.array([1.0, 2.0])]

        def standard_normal(self, count):
            return self.vectors.pop(0)

    assert 11.7 < truncated_norm(2) < 11.8 < truncated_norm(3)
    np.testing.assert_array_equal(truncated_normal(Script(), 2), [1.0, 2.0])
    curve = calibrated().guarantee.curve
    assert TRUNCATION <= curve.distance < 1.1 * TRUNCATION  # and next to nothing for the sampler
    assert curve.draws == 1


def test_accuracies_that_float64_cannot_certify_are_refused():
    plan = calibrated()
    parameters = {**plan.parameters, "accuracy": plan.accuracy / 2}
    with pytest.raises(InvalidInput, match="accuracy"):
        ObjectivePerturbation(plan.problem, **parameters)


@pytest.mark.parametrize("press", [0.0, 30.0, 1e5])
def test_distance_bounds_the_distance_to_forty_digits(press):
    """One dimension, squared losses: the exact minimiser by high-precision root finding."""
    generator = Randomness.replayable(8).stream("digits")
    domain, loss, weight, ridge = Ball(1), SquaredLoss(), 0.2, 10.0
    v, y = generator.uniform(-1, 1, 50), generator.uniform(-1, 1, 50)
    losses = loss_sum(loss, 1)
    losses.add(hull_rows(loss, domain, loss.pack((v[:, None], y), 1, many=True)))
    noise = np.array([-press])
    found = perturbed_minimum(losses, ridge=ridge, noise=noise, domain=domain, weight=weight, accuracy=1e-9)
    with mpmath.workdps(40):
        bend = mpmath.fsum(mpmath.mpf(float(a)) ** 2 for a in v) + mpmath.mpf(ridge)
        base = -mpmath.fsum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(v, y, strict=True)) - press
        exact = mpmath.findroot(
            lambda x: base + bend * x + mpmath.mpf(weight) * 2 * x / (1 - x * x),
            (-1 + mpmath.mpf(10) ** -30, 1 - mpmath.mpf(10) ** -30), solver="anderson", tol=1e-50, verify=False,
        )  # fmt: skip
        assert abs(float(exact - mpmath.mpf(float(found.point[0])))) <= found.distance
    assert found.distance <= 1e-9


def test_what_cannot_be_certified_is_never_released():
    objective, _ = drawn_objective(Randomness.replayable(0).stream("never"))
    with pytest.raises(PrivacyError, match="whatever the data"):
        minimised(objective, 0.0)
    linear = replace(objective, losses=loss_sum(LinearLoss(), objective.losses.dimension), ridge=0.0)
    with pytest.raises(PrivacyError, match="whatever the data"):  # without curvature there is no certificate
        minimised(linear, 1e-6)


def test_gradients_come_with_a_true_error_bound():
    generator = Randomness.replayable(9).stream("errors")
    loss = SquaredLoss()
    losses = loss_sum(loss, 1)
    v, y = generator.uniform(-1, 1, 3000), generator.uniform(-1, 1, 3000)
    losses.add(hull_rows(loss, None, loss.pack((v[:, None], y), 1, many=True)))
    x = 0.3
    gradient, error = losses.gradient(np.array([x]))
    with mpmath.workdps(40):
        exact = mpmath.fsum(
            mpmath.mpf(float(a)) * (mpmath.mpf(float(a)) * mpmath.mpf(x) - mpmath.mpf(float(b)))
            for a, b in zip(v, y, strict=True)
        )
        assert abs(float(exact - mpmath.mpf(float(gradient[0])))) <= error
    assert error < 1e-9


def test_sums_have_true_derivatives_and_reload():
    generator = Randomness.replayable(6).stream("reload")
    for loss in (LogisticLoss(), SquaredLoss(), HuberLoss(transition=0.1), SmoothedHingeLoss(smoothing=0.3), *PLAIN):
        domain = Simplex(4)
        vectors = generator.standard_normal((900, 4))
        data = (vectors, np.ones(900)) if loss.family == "glm" else vectors
        rows = hull_rows(loss, domain, loss.pack(data, 4, many=True))
        losses, x = loss_sum(loss, 3), np.array([0.1, -0.05, 0.02])
        losses.add(rows[:500])
        before = losses.gradient(x)[0]
        copy = loss_sum(loss, 3)
        copy.load_state_dict(losses.state_dict())
        np.testing.assert_array_equal(copy.gradient(x)[0], before)
        for total in (copy, losses):
            total.add(rows[500:])
        np.testing.assert_array_equal(copy.gradient(x)[0], losses.gradient(x)[0])
        before = losses.gradient(x)[0]
        h = 1e-6
        for axis in np.eye(3):
            slope = (losses.value(x + h * axis) - losses.value(x - h * axis)) / (2 * h)
            assert before @ axis == pytest.approx(slope, abs=1e-4)
            bend = (losses.gradient(x + h * axis)[0] - losses.gradient(x - h * axis)[0]) / (2 * h)
            np.testing.assert_allclose(losses.hessian(x) @ axis, bend, atol=0.02 * 900)
