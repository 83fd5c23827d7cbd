"""One dimension: the gradient is monotone, so halving an interval finds the minimiser whatever the losses are.

A sign can be wrong only where the gradient is within its rounding error of 0, and such a point is certified at once;
otherwise the interval shrinks to two neighbouring floats. At most 1,100 evaluations either way, in practice 60.
"""

from __future__ import annotations

import numpy as np

from tacit.solvers.objective import PerturbedObjective, Trial

_HALVINGS = 1_100


def bisected_minimum(objective: PerturbedObjective, accuracy: float, reach: float) -> Trial:
    """The point with the smallest certified distance; it stops at one of at most `accuracy`.

    Args:
        objective: what to minimise, in one dimension.
        accuracy: the distance at which to stop.
        reach: a public bound on the size of the minimiser.
    """
    best = objective.at(np.zeros(1))
    low, high = -reach, reach
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        if best.distance <= accuracy or not low < middle < high:
            break
        x = np.array([middle])
        if objective.inside(x):
            trial = objective.at(x)
            best = min(best, trial, key=lambda point: point.distance)
            right = trial.gradient[0] > 0
        else:
            right = middle > 0
        low, high = (low, middle) if right else (middle, high)
    return best
