"""Private numbers on a public lattice: each record becomes integers by itself, before anything is added up.

What privacy rests on is checked in integers, whatever the floats before did: a quantised loss lies in {0..M}, a
quantised vector has n.n <= K^2. So replacing one record moves an integer sum by exactly what the plan says. All
functions round towards a public point (down, or towards zero), since rounding to the nearest leaves the ball, or
leave room for that (`round_vectors`). Quantise each record alone and add the integers: a sum of floats that is rounded
afterwards moves by more.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, nextafter, sqrt
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, check_integer, check_positive

LOSS_UNITS = 2**24
LARGEST_UNITS = 2**30
LARGEST_LATTICE_DIMENSION = 2**20
# Shrinks by more than the roundings of a product and a square root can undo.
SHRINK = 1.0 - 2.0**-40
_CACHED = 2**15  # numbers that are worked on at a time


def quantise_losses(losses: FloatArray, units: int = LOSS_UNITS) -> IntArray:
    """Compute floor(losses * units) for losses in [0, 1]: integers in {0..units}.

    The floor is monotone and fixes both ends, so that the least quantised loss is the quantised least loss. Losses come
    out too small by less than 1/units.

    >>> quantise_losses(np.array([0.0, 0.3, 1.0]), units=10).tolist()
    [0, 3, 10]
    """
    _check_units("quantise_losses", units)
    if losses.size and not (losses.min() >= 0.0 and losses.max() <= 1.0):
        raise InvalidInput("The 'losses' of quantise_losses must be numbers in [0, 1]: clip them to their range first.")
    return np.clip((losses * units).astype(np.int64), 0, units)


def sum_quantised(losses: FloatArray) -> IntArray:
    """Compute the sums over the rows of `quantise_losses`, for losses that were checked to lie in [0, 1].

    The quantised losses are added as floats, without an error: they are integers, and fewer than 2^29 rows stay
    below 2^53.

    >>> sum_quantised(np.array([[0.0, 0.5], [1.0, 0.25]])).tolist() == [2**24, 3 * 2**22]
    True
    """
    rows, width = losses.shape
    size = min(rows, max(1, _CACHED // max(1, width)))
    whole, ones, total = np.empty((size, width)), np.ones(size), np.zeros(width)
    for first in range(0, rows, size or 1):
        part = losses[first : first + size]
        floors = np.multiply(part, LOSS_UNITS, out=whole[: len(part)])
        total += ones[: len(part)] @ np.floor(floors, out=floors)
    return total.astype(np.int64)


def whole_losses(losses: FloatArray) -> IntArray:
    """Apply `quantise_losses` to losses that were checked to lie in [0, 1]."""
    return (losses * LOSS_UNITS).astype(np.int64)


def quantise_vectors(values: FloatArray, norm: float, units: int) -> IntArray:
    """Clip vectors (along the last axis) to l2 norm `norm`, in steps of norm/units: n.n <= units^2 in integers.

    Replacing a vector moves it by at most 2 units steps, zeroing it out by units. Each coordinate is nearer to zero
    than the clipped one, by less than a step.

    >>> quantise_vectors(np.array([3.0, -4.0]), norm=1.0, units=1000).tolist()
    [600, -800]
    """
    _check_units("quantise_vectors", units)
    return _quantised("quantise_vectors", values, norm, units)


def round_vectors(values: FloatArray, norm: float, units: int) -> IntArray:
    """Clip vectors to l2 norm `norm`, rounded to steps of norm/`inner_units`: n.n <= units^2 in integers.

    Rounding moves a vector by at most sqrt(d)/2 steps, for which the ball of `units` steps has room. Each coordinate is
    off by at most half a step, and by less than .01 more if the check in integers acts.

    >>> round_vectors(np.array([3.0, -4.0]), norm=1.0, units=1000).tolist()
    [600, -799]
    """
    _check_units("round_vectors", units)
    inner = inner_units(units, values.shape[-1] if values.ndim else 1)
    return _quantised("round_vectors", values, norm, units, inner, np.rint)


def inner_units(units: int, dimension: int) -> float:
    """Give the units less sqrt(dimension)/2: steps in the norm of vectors that `round_vectors` makes whole."""
    return units - sqrt(dimension) / 2


def l1_units(units: int, dimension: int) -> int:
    """Compute floor(sqrt(dimension) * units): the l1 norm that a vector of l2 norm `units` has at most.

    With it, two-sided geometric noise serves vectors of bounded l2 norm under pure differential privacy.
    """
    return isqrt(dimension * units * units)


def quantise_outer_products(values: FloatArray, norm: float, units: int) -> IntArray:
    """Give the products v v' of vectors clipped to l2 norm `norm`, as d(d+1)/2 integers in steps of norm^2/units.

    The upper triangle row by row, entries off the diagonal times sqrt(2), so that the vector's l2 norm is that of
    the matrix (Frobenius): at most `units`. `symmetric_matrix` undoes it.

    >>> quantise_outer_products(np.array([0.6, 0.8]), norm=1.0, units=1000).tolist()
    [359, 678, 639]
    """
    owner = "quantise_outer_products"
    _check_units(owner, units)
    clipped = _clipped(owner, values, norm, 1.0)
    row, column = np.triu_indices(clipped.shape[-1])
    products = clipped[..., row] * clipped[..., column] * np.where(row == column, 1.0, sqrt(2.0))
    # Inside the ball by more than the roundings so far, so that the check in integers never acts.
    return _quantised(owner, products * SHRINK, 1.0, units)


def cross_ratio(replace: bool) -> float:
    """Give alpha of `joint_shift`: how much finer v y is than v v' where both are released together."""
    return sqrt(0.5) if replace else 1.0


