"""A minimiser that comes with a certificate: perturbed_minimum(...) is within `accuracy` of the true one, proved.

The objective is  sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>. Its releases are private only
if they are minimisers, so an iteration count is no stopping rule here and an uncertified iterate never leaves.

The certificate. Let r be the gradient at x with its rounding error, B = weight hess Barrier(x), and
M = m I + B/4 with m = ridge + curvature of the losses. The barrier is self-concordant, so hess >= M on the Dikin
ellipsoid of radius 1/2; if |r|_{M^-1} <= sqrt(weight)/4 then the ball of radius |r|_{M^-1} in the M norm is inside
that ellipsoid, the minimiser is in that ball, and |x - x*| <= |r|_{M^-1}/sqrt(m). Close to the boundary this is far
sharper than |r|/m: there float64 cannot even represent points with a small gradient.

The method. The losses are expensive (a pass over the history) and smooth; the barrier is cheap and anything but.
So each outer step replaces the losses alone by their quadratic model and minimises model + barrier in d dimensions
to the last digit. A step that halves the smallest certified distance so far is taken as it is (against the present
distance instead, steps can go round in circles at the kinks of piecewise quadratic losses); if one does not, a line
search on values takes over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from tacit.errors import InvalidInput, PrivacyError
from tacit.geometry.barrier import Barrier
from tacit.geometry.base import BarrierSet
from tacit.solvers.loss_sums import SUM_ERROR, UNIT, LossSum
from tacit.validation import FloatArray

_STEPS = 100


@dataclass(frozen=True)
class Minimum:
    """A certified minimiser.

    Attributes:
        point: the point, in hull coordinates.
        distance: a proved bound on its distance to the exact minimiser.
        steps: how many Newton steps it took.
    """

    point: FloatArray
    distance: float
    steps: int


@dataclass(frozen=True)
class PerturbedObjective:
    """sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>, in hull coordinates.

    Without a domain there is no barrier: a positive ridge is enough.
    """

    losses: LossSum
    ridge: float
    noise: FloatArray
    domain: BarrierSet | None = None
    weight: float = 0.0

    def inside(self, x: FloatArray) -> bool:
        """Whether the objective is finite at x."""
        return self.domain is None or self.domain.hull_barrier.value(x) < np.inf

    def value(self, x: FloatArray) -> float:
        """The objective."""
        total = self.losses.value(x) + self.ridge * float(x @ x) / 2 + float(self.noise @ x)
        return total if self.domain is None else total + self.weight * self.domain.hull_barrier.value(x)

    def gradient(self, x: FloatArray, of_losses: FloatArray, error: float) -> tuple[FloatArray, float]:
        """The gradient from that of the losses, and a bound on the rounding error of all but the barrier."""
        parts = [of_losses, self.ridge * x, self.noise]
        if self.domain is not None:
            parts.append(self.weight * self.domain.hull_barrier.gradient(x))
        total = np.add.reduce(parts)
        return total, error + 4 * UNIT * sum(float(np.linalg.norm(part)) for part in parts)

    def barrier_hessian(self, x: FloatArray) -> FloatArray:
        """The barrier's part of the Hessian."""
        if self.domain is None:
            return np.zeros((x.size, x.size))
        return np.asarray(self.weight * self.domain.hull_barrier.hessian(x))

    def distance(self, x: FloatArray, gradient: FloatArray, error: float) -> float:
        """A proved bound on the distance from x to the minimiser (infinite if there is none)."""
        modulus = self.ridge + self.losses.modulus
        barrier = self.barrier_hessian(x)
        metric = barrier / 4
        metric[np.diag_indices(x.size)] += modulus
        root, failed = scipy.linalg.lapack.dpotrf(metric, lower=1)
        if failed or not modulus > 0:
            return float("inf")
        scaled, _ = scipy.linalg.lapack.dtrtrs(root, gradient, lower=1)
        norm = float(np.linalg.norm(scaled)) + error / np.sqrt(modulus)
        if self.domain is not None:
            # The barrier's slacks are those of a point moved by rounding: its gradient moves by hess times that.
            moved = (x.size + 8) * UNIT * (float(np.linalg.norm(self.domain.centre)) + self.domain.radius)
            norm += 2 * moved * float(np.sqrt(np.trace(barrier)))
            if not norm <= np.sqrt(self.weight) / 4:
                return float("inf")
        return float(norm / np.sqrt(modulus)) * 1.001


