"""Many draws of bounded range together: a walk on a lattice, smoothed once, that dominates all of them.

A profile is delta as a function of epsilon, V(eps) = E(1 - e^{eps - Z})_+, Z the privacy loss; a step acts on the
profile of what comes after it by (A V)(eps) = E V(eps - Z), and V_0 = (1 - e^eps)_+. A draw of bounded range r has, at
the worst, one of the losses t and t - r, for a t in [0, r] that the past may choose: A_t. No t is the worst for all
that follows, but one small pair is once the profile was smoothed by U. With kappa > 1/2,

    U: loss of density e^{z/2 - kappa|z|} (times a constant)      D: randomised response, losses a and -a

    A_t U W <= D U W for every t and every profile W,   if a >= r/2 and
    cosh(kappa a)/cosh(a/2) >= max_t E e^{(kappa-1/2) Z}

(proof: docs/algorithms/lazy-experts.md). D and U commute and smoothing only adds, so n draws, chosen by whatever came
before, leak at most D^n U V_0, and n tosses of a coin that draws with probability at most s leak
((1-s) + s D)^n U V_0: the law of a walk on the lattice a Z (`walk_law`) against the profile of U. Every kappa is valid;
the caller takes the best.
"""

from __future__ import annotations

from math import cosh, exp, expm1, log, log1p

import numpy as np

from tacit.privacy.walk_law import TAIL, UNIT, Draws, TiltedLaw, WalkTooLong
from tacit.validation import FloatArray

# Draws of other ranges are left to the Renyi divergences: so narrow that the worst loss of one is lost in the floats,
# or so wide that each leaks more than anyone would ask for.
_NARROWEST, _WIDEST = 1e-9, 4.0
# The largest tilt of a step: it still goes down with a probability that a float knows well.
_STEEPEST = 3.0
# Exponents above this belong to sums without terms.
_LARGEST = 700.0
# No profile is looked up farther out: it falls.
_FARTHEST = 1e9


