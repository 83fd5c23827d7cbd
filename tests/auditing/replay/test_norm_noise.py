"""Noise with the density of a norm: the shipped sampler has it, and slightly different ones are seen."""

import numpy as np
import pytest

from tacit import Randomness
from tacit.auditing.replay.norm_noise import norm_noise, standardised
from tacit.learners.stochastic.norms import Norm


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
