"""The vector of a person: its length at every point of the lattice, its features and moments."""

import itertools
import sqlite3

import numpy as np
import pytest

from tacit_experiments.ab_tests.persons import feature_columns
from tacit_experiments.ab_tests.vector import LATTICE, ROW, Layout, lattice_values

EVERYTHING = np.arange(LATTICE + 1)


def blocks_of(layout, look, cells):
    """Every block a person can be in at a look: the totals, and one cell of each dimension."""
    for chosen in itertools.product(*(range(count) for count in cells)):
        yield (look.total, *(look.cells[dimension] for dimension, _ in enumerate(chosen)))


def squares(layout, values, multipliers):
    """The squared length of each row's multiplied vector, in Python's integers."""
    weights = [multipliers[place] for place in layout.multiplier_of]
    return [
        sum((weight * feature) ** 2 for weight, feature in zip(weights, row, strict=True))
        for row in layout.features(values).tolist()
    ]


def all_rows(layout):
    """All rows of a small lattice: of binary metrics only the ends."""
    ends = [(0, layout.lattice) if binary else range(layout.lattice + 1) for binary in layout.binary]
    return np.array(list(itertools.product(*ends)))


def test_the_lemma_holds_at_all_points_of_the_lattice():
    features = Layout((False,)).features(EVERYTHING[:, None])
    lengths = features[:, 1] ** 2 + features[:, 2] ** 2
    assert lengths.max() == LATTICE**2
    assert lengths[[0, -1]].tolist() == [LATTICE**2, LATTICE**2]
    assert (np.abs(features) <= LATTICE).all()
    assert Layout((False,)).squared_norm((0, 1)) == LATTICE**2


def test_two_values_of_a_person_are_at_most_two_radii_apart_at_all_points_of_the_lattice():
    """The farthest point from each is found among the corners of the convex hull of all points."""
    points = Layout((False,)).features(EVERYTHING[:, None])[:, 1:]
    assert (points**2).sum(axis=1).max() == LATTICE**2  # all lie in a disc, so no two are farther than its diameter
    hull = points[[0, -1, LATTICE // 2, LATTICE // 4, 3 * LATTICE // 4]]
    farthest = ((points[:, None, :] - hull[None, :, :]) ** 2).sum(axis=-1).max()
    assert farthest == 4 * LATTICE**2 == Layout((False,)).squared_distance((1, 1))


@pytest.mark.parametrize(
    "layout",
    [
        Layout((True, False, False), ((1, 2),), lattice=4),
        Layout((False,), lattice=16),
        Layout((True, True), ((0, 1),), lattice=2),
        Layout((False, False), ((0, 1),), lattice=12),
        Layout((True, False), ((0, 1),), lattice=8),
    ],
    ids=str,
)
def test_the_largest_row_is_as_long_as_declared(layout):
    multipliers = tuple(range(3, 3 + layout.multipliers))
    rows = all_rows(layout)
    found = squares(layout, rows, multipliers)
    assert max(found) == layout.squared_norm(multipliers)
    weights = np.array([multipliers[place] for place in layout.multiplier_of])
    weighted = layout.features(rows) * weights
    apart = ((weighted[:, None, :] - weighted[None, :, :]) ** 2).sum(axis=-1)
    assert apart.max() <= layout.squared_distance(multipliers)
    if not layout.pairs:  # with pairs, opposite corners agree in the product
        assert apart.max() == layout.squared_distance(multipliers)


def test_every_feature_of_a_row_is_inside_its_range():
    layout = Layout((True, False, False), ((0, 1), (1, 2)))
    generator = np.random.default_rng(1)
    values = generator.integers(0, LATTICE + 1, size=(100_000, 3))
    values[:, 0] = np.where(values[:, 0] > LATTICE // 2, LATTICE, 0)
    features = layout.features(values)
    assert features.shape == (100_000, layout.size) == (100_000, 1 + 3 + 2 + 2)
    assert np.abs(features).max() <= LATTICE
    assert (features[:, 4:6] >= 0).all()


def test_moments_come_back_from_features():
    layout = Layout((True, False, False), ((0, 2), (1, 2)))
    generator = np.random.default_rng(2)
    exact = np.stack([generator.random(500) < 0.3, generator.random(500), generator.random(500) ** 2], axis=1)
    values = np.rint(exact.astype(float) * LATTICE).astype(np.int64)
    sums = layout.features(values).sum(axis=0) / LATTICE
    moments = layout.to_moments @ sums
    expected = layout.row_moments(values / LATTICE).sum(axis=0)
    assert moments == pytest.approx(expected, abs=500 / (4 * LATTICE) * 1.01)
    assert moments[:4] == pytest.approx(expected[:4], abs=1e-9)  # nothing is rounded in N and S


def test_the_database_adds_up_the_same_features():
    layout = Layout((True, False, False), ((0, 1), (1, 2)))
    generator = np.random.default_rng(3)
    rows = generator.integers(0, ROW + 1, size=(2_000, 3))
    rows[:, 0] = np.where(rows[:, 0] > ROW // 2, ROW, 0)
    rows[:4] = [[0, 0, 0], [ROW, ROW, ROW], [0, ROW, 0], [ROW, 1, 2**15]]
    names = ["m0", "m1", "m2"]
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE persons (m0, m1, m2)")
        database.executemany("INSERT INTO persons VALUES (?, ?, ?)", rows.tolist())
        found = database.execute(f"SELECT {', '.join(feature_columns(layout, names))} FROM persons").fetchone()
    assert list(found) == layout.features(lattice_values(rows)).sum(axis=0).tolist()


def test_multiplied_sums_are_exact_beyond_two_to_the_53():
    layout = Layout((True,))
    assert layout.weighted([2**50 + 1, -(2**50) - 3], (2**13 + 1, 2**12 + 1)) == [
        (2**50 + 1) * (2**13 + 1),
        -(2**50 + 3) * (2**12 + 1),
    ]
