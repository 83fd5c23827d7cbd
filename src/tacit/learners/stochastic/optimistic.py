"""Optimistic mirror descent: guess that the next gradient is like the last one, and pay only for the surprise.

Chiang et al. 2012, Rakhlin and Sridharan 2013; the paper, Section 3, with the noisy gradient of the round before
as the hint. Its equation (8) leaves the constant open; here it is 2.1:

    w_t = P(y_t - h_t/l_t),  y_{t+1} = P(y_t - g_t/l_t),  d_t = min(D|g_t - h_t|, |g_t - h_t|^2/(2 l_t)),
    l_{t+1} = l_t + a d_t/D^2.

Proof. The three-point inequality for both projections gives
<g_t, w_t - u> <= <g_t - h_t, w_t - y_{t+1}> - (l_t/2)|w_t - y_{t+1}|^2 + (l_t/2)(|u - y_t|^2 - |u - y_{t+1}|^2),
whose first two terms are at most d_t; the rates grow, so regret <= l_T D^2/2 + S <= (1 + a/2) S with S = sum d_t.
And S^2 <= sum (d_t^2 + 2 d_t S_{t-1}) <= D^2 (1 + 1/a) sum |g_t - h_t|^2, because S_{t-1} = l_t D^2/a.
At a = 0.8 the product (1 + a/2) sqrt(1 + 1/a) is 2.1.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from tacit.geometry.base import ProjectableSet
from tacit.learners.stochastic.common import Initial, OnlineLearner
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray

_GROWTH = 0.8
_CONSTANT = (1 + _GROWTH / 2) * sqrt(1 + 1 / _GROWTH)


class Optimistic(OnlineLearner):
    """Optimistic projected descent with the previous gradient as its hint; scale-free.

    >>> from tacit.geometry import Ball
    >>> learner = Optimistic(Ball(1))
    >>> for _ in range(50):
    ...     learner.observe([1.0])
    >>> float(learner.regret_bound()) < 3.0  # the hint is right from the second round on
    True
    """

    def __init__(self, domain: ProjectableSet, initial: Initial = None) -> None:
        super().__init__(domain, initial=initial)
        self._diameter = domain.diameter
        self._anchor = self._point
        self._hint = np.zeros(domain.dimension)
        self._rate = 0.0
        self._paid = 0.0
        self._surprise = 0.0
        self._used_rate = 0.0

    def _update(self, gradient: FloatArray) -> None:
        miss = gradient - self._hint
        squared = float(miss @ miss)
        cost = self._diameter * sqrt(squared)
        if self._rate > 0.0:
            cost = min(cost, squared / (2 * self._rate))
            self._anchor = self.domain._project(self._anchor - gradient / self._rate)
        elif squared > 0.0:
            self._anchor = self.domain._minimize(gradient)  # the limit of vanishing regularisation
        self._used_rate = self._rate
        self._paid += cost
        self._surprise += squared
        self._rate += _GROWTH * cost / self._diameter**2
        self._hint = gradient.copy()
        self._point = self._anchor
        if self._rate > 0.0:
            self._point = self.domain._project(self._anchor - self._hint / self._rate)

    def regret_bound(self) -> RegretBound:
        """What the proof paid: l_T D^2/2 + sum d_t, at most 2.1 D sqrt(sum |g_t - g_{t-1}|^2)."""
        value = self._used_rate * self._diameter**2 / 2 + self._paid
        return RegretBound(value, "l_T D^2/2 + sum d_t <= 2.1 D sqrt(sum |g_t - g_{t-1}|^2)", ("every sequence",))

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """2.1 D sqrt(sum E|g_t - g_{t-1}|^2), the first gradient against the hint 0."""
        squares = float(np.sum(changes[1:] ** 2)) + float(np.sum(sizes[:1] ** 2))
        return _CONSTANT * self._diameter * sqrt(squares)
