"""Private selection: the sampled laws equal the closed forms, their privacy is exact, and a wrong sign is seen."""

import numpy as np
import pytest
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


@pytest.mark.parametrize("sensitivity", [1.0, 2.0])
def test_permute_and_flip_has_its_law(sensitivity):
    sums = np.array([0.0, 1.0, 3.0])
    counts = counted(lambda g: permute_and_flip(sums, 2.0, sensitivity, g), 3)
    assert fit(counts, flip_law(sums, 2.0, sensitivity)) > FALSE_ALARM
    assert fit(counts, flip_law(sums, 2.0 * 1.25, sensitivity)) < FALSE_ALARM