def joint_shift(units: int, dimension: int, *, replace: bool) -> float:
    """Bound the steps, in l2, by which one record (v, y) moves a sum of (v v', alpha v y), |v| and |y| at most 1.

    Zeroing out: sqrt(1 + alpha^2). Replacing (v, y) by (w, -y), with c = <v, w>: the root of 2 - 2 c^2 +
    alpha^2 (2 + 2 c), largest at c = alpha^2/2: (alpha^2 + 2)/sqrt(2). Each of the d(d+3)/2 coordinates lost less than
    1.01 when it became whole.
    """
    square, coordinates = cross_ratio(replace) ** 2, dimension * (dimension + 3) // 2
    moved = (square + 2) / sqrt(2.0) if replace else sqrt(1 + square)
    return _above(moved * units + (1 + replace) * 1.01 * sqrt(coordinates))


def symmetric_matrix(coordinates: FloatArray, dimension: int) -> FloatArray:
    """Compute the symmetric matrix whose upper triangle is given as `quantise_outer_products` orders and weighs it."""
    row, column = np.triu_indices(dimension)
    matrix = np.zeros((dimension, dimension))
    matrix[row, column] = matrix[column, row] = np.where(row == column, 1.0, sqrt(0.5)) * coordinates
    return matrix


def quantise_moments(values: FloatArray, units: int) -> tuple[IntArray, IntArray]:
    """Quantise moments of values in [-1, 1]: i = rint(z M) and floor(i^2/M) - M/2, M = `units`, even.

    >>> [part.tolist() for part in quantise_moments(np.array([-1.0, 0.0, 0.5]), 100)]
    [[-100, 0, 50], [50, -50, -25]]
    """
    if _check_units("quantise_moments", units) % 2:
        raise InvalidInput(f"The 'units' parameter of quantise_moments must be even. Got {units!r} instead.")
    if values.size and not (values.min() >= -1.0 and values.max() <= 1.0):
        raise InvalidInput("The 'values' of quantise_moments must be numbers in [-1, 1]: clip them to it first.")
    first = np.clip(np.rint(values * units).astype(np.int64), -units, units)
    return first, first * first // units - units // 2


def moments_shift(units: int, features: int, *, replace: bool) -> float:
    """Compute by how many steps, in l2, one record moves the sums of `quantise_moments` of all features, rounded up.

    For z, y in [-1, 1]: (z-y)^2 (1 + (z+y)^2) <= 4 and z^2 + (z^2 - 1/2)^2 <= 5/4; the floor adds at most 1.
    """
    return _above((2.0 * units + 1.0 if replace else 1.12 * units + 1.0) * sqrt(features))


def _check_units(owner: str, units: int) -> int:
    return check_integer(owner, "units", units, at_most=LARGEST_UNITS)


def _quantised(
    owner: str,
    values: FloatArray,
    norm: float,
    units: int,
    inner: float | None = None,
    whole: Callable[[FloatArray], FloatArray] = np.trunc,
) -> IntArray:
    """Clip in float, make whole, and shrink before that until the norm is at most `units`, in integers.

    `inner`: steps in `norm`, if they are fewer than `units`.
    """
    if inner is not None and not inner > 0:
        raise InvalidInput(f"The 'units' of {owner} must be more than half the root of the dimension. Got {units!r}.")
    scaled = _clipped(owner, values, norm, float(units) if inner is None else inner)
    limit = units**2
    while True:
        lattice = whole(scaled).astype(np.int64)
        sizes = _squared(lattice)
        if not (sizes > limit).any():
            return lattice
        factors = units / np.sqrt(np.maximum(sizes, limit).astype(np.float64)) * SHRINK
        scaled = np.where(sizes > limit, scaled * factors, scaled)


def _clipped(owner: str, values: FloatArray, norm: float, target: float) -> FloatArray:
    """Clip vectors to norm `norm`, in units in which `norm` is `target`; up to rounding."""
    check_positive(owner, "norm", norm)
    if not (values.ndim and 0 < values.shape[-1] <= LARGEST_LATTICE_DIMENSION):
        raise InvalidInput(
            f"The 'values' of {owner} must be vectors of 1 to {LARGEST_LATTICE_DIMENSION} coordinates along the last "
            f"axis. Got shape {values.shape} instead."
        )
    peak = np.abs(values).max(axis=-1, keepdims=True)
    if not (peak < np.inf).all():
        raise InvalidInput(f"The 'values' of {owner} must be finite numbers.")
    # The largest coordinate first, so that no square overflows.
    scaled = np.ascontiguousarray(values * (norm / np.maximum(peak, norm)) * (target / norm))
    return np.asarray(scaled * (target / np.maximum(np.sqrt(_squared(scaled)), target)))


def _squared(values: Any) -> Any:
    return np.add.reduce(values * values, axis=-1, keepdims=True)


def _above(number: float) -> float:
    """Give more than the exact value of a short formula that gave `number`."""
    return nextafter(number * (1.0 + 2.0**-48), float("inf"))
