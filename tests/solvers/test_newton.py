"""The certified minimiser: its distance to the truth, all domains and losses, and life without a certificate."""

import mpmath
import numpy as np
import pytest

from tacit import losses as families
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.solvers.loss_sums import hull_rows, loss_sum
from tacit.solvers.minimum import attainable_accuracy, perturbed_minimum

LOSSES = [
    families.LogisticLoss(), families.SquaredLoss(), families.HuberLoss(transition=0.1),
    families.SmoothedHingeLoss(smoothing=0.3),
    families.LinearLoss(), families.QuadraticLoss(),
]  # fmt: skip


def random_problem(generator, rounds=None):
    """A random loss, domain, history and noise, easy or pressed against the boundary."""
    loss = LOSSES[generator.integers(len(LOSSES))]
    d = int(generator.integers(1, 6))
    kind = generator.integers(5)
    if kind == 4:
        rows = generator.standard_normal((3 * d, d))
        domain = Polytope(np.vstack([rows, np.eye(d), -np.eye(d)]), np.ones(5 * d) * np.abs(rows).max())
    else:
        domain = [Ball(d, 2.0), Box.cube(d, 0.5), L1Ball(d), Simplex(d + 1)][kind]
    rounds = int(10 ** generator.uniform(0, 3)) if rounds is None else rounds
    n = domain.dimension
    vectors = generator.standard_normal((rounds, n))
    if generator.random() < 0.4:
        vectors[:] = vectors[0] * 10
    data = (vectors, np.where(generator.random(rounds) < 0.8, 1.0, -1.0)) if loss.family == "glm" else vectors
    losses = loss_sum(loss, domain.hull_dimension)
    losses.add(hull_rows(loss, domain, loss.pack(data, n, many=True)))
    constants = loss.constants(domain)
    eta = 10 ** generator.uniform(-4, 0.5)
    sigma = 10 ** generator.uniform(-1, 3)
    weight = constants.lipschitz * domain.diameter / (5 * domain.barrier.parameter)
    noise = sigma * generator.standard_normal(domain.hull_dimension)
    accuracy = attainable_accuracy(
        rounds=rounds, dimension=domain.hull_dimension, lipschitz=constants.lipschitz,
        smoothness=constants.smoothness, ridge=1 / eta, noise=float(np.linalg.norm(noise)), domain=domain,
        weight=weight,
    )  # fmt: skip
    return losses, {"ridge": 1 / eta, "noise": noise, "domain": domain, "weight": weight, "accuracy": accuracy}


def check_certificates(count, seed):
    generator = Randomness.replayable(seed).stream("newton")
    for _ in range(count):
        losses, problem = random_problem(generator)
        found = perturbed_minimum(losses, **problem)
        assert found.distance <= problem["accuracy"]
        again = perturbed_minimum(losses, **problem, start=found.point)
        assert np.linalg.norm(found.point - again.point) <= found.distance + again.distance


def test_every_release_is_certified():
    check_certificates(200, 3)


@pytest.mark.slow
def test_every_release_is_certified_ten_thousand_times():
    check_certificates(10_000, 4)


@pytest.mark.parametrize("press", [0.0, 30.0, 1e5])
def test_distance_bounds_the_distance_to_forty_digits(press):
    """One dimension, squared losses: the exact minimiser by high-precision root finding."""
    generator = Randomness.replayable(8).stream("digits")
    domain, loss, weight, ridge = Ball(1), families.SquaredLoss(), 0.2, 10.0
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


def test_without_a_domain_a_ridge_is_enough():
    generator = Randomness.replayable(2).stream("free")
    loss = families.LogisticLoss()
    losses = loss_sum(loss, 4)
    features = generator.standard_normal((300, 4))
    losses.add(hull_rows(loss, None, loss.pack((features, np.sign(features[:, 0])), 4, many=True)))
    noise = 3 * generator.standard_normal(4)
    found = perturbed_minimum(losses, ridge=0.5, noise=noise, accuracy=1e-10)
    gradient, _ = losses.gradient(found.point)
    assert np.linalg.norm(gradient + 0.5 * found.point + noise) <= 0.5 * 1e-10
    assert 0 < found.distance <= 1e-10
    accuracy = attainable_accuracy(
        rounds=300, dimension=4, lipschitz=1.0, smoothness=0.25, ridge=0.5, noise=20.0, domain=None
    )
    assert perturbed_minimum(losses, ridge=0.5, noise=noise, accuracy=accuracy).distance <= accuracy < 1e-8


def test_what_cannot_be_certified_is_never_released():
    losses, problem = random_problem(Randomness.replayable(0).stream("never"), rounds=200)
    problem["accuracy"] = 0.0
    with pytest.raises(PrivacyError, match="whatever the data"):
        perturbed_minimum(losses, **problem)
    problem["accuracy"] = 1e-6
    problem["ridge"] = 0.0  # no curvature to speak of: no certificate exists for linear losses
    linear = loss_sum(families.LinearLoss(), losses.dimension)
    with pytest.raises(PrivacyError, match="whatever the data"):
        perturbed_minimum(linear, **problem)


def test_a_start_outside_is_replaced():
    losses, problem = random_problem(Randomness.replayable(1).stream("outside"), rounds=20)
    far = np.full(losses.dimension, 1e3)
    assert perturbed_minimum(losses, **problem, start=far).distance <= problem["accuracy"]


def test_gradients_come_with_a_true_error_bound():
    generator = Randomness.replayable(9).stream("errors")
    loss = families.SquaredLoss()
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
    for loss in LOSSES:
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


def test_only_constructed_losses_have_sums():
    with pytest.raises(PrivacyError, match="by construction"):
        loss_sum(families.ConvexFamily(1.0, 1.0), 2)
