"""Online learners for linear losses: play a point, see a gradient. Not private by themselves.

Each can be used alone, and has two bounds: `regret_bound` for the gradients it saw, and `expected_regret` from
bounds on the gradients to come. `OnlineToBatch` shows it noisy gradients only, which makes every iterate private.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.geometry.base import ProjectableSet, read_only
from tacit.learners.states import fitting
from tacit.learners.stochastic.norms import Norm, farthest
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray, real_array


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

    Subclasses set `self._point` in `__init__`, give `_update` and the two bounds, and never write into a point
    that was played.
    """

    takes_average = False
    """Whether `observe` also wants the averaged iterate and its weight (strongly convex losses)."""

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
        return self.domain.diameter * self.norm.stretch(self.domain.dimension)

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
    def regret_bound(self) -> RegretBound:
        """A bound on the regret over the gradients seen so far, against every point of the domain."""

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

    @property
    def risk_formula(self) -> str:
        """The bound of `excess_risk` in words."""
        return "(regret of the learner + radius * sum of the sampling errors and of the noise)/sum of the weights"

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
