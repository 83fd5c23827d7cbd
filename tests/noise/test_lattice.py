"""Quantised records move integer sums by exactly what is declared, whatever the floats do."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.noise import lattice
from tacit.noise.lattice import (
    LOSS_UNITS,
    cross_ratio,
    inner_units,
    joint_shift,
    moments_shift,
    quantise_losses,
    quantise_moments,
    quantise_outer_products,
    quantise_vectors,
    round_vectors,
    symmetric_matrix,
)


def exact_square(n):
    return sum(int(i) * int(i) for i in n)


def edge_losses(rng):
    """Random losses, both ends, and floats beside lattice points."""
    points = rng.integers(0, LOSS_UNITS + 1, 300) / LOSS_UNITS
    beside = np.concatenate([np.nextafter(points, 0), np.nextafter(points, 1), points])
    return np.concatenate([rng.random(300), np.clip(beside, 0, 1), [0.0, 1.0, 5e-324, 1 - 2.0**-53]])


def test_losses_are_the_exact_floor_for_powers_of_two(rng):
    losses = edge_losses(rng)
    for loss, quantised in zip(losses.tolist(), quantise_losses(losses).tolist(), strict=True):
        numerator, denominator = loss.as_integer_ratio()
        assert quantised == numerator * LOSS_UNITS // denominator


@pytest.mark.parametrize("bad", [[0.5, np.nan], [-1e-9, 0.5], [0.0, 1.0000001], [np.inf, 0.0]])
def test_other_losses_are_refused_without_being_named(bad):
    with pytest.raises(InvalidInput, match=r"\[0, 1\]") as caught:
        quantise_losses(np.array(bad))
    assert "1.0000001" not in str(caught.value)


def around_the_sphere(rng, dimension, norm):
    """Vectors of this norm but for some last bits, and some far outside and inside."""
    rows = rng.standard_normal((40, dimension))
    rows *= (norm * (1 + (np.arange(40) - 20) * 2.0**-53) / np.linalg.norm(rows, axis=1))[:, None]
    rows[::5] *= 30
    rows[1::5] *= 0.3
    return rows


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 100, 5000])
@pytest.mark.parametrize("units", [1, 1000, 27197104, 2**30])
def test_vectors_stay_in_the_ball(dimension, units, rng):
    norm = 0.7
    rows = around_the_sphere(rng, dimension, norm)
    quantised = quantise_vectors(rows, norm, units)
    assert all(exact_square(n) <= units**2 for n in quantised)
    inside = rows * np.minimum(1, norm / np.linalg.norm(rows, axis=1))[:, None] * (units / norm)
    assert (np.abs(quantised - inside) < 1 + 1e-6).all()
    assert (np.abs(quantised) <= np.abs(inside) + 1e-6).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 100, 5000])
@pytest.mark.parametrize("units", [1000, 27197104, 2**30])
def test_rounded_vectors_stay_in_the_ball_that_has_room_for_them(dimension, units, rng):
    """At norms G (1 +- k 2^-53) and beyond: the exact l2 norm is at most K, and no coordinate is off by .51 steps."""
    norm = 0.7
    rows = around_the_sphere(rng, dimension, norm)
    # Coordinates that all round away from zero: nothing is left of the room.
    inner = inner_units(units, dimension)
    whole = np.floor(inner / np.sqrt(dimension)) - 0.4999
    rows[2] = norm * whole / inner if whole > 0 else 0.0
    quantised = round_vectors(rows, norm, units)
    assert all(exact_square(n) <= units**2 for n in quantised)
    inside = rows * np.minimum(1, norm / np.linalg.norm(rows, axis=1))[:, None] * (inner / norm)
    assert (np.abs(quantised - inside) <= 0.51).all()
    with pytest.raises(InvalidInput, match="half the root"):
        round_vectors(np.ones(10_000), 1.0, 50)


def test_vectors_in_a_loop_and_in_an_array(rng):
    for dimension in (1, 2, 7, 8, 9, 127, 130, 1000):
        rows = rng.standard_normal((20, dimension))
        for quantise in (quantise_vectors, round_vectors, quantise_outer_products):
            if dimension < 200 or quantise is not quantise_outer_products:
                whole = quantise(rows, 1.0, 2**24)
                np.testing.assert_array_equal(whole, [quantise(row, 1.0, 2**24) for row in rows])
                np.testing.assert_array_equal(whole, quantise(np.asfortranarray(rows), 1.0, 2**24))


@pytest.mark.parametrize("quantise", [quantise_vectors, round_vectors])
def test_integers_hold_what_floats_forgot(quantise, rng, monkeypatch):
    """With a float clip that is off by a millionth the check in integers acts; without the check the ball is left."""
    honest = lattice._clipped
    rows = rng.standard_normal((50, 20)) * 10
    monkeypatch.setattr(lattice, "_clipped", lambda *arguments: honest(*arguments) * (1 + 1e-6))

    def sizes(rows):
        return [sum(int(i) ** 2 for i in n) for n in rows]

    units = 2**24
    raw = np.trunc(lattice._clipped("test", rows, 1.0, float(units)))
    assert max(sizes(raw)) > units**2
    assert max(sizes(quantise(rows, 1.0, units))) <= units**2


@pytest.mark.parametrize("scale", [1e300, 1e150, 1e-150, 1e-300, 5e-324, 0.0])
@pytest.mark.parametrize("norm", [1e-60, 1.0, 1e60])
def test_extreme_vectors(scale, norm):
    values = scale * np.array([1.0, -1.0, 0.5])
    assert exact_square(quantise_vectors(values, norm, 2**30)) <= 2**60
    assert exact_square(round_vectors(values, norm, 2**30)) <= 2**60


def unit_vectors(rng, dimension):
    """Vectors of norm one and less: random, of signs, and along the axes."""
    random = rng.standard_normal((30, dimension))
    signs = rng.choice([-1.0, 1.0], (10, dimension))
    rows = np.concatenate([random, signs, np.eye(dimension), -np.eye(dimension), 0.1 * random])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(norms, 1.0)


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("units", [20, 1001, 2**24])
def test_outer_products_move_as_declared(dimension, units, rng):
    rows = unit_vectors(rng, dimension)
    quantised = quantise_outer_products(rows, 1.0, units)
    assert quantised.shape == (len(rows), dimension * (dimension + 1) // 2)
    assert all(exact_square(n) <= units**2 for n in quantised)
    worst = max(exact_square(n - m) for n in quantised for m in quantised) ** 0.5
    assert dimension == 1 or worst > 0.9 * 2**0.5 * units, "orthogonal vectors come near the bound"


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("units", [20, 1001, 2**24])
@pytest.mark.parametrize("replace", [True, False])
def test_regression_statistics_move_as_declared(dimension, units, replace, rng):
    rows = unit_vectors(rng, dimension)
    fine = int(cross_ratio(replace) * units)
    both = np.concatenate([rows, rows])
    targets = np.repeat([1.0, -1.0], len(rows))[:, None]
    quantised = np.hstack([quantise_outer_products(both, 1.0, units), quantise_vectors(both * targets, 1.0, fine)])
    others = quantised if replace else np.zeros((1, quantised.shape[1]), dtype=np.int64)
    worst = max(exact_square(n - m) for n in quantised for m in others) ** 0.5
    assert 0.8 * joint_shift(units, dimension, replace=replace) - 10 < worst
    assert worst <= joint_shift(units, dimension, replace=replace)


def test_outer_products_come_back_as_matrices(rng):
    v = rng.standard_normal(4)
    v /= 2 * np.linalg.norm(v)
    matrix = symmetric_matrix(quantise_outer_products(v, 2.0, 2**30) * (4.0 / 2**30), 4)
    np.testing.assert_allclose(matrix, np.outer(v, v), atol=1e-7)


@pytest.mark.parametrize("units", [2, 10, 64])
def test_moments_move_as_declared(units):
    first, second = quantise_moments(np.linspace(-1, 1, 40 * units + 1), units)
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    apart = max(exact_square(a - b) for a in pairs for b in pairs) ** 0.5
    assert 2 * units <= apart <= moments_shift(units, 1, replace=True)
    alone = max(exact_square(a) for a in pairs) ** 0.5
    assert 1.1 * units <= alone <= moments_shift(units, 1, replace=False)
    assert moments_shift(units, 9, replace=True) >= 3 * (2 * units + 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quantise_vectors(np.array([1.0, np.nan]), 1.0, 10), "finite"),
        (lambda: quantise_vectors(np.array(1.0), 1.0, 10), "coordinates along the last axis"),
        (lambda: quantise_vectors(np.ones(2), 0.0, 10), "'norm' parameter"),
        (lambda: quantise_vectors(np.ones(2), 1.0, 2**30 + 1), "'units' parameter"),
        (lambda: quantise_losses(np.ones(2), 0), "'units' parameter"),
        (lambda: quantise_moments(np.ones(2), 7), "must be even"),
        (lambda: quantise_moments(np.array([2.0]), 8), r"\[-1, 1\]"),
        (lambda: quantise_moments(np.array([np.nan]), 8), r"\[-1, 1\]"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
