"""Private selection: the sampled laws equal the closed forms, their privacy is exact, and a wrong sign is seen."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from exact.selection_law import flip_law
from tacit.noise.randomness import Randomness
from tacit.noise.selection import permute_and_flip

FALSE_ALARM = 1e-6
DRAWS = 20_000


def counted(draw, n, draws=DRAWS, seed=1):
    generator = Randomness.replayable(seed).stream("selection")
    return np.bincount([draw(generator) for _ in range(draws)], minlength=n)


def fit(counts, law):
    """p-value of Pearson's test."""
    expected = counts.sum() * np.asarray(law)
    return chi2.sf(np.sum((counts - expected) ** 2 / expected), len(counts) - 1)


def softmax(scores):
    mass = np.exp(scores - np.max(scores))
    return mass / mass.sum()


def noise_law(sums, epsilon, sensitivity):
    """P[sum_j - E_j is smallest], by integration over E_j."""
    rate = epsilon / (2 * sensitivity)
    law = []
    for j in range(len(sums)):

        def density(e, j=j):
            below = sums[j] - e  # every other sum minus its noise must lie above this
            others = [1 - np.exp(-rate * max(0.0, s - below)) for k, s in enumerate(sums) if k != j]
            return rate * np.exp(-rate * e) * np.prod(others)

        kinks = sorted({max(0.0, float(sums[j] - s)) for s in sums})
        pieces = [quad(density, a, b)[0] for a, b in pairwise(kinks)]
        law.append(sum(pieces) + quad(density, kinks[-1], np.inf)[0])
    return np.array(law)


def test_single_option():
    generator = Randomness.replayable(2).stream("x")
    assert permute_and_flip(np.array([3.0]), 1.0, 1.0, generator) == 0


SUMS = [np.array([0.0, 1.0, 3.0]), np.array([5.0, 5.0, 4.0]), np.array([2.0, 2.0, 2.0])]


@pytest.mark.parametrize("sums", SUMS, ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_one_sided_noise_is_permute_and_flip(sums, epsilon):
    np.testing.assert_allclose(noise_law(sums, epsilon, 1.0), flip_law(sums, epsilon, 1.0), atol=1e-7)


@pytest.mark.parametrize("sensitivity", [1.0, 2.0])
def test_permute_and_flip_has_its_law(sensitivity):
    sums = np.array([0.0, 1.0, 3.0])
    counts = counted(lambda g: permute_and_flip(sums, 2.0, sensitivity, g), 3)
    assert fit(counts, flip_law(sums, 2.0, sensitivity)) > FALSE_ALARM
    assert fit(counts, flip_law(sums, 2.0 * 1.25, sensitivity)) < FALSE_ALARM


def test_a_plus_for_the_minus_is_seen():
    """argmin(sum + noise) is another law, and one that costs more: here it breaks the claimed epsilon."""
    sums = np.array([0.0, 1.0, 3.0])
    noise = 2 * 1.0 / 2.0

    def plus(generator):
        return int(np.argmin(sums + generator.standard_exponential(3) * noise))

    assert fit(counted(plus, 3), flip_law(sums, 2.0, 1.0)) < FALSE_ALARM


def test_permute_and_flip_is_private():
    """Exact, over neighbours that move every sum by up to the sensitivity; tight at the worst pair."""
    epsilon = 1.0
    moves = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    worst = 0.0
    for sums in (np.array([0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 9.0])):
        law = flip_law(sums, epsilon, 1.0)
        for move in moves:
            worst = max(worst, np.max(np.abs(np.log(law / flip_law(sums + move, epsilon, 1.0)))))
    assert worst <= epsilon * (1 + 1e-12)
    assert worst >= 0.95 * epsilon
