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
