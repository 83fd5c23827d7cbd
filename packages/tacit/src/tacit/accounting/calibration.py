"""Searches that return the safe side: the value they give has been checked, not interpolated."""

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, isfinite, log, sqrt

from tacit.accounting.conversion import gaussian_delta
from tacit.errors import PrivacyError

# Below, a target asks for noise that no float has room for.
_SMALLEST_MU = 1e-150
# How closely the Gaussian curve is solved.
_EXACT = 1e-12
_GOLDEN = (sqrt(5.0) - 1) / 2
# A search downhill narrows its bracket at most this often: what costs little to be wrong about ends it before.
_MOST_NARROWINGS = 20
# Where a cost rises by at most this much of itself, a parabola's bottom is the cost's; where by more than that, next to
# a wall, parabolas creep and the golden section does not.
_FLAT, _STEEP = 0.05, 0.5


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
        middle = sqrt(low) * sqrt(high)  # products and ratios of ends far apart would overflow
        if trial % 3 != 2 and cost_low > 0 and isfinite(cost_high):
            share = (log(goal) - log(cost_low)) / (log(cost_high) - log(cost_low))
            middle = exp(log(low) + min(max(share, 0.0), 1.0) * (log(high) - log(low)))
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


@lru_cache(maxsize=256)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose exact Gaussian curve meets (epsilon, delta)."""
    if delta <= 0:
        raise PrivacyError("Gaussian noise needs delta > 0; with delta = 0 use a pure mechanism.")
    room = epsilon * (1 - 2 * _EXACT)  # so that `gaussian_epsilon`, itself rounded up, is not above epsilon
    low = high = 1.0
    while gaussian_delta(low, room) > delta and low > _SMALLEST_MU:
        low, high = low / 2, low
    while gaussian_delta(high, room) <= delta:
        low, high = high, high * 2
    mu = largest(lambda mu: gaussian_delta(mu, room), delta, low, high, _EXACT)
    step = _EXACT
    while gaussian_delta(mu, epsilon) > delta:  # where the curve's own rounding is larger than the room
        mu, step = mu / (1 + step), step * 2
    return mu


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon at which the exact Gaussian curve has this delta."""
    low, high = 0.0, mu
    while high < inf and gaussian_delta(mu, high) > delta:
        low, high = high, high * 2
    return smallest(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, low, high, _EXACT) if high < inf else inf


def minimise(cost: Callable[[float], float], low: float, high: float, tolerance: float = 2e-3) -> float:
    """A minimiser of a unimodal cost over [low, high] on the logarithmic scale (golden section)."""
    a, b = log(low), log(high)
    x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    fx, fy = cost(exp(x)), cost(exp(y))
    while b - a > tolerance:
        if fx <= fy:
            b, y, fy = y, x, fx
            x = b - _GOLDEN * (b - a)
            fx = cost(exp(x))
        else:
            a, x, fx = x, y, fy
            y = a + _GOLDEN * (b - a)
            fy = cost(exp(y))
    return exp(x if fx <= fy else y)


def lowest(cost: Callable[[float], float], low: float = 0.0, high: float = 1.0) -> float:
    """The minimum of a convex cost over [low, high], from above: the smallest of the values that were looked at."""
    best = min(cost(low), cost(high))
    while high - low > 1e-7:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        at_left, at_right = cost(left), cost(right)
        best = min(best, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return best


def descend(
    cost: Callable[[float], float], start: float, low: float, high: float, step: float, tolerance: float
) -> float:
    """As `minimise`, from a `start` that is believed to be close: steps downhill, then parabolas.

    `step` and `tolerance` are differences of logarithms. Of equal costs the one on the left is taken; an infinite
    cost sends the search to the right.
    """
    seen: dict[float, float] = {}

    def at(x: float) -> float:
        if x not in seen:
            seen[x] = cost(exp(x))
        return seen[x]

    bottom, top = log(low), log(high)
    middle = min(max(log(start), bottom), top)
    left, right = max(bottom, middle - step), min(top, middle + step)
    at(middle)  # all there is, if low and high agree
    while left < middle and at(left) <= at(middle) < inf:
        step *= 2
        left, middle, right = max(bottom, left - step), left, middle
    while right > middle and (at(right) < at(middle) or at(middle) == inf):
        step *= 2
        left, middle, right = middle, right, min(top, right + step)
    for _ in range(_MOST_NARROWINGS):
        if right - left <= tolerance:
            break
        rise = max(at(left), at(right)) - at(middle)
        x = _vertex((left, at(left)), (middle, at(middle)), (right, at(right)))
        close = x is not None and abs(x - middle) < tolerance
        if close and rise <= _FLAT * at(middle):
            break
        if x is None or close or not rise <= _STEEP * at(middle):
            x = middle + (1 - _GOLDEN) * ((right if right - middle > middle - left else left) - middle)
        if at(x) < at(middle):
            left, middle, right = (left, x, middle) if x < middle else (middle, x, right)
        else:
            left, right = (x, right) if x < middle else (left, x)
    return exp(min(seen, key=lambda x: (seen[x], x)))


def _vertex(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> float | None:
    """Where the parabola through three points is lowest (None: not strictly between the outer two)."""
    (a, fa), (b, fb), (c, fc) = left, middle, right
    if not (a < b < c and isfinite(fa) and isfinite(fc)):
        return None
    rise, fall = (fc - fb) / (c - b), (fb - fa) / (b - a)
    if not rise > fall:
        return None
    x = (a + b) / 2 - fall * (c - a) / (2 * (rise - fall))
    return x if a < x < c else None
