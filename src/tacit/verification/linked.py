"""The logistic loss where slope and curvature are linked: docs/algorithms/objective-perturbation.md, computed afresh.

With s = G/sigma, c = beta/lambda and h(a) = ln(1 + 4a(1-a)c) + a^2 s^2/2, the loss Lam(n) = max_a h(a) + a s n is above
x iff n is above the least of (x - h(a))/(a s) over a in (0, 1]: no maximum is inverted. In the same way
s^2/2 + s n + Lam(n + s) is above x iff n is above the least of (x - s^2/2 - h(a) - a s^2)/((1 + a) s). Together they
have the survival function S(x) = min(1, Phi(-n_1) + Phi(-n_2)). Behind a Gaussian mechanism of profile d_mu, for all
epsilons, delta(eps) = d_mu(eps) + integral of S(x) over the increments of d_mu(eps - x).
"""

from __future__ import annotations

from functools import cached_property
from math import log1p

import mpmath as mp
import numpy as np
from scipy.special import ndtr

from tacit.verification.leaks import Real, solved
from tacit.verification.walks import Floats

# Cells of the integral, slopes of the first look, golden sections that follow, and normal numbers that are too large.
_CELLS, _SLOPES, _SECTIONS, _FAR = 2**13, 129, 40, 12.0
_GOLDEN = (np.sqrt(5.0) - 1) / 2


class LinkedLeak:
    """One minimiser of logistic losses.

    Args:
        move: s.
        growth: c.
        replacement: whether a record is replaced (else zeroed out).
        cover: mu of the noise that covers inexact minimisation.
    """

    sharp = True

    def __init__(self, move: float, growth: float, replacement: bool, cover: float) -> None:
        self._move, self._growth, self._replacement, self._cover = move, growth, replacement, cover

    def delta(self, epsilon: Real) -> Real:
        """The integral as a sum of chords, and what these may miss."""
        places, survival, missed = self._survival
        profile = self._profile(float(epsilon) - places)
        weights = np.maximum(np.diff(profile), 0.0)
        chords = float(np.sum(weights * ((survival[1:] + survival[:-1]) / 2 + missed)))
        return mp.mpf(min(1.0, (profile[0] + chords + survival[-1]) * (1 + 1e-10)))

    def epsilon(self, delta: Real, near: Real) -> Real:
        """Solved."""
        return mp.inf if delta == 0 else solved(self, delta, near)

    def _profile(self, epsilon: Floats) -> Floats:
        """Of N(0, 1) against N(mu, 1), at epsilons of both signs."""
        if self._cover == 0:
            return np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0)
        mu = self._cover
        tail = np.exp(np.minimum(epsilon, 700.0)) * ndtr(-mu / 2 - epsilon / mu)
        found: Floats = np.maximum(ndtr(mu / 2 - epsilon / mu) - tail, 0.0)
        return found

    @cached_property
    def _survival(self) -> tuple[Floats, Floats, Floats]:
        """Places, S there, and by how much a chord may lie below S in each cell."""
        s, c = self._move, self._growth
        most = log1p(c) + s * s + _FAR * s
        places = np.linspace(0.0, most + (s * s * 2 + _FAR * s if self._replacement else 0.0), _CELLS + 1)
        total = ndtr(-self._least(places, 0.0))
        if self._replacement:
            total = total + ndtr(-self._least(places, 1.0))
        survival = np.minimum(total, 1.0)
        survival[0] = 1.0
        bends = np.abs(np.diff(survival, 2)) / 4
        missed = np.maximum(np.append(bends, bends[-1]), np.append(bends[0], bends))
        return places, survival, missed

    def _least(self, places: Floats, other: float) -> Floats:
        """The least n at which the loss exceeds each place, the other record's slope being 0 or 1."""
        s, c = self._move, self._growth

        def at(a: Floats) -> Floats:
            own = np.log1p(4 * a * (1 - a) * c) + a * a * (s * s / 2)
            found: Floats = (places - own - other * s * s * (0.5 + a)) / ((a + other) * s)
            return found

        slopes = np.linspace(0.0 if other else 1e-9, 1.0, _SLOPES)
        values = np.stack([at(np.full_like(places, slope)) for slope in slopes])
        best = np.argmin(values, axis=0)
        left, right = slopes[np.maximum(best - 1, 0)], slopes[np.minimum(best + 1, _SLOPES - 1)]
        found: Floats = values[best, np.arange(places.size)]
        for _ in range(_SECTIONS):
            first, second = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
            low, high = at(first), at(second)
            found = np.minimum(found, np.minimum(low, high))
            smaller = low < high
            left, right = np.where(smaller, left, first), np.where(smaller, second, right)
        return found - 1e-12 * (1 + np.abs(found))
