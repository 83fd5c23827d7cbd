"""A minimiser that comes with a certificate, whatever the data: perturbed_minimum(...) is a total function.

Its releases are private only if they are minimisers, so an iteration count is no stopping rule here, and an uncertified
iterate never leaves. Nor may it raise for some data and not for others: that would release a bit which nobody paid
for. So Newton's method (by conjugate gradients if rows are sparse), which is fast and may give up, is followed by a
method that cannot: bisection in one dimension, accelerated proximal gradient steps in more. For every admissible data
set and every noise within the public bound of `attainable_accuracy` a point within the accuracy is found, by a number
of steps that public numbers bound.

Should a certificate be missed all the same, which only a mistake in this code can cause, the minimiser of the objective
without its losses is taken: a law that does not know the data. Time is not covered: how long a minimisation takes
depends on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainccinv

from tacit.errors import PrivacyError
from tacit.geometry.base import BarrierSet
from tacit.solvers.bisection import bisected_minimum
from tacit.solvers.conjugate import conjugate_minimum
from tacit.solvers.loss_sums import LinearSum, SmoothSum
from tacit.solvers.newton import newton_minimum
from tacit.solvers.objective import PerturbedObjective, Trial
from tacit.solvers.proximal_gradient import proximal_minimum
from tacit.solvers.sparse_sums import SparseLinkSum
from tacit.validation import FloatArray

TRUNCATION = 1e-30
"""The probability with which a Gaussian noise is drawn anew because it is too long."""


@dataclass(frozen=True)
class Minimum:
    """A certified minimiser.

    Attributes:
        point: the point, in hull coordinates.
        distance: a proved bound on its distance to the exact minimiser.
        substitute: whether it minimises the objective without the losses. PRIVATE, and never seen.
    """

    point: FloatArray
    distance: float
    substitute: bool = False


@np.errstate(all="ignore")
def perturbed_minimum(
    losses: SmoothSum,
    *,
    ridge: float,
    noise: FloatArray,
    accuracy: float,
    weight: float = 0.0,
    domain: BarrierSet | None = None,
    start: FloatArray | None = None,
) -> Minimum:
    """The minimiser of sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>, certified to `accuracy`.

    Raises only if not even the objective without its losses can be certified, which does not depend on the data.
    """
    objective = PerturbedObjective(losses, ridge, noise, domain, weight)
    found = _certified(objective, accuracy, np.zeros(losses.dimension) if start is None else start)
    if found is not None:
        return Minimum(found.point, found.distance)
    # The strong convexity of the losses is a public number, and stays.
    blind = PerturbedObjective(LinearSum(losses.dimension), objective.modulus, noise, domain, weight)
    found = _certified(blind, accuracy, np.zeros(losses.dimension))
    if found is None:
        raise PrivacyError(
            f"No minimiser of these public quantities can be certified to {accuracy:g} in float64, whatever the data: "
            "take an accuracy from attainable_accuracy. Nothing was released."
        )
    return Minimum(found.point, found.distance, substitute=True)


def truncated_norm(dimension: int) -> float:
    """The norm beyond which a standard Gaussian vector is drawn anew: exceeded with probability `TRUNCATION`."""
    return float(np.sqrt(2 * gammainccinv(dimension / 2, TRUNCATION)))


def truncated_normal(generator: np.random.Generator, dimension: int) -> FloatArray:
    """A standard Gaussian vector of norm at most `truncated_norm`."""
    limit = truncated_norm(dimension)
    while True:
        drawn = generator.standard_normal(dimension)
        if float(np.linalg.norm(drawn)) <= limit:
            return np.asarray(drawn)


def _certified(objective: PerturbedObjective, accuracy: float, start: FloatArray) -> Trial | None:
    if not objective.modulus > 0:
        return None
    sparse = isinstance(objective.losses, SparseLinkSum)
    found = (conjugate_minimum if sparse else newton_minimum)(objective, start, accuracy)
    if found is None:
        method = bisected_minimum if objective.losses.dimension == 1 else proximal_minimum
        found = method(objective, accuracy, _reach(objective))
    return found if found.distance <= accuracy else None


def _reach(objective: PerturbedObjective) -> float:
    """A bound on the norm of the minimiser: of the set, or of where the ridge outweighs gradients at 0."""
    if objective.domain is not None:
        return objective.domain.radius
    at_zero, error = objective.losses.gradient(np.zeros(objective.losses.dimension))
    return (float(np.linalg.norm(at_zero + objective.noise)) + error) / objective.modulus * (1 + 1e-9)