def perturbed_minimum(
    losses: LossSum,
    *,
    ridge: float,
    noise: FloatArray,
    accuracy: float,
    domain: BarrierSet | None = None,
    weight: float = 0.0,
    start: FloatArray | None = None,
) -> Minimum:
    """The minimiser of the perturbed objective, certified to `accuracy`, or an error: never an uncertified point.

    Full steps from `start` while each halves the certified distance; then a line search on values.
    """
    objective = PerturbedObjective(losses, ridge, noise, domain, weight)
    found = _newton(objective, np.zeros(losses.dimension) if start is None else start, accuracy)
    if found is None:
        raise PrivacyError(f"The minimiser could not be certified to {accuracy:g} in float64; nothing was released.")
    return found


def constrained_minimum(losses: LossSum, domain: BarrierSet, gap: float) -> tuple[FloatArray, float]:
    """The minimiser of the losses over the domain in hull coordinates, and a proved bound on its excess, at most `gap`.

    A barrier of weight w leaves an excess of at most nu w; the proof is the linear oracle's: the excess of x is at
    most the largest <gradient, x - v> over v in the domain.
    """
    weight = gap / (2 * domain.barrier.parameter)
    objective = PerturbedObjective(losses, 0.0, np.zeros(losses.dimension), domain, weight)
    current = _trial(objective, np.zeros(losses.dimension))
    for _ in range(_STEPS):
        outward = domain.lift(current.of_losses)
        excess = float(outward @ (domain.from_hull(current.point) - domain.minimize_linear(outward)))
        rounding = losses.gradient(current.point)[1] + 8 * len(outward) * UNIT * float(np.linalg.norm(outward))
        excess = max(0.0, excess) + rounding * domain.diameter
        if excess <= gap:
            return current.point, excess
        curvature = losses.hessian(current.point)
        target = _model_minimum(objective, current.point, current.of_losses, curvature)
        following = _line_search(objective, current, target - current.point)
        if following is None:  # values have no digits left to compare
            following = _trial(objective, target)
        current = following
    raise InvalidInput(f"The best fixed point was not found to within {gap:g}: allow a larger gap.")


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
) -> float:
    """A public accuracy that float64 reaches whatever the data, from the same error bounds as the certificate.

    The barrier's curvature is bounded through its gradient, which balances all the others at the minimiser:
    sqrt(|hess|) <= (nu + radius |grad|)/inner radius. Without a domain the minimiser is within (G T + noise)/ridge.
    """
    radius = (lipschitz * rounds + noise) / ridge if domain is None else domain.radius
    reach = radius if domain is None else radius + float(np.linalg.norm(domain.centre))
    push = lipschitz * rounds + ridge * radius + noise
    error = np.sqrt(dimension) * (SUM_ERROR + 8 * UNIT) * lipschitz * rounds
    error += np.sqrt(dimension) * smoothness * rounds * (dimension + 4) * UNIT * reach + 12 * UNIT * push
    total = error / ridge
    if domain is not None:
        curvature = domain.barrier.parameter * np.sqrt(weight) + radius * push / np.sqrt(weight)
        total += 4 * (dimension + 8) * UNIT * reach * curvature / (domain.inner_radius * np.sqrt(ridge))
    return float(2 * total + 1e-14 * reach)


