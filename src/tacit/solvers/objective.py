"""The perturbed objective, the certificate of a point, and the accuracy that float64 reaches whatever the data.

The objective is  sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>. Let r be the gradient at x with its
rounding error, B = weight hess Barrier(x), and M = m I + B/4 with m = ridge + curvature of the losses. The barrier is
self-concordant, so hess >= M on the Dikin ellipsoid of radius 1/2; if |r|_{M^-1} <= sqrt(weight)/4 then the ball of
radius |r|_{M^-1} in the M norm is inside that ellipsoid, the minimiser is in that ball, and
|x - x*| <= |r|_{M^-1}/sqrt(m). Close to the boundary this is far sharper than |r|/m: there float64 cannot even
represent points with a small gradient. In the local norm of the barrier the same ball has radius
2 |r|_{M^-1}/sqrt(weight).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from tacit.geometry.barrier import Barrier
from tacit.geometry.base import BarrierSet
from tacit.solvers.loss_sums import SUM_ERROR, UNIT, SmoothSum
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Trial:
    """A point, the gradients of the losses and of the objective there, and its certified distance to the minimiser."""

    point: FloatArray
    of_losses: FloatArray
    gradient: FloatArray
    distance: float


@dataclass(frozen=True)
class PerturbedObjective:
    """sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>, in hull coordinates.

    Without a domain there is no barrier: a positive ridge is enough.
    """

    losses: SmoothSum
    ridge: float
    noise: FloatArray
    domain: BarrierSet | None = None
    weight: float = 0.0

    @cached_property
    def barrier(self) -> Barrier | None:
        """The barrier in hull coordinates."""
        return None if self.domain is None else self.domain.hull_barrier

    @property
    def modulus(self) -> float:
        """The strong convexity of everything but the barrier: a public number."""
        return self.ridge + self.losses.modulus

    def inside(self, x: FloatArray) -> bool:
        """Whether the objective is finite at x."""
        return self.barrier is None or self.barrier.value(x) < np.inf

    def value(self, x: FloatArray) -> float:
        """The objective."""
        total = self.losses.value(x) + self.ridge * float(x @ x) / 2 + float(self.noise @ x)
        return total if self.barrier is None else total + self.weight * self.barrier.value(x)

    def at(self, x: FloatArray) -> Trial:
        """Everything about an interior point; its certificate may be infinite."""
        of_losses, rounding = self.losses.gradient(x)
        gradient, error = self.gradient(x, of_losses, rounding)
        return Trial(x, of_losses, gradient, self.distance(x, gradient, error))

    def gradient(self, x: FloatArray, of_losses: FloatArray, error: float) -> tuple[FloatArray, float]:
        """The gradient from that of the losses, and a bound on the rounding error of all but the barrier."""
        parts = [of_losses, self.ridge * x, self.noise]
        if self.barrier is not None:
            parts.append(self.weight * self.barrier.gradient(x))
        total = np.add.reduce(parts)
        return total, error + 4 * UNIT * sum(float(np.linalg.norm(part)) for part in parts)

    def distance(self, x: FloatArray, gradient: FloatArray, error: float) -> float:
        """A proved bound on the distance from x to the minimiser (infinite if there is none)."""
        modulus, size = self.modulus, x.size
        if self.domain is None:
            plain = (float(np.linalg.norm(gradient)) + error) / modulus * 1.001 if modulus > 0 else float("inf")
            return plain if plain >= 0 else float("inf")  # not a number: no certificate
        barrier = np.zeros((size, size)) if self.barrier is None else self.weight * self.barrier.hessian(x)
        metric = barrier / 4
        metric[np.diag_indices(size)] += modulus
        root, failed = scipy.linalg.lapack.dpotrf(metric, lower=1)
        if failed or not modulus > 0:
            return float("inf")
        scaled, _ = scipy.linalg.lapack.dtrtrs(root, gradient, lower=1)
        norm = float(np.linalg.norm(scaled)) + error / np.sqrt(modulus)
        # The barrier's slacks are those of a point moved by rounding: its gradient moves by hess times that.
        moved = (size + 8) * UNIT * (float(np.linalg.norm(self.domain.centre)) + self.domain.radius)
        norm += 2 * moved * float(np.sqrt(np.trace(barrier)))
        if not norm <= np.sqrt(self.weight) / 4:
            return float("inf")
        found = float(norm / np.sqrt(modulus)) * 1.001
        return found if found >= 0 else float("inf")  # not a number: no certificate


def attainable_accuracy(
    *,
    rounds: int,
    dimension: int,
    lipschitz: float,
    smoothness: float,
    ridge: float,
    noise: float,
    domain: BarrierSet | None,
    weight: float = 0.0,
    reach: float | None = None,
    gradient_rounding: float = 0.0,
) -> float:
    """A public accuracy that float64 reaches whatever the data: four times what rounding leaves of a gradient.

    With `error` the certificate's own bound on the rounding of a gradient, plain proximal steps come to rest at a
    residual of at most 2 error + 2 L u |x| (L the smoothness of the sum, u the unit roundoff), which the certificate
    reads with one more error: 4 (error + L u |x|)/m is enough.

    Args:
        rounds: how many losses there will be.
        dimension: of the affine hull.
        lipschitz: largest norm of a loss's gradient.
        smoothness: largest curvature of a loss.
        ridge: the strong convexity.
        noise: the largest norm of the noise.
        domain: the set, or None for the whole space.
        weight: of the barrier.
        reach: a bound on the minimiser's norm without a domain (default: (G T + noise)/ridge).
        gradient_rounding: what the loss adds to the rounding of one gradient (`LossFamily.gradient_rounding`).
    """
    radius = (lipschitz * rounds + noise) / ridge if domain is None else domain.radius
    if reach is None or domain is not None:
        reach = radius if domain is None else radius + float(np.linalg.norm(domain.centre))
    push = largest_push(rounds, lipschitz, ridge, noise, min(radius, reach))
    error = np.sqrt(dimension) * (SUM_ERROR + 8 * UNIT) * lipschitz * rounds
    error += np.sqrt(dimension) * smoothness * rounds * (dimension + 4) * UNIT * reach + 12 * UNIT * push
    error += np.sqrt(dimension) * gradient_rounding * rounds
    total = (error + (ridge + smoothness * rounds) * UNIT * reach) / ridge
    if domain is not None:
        moved = (dimension + 8) * UNIT * reach
        total += moved * np.sqrt(weight / ridge) * domain.barrier_stiffness(push / weight)
    return float(4 * total + 1e-14 * reach)


def largest_push(rounds: int, lipschitz: float, ridge: float, noise: float, radius: float) -> float:
    """How hard losses, ridge and noise together can push against the barrier."""
    return lipschitz * rounds + ridge * radius + noise
