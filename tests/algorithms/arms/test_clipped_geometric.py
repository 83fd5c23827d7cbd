"""The bounded unbiased release: its law in fractions, its privacy by enumeration, its numbers."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.accounting.guarantee import REPLACE, ZERO_OUT
from tacit.algorithms.arms.clipped_geometric import LARGEST_RATE, ClippedGeometric
from tacit.errors import InvalidInput, PrivacyError


def exact_law(ratio: Fraction, steps: int, total: int) -> list[Fraction]:
    """P[Y <= 0], P[Y = 1], .., P[Y >= n], summed up from the geometric law term by term."""
    point = (1 - ratio) / (1 + ratio)
    tail = point / (1 - ratio)  # P[Z >= k] = tail * ratio^k for k >= 0
    inside = [point * ratio ** abs(y - total) for y in range(1, steps)]
    return [tail * ratio**total, *inside, tail * ratio ** (steps - total)]


def exact_values(ratio: Fraction, steps: int) -> list[Fraction]:
    d = 1 / (1 / ratio - 1)
    return [-d / steps, *(Fraction(y, steps) for y in range(1, steps)), 1 + d / steps]


@pytest.mark.parametrize("relation", [REPLACE, ZERO_OUT])
@pytest.mark.parametrize(("batch", "epsilon", "people"), [(1, 3.0, 1), (2, 1.0, 1), (11, 0.1, 1), (5, 1.0, 4)])
def test_the_shipped_law_is_the_exact_one(relation, batch: int, epsilon: float, people: int) -> None:
    release = ClippedGeometric(batch, epsilon, relation, people)
    assert Fraction(release.rate) * people <= Fraction(epsilon)
    ratio = Fraction(exp(-release.rate))
    values = [float(value) for value in exact_values(ratio, release.steps)]
    np.testing.assert_allclose(release.values, values, rtol=1e-12)
    for total in range(release.steps + 1):
        law = [float(p) for p in exact_law(ratio, release.steps, total)]
        np.testing.assert_allclose(release.law(total), law, rtol=1e-12)
        assert abs(release.law(total) @ release.values - total / release.steps) < 1e-13
    # Neighbours are `people` steps apart at most.
    for total in range(release.steps + 1 - people):
        loss = np.abs(np.log(release.law(total) / release.law(total + people)))
        assert loss.max() <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    ("power", "ends"), [(2, "mean"), (4, "mean"), (1.5, "high")], ids=["square", "fourth", "from the lower end"]
)
def test_means_of_convex_functions_are_convex_in_the_sum(power: float, ends: str) -> None:
    for epsilon in (0.3, 1.0, 2.0):
        release = ClippedGeometric(12, epsilon)
        origin = 0.5 if ends == "mean" else release.values[0]
        h = np.abs(release.values - origin) ** power
        means = np.array([release.law(total) @ h for total in range(13)])
        assert np.all(np.diff(means, 2) > 0)
        assert max(means) == max(means[0], means[-1])


def test_extreme_budgets() -> None:
    assert ClippedGeometric(4, 1e9).rate == LARGEST_RATE
    assert ClippedGeometric(4, 1e9).overshoot < 1e-27
    with pytest.raises(PrivacyError, match="draw its noise exactly"):
        ClippedGeometric(4, 1e-12)
    with pytest.raises(InvalidInput, match="'batch'"):
        ClippedGeometric(0, 1.0)