class SmoothedWalk:
    """The profile of so many draws of bounded range, smoothed by U.

    Args:
        width: the range r of a draw.
        draws: how many there are.
        kappa: how sharply U peaks.
        tilt: theta, the tilt under which the walk is computed; best close to where the delta comes from.
    """

    def __init__(self, width: float, draws: Draws, kappa: float, tilt: float) -> None:
        if not _NARROWEST <= width <= _WIDEST:
            raise WalkTooLong
        self.step = response(width, kappa)
        self._kappa = kappa
        self._tilt = theta = min(max(tilt, 0.0), 0.9 * (kappa - 0.5), _STEEPEST / self.step)
        law = TiltedLaw(self.step, theta, draws)
        self._log_scale, self._first = law.log_scale, law.first
        weights = law.weights
        falling = _decayed(weights, exp(-(kappa - 0.5 - theta) * self.step))
        self._below = np.concatenate([[0.0], falling]) / (2 * kappa)
        self._above, self._less, self._bend = (
            self._suffixes(weights, rate) for rate in (theta, theta + 1, theta + kappa + 0.5)
        )
        self._points = len(weights)

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """An upper bound on the profile at each of these epsilons.

        D and U are the same the other way round, so W(-eps) = 1 - e^-eps + e^-eps W(eps): the tilted walk knows little
        of the left side.
        """
        left = np.minimum(epsilon, 0.0)
        found = self._right(np.minimum(np.abs(epsilon), _FARTHEST))
        return np.minimum(found * np.exp(left) - np.expm1(left) * (1 + 1e-15), 1.0)

    def _right(self, epsilon: FloatArray) -> FloatArray:
        a, theta, kappa = self.step, self._tilt, self._kappa
        reach = (abs(self._first) + self._points) * a
        epsilon = epsilon - 4 * UNIT * (np.abs(epsilon) + reach)  # places are known this well
        cell = np.clip(np.floor(epsilon / a) - self._first, -1, self._points - 1)
        over = epsilon - (self._first + cell) * a
        at = cell.astype(np.int64) + 1
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            above = np.exp(np.minimum(theta * over, _LARGEST)) * self._above[at]
            value = above - np.exp(np.minimum((theta + 1) * over, _LARGEST)) * self._less[at]
            # The difference of the two sums has lost digits of the first: they are added.
            value = np.maximum(value, 0.0) + 128 * UNIT * above
            value += np.exp(-(kappa - 0.5 - theta) * over) * self._below[at]
            value += np.exp(np.minimum((theta + kappa + 0.5) * over, _LARGEST)) * self._bend[at] / (2 * kappa)
            found = np.exp(self._log_scale - theta * epsilon) * (value * (1 + 1e-12) + TAIL)
        return np.where(found <= 1.0, found, 1.0)

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W at the epsilons `kept`, and with one draw more, D W, at the epsilons `drawn`, of the same shape."""
        up = 1 / (1 + exp(-self.step))
        first, second, third = self(np.stack([kept, drawn - self.step, drawn + self.step]))
        return first, up * second + (1 - up) * third

    def _suffixes(self, weights: FloatArray, rate: float) -> FloatArray:
        """sum_{j > i} g_j e^{-rate (j - i) a} for i = -1, 0, ..."""
        ratio = exp(-rate * self.step)
        return np.concatenate([ratio * _decayed(weights[::-1], ratio)[::-1], [0.0]])


def log_worst_moment(width: float, order: float) -> float:
    """The logarithm of max_t E e^{order Z} over draws of bounded range `width`, rounded up."""
    return log_moment(width, order, worst_end(width, order)) if width * order > 1e-3 else _quadratic(width, order)


def worst_end(width: float, order: float) -> float:
    """The t of the largest moment: e^t = order (e^{(order+1) r} - 1) / ((order+1) (e^{order r} - 1))."""
    high, low = (order + 1) * width, order * width
    return log(order / (order + 1)) + width + log(-expm1(-high) / -expm1(-low))


def log_moment(width: float, order: float, end: float) -> float:
    """The logarithm of E e^{order Z} of the draw with losses `end` and `end` - r, rounded up."""
    end = min(max(end, 0.0), width)
    # An end that rounds to the width itself may be below it by a last digit.
    up = max(-expm1(end - width) / -expm1(-width), 2.0**-50 * (1 + width) if end == width else 0.0)
    return order * end + log(up + (1 - up) * exp(-order * width)) + 1e-14 * (1 + order * width)


def _quadratic(width: float, order: float) -> float:
    return order * (order + 1) * width * width / 8 * (1 + 1e-12)


def response(width: float, kappa: float) -> float:
    """The least a >= r/2 with cosh(kappa a)/cosh(a/2) >= max_t E e^{(kappa-1/2) Z}, rounded up."""
    if width * kappa <= 1e-3:
        # ln cosh x >= x^2/2 - x^4/12 and the moment is at most e^{(kappa^2 - 1/4) r^2/8}: this much more is enough.
        return width / 2 * (1 + (width * kappa) ** 2 / 24 + 1e-12)
    goal = log_worst_moment(width, kappa - 0.5)
    low, high = width / 2, width
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _log_cosh(kappa * middle) - _log_cosh(middle / 2) >= goal else (middle, high)
    return high * (1 + 1e-13)


def _log_cosh(x: float) -> float:
    return log(cosh(x)) if x < 1 else x + log1p(exp(-2 * x)) - log(2.0)


def _decayed(weights: FloatArray, ratio: float) -> FloatArray:
    """sum_{j <= i} g_j ratio^(i - j) for every i, by doubling: positive terms only."""
    total, shift = weights.copy(), 1
    while shift < len(total) and ratio > 0:
        total[shift:] = total[shift:] + ratio * total[:-shift]
        ratio, shift = ratio * ratio, 2 * shift
    return total
