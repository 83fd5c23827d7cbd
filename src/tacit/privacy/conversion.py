"""From Renyi divergence and pure bounds to (epsilon, delta), always rounded to the private side.

The conversions themselves are dp-accounting's; what is ours is where they look: a coarse grid of orders, then a fine
one around the best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.validation import FloatArray

# Coarse Renyi orders; conversions refine around the best one.
ORDERS: FloatArray = 1.0 + np.geomspace(1e-4, 1e8, 90)
# Room for rounding errors in a handful of float64 operations, always added on the private side.
ROUND_UP = 1.0 + 1e-11

Renyi = Callable[[FloatArray], FloatArray]


def renyi_epsilon(renyi: Renyi, delta: float, orders: FloatArray | None = None) -> float:
    """The smallest epsilon at this delta that the divergences prove (at these orders alone, if given)."""
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    if orders is not None:
        return float(compute_epsilon(orders, renyi(orders), delta)[0]) * ROUND_UP
    epsilon, best = compute_epsilon(ORDERS, renyi(ORDERS), delta)
    fine = _around(best)
    refined, _ = compute_epsilon(fine, renyi(fine), delta)
    return float(min(epsilon, refined)) * ROUND_UP


def renyi_delta(renyi: Renyi, epsilon: float) -> float:
    """The smallest delta at this epsilon that the divergences prove."""
    from dp_accounting.rdp.rdp_privacy_accountant import compute_delta

    with np.errstate(over="ignore", invalid="ignore"):
        delta, best = compute_delta(ORDERS, _representable(renyi(ORDERS)), epsilon)
        fine = _around(best)
        refined, _ = compute_delta(fine, _representable(renyi(fine)), epsilon)
    return min(1.0, float(min(delta, refined)) * ROUND_UP)


def pure_delta(pure: float, epsilon: float) -> float:
    """Hockey stick of randomised response, the worst mechanism with privacy loss at most `pure`."""
    if not np.isfinite(pure):
        return 1.0
    if epsilon >= pure:
        return 0.0
    # (e^p - e^eps)/(e^p + 1) = (1 - e^{eps-p})/(1 + e^-p)
    return min(1.0, float(-np.expm1(epsilon - pure) / (1 + np.exp(-pure))) * ROUND_UP)


def log_mixture(probability: float | FloatArray, log_moment: FloatArray) -> FloatArray:
    """ln(1 + s (e^x - 1)), accurate for tiny x and safe for huge x."""
    with np.errstate(divide="ignore"):
        large = np.logaddexp(np.log1p(-probability), np.log(probability) + log_moment)
    small = np.log1p(probability * np.expm1(np.minimum(log_moment, 30.0)))
    return np.where(log_moment < 30.0, small, large)


def _representable(values: FloatArray) -> FloatArray:
    """Positive divergences lifted to where 1 - e^-r is not zero in float64: the private side."""
    return np.where(values > 0, np.maximum(values, 2.3e-16), 0.0)


def _around(order: float) -> FloatArray:
    step = ORDERS[1] - 1, ORDERS[0] - 1
    ratio = step[0] / step[1]
    return 1.0 + (max(order, 1.0 + 1e-4) - 1.0) * np.geomspace(1 / ratio, ratio, 33)
