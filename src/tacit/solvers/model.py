"""The d-dimensional problem inside every step: a quadratic plus the barrier, minimised to the last digit.

<base, y - x> + |y - x|^2_Q/2 + weight Barrier(y) is self-concordant once divided by the weight, so Newton's method
damped by 1/(1 + decrement) stays inside and converges from everywhere. Far from the minimiser it follows the path of
minimisers from a large weight, where few steps are enough, down to the one that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from tacit.geometry.barrier import Barrier
from tacit.solvers.objective import PerturbedObjective
from tacit.validation import FloatArray

# More than self-concordance ever needs from where these searches start; nothing here runs without an end.
_STEPS = 2_000


def model_minimum(
    objective: PerturbedObjective, x: FloatArray, slope: FloatArray, curvature: FloatArray, start: FloatArray
) -> FloatArray:
    """The minimiser of the losses' model <slope, y> + |y - x|^2_curvature/2, plus all the rest of the objective."""
    quadratic = curvature.copy()
    quadratic[np.diag_indices(x.size)] += objective.ridge
    base = slope + objective.ridge * x + objective.noise  # the gradient of all but the barrier at x
    if objective.domain is None or objective.barrier is None:
        return x - solve(quadratic, base)
    model = _Model(quadratic, base, x, objective.barrier)
    if model.step(start, objective.weight)[1] < 1.0:
        return model.minimise(start, objective.weight)
    # Follow the path of minimisers from a weight whose minimiser is close to the centre.
    y = np.zeros_like(x)
    weight = max(objective.weight, objective.domain.radius * float(np.linalg.norm(base - quadratic @ x)))
    while weight > objective.weight:
        y = model.minimise(y, weight, until=0.25)
        weight /= 8
    return model.minimise(y, objective.weight)


def solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """matrix^-1 vector for a positive definite matrix; one whose positivity is lost in rounding is lifted."""
    _, solution, failed = scipy.linalg.lapack.dposv(matrix, vector, lower=1)
    size = float(np.trace(matrix))
    for lift in (1e-15, 1e-14, 1e-13, 1e-12):
        if not failed:
            return np.asarray(solution)
        _, solution, failed = scipy.linalg.lapack.dposv(matrix + lift * size * np.eye(len(matrix)), vector, lower=1)
    return np.asarray(vector / size if failed else solution)  # the gradient is still a direction of descent


@dataclass(frozen=True)
class _Model:
    """<base, y - x> + |y - x|^2_quadratic/2 + weight Barrier(y)."""

    quadratic: FloatArray
    base: FloatArray
    origin: FloatArray
    barrier: Barrier

    def step(self, y: FloatArray, weight: float) -> tuple[FloatArray, float]:
        """The Newton direction at y and the Newton decrement."""
        gradient = self.base + self.quadratic @ (y - self.origin) + weight * self.barrier.gradient(y)
        hessian = self.quadratic + weight * self.barrier.hessian(y)
        direction = -solve(hessian, gradient)
        return direction, float(np.sqrt(max(0.0, -float(gradient @ direction)) / weight))

    def minimise(self, y: FloatArray, weight: float, until: float = 0.0) -> FloatArray:
        """Newton's method, damped by 1/(1 + decrement): stays inside and converges from everywhere."""
        last = np.inf
        for _ in range(_STEPS):
            direction, decrement = self.step(y, weight)
            if decrement <= until:
                return y
            if decrement < 0.25:  # full steps converge quadratically; rounding ends them
                if decrement >= last / 2:
                    return y
                last = decrement
            else:
                direction = direction / (1 + decrement)
            if not self.barrier.value(y + direction) < np.inf:  # only rounding can lead outside
                return y
            y = y + direction
        return y
