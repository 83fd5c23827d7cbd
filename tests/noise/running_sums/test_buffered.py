"""The buffered square root: its table, its closed forms, and what it refuses."""

import mpmath
import numpy as np
import pytest

from tacit.accounting.calibration import gaussian_mu
from tacit.errors import InvalidInput
from tacit.noise.running_sums import Buffered


@pytest.fixture(scope="module")
def mu():
    return gaussian_mu(1.0, 1e-6)


def noise(mechanism, mu):
    deviations = mechanism.standard_deviations(mechanism.scale(mu))
    return float(deviations.mean()), float(deviations.max())


def square_root(steps):
    """The norms of c_0, ..., c_{t - 1} for the coefficients of (1 - x)^(-1/2), the best Toeplitz factorisation."""
    return np.sqrt(np.cumsum(np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, steps))) ** 2))


def least(steps, mu):
    deviations = square_root(steps)[-1] * square_root(steps) / mu
    return float(deviations.mean()), float(deviations.max())


@pytest.mark.parametrize("steps", [100, 129, 1000, 1025, 10_000, 16_385, 100_000, 1_000_000])
def test_table_is_within_one_percent_of_the_square_root(steps, mu):
    got, best = noise(Buffered(steps), mu), least(steps, mu)
    assert got[0] <= 1.0035 * best[0]
    assert best[1] * (1 - 1e-9) <= got[1] <= 1.002 * best[1]


def test_no_toeplitz_mechanism_in_the_table_beats_the_square_root_and_short_streams_are_close():
    for steps in range(1, 140):
        ratio = Buffered(steps).column_norm * Buffered(steps).row_norm(steps) / square_root(steps)[-1] ** 2
        assert 1 - 1e-9 <= ratio <= 1.002


@pytest.mark.parametrize("steps", [1, 2, 3, 100, 5000, 70_000])
def test_closed_forms_agree_with_the_recursion(steps):
    """The decoder by the streaming recursion itself, on a single impulse; the encoder by its definition."""
    mechanism = Buffered(steps)
    theta, omega = np.array(mechanism.decays), np.array(mechanism.weights)
    buffers, total, squares = np.zeros(theta.size), 0.0, np.empty(steps)
    for t in range(steps):
        y = float(t == 0) - omega @ buffers
        buffers = theta * (buffers + y)
        total += y
        squares[t] = total**2
    rows = np.sqrt(np.cumsum(squares))
    np.testing.assert_allclose(mechanism.row_norms(), rows, rtol=1e-9)
    assert mechanism.row_norm(steps) == pytest.approx(rows[-1], rel=1e-9)
    c = omega @ theta[:, None] ** np.arange(steps)
    c[0] = 1.0
    norm = float(np.linalg.norm(c))
    assert norm * (1 - 1e-13) <= mechanism.column_norm <= norm * (1 + 2e-11)


@pytest.mark.parametrize("steps", [10, 1000, 10**6, 10**8, 10**10])
def test_column_norm_is_never_below_its_exact_value(steps):
    """Fifty digits: the rounding of the closed form is covered even where the decays are within 1e-8 of 1."""
    mechanism = Buffered(steps)
    with mpmath.workdps(50):
        theta, omega = map(mpmath.mpf, mechanism.decays), map(mpmath.mpf, mechanism.weights)
        pairs = list(zip(theta, omega, strict=True))
        squared = mpmath.mpf(1)
        for a, v in pairs:
            for b, w in pairs:
                squared += v * w * a * b * (1 - (a * b) ** (steps - 1)) / (1 - a * b)
        exact = mpmath.sqrt(squared)
        assert exact <= mechanism.column_norm <= exact * (1 + mpmath.mpf("2e-11"))


@pytest.mark.parametrize(
    ("decays", "weights", "message"),
    [
        ((0.5,), (), "one length"),
        ((), (0.5,), "one length"),
        (((0.5,),), ((0.5,),), "one length"),
        ((1.0,), (0.5,), r"lie in \(0, 1\)"),
        ((0.0,), (0.5,), r"lie in \(0, 1\)"),
        ((float("nan"),), (0.5,), r"lie in \(0, 1\)"),
        ((0.5,), (0.0,), "sum below 1"),
        ((0.5,), (float("nan"),), "sum below 1"),
        ((0.5, 0.6), (0.5, 0.5), "sum below 1"),
    ],
)
def test_bad_coefficients_are_refused(decays, weights, message):
    with pytest.raises(InvalidInput, match=message):
        Buffered(10, decays, weights)
