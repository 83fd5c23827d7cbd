"""Newton's method with certificates: few passes over the history, but no promise to end well on its own.

The losses are expensive (a pass over the history) and smooth; the barrier is cheap and anything but. So each outer
step replaces the losses alone by their quadratic model and minimises model + barrier in d dimensions to the last
digit. A step that halves the smallest certified distance so far is taken as it is (against the present distance
instead, steps can go round in circles at the kinks of piecewise quadratic losses); if one does not, a line search on
values takes over. Values lose their digits far above the accuracy that is asked for, so the method may give up.
"""

from __future__ import annotations

import numpy as np

from tacit.errors import InvalidInput
from tacit.geometry.base import BarrierSet
from tacit.solvers.loss_sums import UNIT, LossSum
from tacit.solvers.model import model_minimum
from tacit.solvers.objective import PerturbedObjective, Trial
from tacit.validation import FloatArray

_STEPS = 100


def newton_minimum(objective: PerturbedObjective, start: FloatArray, accuracy: float) -> Trial | None:
    """A point certified to `accuracy`, or None if the steps run out or values have no digits left to compare."""
    current = objective.at(start if objective.inside(start) else np.zeros_like(start))
    best = current.distance
    curvature: FloatArray | None = None
    for _ in range(_STEPS):
        if current.distance <= accuracy:
            return current
        fresh = curvature is None
        if curvature is None:
            curvature = objective.losses.hessian(current.point)
        target = model_minimum(objective, current.point, current.of_losses, curvature, current.point)
        following = objective.at(target) if objective.inside(target) else current
        if following.distance <= best / 2 and following.distance < np.inf:
            if following.distance > best / 50:
                curvature = None  # closer to the solution the old curvature will do, and costs nothing
            current, best = following, following.distance
            continue
        curvature = None
        if fresh:
            searched = line_search(objective, current, target - current.point)
            if searched is None:
                return None
            current = searched
    return None


def constrained_minimum(losses: LossSum, domain: BarrierSet, gap: float) -> tuple[FloatArray, float]:
    """The minimiser of the losses over the domain in hull coordinates, and a proved bound on its excess, at most `gap`.

    A barrier of weight w leaves an excess of at most nu w; the proof is the linear oracle's: the excess of x is at
    most the largest <gradient, x - v> over v in the domain.
    """
    weight = gap / (2 * domain.barrier.parameter)
    objective = PerturbedObjective(losses, 0.0, np.zeros(losses.dimension), domain, weight)
    current = objective.at(np.zeros(losses.dimension))
    for _ in range(_STEPS):
        outward = domain.lift(current.of_losses)
        excess = float(outward @ (domain.from_hull(current.point) - domain.minimize_linear(outward)))
        rounding = losses.gradient(current.point)[1] + 8 * len(outward) * UNIT * float(np.linalg.norm(outward))
        excess = max(0.0, excess) + rounding * domain.diameter
        if excess <= gap:
            return current.point, excess
        curvature = losses.hessian(current.point)
        target = model_minimum(objective, current.point, current.of_losses, curvature, current.point)
        following = line_search(objective, current, target - current.point)
        # Without one, values have no digits left to compare.
        current = objective.at(target) if following is None else following
    raise InvalidInput(f"The best fixed point was not found to within {gap:g}: allow a larger gap.")


def line_search(objective: PerturbedObjective, current: Trial, direction: FloatArray) -> Trial | None:
    """Armijo's rule on values: the direction minimises a convex model, so it descends."""
    before, slope = objective.value(current.point), float(current.gradient @ direction)
    length = 1.0
    while length > 1e-12:
        trial = current.point + length * direction
        if objective.inside(trial) and objective.value(trial) <= before + 1e-4 * length * slope:
            return objective.at(trial)
        length /= 2
    return None
