"""Integer statistics that are released once: the finest lattice that the privacy allows, and what it says."""

from functools import partial

import numpy as np
import pytest

from tacit.accounting.calibration import gaussian_mu
from tacit.errors import PrivacyError
from tacit.estimators import PrivateRidge, PrivateStandardScaler, ridge
from tacit.estimators.noisy_statistics import NoisyStatistics, statistics_curve
from tacit.noise.lattice import joint_shift, moments_shift
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA


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


def test_ridge_adds_integers_in_any_order(monkeypatch):
    rows, target = Randomness.replayable(2).stream("rows").normal(size=(90, 4)), np.linspace(-1, 1, 90)
    found = []
    for size in (1 << 18, 50, 1):
        monkeypatch.setattr(ridge, "BLOCK_ENTRIES", size)
        found.append(ridge.integer_sums(rows, target, 2.0, 2**20, 4.0))
    for sums in found[1:]:
        np.testing.assert_array_equal(sums, found[0])
    one, none = (ridge.integer_sums(rows[:1] * 9, np.array([y]), 2.0, 2**20, 4.0) for y in (1.0, 0.0))
    square, cross = one[:-4], one[-4:]
    assert int(square @ square) <= 2**40
    assert int(cross @ cross) <= 2**44
    assert not none[-4:].any()


def test_what_estimators_say():
    X = Randomness.replayable(3).stream("X").random((300, 3))
    with pytest.warns(Warning, match="replayable"):
        scaler = PrivateStandardScaler(bounds=(0, 1), random_state=1).fit(X)
    with pytest.warns(Warning, match="replayable"):
        model = PrivateRidge(data_norm=2.0, label_bound=1.0, random_state=1).fit(X, X[:, 0])
    for guarantee in (scaler.guarantee_, model.guarantee_):
        assert guarantee.numerics.startswith("exact up to an extra epsilon of ")
        assert guarantee.epsilon() <= 1.0
