"""From Renyi divergence and pure bounds to (epsilon, delta), always rounded to the private side.

The one conversion of the library: it looks at a coarse grid of orders, then at a fine one around the best. At order a,

    epsilon = r + ln(1 - 1/a) - (ln delta + ln a)/(a - 1),      and epsilon = 0 if 1 - e^-r <= delta^2

(Canonne, Kamath and Steinke, 2020, Proposition 12; Bretagnolle and Huber, since r bounds the Kullback-Leibler
divergence). What is not a number fails closed: a divergence that is NaN or negative counts as infinite, and a delta
that is too small for a float is the smallest positive float, because 0 would say pure.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nextafter

import numpy as np
from scipy.special import erfcx, log_ndtr

from tacit.validation import FloatArray

# Coarse Renyi orders; conversions refine around the best one.
ORDERS: FloatArray = 1.0 + np.geomspace(1e-4, 1e8, 90)
# Room for rounding errors in a handful of float64 operations, always added on the private side.
ROUND_UP = 1.0 + 1e-11
# The delta of what is not pure but too small to be told from it.
LEAST_DELTA = nextafter(0.0, 1.0)
# Divergences below this may have lost their digits: they are lifted to it.
_LEAST_DIVERGENCE = 1e-300
# Rounding of a sum, relative to the sizes of its terms: what matters where they cancel.
_CANCELLATION = 4e-15
# Factors around one order, so close to each other that the best of them is within .05% of the smallest epsilon.
_NEARBY: FloatArray = np.geomspace(1 / 1.7, 1.7, 31)
_SPARSE: FloatArray = ORDERS[::3]
# From the sparse orders the best one is never far.
_MOST_STEPS = 8

Renyi = Callable[[FloatArray], FloatArray]


def fail_closed(value: float) -> float:
    """A bound on a privacy loss, infinite where it is not a number."""
    return value if value >= 0 else float("inf")


def renyi_epsilon(renyi: Renyi, delta: float, orders: FloatArray | None = None) -> float:
    """The smallest epsilon at this delta that the divergences prove.

    Args:
        renyi: the divergences at given orders.
        delta: a positive delta.
        orders: look at these orders only (default: a coarse grid, then a fine one around its best).
    """
    if orders is not None:
        return float(np.min(_epsilons(renyi, orders, delta))) * ROUND_UP
    coarse = _epsilons(renyi, ORDERS, delta)
    refined = _epsilons(renyi, _around(float(ORDERS[np.argmin(coarse)])), delta)
    return float(min(np.min(coarse), np.min(refined))) * ROUND_UP


def nearby_epsilon(renyi: Renyi, delta: float, order: float | None = None) -> tuple[float, float]:
    """An epsilon that the divergences prove, and the order that proves it, looked for around `order`.

    As safe as `renyi_epsilon` and faster, but not always as small: for searches, which ask many times and can say
    where the last answer was found (None: anywhere). A few orders from everywhere notice when the best one moves away.
    """
    best, where = float("inf"), 2.0 if order is None else order
    for _ in range(_MOST_STEPS):
        near = 1.0 + (where - 1.0) * _NEARBY
        orders = np.concatenate([near, _SPARSE])
        values = _epsilons(renyi, orders, delta)
        index = int(np.argmin(values))
        if not values[index] < best:
            break
        best, where = float(values[index]), float(orders[index])
        if near[0] < where < near[-1]:
            break
    return best * ROUND_UP, where


def renyi_delta(renyi: Renyi, epsilon: float) -> float:
    """The smallest delta at this epsilon that the divergences prove."""
    coarse = _log_deltas(renyi, ORDERS, epsilon)
    refined = _log_deltas(renyi, _around(float(ORDERS[np.argmin(coarse)])), epsilon)
    best = float(min(np.min(coarse), np.min(refined)))
    return min(1.0, max(LEAST_DELTA, float(np.exp(min(best, 0.0))) * ROUND_UP))


def pure_delta(pure: float, epsilon: float) -> float:
    """Hockey stick of randomised response, the worst mechanism with privacy loss at most `pure`."""
    if not np.isfinite(pure):
        return 1.0
    if epsilon >= pure:
        return 0.0
    # (e^p - e^eps)/(e^p + 1) = (1 - e^{eps-p})/(1 + e^-p)
    return min(1.0, float(-np.expm1(epsilon - pure) / (1 + np.exp(-pure))) * ROUND_UP)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Hockey stick of N(0,1) and N(mu,1)."""
    if mu == 0:
        return 0.0
    # Phi(a) - e^epsilon Phi(-b), where epsilon = (b^2 - a^2)/2 cancels the large part of ln Phi(-b).
    a, b = mu / 2 - epsilon / mu, mu / 2 + epsilon / mu
    log_first = float(log_ndtr(a))
    if log_first == -np.inf or a < -1e100:
        return LEAST_DELTA
    log_second = -a * a / 2 + float(np.log(erfcx(b / np.sqrt(2.0)) / 2))
    difference = np.exp(log_first) * -np.expm1(min(0.0, log_second - log_first))
    # log_ndtr is good to about 1e-13, and a is rounded relative to b: an error relative to the first term.
    slack = 1e-12 + 1e-15 * b * (1 + abs(a))
    return min(1.0, max(LEAST_DELTA, float(difference + slack * np.exp(log_first))))


