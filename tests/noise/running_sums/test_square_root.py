"""The dense square root."""

import numpy as np
from scipy.special import binom

from tacit.noise.running_sums import SquareRoot


def test_coefficients_are_the_central_binomials():
    k = np.arange(200)
    np.testing.assert_allclose(SquareRoot(200).coefficients, binom(2 * k, k) / 4.0**k, rtol=1e-12)


def test_published_norm_at_a_hundred_thousand_steps():
    mechanism = SquareRoot(100_000)
    assert round(mechanism.column_norm * float(mechanism.row_norms()[-1]), 2) == 4.73


def test_memory_holds_only_the_noise_made():
    sums = SquareRoot(1000).start(2, 1.0, np.ones)
    for step in range(1, 20):
        sums.add(np.zeros(2))
        assert sums.state_dict()["added"].shape == (step, 2)
