"""Newton's method without a matrix: each step by conjugate gradients, for models of very many coordinates.

As `newton`: a step that halves the smallest certified distance is taken as it is, otherwise a line search on values
takes over, and the method may give up. There is no domain here, so no barrier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.solvers.newton import line_search
from tacit.solvers.objective import PerturbedObjective, Trial
from tacit.solvers.sparse_sums import SparseLinkSum
from tacit.validation import FloatArray

_STEPS = 100
_PRODUCTS = 500


def conjugate_minimum(objective: PerturbedObjective, start: FloatArray, accuracy: float) -> Trial | None:
    """A point certified to `accuracy`, or None if the steps run out or values have no digits left to compare."""
    losses = objective.losses
    if not isinstance(losses, SparseLinkSum) or objective.domain is not None:
        return None
    current = objective.at(start)
    best = current.distance
    for _ in range(_STEPS):
        if current.distance <= accuracy:
            return current
        curvature = losses.curvature_at(current.point)
        direction = _direction(curvature, objective.ridge, current.gradient)
        following = objective.at(current.point + direction)
        if not following.distance <= best / 2:
            searched = line_search(objective, current, direction)
            if searched is None:
                return None
            following = searched
        current, best = following, min(best, following.distance)
    return None


def _direction(curvature: Callable[[FloatArray], FloatArray], ridge: float, gradient: FloatArray) -> FloatArray:
    """-(curvature + ridge)^-1 gradient, to a residual that lets Newton's method converge fast."""
    direction, residual = np.zeros_like(gradient), -gradient
    search, size = residual, float(residual @ residual)
    enough = size * 1e-6
    for _ in range(_PRODUCTS):
        if not size > enough:
            break
        product = curvature(search) + ridge * search
        length = size / float(search @ product)
        direction = direction + length * search
        residual = residual - length * product
        size, before = float(residual @ residual), size
        search = residual + (size / before) * search
    return direction
