"""Noise with the density of a norm: the shipped sampler has it, and slightly different ones are seen."""

from dataclasses import replace

import numpy as np
import pytest

from tacit import Experts, Randomness
from tacit.algorithms import HedgeOnSums
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.auditing.noise_laws import norm_noise, standardised, standardised_cube, sum_noise
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree
from tacit.noise.running_sums.accumulators import unit_noise


def generator(seed=0):
    return Randomness.replayable(seed).stream("tests")


@pytest.mark.parametrize(("power", "dimension"), [(2.0, 1), (2.0, 4), (1.25, 3), (1.1, 5)])
def test_norm_noise_has_its_density(power, dimension):
    norm = Norm(power)
    honest = norm.exponential_noise(generator(5))
    assert not norm_noise(honest, norm, dimension, coordinates=4000).violation
    shorter = norm.exponential_noise(generator(6))
    short = norm_noise(lambda count: 0.85 * shorter(count), norm, dimension, coordinates=16_000)
    assert short.violation


def test_norm_noise_with_one_sign_or_another_norm():
    norm, source = Norm(1.25), generator(7)
    draw = norm.exponential_noise(source)
    assert norm_noise(lambda count: np.abs(draw(count)), norm, 3, coordinates=3000).violation
    coordinates = norm_noise(lambda count: source.laplace(0.0, 1.0, count), norm, 3, coordinates=12_000)
    assert coordinates.violation
    assert "exp(-|z|)" in coordinates.detail


def test_standardised_vectors_of_one_dimension_are_their_sizes():
    """|z| is exponential: its median becomes 0."""
    np.testing.assert_allclose(standardised(np.array([[np.log(2.0)], [-np.log(2.0)]]), 2.0), 0.0, atol=1e-12)


@pytest.mark.parametrize("mechanism", [Tree(13), Buffered(13), LaplaceTree(13, 3), CubeTree(13, 3)], ids=str)
def test_noise_of_sums_has_its_law(mechanism):
    plan = HedgeOnSums(Experts(n=3, horizon=14), eta=0.1, mechanism=mechanism, privacy=1.0)
    assert not sum_noise(plan, Randomness.replayable(1), coordinates=8_000).violation
    vars(plan)["grid"] = replace(plan.grid, scale=1.2 * plan.grid.scale)  # what it claims to have
    assert sum_noise(plan, Randomness.replayable(1), coordinates=8_000).violation


def test_cube_noise_is_told_from_laplace_noise():
    """Standardised, the coordinates of a vector are independent normal numbers; those of Laplace noise are not."""
    vectors = unit_noise("cube", generator(8), 3)(30_000).reshape(-1, 3)
    normals, signs = standardised_cube(vectors)
    assert normals.shape == (10_000, 3)
    assert abs(signs.mean() - 0.5) < 0.025
    np.testing.assert_allclose(normals.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(normals.std(axis=0), 1.0, atol=0.04)
    others = standardised_cube(unit_noise("laplace", generator(9))(30_000).reshape(-1, 3))[0]
    assert others[:, 1].std() < 0.9
