"""Integer statistics that are released once: the finest lattice that the privacy allows, and what it says."""

from functools import partial

import numpy as np
import pytest

from attacks import rows as attacked
from tacit.accounting.calibration import gaussian_mu
from tacit.errors import PrivacyError
from tacit.noise.lattice import cross_ratio, joint_shift, moments_shift
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit_models import statistics
from tacit_models.budget import NoisyStatistics, statistics_curve


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0])
@pytest.mark.parametrize("shift", [
    partial(moments_shift, features=7, replace=True), partial(moments_shift, features=1, replace=False),
    partial(joint_shift, dimension=5, replace=True),
])  # fmt: skip
def test_the_lattice_is_the_finest_one(epsilon, shift):
    mu = gaussian_mu(epsilon, 1e-6)
    units = NoisyStatistics.finest(mu, shift).units
    assert shift(units) <= mu * GAUSSIAN_SIGMA < shift(units + 2)
    curve, numerics = statistics_curve(mu, 1000)
    assert curve.epsilon(1e-6) <= epsilon
    assert numerics == "exact up to an extra epsilon of 1.6e-30"


def test_releases_are_whole_steps_with_the_stated_noise():
    lattice = NoisyStatistics(2**20)
    sums = np.arange(20_000) * 2**30
    noise = lattice.release(sums, Randomness.replayable(1), "moments") - sums / lattice.units
    assert abs(noise.std() / lattice.deviation - 1) < 6 / np.sqrt(2 * 20_000)
    np.testing.assert_array_equal(np.rint(noise * lattice.units), noise * lattice.units)


def test_too_much_privacy_is_refused():
    with pytest.raises(PrivacyError, match="No lattice"):
        NoisyStatistics.finest(1e-7, lambda units: 2.0 * units)


def test_moments_are_added_as_integers_in_any_order(monkeypatch):
    rows, target = Randomness.replayable(2).stream("rows").normal(size=(90, 4)), np.linspace(-1, 1, 90)
    found = []
    for size in (1 << 18, 50, 1):
        monkeypatch.setattr(statistics, "BLOCK_ENTRIES", size)
        found.append(statistics.integer_sums(rows, target, 2.0, 2**20, 4.0))
    for sums in found[1:]:
        np.testing.assert_array_equal(sums, found[0])
    one, none = (statistics.integer_sums(rows[:1] * 9, np.array([y]), 2.0, 2**20, 4.0) for y in (1.0, 0.0))
    square, cross = one[:-4], one[-4:]
    assert int(square @ square) <= 2**40
    assert int(cross @ cross) <= 2**44
    assert not none[-4:].any()


@pytest.mark.attack(attacked.LAWS)
@pytest.mark.parametrize("replace", [True, False])
def test_one_record_moves_both_statistics_together_by_what_is_charged(replace):
    """By brute force over pairs of records of all lengths, angles and targets; the bound is reached."""
    alpha = cross_ratio(replace)
    p, q = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    most = 0.0
    for c in np.linspace(-1, 1, 201):
        for y, z in ((1, 1), (1, -1), (1, 0), (0.5, -1)):
            if replace:
                squares = p**4 + q**4 - 2 * (p * q * c) ** 2
                most = max(most, np.max(squares + alpha**2 * ((p * y) ** 2 + (q * z) ** 2 - 2 * p * q * c * y * z)))
            else:
                most = max(most, np.max(p**4 + (alpha * p * y) ** 2))
    bound = joint_shift(10**6, dimension=3, replace=replace) / 10**6
    assert bound == pytest.approx(np.sqrt(most), rel=1e-4)
    assert bound**2 >= most
