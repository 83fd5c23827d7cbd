"""Cube noise: the radius, the vector and its privacy against exact laws."""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from noise.keyed import uniforms
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.cube import CubeNoise, CubeRadius, least_cube_rate
from tacit.noise.discrete_laplace import SMALLEST_RATE
from tacit.noise.noisy_vectors import vector_grid
from tacit.noise.running_sums import CubeTree
from tacit.noise.running_sums.accumulators import LossRecords


def radius(rate, dimension, key=3):
    return CubeRadius(uniforms(key), uniforms(key + 1), rate, dimension)


def cube(rate, dimension, key=3):
    return CubeNoise(radius(rate, dimension, key), uniforms(key + 2))


def radius_law(rate, dimension, largest):
    m = np.arange(largest)
    weights = (2.0 * m + 1) ** dimension * np.exp(-rate * m)
    return weights / weights.sum()


def fits(draws, law):
    """Chi-square with cells of at least ten expected draws."""
    order = np.argsort(law)[::-1]
    keep = order[law[order] * draws.size >= 10]
    observed = np.bincount(draws, minlength=law.size)
    rest = draws.size - observed[keep].sum()
    chances = np.append(law[keep], 1 - law[keep].sum())
    return stats.chisquare(np.append(observed[keep], rest), chances * draws.size).pvalue > 1e-6


@pytest.mark.parametrize(("rate", "dimension"), [(0.3, 3), (0.05, 10), (2.0, 2), (1.0, 1)])
def test_radii_have_their_law(rate, dimension):
    draws = radius(rate, dimension).draw(40_000)
    law = radius_law(rate, dimension, 4000)
    assert fits(draws, law)
    assert not fits(draws, radius_law(1.05 * rate, dimension, 4000))
    assert not fits(draws, radius_law(rate, dimension + 1, 4000))


def test_sums_of_draws_are_integers_of_float64():
    """Beyond 2^53 float64 would round noise, and show whether what it hides is even."""
    assert least_cube_rate(100, 67) == SMALLEST_RATE
    for dimension, summed in ((1, 1), (10**5, 67), (3 * 10**6, 1), (10**7, 5)):
        rate = least_cube_rate(dimension, summed)
        assert 4 * summed * (dimension + 30) / rate <= 2**52
        # Rate times radius has a gamma law, up to its steps.
        assert stats.gamma.logsf(4 * (dimension + 30), dimension + 1) < -50 * log(10)


@pytest.mark.parametrize(("experts", "epsilon"), [(2, 1e-6), (10**5, 0.01), (3 * 10**6, 0.01), (3 * 10**6, 1.0)])
def test_plans_for_many_experts_have_noise_that_float64_holds(experts, epsilon):
    tree = CubeTree.best(99)
    grids = [
        (tree.grid(epsilon, LossRecords(experts)), round(tree.largest_row_norm**2)),
        (vector_grid("cube", 1 / epsilon, LossRecords(experts), 1), 1),
    ]
    for grid, summed in grids:
        assert 4 * summed * (experts + 30) / grid.rate <= 2**52
        assert grid.curve.pure() <= epsilon
    with pytest.raises(PrivacyError, match="no exact noise in 10000000 dimensions"):
        CubeTree.best(10**6).grid(1e9, LossRecords(10**7))


def test_vectors_have_their_law():
    """Each point of a small square with probability proportional to e^{-a max |z|}; Laplace noise would not."""
    rate = 0.6
    draws = cube(rate, 2).draw(120_000).reshape(-1, 2)
    inside = np.abs(draws).max(axis=1) <= 6
    cells = (draws[inside] + 6) @ [13, 1]
    grid = np.abs(np.stack(np.meshgrid(np.arange(-6, 7), np.arange(-6, 7)), axis=-1))
    for distance, fair in ((grid.max(axis=-1), True), (grid.sum(axis=-1), False)):
        law = np.exp(-rate * distance).ravel()
        assert bool(fits(cells, law / law.sum())) is fair
    outside = 1 - inside.mean()
    weights = np.array([(8 * k if k else 1) * exp(-rate * k) for k in range(200)])
    assert abs(outside - weights[7:].sum() / weights.sum()) < 4.9 * 0.5 / len(draws) ** 0.5


def test_high_dimensions_draw_little_ahead():
    source = cube(2.0**-26, 20_000)
    assert source.draw(20_000).shape == (20_000,)
    assert source._radii._sizes._drawn < 10 * 20_001


def test_refusals():
    with pytest.raises(PrivacyError, match="rate \\* dimension of at most 8"):
        radius(1.0, 9)
    with pytest.raises(InvalidInput, match="whole vectors of 5"):
        cube(0.01, 5).draw(7)
    with pytest.raises(InvalidInput, match="'rate' parameter"):
        radius(0.0, 3)
