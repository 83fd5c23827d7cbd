"""Accelerated proximal gradient steps: slow, and certain. They take over where Newton's method is not enough.

f = losses + ridge is m-strongly convex and L-smooth, kappa = L/m. A proximal step at y minimises
<grad f(y), x> + (L/2)|x - y|^2 + weight Barrier(x) + <noise, x>, in d dimensions. After one plain step from 0,
momentum (sqrt(kappa) - 1)/(sqrt(kappa) + 1) gives F_k - F* <= (1 - 1/sqrt(kappa))^k (L + m)/2 |x*|^2, so
ceil(sqrt(kappa) ln(2 kappa R^2/tau^2)) steps reach tau in exact arithmetic; then at most kappa ln(2 kappa) plain steps,
which contract by 1 - 1/kappa, bring the residual down to what rounding leaves of a gradient. Only gradients are
compared: values have lost their digits long before. Every bound is a public number.
"""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np

from tacit.solvers.model import model_minimum
from tacit.solvers.objective import PerturbedObjective, Trial
from tacit.validation import FloatArray

# Room for rounding in the smoothness of the sum.
_SAFE = 1.0 + 1e-9


def proximal_minimum(objective: PerturbedObjective, accuracy: float, reach: float) -> Trial:
    """The point with the smallest certified distance; it stops at one of at most `accuracy`.

    Args:
        objective: what to minimise.
        accuracy: the distance at which to stop.
        reach: a public bound on the norm of the minimiser.
    """
    smooth = (objective.ridge + objective.losses.smoothness) * _SAFE
    kappa = smooth / objective.modulus
    momentum = (sqrt(kappa) - 1) / (sqrt(kappa) + 1)
    share = max(accuracy / max(reach, 1e-300), 1e-17)
    fast, slow = ceil(sqrt(kappa) * log(2 * kappa / share**2)), ceil(kappa * log(2 * kappa)) + 1
    best = objective.at(np.zeros(objective.losses.dimension))
    x = before = proximal_step(objective, best.point, best.of_losses, smooth)
    for count in range(fast + slow):
        y = x + momentum * (x - before) if count < fast else best.point if count == fast else x
        if objective.inside(y):
            trial = objective.at(y)
            best = min(best, trial, key=lambda point: point.distance)
            if best.distance <= accuracy:
                return best
            slope = trial.of_losses
        else:
            slope = objective.losses.gradient(y)[0]
        x, before = proximal_step(objective, y, slope, smooth), x
    return best


def proximal_step(objective: PerturbedObjective, y: FloatArray, slope: FloatArray, smooth: float) -> FloatArray:
    """One step from y, where the losses' gradient is `slope`; y may be outside of the domain."""
    if objective.domain is None:
        return y - (slope + objective.ridge * y + objective.noise) / smooth
    curvature = (smooth - objective.ridge) * np.eye(y.size)
    return model_minimum(objective, y, slope, curvature, y if objective.inside(y) else np.zeros_like(y))
