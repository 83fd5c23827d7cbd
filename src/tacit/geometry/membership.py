"""Membership in a set that is known only through its linear oracle.

Wolfe's minimum-norm-point method in its fully corrective form: keep a few vertices, find the point of their
hull nearest to x, ask the oracle for the vertex that lies farthest beyond it, and repeat. The nearest point of
a hull is a non-negative least-squares problem: minimising |V a|^2 + (sum(a) - 1)^2 over a >= 0 and dividing a by
its sum gives it exactly, since for a = s m with sum(m) = 1 the best s leaves |V m|^2 / (1 + |V m|^2).
"""

from collections.abc import Callable

import numpy as np
import scipy

from tacit.validation import FloatArray


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
