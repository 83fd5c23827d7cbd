"""Online learners for linear losses: play a point, see a gradient. Not private by themselves.

Each has a bound, `expected_regret`, from bounds on the gradients to come. `OnlineToBatch` shows it noisy gradients
only, which makes every iterate private. Proofs: docs/algorithms/online-to-batch.md.

- `Subgradient`: w <- P(w - D/sqrt(2 sum |g|^2) g) (Duchi, Hazan and Singer 2011; Orabona and Pal 2018).
- `Optimistic`: the last gradient is the hint for the next (Chiang et al. 2012, Rakhlin and Sridharan 2013; the paper,
  Section 3, whose equation (8) leaves open the constant, 2.1 here at a = 0.8).
- `StronglyConvex`: step 1/(sum of the curvatures so far) (Hazan, Agarwal and Kale 2007; the paper, Section 4). Inside
  the conversion the learner sees <g_t, w> + (beta_t mu/4)|w - x_t|^2; the other half of the curvature pays for errors.
- `MirrorDescent`: the regularised leader under |w|_p^2/2, p = 1 + 1/ln d (Shalev-Shwartz 2011), for the l1 ball and the
  simplex, where gradients are small in l_q.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tacit.algorithms.stochastic.online_to_batch.norms import Norm, farthest, length
from tacit.domains import L1Ball, Simplex
from tacit.domains.convex_set import ProjectableSet, read_only
from tacit.errors import InvalidInput
from tacit.runtime.state import fitting
from tacit.validation import FloatArray, check_positive, real_array


@dataclass(frozen=True)
class ConversionErrors:
    """What an online learner meets inside the private conversion, per iterate t = 1, ..., T (see `excess_risk`).

    Attributes:
        weights: beta_t.
        lipschitz: G, the largest norm of a loss gradient.
        sampling: bounds on sqrt(E|e_t|^2), the error of the summed gradient differences.
        noise: bounds on sqrt(E|gamma_t|^2), the error of the private running sum.
        changes: bounds on sqrt(E|g_t - g_{t-1}|^2) of the noisy gradients.
        bias: what a short last batch can add to the weighted sum of errors.
    """

    weights: FloatArray
    lipschitz: float
    sampling: FloatArray
    noise: FloatArray
    changes: FloatArray
    bias: float

    @property
    def sizes(self) -> FloatArray:
        """Bounds on sqrt(E|g_t|^2) of the noisy gradients: signal, sampling error, noise."""
        return np.asarray(self.weights * self.lipschitz + self.sampling + self.noise)


Initial: TypeAlias = ArrayLike | None
"""The first point of a learner, public (None: the domain's centre)."""


class OnlineLearner(ABC):
    """An online learner on a domain: `play()` a point, `observe(gradient)` ends the round.

    Subclasses set `self._point` in `__init__`, give `_update` and `expected_regret`, and never write into a point that
    was played.
    """

    takes_average = False
    """Whether `observe` also wants the averaged iterate and its weight (strongly convex losses)."""
    risk_formula = "(regret of the learner + radius * sum of the sampling errors and of the noise)/sum of the weights"
    """The bound of `excess_risk` in words."""

    def __init__(self, domain: ProjectableSet, norm: Norm | None = None, initial: Initial = None) -> None:
        if not isinstance(domain, ProjectableSet):
            raise InvalidInput(
                f"The 'domain' parameter of {type(self).__name__} must be a set with a projection. "
                f"Got {domain!r} instead."
            )
        self.domain = domain
        self.norm = norm or Norm()
        self.initial = (
            None if initial is None else tuple(domain.member(type(self).__name__, "initial", initial).tolist())
        )
        self._start: FloatArray = domain.centre if self.initial is None else read_only(np.array(self.initial))
        self._point = self._start
        self._rounds = 0

    @property
    def rounds(self) -> int:
        """How many gradients were observed."""
        return self._rounds

    @property
    def diameter(self) -> float:
        """The largest distance of two points of the domain, in the learner's norm, or an upper bound of it."""
        return self.domain.diameter * self.norm.gaussian_factor(self.domain.dimension)

    @property
    def reach(self) -> float:
        """The largest distance from the first point, in the learner's norm, or an upper bound of it."""
        return farthest(self.domain, self._start, self.norm)

    def play(self) -> FloatArray:
        """The point of this round; not to be written to."""
        return self._point

    def observe(self, gradient: ArrayLike) -> None:
        """The gradient of the loss at the point that was played."""
        checked = self._checked(gradient)
        self._update(checked)
        self._rounds += 1

    def _checked(self, gradient: Any) -> FloatArray:
        if not (type(gradient) is np.ndarray and gradient.dtype == np.float64 and gradient.shape == self._point.shape):
            gradient = real_array(type(self).__name__, "gradient", gradient, self._point.shape)
        if not np.isfinite(np.add.reduce(gradient)) and not np.isfinite(gradient).all():
            raise InvalidInput(f"The 'gradient' of {type(self).__name__} must be finite numbers.")
        checked: FloatArray = gradient
        return checked

    @abstractmethod
    def _update(self, gradient: FloatArray) -> None:
        """Take a checked gradient and set the next point, a new array."""

    @abstractmethod
    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """A bound on the expected regret, from bounds on sqrt(E|g_t|^2) and sqrt(E|g_t - g_{t-1}|^2)."""

    def excess_risk(self, errors: ConversionErrors) -> float:
        """A bound on E[L(x_T)] - L(u) for every u in the domain, for convex losses and independent records.

        beta_{1:T} (L(x_T) - L(u)) <= Regret_T(u) + sum_t <beta_t grad L(x_t) - g_t, w_t - u>   [Cutkosky 2019].
        The error of round t is a sum of conditionally centred terms; its part that is fresh at t does not know
        w_t, and no part knows u or w_1. So E<error_t, w_t - u> = E<error_{t-1}, w_t - w_1>: the radius, not the
        diameter, times the error of the round before. The running sum's noise is charged in full.
        """
        regret = self.expected_regret(errors.sizes, errors.changes)
        drift = float(np.sum(errors.sampling[:-1])) + float(np.sum(errors.noise[1:]))
        lost = self.reach * drift + (self.reach + self.diameter) * errors.bias
        return (regret + lost) / float(np.sum(errors.weights))

    def state_dict(self) -> dict[str, Any]:
        """Every number, array and inner learner among the attributes; what else there is must not change."""
        values = vars(self).items()
        return {
            name: value.state_dict() if isinstance(value, OnlineLearner) else copy.deepcopy(value)
            for name, value in values
            if isinstance(value, int | float | np.ndarray | OnlineLearner)
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        for name in self.state_dict():
            current = getattr(self, name)
            if isinstance(current, OnlineLearner):
                current.load_state_dict(state[name])
            else:
                setattr(self, name, copy.deepcopy(fitting(current, state[name])))

    def __repr__(self) -> str:
        start = "" if self.initial is None else f", initial={self.initial!r}"
        return f"{type(self).__name__}({self._shown()}{start})"

    def _shown(self) -> str:
        return repr(self.domain)


class Subgradient(OnlineLearner):
    """Adaptive projected subgradient descent."""

    def __init__(self, domain: ProjectableSet, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self._squares = 0.0
        self._diameter = domain.diameter

    def _update(self, gradient: FloatArray) -> None:
        self._squares += float(gradient @ gradient)
        if self._squares > 0.0:
            self._point = self.domain.nearest(self._point - gradient * (self._diameter / sqrt(2 * self._squares)))

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """sqrt(2) D sqrt(sum E|g_t|^2): the square root is concave."""
        return self._diameter * sqrt(2 * float(np.sum(sizes**2)))


_OPTIMISTIC_GROWTH = 0.8
_CONSTANT = (1 + _OPTIMISTIC_GROWTH / 2) * sqrt(1 + 1 / _OPTIMISTIC_GROWTH)


class Optimistic(OnlineLearner):
    """Optimistic projected descent with the previous gradient as its hint; scale-free."""

    def __init__(self, domain: ProjectableSet, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self._diameter = domain.diameter
        self._anchor = self._point
        self._hint = np.zeros(domain.dimension)
        self._rate = 0.0

    def _update(self, gradient: FloatArray) -> None:
        miss = gradient - self._hint
        squared = float(miss @ miss)
        cost = self._diameter * sqrt(squared)
        if self._rate > 0.0:
            cost = min(cost, squared / (2 * self._rate))
            self._anchor = self.domain.nearest(self._anchor - gradient / self._rate)
        elif squared > 0.0:
            self._anchor = self.domain._minimize(gradient)  # the limit of vanishing regularisation
        self._rate += _OPTIMISTIC_GROWTH * cost / self._diameter**2
        self._hint = gradient.copy()
        self._point = self._anchor
        if self._rate > 0.0:
            self._point = self.domain.nearest(self._anchor - self._hint / self._rate)

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """2.1 D sqrt(sum E|g_t - g_{t-1}|^2), the first gradient against the hint 0."""
        squares = float(np.sum(changes[1:] ** 2)) + float(np.sum(sizes[:1] ** 2))
        return _CONSTANT * self._diameter * sqrt(squares)


class StronglyConvex(OnlineLearner):
    """Descent with steps 1/(sum of curvatures).

    Alone, `observe(gradient)` takes the gradient of a loss of curvature `strong_convexity`. In the conversion,
    `observe(gradient, average=x, weight=beta)` adds the gradient of (beta mu/4)|w - x|^2 first.
    """

    takes_average = True
    risk_formula = "(sum |g_t|^2/(mu beta_{1:t}) + sum 2|error_t|^2/(beta_t mu))/sum of the weights"

    def __init__(self, domain: ProjectableSet, strong_convexity: float, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self.strong_convexity = check_positive("StronglyConvex", "strong_convexity", strong_convexity)
        self._curvature = 0.0
        self._added = self.strong_convexity

    def observe(self, gradient: ArrayLike, average: ArrayLike | None = None, weight: float = 1.0) -> None:
        """The gradient of the round; with `average`, the conversion's quadratic is added to the loss."""
        checked = self._checked(gradient)
        self._added = self.strong_convexity
        if average is not None:
            centre = real_array("StronglyConvex", "average", average, self._point.shape)
            self._added = check_positive("StronglyConvex", "weight", weight) * self.strong_convexity / 2
            checked = checked + self._added * (self._point - centre)
        self._update(checked)
        self._rounds += 1

    def _update(self, gradient: FloatArray) -> None:
        self._curvature += self._added
        self._point = self.domain.nearest(self._point - gradient / self._curvature)

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """(1/2) sum E|g_t|^2/(m_1 + ... + m_t), for losses of curvature `strong_convexity`."""
        curvature = self.strong_convexity * np.arange(1, sizes.size + 1)
        return float(np.sum(sizes**2 / (2 * curvature)))

    def excess_risk(self, errors: ConversionErrors) -> float:
        """The bound of the module's docstring."""
        mu, weights = self.strong_convexity, errors.weights
        sizes = errors.sizes + weights * (mu / 2 * self.diameter)
        regret = float(np.sum(sizes**2 / (mu * np.cumsum(weights))))
        lost = float(np.sum(2 * (errors.sampling**2 + errors.noise**2) / (mu * weights)))
        return (regret + lost + 2 * self.diameter * errors.bias) / float(np.sum(weights))

    def _shown(self) -> str:
        return f"{self.domain!r}, strong_convexity={self.strong_convexity!r}"


_MIRROR_GROWTH = 0.5
_HALVINGS = 60


class MirrorDescent(OnlineLearner):
    """The adaptive leader under |w|_p^2/2 on an l1 ball or a simplex.

    Attributes:
        norm: the l_p norm; `Norm.for_sparse(d)` by default.
    """

    domain: L1Ball | Simplex

    def __init__(self, domain: L1Ball | Simplex, norm: Norm | None = None, initial: Initial = None) -> None:
        if not isinstance(domain, L1Ball | Simplex):
            raise InvalidInput(
                f"The 'domain' parameter of MirrorDescent must be an L1Ball or a Simplex. Got {domain!r} instead."
            )
        super().__init__(domain, norm or Norm.for_sparse(domain.dimension), initial)
        self._sum = np.zeros(domain.dimension)
        self._rate = 0.0

    @property
    def _mass(self) -> float:
        return self.domain.radius if isinstance(self.domain, L1Ball) else 1.0

    @property
    def diameter(self) -> float:
        """Opposite vertices of the l1 ball; two vertices of the simplex."""
        return 2 * self._mass if isinstance(self.domain, L1Ball) else 2 ** (1 / self.norm.power)

    @property
    def spread(self) -> float:
        """Psi: half of the largest minus the smallest |w|_p^2."""
        return (self._mass**2 - self.norm.size(self.domain.centre) ** 2) / 2

    def _update(self, gradient: FloatArray) -> None:
        size = self.norm.dual_size(gradient)
        cost = self.diameter * size
        if self._rate > 0.0:
            cost = min(cost, size**2 / (2 * (self.norm.power - 1) * self._rate))
        self._rate += _MIRROR_GROWTH * cost / self.spread
        self._sum = self._sum + gradient
        if self._rate > 0.0:
            self._point = self._leader()

    def _leader(self) -> FloatArray:
        if isinstance(self.domain, L1Ball):
            weights = _shrunk(np.abs(self._sum) / self._rate, self.norm.dual, self._mass, positive=True)
            return np.copysign(weights, -self._sum)
        return _shrunk(-self._sum / self._rate, self.norm.dual, self._mass, positive=False)

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """(1 + a) sqrt(D^2 + Psi/((p-1) a)) sqrt(sum E|g_t|_q^2)."""
        a, psi = _MIRROR_GROWTH, self.spread
        factor = (1 + a) * sqrt(self.diameter**2 + psi / ((self.norm.power - 1) * a))
        return factor * sqrt(float(np.sum(sizes**2)))

    def _shown(self) -> str:
        return f"{self.domain!r}, {self.norm!r}"


def _shrunk(scores: FloatArray, dual: float, mass: float, *, positive: bool) -> FloatArray:
    """Weights a^(q-1) |a|_q^(2-q) of a = (scores - nu)_+ with total `mass` (at most, at nu = 0, if `positive`)."""
    top = float(np.max(scores))

    def weights(below: float) -> FloatArray:
        a = np.maximum(scores - (top - below), 0.0)
        size = length(a, dual)
        return np.asarray(size * (a / size) ** (dual - 1)) if size > 0 else a

    high = top if positive else max(mass, 1.0)
    if positive:
        if top <= 0 or np.sum(weights(high)) <= mass:
            return weights(max(high, 0.0))
    else:
        while np.sum(weights(high)) < mass:
            high *= 2
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.sum(weights(middle)) < mass:
            low = middle
        else:
            high = middle
    found = weights(high)
    return found * (mass / np.sum(found))