def _newton(objective: PerturbedObjective, start: FloatArray, accuracy: float) -> Minimum | None:
    current = _trial(objective, start if objective.inside(start) else np.zeros_like(start))
    best = current.distance
    curvature: FloatArray | None = None
    for step in range(_STEPS):
        if current.distance <= accuracy:
            return Minimum(current.point, current.distance, step)
        fresh = curvature is None
        if curvature is None:
            curvature = objective.losses.hessian(current.point)
        target = _model_minimum(objective, current.point, current.of_losses, curvature)
        following = _trial(objective, target)
        if following.distance <= best / 2 and following.distance < np.inf:
            if following.distance > best / 50:
                curvature = None  # closer to the solution the old curvature will do, and costs nothing
            current, best = following, following.distance
            continue
        curvature = None
        if fresh:
            searched = _line_search(objective, current, target - current.point)
            if searched is None:
                return None
            current = searched
    return None


@dataclass(frozen=True)
class _Trial:
    point: FloatArray
    of_losses: FloatArray
    gradient: FloatArray
    distance: float


def _trial(objective: PerturbedObjective, x: FloatArray) -> _Trial:
    of_losses, rounding = objective.losses.gradient(x)
    gradient, error = objective.gradient(x, of_losses, rounding)
    return _Trial(x, of_losses, gradient, objective.distance(x, gradient, error))


def _line_search(objective: PerturbedObjective, current: _Trial, direction: FloatArray) -> _Trial | None:
    """Armijo's rule on values: the direction minimises a convex model, so it descends."""
    before, slope = objective.value(current.point), float(current.gradient @ direction)
    length = 1.0
    while length > 1e-12:
        trial = current.point + length * direction
        if objective.inside(trial) and objective.value(trial) <= before + 1e-4 * length * slope:
            return _trial(objective, trial)
        length /= 2
    return None


def _model_minimum(
    objective: PerturbedObjective, x: FloatArray, of_losses: FloatArray, curvature: FloatArray
) -> FloatArray:
    """The minimiser of the losses' quadratic model at x plus all the rest, to the last digit: O(d^3) a step."""
    quadratic = curvature.copy()
    quadratic[np.diag_indices(x.size)] += objective.ridge
    base = of_losses + objective.ridge * x + objective.noise  # the gradient of all but the barrier at x
    if objective.domain is None:
        return x - _solve(quadratic, base)
    model = _Model(quadratic, base, x, objective.domain.hull_barrier)
    if model.decrement(x, objective.weight) < 1.0:
        return model.minimise(x, objective.weight)
    # Follow the path of minimisers from a weight whose minimiser is close to the centre.
    y = np.zeros_like(x)
    weight = max(objective.weight, objective.domain.radius * float(np.linalg.norm(base - quadratic @ x)))
    while weight > objective.weight:
        y = model.minimise(y, weight, until=0.25)
        weight /= 8
    return model.minimise(y, objective.weight)


@dataclass(frozen=True)
class _Model:
    """<base, y - x> + |y - x|^2_quadratic/2 + weight Barrier(y): self-concordant once divided by the weight."""

    quadratic: FloatArray
    base: FloatArray
    origin: FloatArray
    barrier: Barrier

    def step(self, y: FloatArray, weight: float) -> tuple[FloatArray, float]:
        """The Newton direction at y and the Newton decrement."""
        gradient = self.base + self.quadratic @ (y - self.origin) + weight * self.barrier.gradient(y)
        hessian = self.quadratic + weight * self.barrier.hessian(y)
        direction = -_solve(hessian, gradient)
        return direction, float(np.sqrt(max(0.0, -float(gradient @ direction)) / weight))

    def decrement(self, y: FloatArray, weight: float) -> float:
        """How far y is from the minimiser, in the local metric."""
        return self.step(y, weight)[1]

    def minimise(self, y: FloatArray, weight: float, until: float = 0.0) -> FloatArray:
        """Newton's method, damped by 1/(1 + decrement): stays inside and converges from everywhere."""
        last = np.inf
        while True:
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


def _solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """matrix^-1 vector for a positive definite matrix; one whose positivity is lost in rounding is lifted."""
    _, solution, failed = scipy.linalg.lapack.dposv(matrix, vector, lower=1)
    lift = 1e-15 * float(np.trace(matrix))
    while failed:
        _, solution, failed = scipy.linalg.lapack.dposv(matrix + lift * np.eye(len(matrix)), vector, lower=1)
        lift *= 10
    return np.asarray(solution)
