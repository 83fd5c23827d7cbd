"""One noisy vector a round: what it leaks is computed from integers, and no larger than what was asked for."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput, PrivacyError
from tacit.mechanisms.noisy_vectors import NoisyVectors, vector_grid
from tacit.mechanisms.running_sums.records import LossRecords, VectorRecords
from tacit.numerics.bounds import GAUSSIAN_SIGMA
from tacit.privacy.curves import Gaussian
from tacit.privacy.numerics import EXACT, IDEALIZED
from tacit.randomness import Randomness

both = pytest.mark.parametrize("noise", ["laplace", "gaussian"])


@pytest.mark.parametrize("scale", [0.03, 2.0, 255.0, 700.0, 1e5])
@pytest.mark.parametrize("sides", [1, 2])
def test_geometric_noise_leaks_its_rate_times_the_largest_shift(scale, sides):
    grid = vector_grid("laplace", scale, LossRecords(3, sides), rounds=2)
    assert grid.numerics == EXACT
    rate = Fraction(grid.rate)
    assert 0 <= 1 - rate * grid.units * Fraction(scale) < 2**-50
    ends = grid.records.quantised(np.array([[0.0] * 3, [1.0] * 3, [0.5] * 3]), grid.units, 1.0)
    shift = int(np.abs(ends[1] - ends[0 if sides == 2 else 2]).sum())
    assert shift == grid.records.l1_shift(grid.units)
    assert Fraction(grid.curve.pure()) >= 2 * rate * shift
    assert grid.curve.pure() == pytest.approx(3 * sides / scale, rel=1e-12)
    assert grid.units == 2**24 or grid.rate < 2**-31


@pytest.mark.parametrize("scale", [0.4, 3.0, 1e5])
def test_gaussian_noise_leaks_its_shift_over_its_deviation(scale):
    grid = vector_grid("gaussian", scale, VectorRecords(4, norm=2.0), rounds=9)
    mu = 3 * 2 * grid.units / GAUSSIAN_SIGMA
    assert mu <= 3 * 4.0 / scale
    assert scale * (1 - 1e-5) <= grid.scale <= max(1.002 * scale, 1.0001)  # K is at most 2^30
    assert Gaussian(mu).delta(mu) <= grid.curve.delta(mu) <= Gaussian(mu * (1 + 1e-9)).delta(mu) * (1 + 1e-9)
    assert grid.numerics.startswith("exact up to an extra epsilon of ")


@both
@pytest.mark.parametrize("numerics", ["exact", "float"])
def test_rows_arrays_and_states_agree_bit_for_bit(noise, numerics):
    grid = vector_grid(noise, 2.0, LossRecords(3), 1, numerics)
    rows = Randomness.replayable(1).stream("rows").random((50, 3))
    one, other, third = (NoisyVectors(grid, noise, Randomness.replayable(k), "noise") for k in (4, 4, 5))
    wanted = one.release(rows)
    first = np.concatenate([other.release(row[None]) for row in rows[:20]])
    third.load_state_dict(other.state_dict())
    for hidden in (other, third):
        np.testing.assert_array_equal(np.concatenate([first, hidden.release(rows[20:])]), wanted)
    assert not one.private
    assert NoisyVectors(grid, noise, Randomness.secret(), "noise").private
    if numerics == "exact":
        steps = wanted / grid.step
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
        np.testing.assert_allclose(one.record(rows), rows - 0.5, atol=2 * grid.step)
    else:
        assert grid.numerics == IDEALIZED


def test_refusals():
    with pytest.raises(PrivacyError, match="no lattice"):
        vector_grid("gaussian", 1e6, LossRecords(3), 1)
    with pytest.raises(PrivacyError, match="no lattice"):
        vector_grid("laplace", 2.0**40, LossRecords(3), 1)
    with pytest.raises(InvalidInput, match="'noise'"):
        vector_grid("cauchy", 1.0, LossRecords(3), 1)
