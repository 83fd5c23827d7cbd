"""Projected subgradient descent whose step adapts to the gradients: w <- P(w - D/sqrt(2 sum |g|^2) g).

The scale-free version of Zinkevich's method (Duchi, Hazan and Singer 2011; Orabona and Pal 2018): no Lipschitz
constant is asked for, and the regret is at most sqrt(2) D sqrt(sum |g_t|^2) for every sequence.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from tacit.geometry.base import ProjectableSet
from tacit.learners.stochastic.common import Initial, OnlineLearner
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray


class Subgradient(OnlineLearner):
    """Adaptive projected subgradient descent.

    >>> from tacit.geometry import Ball
    >>> learner = Subgradient(Ball(2))
    >>> learner.observe([0.6, 0.8])
    >>> learner.play()
    array([-0.6, -0.8])
    """

    def __init__(self, domain: ProjectableSet, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self._squares = 0.0
        self._diameter = domain.diameter

    def _update(self, gradient: FloatArray) -> None:
        self._squares += float(gradient @ gradient)
        if self._squares > 0.0:
            self._point = self.domain._project(self._point - gradient * (self._diameter / sqrt(2 * self._squares)))

    def regret_bound(self) -> RegretBound:
        """sqrt(2) D sqrt(sum |g_t|^2)."""
        return RegretBound(sqrt(2 * self._squares) * self._diameter, "sqrt(2) D sqrt(sum |g_t|^2)", ("every sequence",))

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """The same bound: the square root is concave."""
        return self._diameter * sqrt(2 * float(np.sum(sizes**2)))
