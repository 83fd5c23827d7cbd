"""The multiscale transform: exact constants, exact inverse."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.algorithms.lipschitz.lipschitz_grid import Differences, Multiscale
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness


def lowest(t):
    return t & -t


def parents(bits, dimension):
    """Parents by the definition, bit by bit: rows of (point, parent) in integer coordinates."""
    axis = np.arange(2**bits + 1)
    rows = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    bit = lowest(np.bitwise_or.reduce(rows, axis=1))
    return rows, rows & ~bit[:, None]


@pytest.mark.parametrize("bits", range(13))
def test_the_constant_in_one_dimension_is_exact(bits):
    rows, parent = parents(bits, 1)
    total = Fraction(int(((rows - parent) ** 2).sum()), 4**bits)
    assert total == Fraction(3, 2) - Fraction(1, 2 ** (bits + 1))
    assert Multiscale(bits).squared_norm == float(total)


@pytest.mark.parametrize("bits", range(13))
def test_the_constant_in_two_dimensions_is_exact(bits):
    second = np.arange(2**bits + 1)
    total = 0
    for first in range(2**bits + 1):  # row by row: 16 million points at 12 bits
        bit = lowest(first | second)
        total += int((((first & bit) ** 2) + ((second & bit) ** 2)).sum())
    assert Fraction(total, 4**bits) == bits + 5 - Fraction(1, 2**bits)
    assert Multiscale(bits, 2).squared_norm == float(Fraction(total, 4**bits))


@pytest.mark.parametrize(("bits", "dimension"), [(0, 1), (1, 1), (5, 1), (12, 1), (0, 2), (1, 2), (3, 2), (5, 2)])
def test_transform_and_inverse_follow_the_parents(bits, dimension):
    scale = Multiscale(bits, dimension)
    rows, parent = parents(bits, dimension)
    where = np.ravel_multi_index(parent.T, scale.shape)
    values = Randomness.replayable(1).stream("x").standard_normal(scale.size)
    coefficients = scale.transform(values)
    np.testing.assert_array_equal(coefficients, values - values[where])
    np.testing.assert_allclose(scale.inverse(coefficients), values - values[0], atol=1e-12)
    np.testing.assert_array_equal(scale.points, rows / 2.0**bits)
    np.testing.assert_allclose(scale.distances, np.linalg.norm(rows - parent, axis=1) / 2.0**bits, rtol=1e-15)
    ones = np.ones(scale.size)
    assert scale.inverse(ones).max() == scale.depth  # how many coefficients make the deepest value


def test_no_matrix_hides_losses_with_much_less_noise():
    # Neighbours differ by a 2-Lipschitz function; |M(l - l')| is convex, so the largest is at one of these zigzags.
    bits, points = 3, 8
    steps = 2 * np.array(list(product((-1.0, 1.0), repeat=points))) / points
    differences = np.cumsum(steps, axis=1)  # values at 1/8, ..., 1, relative to that at 0

    def noise(matrix):
        sensitivity = np.linalg.norm(differences @ matrix.T, axis=1).max()
        return sensitivity * np.linalg.norm(np.linalg.inv(matrix), axis=1).max()

    transform = Multiscale(bits)
    multiscale = np.array([transform.transform(np.append(0.0, row))[1:] for row in np.eye(points)]).T
    generator = Randomness.replayable(8).stream("matrices")
    others = [generator.standard_normal((points, points)) for _ in range(200)]
    assert 2 < noise(multiscale) <= 2 * np.sqrt(1.5 * bits) < min(noise(matrix) for matrix in others)
    steps_of = Differences(bits)
    first = np.array([steps_of.transform(np.append(0.0, row))[1:] for row in np.eye(points)]).T
    assert noise(first) == pytest.approx(2.0, rel=1e-12)  # no matrix has less
    assert steps_of.squared_norm * steps_of.depth == 1


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_first_differences_are_taken_back_exactly(bits):
    transform = Differences(bits)
    values = Randomness.replayable(9).stream("values").integers(-50, 50, transform.size).astype(float)
    coefficients = transform.transform(values)
    np.testing.assert_array_equal(transform.inverse(coefficients), values - values[0])
    # Whatever stands in the place of the origin, a noise for one, is left out.
    np.testing.assert_array_equal(
        transform.inverse(coefficients + 7 * (np.arange(values.size) == 0)), values - values[0]
    )
    line = transform.transform(transform.points[:, 0])
    np.testing.assert_allclose(line, transform.distances)
    assert line @ line == pytest.approx(transform.squared_norm)
    with pytest.raises(InvalidInput):
        Differences(-1)