def failing_epsilon(epsilon: Callable[[float], float], failure: float, delta: float) -> float:
    """Epsilon of what is lost with probability `failure`: failure + (1 - failure) delta_else(eps) <= delta, solved."""
    if delta < failure:
        return float("inf")
    return epsilon((delta - failure) / (1 - failure) * (2 - ROUND_UP))


def failing_delta(delta: float, failure: float) -> float:
    """Delta of what is lost with probability `failure`, and has this `delta` otherwise."""
    return min(1.0, (failure + (1 - failure) * delta) * ROUND_UP)


def log_mixture(probability: float | FloatArray, log_moment: FloatArray) -> FloatArray:
    """ln(1 + s (e^x - 1)), accurate for tiny x and safe for huge x; nothing at all where s = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        large = np.logaddexp(np.log1p(-probability), np.log(probability) + log_moment)
    small = np.log1p(probability * np.expm1(np.minimum(log_moment, 30.0)))
    return np.where(np.equal(probability, 0.0), 0.0, np.where(log_moment < 30.0, small, large))


def _epsilons(renyi: Renyi, orders: FloatArray, delta: float) -> FloatArray:
    divergence, gap = _divergences(renyi, orders), orders - 1
    keep, tail = np.log(gap / orders), (np.log(delta) + np.log(orders)) / gap
    value = divergence + keep - tail + _CANCELLATION * (divergence - keep + np.abs(tail))
    alike = -np.expm1(-divergence) <= delta**2 * (2 - ROUND_UP)
    return np.where(alike, 0.0, np.maximum(value, 0.0))


def _log_deltas(renyi: Renyi, orders: FloatArray, epsilon: float) -> FloatArray:
    divergence, gap = _divergences(renyi, orders), orders - 1
    keep = np.log(gap / orders)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite or not a number: the other bound decides
        value = gap * (divergence - epsilon + keep) - np.log(orders)
        value = value + _CANCELLATION * (gap * (divergence + epsilon - keep) + np.log(orders))
    return np.minimum(np.where(np.isnan(value), np.inf, value), 0.5 * np.log(-np.expm1(-divergence)))


def _divergences(renyi: Renyi, orders: FloatArray) -> FloatArray:
    """The divergences, infinite where they are not numbers and nowhere so small that digits are lost."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.asarray(renyi(orders), dtype=np.float64)
    return np.where(values >= 0, np.maximum(values, _LEAST_DIVERGENCE), np.inf)


def _around(order: float) -> FloatArray:
    ratio = (ORDERS[1] - 1) / (ORDERS[0] - 1)
    return 1.0 + (max(order, 1.0 + 1e-4) - 1.0) * np.geomspace(1 / ratio, ratio, 33)
