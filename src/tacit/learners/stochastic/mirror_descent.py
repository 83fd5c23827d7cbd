"""Follow the regularised leader with |w|_p^2/2: for the l1 ball and the simplex, where gradients are small in l_q.

The online-to-batch paper allows every norm whose square is strongly convex; |w|_p^2/2 is (p-1)-strongly convex in l_p
(Shalev-Shwartz 2011), and p = 1 + 1/ln d is within a constant of l_1. The regularisation l_t adapts:

    w_t = argmin <g_1 + ... + g_{t-1}, w> + l_t psi(w),   psi = (|w|_p^2 - min |w|_p^2)/2 <= Psi,
    d_t = min(D|g_t|_q, |g_t|_q^2/(2 (p-1) l_t)),   l_{t+1} = l_t + a d_t/Psi.

While l_t = 0 every point is a minimiser, so the first one may be any.
Regret <= l_T Psi + S <= (1 + a) S, S = sum d_t, and S^2 <= (D^2 + Psi/((p-1) a)) sum |g_t|_q^2, as in `optimistic`.

The minimiser. Stationarity reads l_t grad(|w|_p^2/2) = (|theta_j| - nu)_+ with opposite signs, inverted by
w_j = a_j^(q-1) |a|_q^(2-q); nu >= 0 is found by bisection so that |w|_1 keeps the radius (the simplex: sum 1).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from tacit.errors import InvalidInput
from tacit.geometry import L1Ball, Simplex
from tacit.learners.stochastic.common import Initial, OnlineLearner
from tacit.learners.stochastic.norms import Norm, length
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray

_GROWTH = 0.5
_HALVINGS = 60


class MirrorDescent(OnlineLearner):
    """The adaptive leader under |w|_p^2/2 on an l1 ball or a simplex.

    Attributes:
        norm: the l_p norm; `Norm.for_sparse(d)` by default.

    >>> learner = MirrorDescent(Simplex(3))
    >>> learner.observe([1.0, 0.0, 0.0])
    >>> bool(learner.play()[0] < 0.3)
    True
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
        self._used_rate = 0.0
        self._paid = 0.0

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
        self._used_rate = self._rate
        self._paid += cost
        self._rate += _GROWTH * cost / self.spread
        self._sum = self._sum + gradient
        if self._rate > 0.0:
            self._point = self._leader()

    def _leader(self) -> FloatArray:
        if isinstance(self.domain, L1Ball):
            weights = _shrunk(np.abs(self._sum) / self._rate, self.norm.dual, self._mass, positive=True)
            return np.copysign(weights, -self._sum)
        return _shrunk(-self._sum / self._rate, self.norm.dual, self._mass, positive=False)

    @property
    def _factor(self) -> float:
        return (1 + _GROWTH) * sqrt(self.diameter**2 + self.spread / ((self.norm.power - 1) * _GROWTH))

    def regret_bound(self) -> RegretBound:
        """What the proof paid: l_T Psi + sum d_t."""
        return RegretBound(self._used_rate * self.spread + self._paid, "l_T Psi + sum d_t", ("every sequence",))

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """(1 + a) sqrt(D^2 + Psi/((p-1) a)) sqrt(sum E|g_t|_q^2)."""
        return self._factor * sqrt(float(np.sum(sizes**2)))

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
