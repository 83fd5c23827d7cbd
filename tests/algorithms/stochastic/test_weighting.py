"""Noise before any data: the printed equation beside ours, and the dense matrices behind the formulas."""

import numpy as np
import pytest
from errata.online_to_batch import printed_weighted_noise

from algorithms.stochastic.weighted_noise import UNIT, weighted_noise
from tacit.accounting.calibration import gaussian_mu
from tacit.algorithms.stochastic.online_to_batch.conversion import (
    clipping_norms,
    growing_deviations,
)
from tacit.noise.running_sums import Buffered, LaplaceTree, Tree


@pytest.mark.parametrize(
    ("horizon", "power", "ours", "printed"),
    [(1_000, 1, 0.156, 0.863), (100_000, 1, 0.0024, 0.0141), (100_000, 3, 0.0035, 0.0182)],
)
def test_weighted_noise(horizon, power, ours, printed):
    """At epsilon = 1, delta = 1e-6: 5 to 6 times less than equation (6)."""
    noise = weighted_noise(Buffered(horizon - 1), gaussian_mu(1.0, 1e-6), power=power, **UNIT)
    assert noise <= ours
    paper = printed_weighted_noise(horizon, power, 1.0, 1e-6)
    assert paper == pytest.approx(printed, rel=0.004)
    assert 5 < paper / noise < 6.5


@pytest.mark.parametrize("mechanism", [Buffered(50), Tree(50), LaplaceTree(50, 3)])
def test_growing_noise_agrees_with_the_matrices(mechanism):
    decoder, _ = mechanism.matrices()
    scales = np.maximum.accumulate(clipping_norms(50, 2.0, 1.0, 0.5, 2.0))
    dense = np.sqrt(decoder**2 @ scales**2)
    assert growing_deviations(mechanism, scales) == pytest.approx(dense, rel=1e-5)
