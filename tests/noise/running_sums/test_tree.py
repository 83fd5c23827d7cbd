"""Trees of any base: structure by counting, levels by integers, memory by live nodes."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.noise.running_sums import LaplaceTree
from tacit.noise.running_sums.accumulators import node_level, tree_levels
from tacit.noise.running_sums.tree import digit_sums, largest_digit_sum


def digits(number, base):
    return [] if number == 0 else [*digits(number // base, base), number % base]


@pytest.mark.parametrize("base", [2, 3, 10, 16, 2000])
def test_noise_of_ones_sums_the_digits(base):
    sums = LaplaceTree(1000, base).start(1, 1.0, np.ones)
    wanted = [sum(digits(t, base)) for t in range(1, 1001)]
    assert [float(sums.add(np.zeros(1))[0]) for _ in range(1000)] == wanted
    np.testing.assert_array_equal(digit_sums(1000, base), wanted)


@pytest.mark.parametrize("base", [2, 3, 10, 32])
def test_levels_are_exact_at_powers(base):
    for power in range(1, 30):
        assert tree_levels(base**power - 1, base) == power
        assert tree_levels(base**power, base) == tree_levels(base**power + 1, base) == power + 1
        assert node_level(base**power, base) == power
        assert node_level(base**power + 1, base) == 0


@pytest.mark.parametrize("base", [2, 3, 7])
def test_no_step_lies_in_more_nodes_than_levels(base):
    for steps in (1, 2, 6, 7, 8, 48, 49, 50, 81):
        encoder = LaplaceTree(steps, base).matrices()[1]
        assert encoder.sum(axis=0).max() == LaplaceTree(steps, base).column_norm == tree_levels(steps, base)


@pytest.mark.parametrize("base", [2, 3, 10, 13])
def test_largest_digit_sum(base):
    running = np.maximum.accumulate(digit_sums(3000, base))
    assert [largest_digit_sum(steps, base) for steps in range(1, 3001)] == running.tolist()
    assert largest_digit_sum(0, base) == 0


@pytest.mark.parametrize("steps", [10, 100, 1000, 10_000])
def test_best_base_has_the_least_largest_noise(steps):
    def largest(tree):
        return tree.standard_deviations(tree.scale(1.0)).max()

    best = LaplaceTree.best(steps)
    assert largest(best) <= min(largest(LaplaceTree(steps, base)) for base in range(2, 65)) * (1 + 1e-12)
    assert largest(best) < 0.55 * largest(LaplaceTree(steps, 2))


@pytest.mark.parametrize("base", [1, 0, -2, 2.0, True])
def test_bad_base_is_refused(base):
    with pytest.raises(InvalidInput, match="'base'"):
        LaplaceTree(10, base)
