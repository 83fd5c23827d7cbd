"""The curve of objective perturbation against exact integration in one dimension."""

import numpy as np
import pytest
from scipy.special import expit

from tacit.accounting.conversion import renyi_epsilon
from tacit.accounting.curves import Curve, Gaussian
from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.accounting.objective_perturbation import (
    GaussianAlternatives,
    composed,
    release_curve,
)
from tacit.errors import InvalidInput

GRID = np.linspace(-50.0, 50.0, 40_001)


def logistic(v: float, y: float):
    return lambda x: (-y * expit(-y * v * x) * v, v * v * expit(v * x) * expit(-v * x))


def huber(v: float, y: float, h: float = 1.0):
    return lambda x: (np.clip(v * x - y, -h, h) * v, v * v * (np.abs(v * x - y) <= h))


def density(losses, ridge: float, sigma: float) -> np.ndarray:
    gradient, curvature = ridge * GRID, np.full_like(GRID, ridge)
    for loss in losses:
        slope, bend = loss(GRID)
        gradient, curvature = gradient + slope, curvature + bend
    with np.errstate(under="ignore"):
        return np.exp(-((gradient / sigma) ** 2) / 2) / (np.sqrt(2 * np.pi) * sigma) * curvature


def exact_delta(first, second, epsilon: float) -> float:
    width = GRID[1] - GRID[0]
    assert np.sum(first) * width == pytest.approx(1, abs=2e-3)  # Huber densities jump between grid points
    return max(
        float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0)) * width) for p, q in ((first, second), (second, first))
    )


@pytest.mark.parametrize("relation", [ZERO_OUT, REPLACE])
def test_two_sided_losses_need_the_two_sided_curve(relation):
    ridge, sigma = 2.0, 1.5
    losses = [huber(1.0, 0.0), huber(1.0, 1.0), huber(-1.0, 1.0), huber(1.0, 50.0), huber(1.0, -50.0)]
    curve = release_curve(move=1 / sigma, growth=1 / ridge, one_sided=False, relation=relation, protection=1e-9)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        for loss in losses:
            others = [[]] if relation is ZERO_OUT else [[other] for other in losses]
            for other in others:
                exact = exact_delta(density([loss], ridge, sigma), density(other, ridge, sigma), epsilon)
                assert exact <= curve.delta(epsilon) + 1e-3


def test_the_curve_is_attained_in_the_limit():
    # Margins so wrong that the slope is always 1 and the curvature 0: the Gaussian mechanism itself.
    ridge, sigma = 1.0, 2.0

    def steep(x):
        return np.ones_like(x), np.zeros_like(x)

    exact = exact_delta(density([steep], ridge, sigma), density([], ridge, sigma), 0.5)
    curve = release_curve(move=1 / sigma, growth=0.0, one_sided=True, relation=ZERO_OUT, protection=1e-9)
    assert curve.delta(0.5) == pytest.approx(exact, rel=1e-5)
    wrong = release_curve(move=0.8 / sigma, growth=0.0, one_sided=True, relation=ZERO_OUT, protection=1e-9)
    assert wrong.delta(0.5) < 0.9 * exact  # the test rejects a noise scale that is off


def test_the_renyi_curve_bounds_the_exact_moments():
    ridge, sigma = 1.0, 1.5
    p, q = density([logistic(1.0, 1.0)], ridge, sigma), density([], ridge, sigma)
    curve = release_curve(move=1 / sigma, growth=0.25 / ridge, one_sided=True, relation=ZERO_OUT, protection=1e-9)
    width = GRID[1] - GRID[0]
    keep = (p > 1e-60) & (q > 1e-60)
    for order in (1.2, 2.0, 5.0, 12.0):
        for a, b in ((p, q), (q, p)):
            moment = np.log(np.sum(b[keep] * (a[keep] / b[keep]) ** order) * width) / (order - 1)
            assert moment <= curve.renyi(np.array([order]))[0] + 1e-7


def test_composition_multiplies_alternatives():
    one = release_curve(move=0.3, growth=0.1, one_sided=True, relation=ZERO_OUT, protection=1e-6)
    three = composed([one, one, one])
    assert three.offset == pytest.approx(3 * np.log1p(0.1))
    assert max(three.shifts) == pytest.approx(0.3 * np.sqrt(3), rel=1e-5)
    assert three.epsilon(1e-6) > one.epsilon(1e-6)
    # Never below the Gaussian mechanism of the combined shift, and close to it.
    gaussian = three.offset + Gaussian(0.3 * np.sqrt(3)).epsilon(1e-6)
    assert gaussian <= three.epsilon(1e-6) <= gaussian * 1.01


def test_calibration_prices_consistently():
    curve = GaussianAlternatives(0.05, (0.0, 0.2, 0.4), (1, 2, 1))
    for delta in (1e-8, 1e-6, 1e-3):
        assert curve.delta(curve.epsilon(delta)) <= delta
    assert curve.delta(0.0) > curve.delta(0.04) > curve.delta(0.06)
    assert curve.pure() == float("inf")
    assert GaussianAlternatives(0.05, (0.0,), (1,)).pure() == 0.05
    again = Curve.from_dict(curve.to_dict())
    assert again.delta(0.7) == curve.delta(0.7)
    assert renyi_epsilon(curve.renyi, 1e-6) >= curve.epsilon(1e-6)


def test_bad_arguments_raise():
    with pytest.raises(InvalidInput, match="one length"):
        GaussianAlternatives(0.1, (0.1,), ())
    with pytest.raises(InvalidInput, match="offset"):
        GaussianAlternatives(-0.1, (0.1,), (1,))
    with pytest.raises(InvalidInput, match="shifts"):
        GaussianAlternatives(0.1, (float("nan"),), (1,))
