"""Searches that return the safe side: the value they give has been checked, not interpolated."""

from collections.abc import Callable
from math import isfinite, log, sqrt

import numpy as np

from tacit.errors import PrivacyError


def largest(cost: Callable[[float], float], limit: float, low: float, high: float, tolerance: float = 1e-4) -> float:
    """The largest x in [low, high] with cost(x) <= limit, for an increasing cost and positive ends.

    Regula falsi on logarithmic scales (privacy costs are close to powers), with bisection whenever that
    stalls. The result is safe: its cost was computed and is at most `limit`, and either its cost is within
    a relative `tolerance` of the limit or no x larger by that much is safe.
    """
    cost_low, cost_high = cost(low), cost(high)
    if cost_high <= limit:
        return high
    if not cost_low <= limit:
        raise PrivacyError(f"No value from {low:g} to {high:g} meets the privacy target.")
    goal = limit * (1 - tolerance / 2)
    trial = 0
    while cost_low < limit * (1 - tolerance) and high > low * (1 + tolerance):
        middle = sqrt(low * high)
        if trial % 3 != 2 and cost_low > 0 and isfinite(cost_high):
            share = log(goal / cost_low) / log(cost_high / cost_low)
            middle = low * (high / low) ** min(max(share, 0.0), 1.0)
            middle = min(max(middle, low * (1 + tolerance / 4)), high / (1 + tolerance / 4))
        value = cost(middle)
        if value <= limit:
            low, cost_low = middle, value
        else:
            high, cost_high = middle, value
        trial += 1
    return low


def smallest(safe: Callable[[float], bool], low: float, high: float, tolerance: float = 1e-9) -> float:
    """The smallest x in [low, high] with `safe(x)`, within a relative `tolerance`; the result is safe."""
    if safe(low):
        return low
    if not safe(high):
        raise PrivacyError(f"No value from {low:g} to {high:g} meets the privacy target.")
    while high - low > tolerance * max(abs(high), 1e-12):
        middle = 0.5 * (low + high)
        if safe(middle):
            high = middle
        else:
            low = middle
    return high


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose exact Gaussian curve meets (epsilon, delta)."""
    from dp_accounting import get_sigma_gaussian

    from tacit.privacy.curves import Gaussian

    if delta <= 0:
        raise PrivacyError("Gaussian noise needs delta > 0; with delta = 0 use a pure mechanism.")
    with np.errstate(all="ignore"):  # its bracket search passes through log1p(-1)
        mu = 1 / float(get_sigma_gaussian(epsilon, delta))
    step = 1e-9
    while Gaussian(mu).delta(epsilon) > delta:  # the root finder may stop a hair on the wrong side
        mu /= 1 + step
        step *= 2
    return mu


def minimise(cost: Callable[[float], float], low: float, high: float, tolerance: float = 2e-3) -> float:
    """A minimiser of a unimodal cost over [low, high] on the logarithmic scale (golden section)."""
    golden = (np.sqrt(5.0) - 1) / 2
    a, b = np.log(low), np.log(high)
    x, y = b - golden * (b - a), a + golden * (b - a)
    fx, fy = cost(float(np.exp(x))), cost(float(np.exp(y)))
    while b - a > tolerance:
        if fx <= fy:
            b, y, fy = y, x, fx
            x = b - golden * (b - a)
            fx = cost(float(np.exp(x)))
        else:
            a, x, fx = x, y, fy
            y = a + golden * (b - a)
            fy = cost(float(np.exp(y)))
    return float(np.exp(x if fx <= fy else y))
