"""The minimiser is a total function: at kinks, at the boundary and in every dimension it is found and certified.

The data set `crowded_records` made Newton's method raise for an interval of noises: a hole in the law of the released
model that its neighbour does not have, and that showed delta(1) >= .009 where 1e-6 was certified.
"""

import mpmath
import numpy as np
import pytest

from planted_bugs.crowded import crowded_records
from tacit.algorithms.stochastic import ObjectivePerturbation
from tacit.auditing.integration import minimiser, totality
from tacit.domains import Ball, Box, L1Ball, Simplex
from tacit.errors import InvalidInput
from tacit.losses import HuberLoss, LinearLoss, LogisticLoss, QuadraticLoss, SmoothedHingeLoss, SquaredLoss
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

HINGE = SmoothedHingeLoss(smoothing=0.01)
KINKED = [
    *(SmoothedHingeLoss(smoothing=width) for width in (1e-2, 1e-3, 1e-4)),
    *(HuberLoss(transition=width) for width in (1e-2, 1e-3)),
    LogisticLoss(),
]


def calibrated(loss=HINGE, records=100):
    problem = Stochastic(domain=Ball(1), loss=loss, horizon=records)
    return ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=1e-6)


def test_no_noise_is_without_a_model():
    """For most noises of this interval the learner used to raise."""
    plan = calibrated()
    finding = totality(plan, crowded_records(), np.linspace(-0.592, -0.553, 60).tolist())
    assert not finding.violation, finding.detail
    assert 0 < finding.lower <= 1


def test_neighbours_have_the_same_law():
    """Models in the former hole: both neighbours release them, with probabilities within a factor e of each other."""
    plan = calibrated()
    features, labels = crowded_records()
    other = labels.copy()
    other[0] = -1.0
    edges = -plan.noise_scale * np.array([0.592, 0.553])
    ends = [minimiser(HINGE, HINGE.pack((features, labels), 1, many=True), plan.regularisation, z) for z in edges]
    shares = []
    for neighbour in (labels, other):
        rows = HINGE.pack((features, neighbour), 1, many=True)
        noises = [-(HINGE.gradients(np.array([x]), rows).sum() + plan.regularisation * x) for x in ends]
        grid = np.linspace(*noises, 40) / plan.noise_scale
        assert not totality(plan, (features, neighbour), grid.tolist()).violation
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


def check_kinks(loss, noises, records=12):
    """Noises on a grid around those at which the minimiser stands on a kink."""
    generator = Randomness.replayable(5).stream("kinks")
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
            for shift in np.linspace(-1e-3, 1e-3, noises):
                noise = base + shift
                found = perturbed_minimum(losses, ridge=ridge, noise=np.array([noise]), accuracy=accuracy)
                assert not found.substitute
                exact = exact_minimum(loss, features, labels, ridge, mpmath.mpf(noise), found.point[0])
                assert abs(exact - mpmath.mpf(float(found.point[0]))) <= found.distance <= accuracy


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_distances_hold_against_fifty_digits(loss):
    check_kinks(loss, noises=3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_distances_hold_against_fifty_digits_at_ten_thousand_noises(loss):
    check_kinks(loss, noises=10_000 // 12)


def drawn_objective(generator):
    """Kinked and smooth losses in one to twenty dimensions, free or pressed against the boundary."""
    loss = [*KINKED, SquaredLoss(), LinearLoss(), QuadraticLoss()][generator.integers(9)]
    d = int(generator.integers(1, 21))
    thin = Box(np.r_[-np.ones(d - 1), -1e-4], np.r_[np.ones(d - 1), 1e-4])
    domain = [None, Ball(d, 2.0), Box.cube(d, 0.5), thin, L1Ball(d), Simplex(d + 1)][generator.integers(6)]
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


def check_methods(count, seed, steepest):
    """Every method that can, certifies; Newton's and the certain one agree."""
    generator = Randomness.replayable(seed).stream("total")
    for _ in range(count):
        objective, accuracy = drawn_objective(generator)
        if objective.losses.smoothness > steepest * objective.modulus:
            continue
        method = bisected_minimum if objective.losses.dimension == 1 else proximal_minimum
        found = method(objective, accuracy, minimum._reach(objective))
        assert found.distance <= accuracy
        fast = newton_minimum(objective, np.zeros(objective.losses.dimension), accuracy)
        if fast is not None:
            assert np.linalg.norm(fast.point - found.point) <= fast.distance + found.distance


def test_the_certain_method_certifies_everywhere():
    check_methods(30, 3, steepest=30)


@pytest.mark.slow
def test_the_certain_method_certifies_everywhere_thousands_of_times():
    check_methods(3_000, 4, steepest=3_000)


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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("loss", [LogisticLoss(), HINGE, SquaredLoss(), LinearLoss(), QuadraticLoss()], ids=repr)
def test_rounds_are_finite_when_they_are_packed(loss, bad):
    vector, huge = np.array([bad, 1.0]), np.array([1e308, 1e308])
    data, large = ((vector, 1.0), (huge, 1e308)) if loss.family == "glm" else (vector, huge)
    with pytest.raises(InvalidInput, match="finite"):
        loss.pack(data, 2, many=False)
    row = loss.pack(large, 2, many=False)
    assert np.isfinite(row).all()
    losses = loss_sum(loss, 2)
    losses.add(hull_rows(loss, None, row))
    assert np.isfinite(losses.gradient(np.ones(2))[0]).all()
