"""The noise that is really added has the scale that was promised. Each test rejects 0.8 times the noise.

A coordinate of one released sum is exactly normal (or, where a sum is one node, exactly Laplace), and the coordinates
are independent, so the statistics below are exactly chi-square and gamma. False-alarm rate 1e-6 for each statistic.
"""

import numpy as np
import pytest
from scipy.special import gammaincc

from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree, Tree

DIMENSION = 4000
ALARM = 1e-6


def accepts(mechanism, step, factor):
    """Whether the noise of the sum at `step`, times `factor`, passes for that of the mechanism."""
    scale = mechanism.scale(0.7, 3.0)
    rng = Randomness.replayable(5).stream(repr(mechanism))
    sums = mechanism.start(DIMENSION, scale * factor, mechanism.noise_from(rng))
    for _ in range(step):
        released = sums.add(np.zeros(DIMENSION))
    deviation = float(mechanism.standard_deviations(scale)[step - 1])
    if mechanism.noise == "laplace":
        tail = gammaincc(DIMENSION, np.abs(released).sum() / (deviation / np.sqrt(2)))
    else:
        tail = gammaincc(DIMENSION / 2, np.sum((released / deviation) ** 2) / 2)
    return ALARM / 2 <= tail <= 1 - ALARM / 2


@pytest.mark.parametrize(
    ("mechanism", "step"),
    [
        (Tree(100), 1),
        (Tree(100), 63),
        (Buffered(1000), 1),
        (Buffered(1000), 300),
        (LaplaceTree(100, 2), 64),
        (LaplaceTree(100, 7), 49),
    ],
    ids=repr,
)
def test_scale_of_the_noise(mechanism, step):
    assert accepts(mechanism, step, 1.0)
    assert not accepts(mechanism, step, 0.8)
    assert not accepts(mechanism, step, 1.25)


@pytest.mark.parametrize("mechanism", [Tree(64), Buffered(64)], ids=repr)
def test_noise_of_two_steps_is_correlated_as_the_decoder_says(mechanism):
    """A combination of two released sums is normal with the variance that the dense decoder gives."""
    rng = Randomness.replayable(6).stream(repr(mechanism))
    sums = mechanism.start(DIMENSION, 1.0, mechanism.noise_from(rng))
    released = [sums.add(np.zeros(DIMENSION)) for _ in range(64)]
    decoder = mechanism.matrices()[0]
    for first, second in ((40, 41), (31, 63), (0, 63)):
        difference = released[second] - released[first]
        squared = np.sum((decoder[second] - decoder[first]) ** 2)
        tail = gammaincc(DIMENSION / 2, np.sum(difference**2) / squared / 2)
        assert ALARM / 2 <= tail <= 1 - ALARM / 2
    # Neighbouring steps with independent noises would have this variance instead: the test tells them apart.
    difference = released[41] - released[40]
    independent = np.sum(decoder[41] ** 2) + np.sum(decoder[40] ** 2)
    assert gammaincc(DIMENSION / 2, np.sum(difference**2) / independent / 2) > 1 - ALARM / 2
