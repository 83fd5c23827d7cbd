"""The best fixed point: its gap is proved, and generic solvers find nothing better."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.domains import Ball, Box, KSubsets, L1Ball, Simplex
from tacit.environments.convex import DriftingQuadratic, LogisticStream, SignFlips
from tacit.errors import InvalidInput
from tacit.losses import HuberLoss, LogisticLoss, QuadraticLoss, SquaredLoss
from tacit.noise.randomness import Randomness
from tacit.simulation.comparators import best_fixed_point

DOMAINS = [Ball(3), Box.cube(3, 0.2), Simplex(3), L1Ball(3, 0.5)]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize(
    "environment", [LogisticStream(3, 2000), DriftingQuadratic(3, 2000), SignFlips(3, 2000)], ids=repr
)
def test_nothing_better_is_found(environment, domain):
    data = environment.data(Randomness.replayable(2).stream("data"))
    best = best_fixed_point(environment.loss, data, domain)
    assert domain.contains(best.point, 1e-9)
    assert 0 <= best.gap <= 1e-8 * max(1.0, abs(float(np.sum(environment.loss.value(domain.centre, data)))))

    def total(coordinates):
        return float(np.sum(environment.loss.value(domain.project(coordinates), data)))

    for start in (domain.centre, best.point):
        found = minimize(total, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
        assert best.loss <= found.fun + best.gap + 1e-7


def test_interior_optimum_of_least_squares_is_exact():
    generator = Randomness.replayable(3).stream("data")
    features = generator.standard_normal((500, 2)) / 4
    labels = features @ np.array([0.3, -0.2]) + 0.01 * generator.standard_normal(500)
    best = best_fixed_point(SquaredLoss(data_norm=10.0), (features, labels), Ball(2))
    np.testing.assert_allclose(best.point, np.linalg.lstsq(features, labels, rcond=None)[0], atol=1e-4)
    huber = best_fixed_point(HuberLoss(data_norm=10.0, transition=0.01), (features, labels), Ball(2))
    assert huber.gap <= 1e-8


def test_refusals():
    with pytest.raises(InvalidInput, match="cannot be certified"):
        best_fixed_point(LogisticLoss(), (np.ones((3, 4)), np.ones(3)), KSubsets(4, 2))
    with pytest.raises(InvalidInput):
        best_fixed_point(QuadraticLoss(), np.ones((3, 2)), Ball(2), tolerance=0.0)
    with pytest.raises(InvalidInput, match="was not found"):
        best_fixed_point(LogisticLoss(), (np.ones((50, 2)), np.ones(50)), Ball(2), tolerance=1e-30)
    with pytest.raises(InvalidInput, match="only to within"):
        best_fixed_point(QuadraticLoss(), np.full((50, 2), 0.3) ** np.arange(1, 3), Ball(2, 0.1), tolerance=1e-50)
