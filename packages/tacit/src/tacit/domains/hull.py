"""The affine hull, an inner ball, a Chebyshev centre and membership of a polytope known through its linear oracle.

`hull_from_oracle` asks the oracle along one direction and its opposite at a time, always orthogonal to all that
is known: either the set has width there and a new affinely independent vertex is found, or the direction is
constant on the set. After at most `dimension` steps the hull is known.

The inner ball is certified by any vertices v_1..v_m that span the hull. Let c be their mean and
M = (1/m) sum (v_i - c)(v_i - c)^T. Then c + z = sum_i (1/m)(1 + <M^-1 (v_i - c), z>) v_i is a convex combination
whenever |z| <= 1/max_i |M^-1 (v_i - c)|, so this radius is valid. For n+1 vertices the combination is unique and
the radius is exactly that of the largest ball about the centroid of their simplex. Any positive weights may take the
place of 1/m: a few steps of Khachiyan's kind, towards the vertices of largest |M^-1 (v_i - c)|, enlarge the ball.

`is_in_hull` is Wolfe's minimum-norm-point method in its fully corrective form: keep a few vertices, find the point of
their hull nearest to x, ask the oracle for the vertex that lies farthest beyond it, and repeat. The nearest point of
a hull is a non-negative least-squares problem: minimising |V a|^2 + (sum(a) - 1)^2 over a >= 0 and dividing a by
its sum gives it exactly, since for a = s m with sum(m) = 1 the best s leaves |V m|^2 / (1 + |V m|^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from tacit.errors import InvalidInput
from tacit.validation import FloatArray

# Rounding in a radius that was computed from a linear system or a linear programme.
SHAVE = 1.0 - 1e-9
_REWEIGHTED = 30  # weights that are tried for the vertices of an inner ball


@dataclass(frozen=True, eq=False)
class Hull:
    """An affine hull with a ball that is inside the set.

    Attributes:
        centre: The centre of the ball.
        basis: An orthonormal basis of the directions of the hull, of shape (dimension, hull dimension).
        inner_radius: A valid radius of the ball within the hull.
        vertices: The vertices that were found, one per row.
    """

    centre: FloatArray
    basis: FloatArray
    inner_radius: float
    vertices: FloatArray


def hull_from_oracle(minimize: Callable[[FloatArray], FloatArray], dimension: int, probes: int = 4) -> Hull:
    """The affine hull of a polytope and a certified inner ball, with (4 + 2 `probes`) `dimension` + 1 oracle calls.

    Args:
        minimize: The linear oracle: an extreme point that minimises the inner product with its argument.
        dimension: The number of coordinates.
        probes: Further pairs of opposite directions per coordinate: they only serve to make the inner ball larger.
    """
    found = [minimize(np.zeros(dimension))]
    simplex = [found[0]]
    remaining = np.eye(dimension)  # the projection onto the complement of all settled directions
    for _ in range(dimension):
        # The coordinate that is farthest from settled keeps the direction well conditioned.
        column = int(np.argmax(np.diagonal(remaining)))
        direction = remaining[:, column] / np.linalg.norm(remaining[:, column])
        ends = [minimize(direction), minimize(-direction)]
        offsets = [abs(float(direction @ (end - simplex[0]))) for end in ends]
        size = max(1e-300, float(np.abs(np.array([*ends, simplex[0]])).max()))
        if max(offsets) > 1e-9 * size:
            far = ends[int(np.argmax(offsets))]
            simplex.append(far)
            settled = remaining @ (far - simplex[0])
            settled /= np.linalg.norm(settled)
        else:
            settled = direction
        remaining -= np.outer(settled, settled @ remaining)
        remaining = (remaining + remaining.T) / 2.0
        found += ends
    if len(simplex) == 1:
        raise InvalidInput("The set is a single point: there is nothing to choose in it.")
    for axis in np.eye(dimension):
        found += [minimize(axis), minimize(-axis)]
    corners = np.array(simplex)
    basis, _ = np.linalg.qr((corners[1:] - corners[0]).T)
    vertices = np.unique(np.array(found), axis=0)
    spanning = [vertices, corners]
    directions = _unstructured(probes * dimension, dimension)
    spread = np.array([minimize(sign * direction) for direction in directions for sign in (1.0, -1.0)])
    if len(spread) and np.linalg.matrix_rank((spread - spread.mean(axis=0)) @ basis) == basis.shape[1]:
        spanning.append(spread)
    centre, radius = max((_certified_ball(points, basis) for points in spanning), key=lambda ball: ball[1])
    basis.setflags(write=False)
    return Hull(centre, basis, radius, vertices)


def chebyshev_centre(
    rows: FloatArray, bounds: FloatArray, origin: FloatArray, basis: FloatArray
) -> tuple[FloatArray, float]:
    """The centre and radius of the largest ball of {rows x <= bounds} within the hull origin + span(basis).

    The radius is recomputed from the slacks at the centre, so that the tolerance of the linear programme does not
    enter. It is not positive if the set has no interior in the hull, and infinite if the set holds balls of any size.
    """
    inner = rows @ basis
    lengths = np.linalg.norm(inner, axis=1)
    # A row that is constant on the hull bounds no ball.
    active = lengths > 1e-12 * np.linalg.norm(rows, axis=1)
    normals = inner[active] / lengths[active, None]
    slack = (bounds - rows @ origin)[active] / lengths[active]
    size = basis.shape[1]
    objective = np.append(np.zeros(size), -1.0)
    unit = float(np.abs(slack).max(initial=0.0)) or 1.0  # the solver's tolerances are absolute
    answer = scipy.optimize.linprog(
        objective,
        A_ub=np.column_stack([normals, np.ones(len(normals))]),
        b_ub=slack / unit,
        bounds=[(None, None)] * size + [(None, None)],
        method="highs",
    )
    if answer.status == 3:
        return origin, float("inf")
    if answer.status != 0:
        raise InvalidInput(f"The inner ball of the set could not be computed: {answer.message}")
    coordinates = np.asarray(answer.x)[:-1] * unit
    radius = float((slack - normals @ coordinates).min())
    return origin + basis @ coordinates, radius * SHAVE


def complement_of_ones(size: int) -> FloatArray:
    """An orthonormal basis of the vectors with sum 0, of shape (size, size - 1).

    The columns of the Householder reflection that exchanges the first axis and the normalised ones, but the first.
    """
    root = np.sqrt(size)
    reflection: FloatArray = np.eye(size)[:, 1:] - 1.0 / (size - root)
    reflection[0] = 1.0 / root
    return reflection


def nearest_end(
    minimize: Callable[[FloatArray], FloatArray], centre: FloatArray, basis: FloatArray, starts: int = 8
) -> float:
    """Search for the direction in which the set ends nearest to the centre; the answer is an upper bound of its depth.

    The distance in a unit direction u is <u, centre - minimize(u)>, a convex function of u: axes and directions
    without structure, then steps downhill from the best of them.
    """

    def distance(direction: FloatArray) -> tuple[float, FloatArray]:
        away = basis.T @ (centre - minimize(basis @ direction))
        return float(direction @ away), away

    axes = np.vstack([basis, -basis, _unstructured(4 * basis.shape[1], basis.shape[1])])
    lengths = np.linalg.norm(axes, axis=1)
    axes = axes[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    found = sorted(((*distance(axis), axis) for axis in axes), key=lambda end: end[0])[:starts]
    best = found[0][0]
    for depth, away, start in found:
        direction = start
        for step in range(1, 31):
            away /= max(float(np.linalg.norm(away)), 1e-300)
            direction = direction - away / (2 + step)
            direction /= max(float(np.linalg.norm(direction)), 1e-300)
            depth, away = distance(direction)
            best = min(best, depth)
    return best


def _unstructured(count: int, size: int) -> FloatArray:
    """Directions without structure, and without a generator: the set must not depend on one."""
    return np.asarray(np.cos(7.0 * np.outer(np.arange(1.0, count + 1.0), np.sqrt(np.arange(2.0, size + 2.0)))))


def _certified_ball(points: FloatArray, basis: FloatArray) -> tuple[FloatArray, float]:
    weights, best = np.full(len(points), 1 / len(points)), (points[0], 0.0)
    for _ in range(_REWEIGHTED):
        centre = weights @ points
        inner = (points - centre) @ basis
        spread = (inner.T * weights) @ inner
        if np.linalg.cond(spread) > 1e12:
            break
        reach = np.linalg.norm(np.linalg.solve(spread, inner.T), axis=0)
        if SHAVE / reach.max() > best[1]:
            best = (centre, SHAVE / float(reach.max()))
        weights = weights * reach
        weights /= weights.sum()
    return best


def is_in_hull(minimize: Callable[[FloatArray], FloatArray], point: FloatArray, tolerance: float) -> bool:
    """Whether the distance from `point` to the set of the oracle `minimize` is at most `tolerance`.

    Args:
        minimize: The linear oracle: an extreme point that minimises the inner product with its argument.
        point: The point in question.
        tolerance: The distance that still counts as inside.
    """
    shifted = (minimize(np.zeros_like(point)) - point)[:, None]
    while True:
        # Least squares is solved at the scale of the set, or tiny sets would drown in the unit row.
        scale = max(float(np.abs(shifted).max()), 1e-300)
        rows = np.vstack([shifted / scale, np.ones(shifted.shape[1])])
        target = np.append(np.zeros(len(point)), 1.0)
        weights, _ = scipy.optimize.nnls(rows, target, maxiter=100 * rows.shape[1])
        weights /= weights.sum()
        nearest = shifted @ weights
        distance = float(np.linalg.norm(nearest))
        if distance <= tolerance:
            return True
        vertex = minimize(nearest / distance) - point
        # Every point of the set is at least this far from `point`, in the direction of `nearest`.
        if float(vertex @ nearest) / distance > tolerance:
            return False
        # No vertex is farther out than those already combined: `nearest` is the projection, to machine precision.
        if distance - float(vertex @ nearest) / distance <= 1e-13 * scale:
            return False
        kept = shifted[:, weights > 0.0]
        if (kept == vertex[:, None]).all(axis=0).any():
            return False
        shifted = np.column_stack([kept, vertex])
