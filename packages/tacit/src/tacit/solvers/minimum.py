"""A minimiser that comes with a certificate, whatever the data: perturbed_minimum(...) is a total function.

Its releases are private only if they are minimisers, so an iteration count is no stopping rule here, and an uncertified
iterate never leaves. Nor may it raise for some data and not for others: that would release a bit which nobody paid
for. So Newton's method (by conjugate gradients if rows are sparse), which is fast and may give up, is followed by a
method that cannot: bisection in one dimension, accelerated proximal gradient steps in more. For every admissible data
set and every noise within the public bound of `attainable_accuracy` a point within the accuracy is found, by a number
of steps that public numbers bound (docs/algorithms/objective-perturbation.md). Should a certificate be missed all the
same, which only a mistake in this code can cause, the minimiser of the objective without its losses is taken: a law
that does not know the data. Time is not covered: how long a minimisation takes depends on the data.

*The certificate.* The objective is  sum of losses + (ridge/2)|x|^2 + weight Barrier(x) + <noise, x>. Let r be the
gradient at x with its rounding error, B = weight hess Barrier(x), and M = m I + B/4 with m = ridge + curvature of the
losses. The barrier is self-concordant, so hess >= M on the Dikin ellipsoid of radius 1/2; if |r|_{M^-1} <=
sqrt(weight)/4 then the ball of radius |r|_{M^-1} in the M norm is inside that ellipsoid, the minimiser is in that ball,
and |x - x*| <= |r|_{M^-1}/sqrt(m). In the local norm of the barrier the same ball has radius 2 |r|_{M^-1}/sqrt(weight).

Newton's method takes a step that halves the smallest certified distance so far as it is. Against the present distance
instead, steps can go round in circles at the kinks of piecewise quadratic losses. If a step does not, a line search on
values takes over, whose digits are lost far above the accuracy that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, sqrt

import numpy as np
import scipy

from tacit.domains.barrier import Barrier
from tacit.domains.convex_set import BarrierSet
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.sampler_bounds import chi_quantile
from tacit.solvers.loss_sums import SUM_ERROR, UNIT, LinearSum, LossSum, SmoothSum, SparseLinkSum
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
        of_losses, error = self.losses.gradient(x)
        parts = [of_losses, self.ridge * x, self.noise]
        if self.barrier is not None:
            parts.append(self.weight * self.barrier.gradient(x))
        gradient = np.add.reduce(parts)
        rounding = error + 4 * UNIT * sum(float(np.linalg.norm(part)) for part in parts)  # of all but the barrier
        return Trial(x, of_losses, gradient, self.distance(x, gradient, rounding))

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
    """
    radius = (lipschitz * rounds + noise) / ridge if domain is None else domain.radius
    if reach is None or domain is not None:
        reach = radius if domain is None else radius + float(np.linalg.norm(domain.centre))
    push = lipschitz * rounds + ridge * min(radius, reach) + noise  # of all together, against the barrier
    error = np.sqrt(dimension) * (SUM_ERROR + 8 * UNIT) * lipschitz * rounds
    error += np.sqrt(dimension) * smoothness * rounds * (dimension + 4) * UNIT * reach + 12 * UNIT * push
    total = (error + (ridge + smoothness * rounds) * UNIT * reach) / ridge
    if domain is not None:
        moved = (dimension + 8) * UNIT * reach
        total += moved * np.sqrt(weight / ridge) * domain.barrier_stiffness(push / weight)
    return float(4 * total + 1e-14 * reach)


# More than self-concordance ever needs from where these searches start; nothing here runs without an end.
_MODEL_STEPS = 2_000


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
        slope, bend = self.barrier.derivatives(y)
        gradient = self.base + self.quadratic @ (y - self.origin) + weight * slope
        hessian = self.quadratic + weight * bend
        direction = -solve(hessian, gradient)
        return direction, float(np.sqrt(max(0.0, -float(gradient @ direction)) / weight))

    def minimise(self, y: FloatArray, weight: float, until: float = 0.0) -> FloatArray:
        """Newton's method, damped by 1/(1 + decrement): stays inside and converges from everywhere."""
        last = np.inf
        for _ in range(_MODEL_STEPS):
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
    return chi_quantile(dimension, TRUNCATION)


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
