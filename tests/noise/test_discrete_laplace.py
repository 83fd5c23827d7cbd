"""Two-sided geometric noise: exact floors, exact rates, and the law they make."""

from fractions import Fraction
from math import nextafter, tanh

import mpmath
import numpy as np
import pytest
from scipy import stats

from noise.keyed import long_uniform, planted_uniforms, uniforms
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise import discrete_laplace
from tacit.noise.discrete_laplace import (
    SMALLEST_RATE,
    DiscreteLaplace,
    geometric,
    laplace_rate,
    laplace_units,
    two_sided_geometric,
)

RATES = [2.0**-32, 2.0**-27, 0.37, 3.0, 11.0, 1e6]  # at 11 only the word itself says that 0 is open


def test_published_draws():
    assert geometric(planted_uniforms([2**63, 2**60]), 2.0**-27, 2).tolist() == [93032639, 372130558]
    assert geometric(planted_uniforms([2**63, 2**60]), 0.37, 2).tolist() == [1, 7]


def exact_floor(index, word, rate):
    with mpmath.workprec(2500):
        u = long_uniform(index, word)
        return int(mpmath.floor(-mpmath.log(mpmath.mpf(u.numerator) / u.denominator) / mpmath.mpf(rate)))


@pytest.mark.parametrize("rate", RATES)
def test_floors_are_exact(rate, rng):
    """Random words, the ends, and words at and beside e^{-rate k}."""
    words = [*rng.bit_generator.random_raw(40).tolist(), 0, 1, 2**11 - 1, 2**11, 2**64 - 1, 2**63, 2**63 - 1]
    with mpmath.workprec(2500):
        for k in {1, 2, 5, int(rng.integers(1, int(20 / rate) + 2)), int(1 / rate) + 1}:
            edge = int(mpmath.floor(mpmath.ldexp(mpmath.exp(-mpmath.mpf(rate) * k), 64)))
            words += [min(max(edge + j, 0), 2**64 - 1) for j in (-1, 0, 1)]
    found = geometric(planted_uniforms(words), rate, len(words))
    assert found.tolist() == [exact_floor(i, word, rate) for i, word in enumerate(words)]


@pytest.mark.parametrize("rate", RATES)
def test_refined_draws_are_the_same(rate, monkeypatch):
    plain = two_sided_geometric(uniforms(), rate, 150)
    monkeypatch.setattr(discrete_laplace, "CELL_MARGIN", 2.0**100)
    np.testing.assert_array_equal(two_sided_geometric(uniforms(), rate, 150), plain)


def test_law():
    rate, count = 0.5, 200_000
    with mpmath.workdps(30):
        assert mpmath.almosteq(mpmath.tanh(0.25), mpmath.mpf("0.24491866240370912928"), 1e-19)
        one = mpmath.tanh(0.25) * mpmath.exp(-0.5)
        assert mpmath.almosteq(one, mpmath.mpf("0.14855067788365744712"), 1e-19)
    draws = DiscreteLaplace(uniforms(5), rate).draw(count)
    assert law_fits(draws, rate)
    assert not law_fits(draws, 0.52)
    assert not law_fits(np.abs(draws), rate)


def law_fits(draws, rate):
    inner = np.arange(-12, 13)
    chances = tanh(rate / 2) * np.exp(-rate * np.abs(inner))
    tail = (1 - chances.sum()) / 2
    observed = np.bincount(np.clip(draws, -13, 13) + 13, minlength=27)
    return stats.chisquare(observed, np.concatenate([[tail], chances, [tail]]) * draws.size).pvalue > 1e-6


@pytest.mark.parametrize(("epsilon", "shift"), [(1.0, 3), (0.1, 2**24), (1.0, 10 * 2**24), (3.7, 1), (1e-3, 10**15)])
def test_rates_are_the_largest_that_fit(epsilon, shift):
    rate = laplace_rate(epsilon, shift)
    assert Fraction(rate) * shift <= Fraction(epsilon)
    assert Fraction(nextafter(rate, 1e9)) * shift > Fraction(epsilon)


def test_units():
    assert laplace_units(1.0, 10) == 2**24
    assert laplace_units(0.01, 10_000) == 2**12
    for epsilon, width in ((0.01, 10_000), (0.5, 10**6), (2.0**-32, 1)):
        units = laplace_units(epsilon, width)
        assert laplace_rate(epsilon, width * units) >= SMALLEST_RATE > laplace_rate(epsilon, 2 * width * units)
    with pytest.raises(PrivacyError, match="at least 2"):
        laplace_units(2.0**-33, 1)


@pytest.mark.parametrize("rate", [0.0, -1.0, 2.0**-33, float("nan"), float("inf")])
def test_rates_that_are_refused(rate):
    for call in (lambda: geometric(uniforms(), rate, 1), lambda: DiscreteLaplace(uniforms(), rate)):
        with pytest.raises(InvalidInput, match="'rate' parameter"):
            call()
