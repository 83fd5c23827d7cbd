"""One noisy vector a round: what it leaks is computed from integers, and no larger than what was asked for."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.accounting.curves import Gaussian
from tacit.accounting.rounding import EXACT, IDEALIZED
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.noisy_vectors import NOISES, NoisyVectors, together, vector_grid
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import LossRecords, VectorRecords
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA

each = pytest.mark.parametrize("noise", NOISES)


@pytest.mark.parametrize("scale", [0.03, 2.0, 255.0, 700.0, 1e5])
@pytest.mark.parametrize("sides", [1, 2])
def test_geometric_noise_leaks_its_rate_times_the_largest_shift(scale, sides):
    grid = vector_grid("laplace", scale, LossRecords(3, sides), rounds=2)
    assert grid.numerics == EXACT
    rate = Fraction(grid.rate)
    assert 0 <= 1 - rate * grid.units * Fraction(scale) < 2**-50
    ends = grid.records.quantised(np.array([[0.0] * 3, [1.0] * 3, [0.5] * 3]), grid.units, 1.0)
    shift = int(np.abs(ends[1] - ends[0 if sides == 2 else 2]).sum())
    assert shift == grid.records.pure_shift("laplace", grid.units)
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


@pytest.mark.parametrize("scale", [0.03, 2.0, 1e5])
@pytest.mark.parametrize("sides", [1, 2])
def test_cube_noise_leaks_its_rate_times_the_largest_coordinate(scale, sides):
    grid = vector_grid("cube", scale, LossRecords(3, sides), rounds=2)
    assert grid.numerics == EXACT
    assert grid.curve.pure() == pytest.approx(sides / scale, rel=1e-12)
    assert Fraction(grid.curve.pure()) >= 2 * Fraction(grid.rate) * grid.records.pure_shift("cube", grid.units)
    crowded = vector_grid("cube", 1e-4, LossRecords(10_000), rounds=1)
    assert crowded.rate == 1e-4
    assert crowded.curve.pure() < 1e4 - 1000, "more noise than was asked for is stated"


def test_gaussian_noise_pays_most_for_rounds_that_stand_together():
    """Brute force over all ways to spread five rounds over batches of three."""
    spread = max(a * a + b * b + c * c for a in range(4) for b in range(4) for c in range(4) if a + b + c == 5)
    assert together(5, 3) == pytest.approx(spread**0.5)
    assert together(5, 1) == pytest.approx(5**0.5)
    assert together(5, 100) == 5.0
    alone, batched = (vector_grid("gaussian", 3.0, LossRecords(4), 5, batch=batch) for batch in (1, 100))
    assert batched.curve.curve.mu == pytest.approx(5**0.5 * alone.curve.curve.mu)
    for noise in ("cube", "laplace"):
        assert (
            vector_grid(noise, 3.0, LossRecords(4), 5, batch=100).curve
            == vector_grid(noise, 3.0, LossRecords(4), 5).curve
        )


@each
@pytest.mark.parametrize("numerics", ["exact", "float"])
@pytest.mark.parametrize("batch", [1, 4])
def test_rows_arrays_and_states_agree_bit_for_bit(noise, numerics, batch):
    grid = vector_grid(noise, 2.0, LossRecords(3), 1, numerics, batch)
    rows = Randomness.replayable(1).stream("rows").random((50, 3))
    one, other, third = (NoisyVectors(grid, noise, Randomness.replayable(k), "noise", batch) for k in (4, 4, 5))
    wanted = one.add(rows)
    assert wanted.shape == (50 // batch, 3)
    first = np.concatenate([other.add(row[None]) for row in rows[:18]])
    third.load_state_dict(other.state_dict())
    assert third.filled == 18 % batch
    for hidden in (other, third):
        np.testing.assert_array_equal(np.concatenate([first, hidden.add(rows[18:])]), wanted)
    assert not one.private
    assert NoisyVectors(grid, noise, Randomness.secret(), "noise").private
    state = one.state_dict()
    for wrong in ({}, {**state, "filled": batch}, {**state, "waiting": np.full(3, 1e12)}, {**state, "noise": None}):
        with pytest.raises(InvalidInput, match="not the state"):
            third.load_state_dict(wrong)
    if numerics == "exact":
        steps = wanted / grid.step
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    else:
        assert grid.numerics == IDEALIZED


@each
def test_a_batch_is_the_sum_of_its_records_with_one_noise(noise):
    grid = vector_grid(noise, 2.0, LossRecords(3), 1, batch=5)
    rows = Randomness.replayable(1).stream("rows").random((17, 3))
    sums = NoisyVectors(grid, noise, Randomness.replayable(4), "noise", 5).add(rows)
    drawn = grid.noise(Randomness.replayable(4), "noise").draw(9).reshape(3, 3) * grid.step
    np.testing.assert_allclose(sums - drawn, (rows[:15] - 0.5).reshape(3, 5, 3).sum(axis=1), atol=5 * grid.step)


def test_refusals():
    with pytest.raises(PrivacyError, match="no lattice"):
        vector_grid("gaussian", 1e6, LossRecords(3), 1)
    with pytest.raises(PrivacyError, match="no lattice"):
        vector_grid("laplace", 2.0**40, LossRecords(3), 1)
    with pytest.raises(InvalidInput, match="'noise'"):
        vector_grid("cauchy", 1.0, LossRecords(3), 1)
