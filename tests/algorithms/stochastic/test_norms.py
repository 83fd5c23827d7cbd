"""Duality and the exponential-norm noise."""

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from tacit.algorithms.stochastic.online_to_batch.norms import Norm, length
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness


@pytest.mark.parametrize("power", [1.2, 1.5, 2.0])
def test_norms_are_dual(power):
    norm, stream = Norm(power), Randomness.replayable(1).stream("x")
    x, g = stream.standard_normal((2, 7))
    assert x @ g <= norm.size(x) * norm.dual_size(g) * (1 + 1e-12)
    best = np.sign(g) * np.abs(g) ** (norm.dual - 1)
    assert best @ g == pytest.approx(norm.size(best) * norm.dual_size(g))
    rows = stream.standard_normal((4, 7))
    assert norm.dual_sizes(rows) == pytest.approx([norm.dual_size(row) for row in rows])
    assert norm.gaussian_factor(7) >= np.linalg.norm(rows[0]) / norm.dual_size(rows[0])
    assert length(np.zeros(3), 3.0) == 0.0


def test_moments_bound_the_noise():
    norm, stream = Norm(1.3), Randomness.replayable(2).stream("x")
    draws = stream.standard_normal((4000, 6))
    assert np.sqrt(np.mean(norm.dual_sizes(draws) ** 2)) <= norm.gaussian_size(6)
    assert Norm().gaussian_size(6) == pytest.approx(np.sqrt(6))


@pytest.mark.parametrize("power", [1.25, 2.0])
def test_exponential_noise_has_its_density(power):
    norm, dimension = Norm(power), 3
    draw = norm.exponential_noise(Randomness.replayable(3).stream("x"))
    draws = np.array([draw(dimension) for _ in range(20_000)])
    sizes = norm.dual_sizes(draws)
    assert kstest(sizes, gamma(dimension).cdf).pvalue > 1e-6
    assert kstest(0.8 * sizes, gamma(dimension).cdf).pvalue < 1e-6  # a wrong scale is found
    # The cone measure: |y_1|^q/|y|_q^q is a Beta(1/q, (d-1)/q) variable.
    shares = np.abs(draws[:, 0] / sizes) ** norm.dual
    from scipy.stats import beta

    law = beta(1 / norm.dual, (dimension - 1) / norm.dual)
    assert kstest(shares, law.cdf).pvalue > 1e-6
    if power != 2.0:  # a Gaussian direction is not it
        gaussian = Randomness.replayable(4).stream("y").standard_normal((20_000, dimension))
        wrong = np.abs(gaussian[:, 0] / norm.dual_sizes(gaussian)) ** norm.dual
        assert kstest(wrong, law.cdf).pvalue < 1e-6
    assert np.sqrt(np.mean(sizes**2)) == pytest.approx(norm.exponential_size(dimension), rel=0.02)


def test_bad_powers_raise():
    for power in (1.0, 2.5, float("nan")):
        with pytest.raises(InvalidInput, match="power"):
            Norm(power)
    assert Norm.for_sparse(2).power == 2.0
    assert Norm.for_sparse(1000).power == pytest.approx(1 + 1 / np.log(1000))


@pytest.mark.parametrize("power", [1.25, 1.5, 2.0])
def test_the_martingale_constant_is_the_smallest_possible(power):
    """A martingale that multiplies one half of the coordinates by 1 + s and the other by 1 - s, or the other way round.

    The halves are those of one binary digit after the other, so that |M|_q is the same whichever way the coins fall,
    and E|M|_q^2 is known exactly: q - 1 times the sum of the squares, nearly.
    """
    norm, levels, step = Norm(power), 16, 0.3
    digits, point = np.arange(2**levels), np.ones(2**levels)  # begins with a random sign, hence centred
    squares = norm.dual_size(point) ** 2
    flips = Randomness.replayable(5).stream("coins").random(levels) < 0.5
    for level, flip in enumerate(flips):
        move = step * point * np.where((digits >> level & 1) == flip, 1.0, -1.0)
        other = norm.dual_size(point - move)
        point = point + move
        assert norm.dual_size(point) == pytest.approx(other)  # so the mean over coins is this one number
        squares += norm.dual_size(move) ** 2
    ratio = norm.dual_size(point) ** 2 / squares
    assert ratio <= norm.martingale * (1 + 1e-9)
    assert ratio > 0.8 * norm.martingale  # a constant that is 20% smaller would be false
