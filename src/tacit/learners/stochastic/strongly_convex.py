"""Gradient descent for strongly convex losses: step 1/(sum of the curvatures so far).

Hazan, Agarwal and Kale 2007: regret <= (1/2) sum |g_t|^2/(m_1 + ... + m_t) for losses of curvatures m_t.
The paper, Section 4: inside the conversion the learner sees <g_t, w> + (beta_t mu/4)|w - x_t|^2, half of the
curvature that the loss really has; the other half pays for the errors of the gradients:

    beta_{1:T}(L(x_T) - L(u)) <= Regret + sum <error_t, w_t - u> - (beta_t mu/4)(|w_t - x_t|^2 + |u - x_t|^2)
                              <= Regret + sum 2|error_t|^2/(beta_t mu),

since |a|^2 + |b|^2 >= |a + b|^2/2 and <e, v> - (c/2)|v|^2 <= |e|^2/(2c). Use weights of power 2 or more: at
power 1 the bound has an extra logarithm, which the printed theorem does not show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tacit.geometry.base import ProjectableSet
from tacit.learners.stochastic.common import ConversionErrors, Initial, OnlineLearner
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray, check_positive, real_array


class StronglyConvex(OnlineLearner):
    """Descent with steps 1/(sum of curvatures).

    Alone, `observe(gradient)` takes the gradient of a loss of curvature `strong_convexity`. In the conversion,
    `observe(gradient, average=x, weight=beta)` adds the gradient of (beta mu/4)|w - x|^2 first.

    >>> from tacit.geometry import Ball
    >>> learner = StronglyConvex(Ball(1), strong_convexity=2.0)
    >>> learner.observe([1.0])
    >>> learner.play()
    array([-0.5])
    """

    takes_average = True

    def __init__(self, domain: ProjectableSet, strong_convexity: float, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self.strong_convexity = check_positive("StronglyConvex", "strong_convexity", strong_convexity)
        self._curvature = 0.0
        self._bound = 0.0
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
        self._bound += float(gradient @ gradient) / (2 * self._curvature)
        self._point = self.domain._project(self._point - gradient / self._curvature)

    def regret_bound(self) -> RegretBound:
        """(1/2) sum |g_t|^2/(m_1 + ... + m_t)."""
        assumption = f"losses of curvature at least {self.strong_convexity:g}"
        return RegretBound(self._bound, "(1/2) sum |g_t|^2/(m_1 + ... + m_t)", (assumption,))

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """The same bound, for losses of curvature `strong_convexity`."""
        curvature = self.strong_convexity * np.arange(1, sizes.size + 1)
        return float(np.sum(sizes**2 / (2 * curvature)))

    def excess_risk(self, errors: ConversionErrors) -> float:
        """The bound of the module's docstring."""
        mu, weights = self.strong_convexity, errors.weights
        sizes = errors.sizes + weights * (mu / 2 * self.diameter)
        regret = float(np.sum(sizes**2 / (mu * np.cumsum(weights))))
        lost = float(np.sum(2 * (errors.sampling**2 + errors.noise**2) / (mu * weights)))
        return (regret + lost + 2 * self.diameter * errors.bias) / float(np.sum(weights))

    @property
    def risk_formula(self) -> str:
        """The bound of `excess_risk` in words."""
        return "(sum |g_t|^2/(mu beta_{1:t}) + sum 2|error_t|^2/(beta_t mu))/sum of the weights"

    def _shown(self) -> str:
        return f"{self.domain!r}, strong_convexity={self.strong_convexity!r}"
