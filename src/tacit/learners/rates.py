"""The largest rate at which a curve meets a target: what every search over rates asks at each of its probes.

`RateSearch.near` looks at few Renyi orders, even where a curve's own epsilon is less than what they prove, and starts
where the last answer was found. That can cost regret but never privacy, because `RateSearch.exact` checks the rate that
is used by the curve's own epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, log, sqrt, tanh

from tacit.errors import PrivacyError
from tacit.learners.target import Target
from tacit.privacy.calibration import largest
from tacit.privacy.conversion import nearby_epsilon
from tacit.privacy.curves import Curve

# Rates this far below the one that is best without privacy leave nothing to learn from: the target is refused.
LEAST_RATE = 1e-7
# One expert leaves nothing to learn, but a rate must be positive.
LEAST_COMPLEXITY = 0.1
# A probe's epsilon this close to the target is extrapolated: what is left is second order, below .01% of regret.
_CLOSE = 3e-3
# The winner's epsilon comes this close to the target, by the full conversion.
_EXACT = 1e-4
# Curves whose numbers of decisions are within this factor have Renyi epsilons above their own by the same factor.
_ALIKE = 8.0
# From a rate that is nearly right, so many steps come close enough; otherwise the search begins anew.
_MOST_REFINEMENTS = 4
# Bisection alone needs fewer steps than this from the largest rate to the smallest.
_MOST_STEPS = 60


class RateSearch:
    """The largest rate at which a curve meets the target; remembers where it was found last."""

    def __init__(self, target: Target, least: float = LEAST_RATE) -> None:
        self.target, self._least = target, least
        self._order: float | None = None  # the Renyi order that was best
        self._rate: float | None = None  # the rate that was found
        self._slope = 1.0  # d ln epsilon/d ln rate: epsilon is close to a power of the rate
        self._limit = target.epsilon  # the Renyi epsilon of curves whose own epsilon is the target's
        self._measured_at = 0  # how many decisions the curve had by which it was measured

    def near(self, curve: Callable[[float], Curve], wanted: float) -> float | None:
        """About the largest rate up to `wanted` that meets the target (None: no rate does)."""
        found = self._near(curve, wanted, self._limit)
        if found is None or self.target.delta == 0:
            return found
        sharp = curve(found).profile
        if sharp is None or 1 / _ALIKE < sharp.decisions / max(self._measured_at, 1e-9) < _ALIKE:
            return found
        # Where a walk says more than the Renyi divergences, it does so by a factor that varies slowly.
        self._measured_at = sharp.decisions
        proved = curve(found).epsilon(self.target.delta)
        self._limit = self.target.epsilon * (max(1.0, self._epsilon(curve(found)) / proved) if proved > 0 else 1.0)
        return self._near(curve, wanted, self._limit)

    def _near(self, curve: Callable[[float], Curve], wanted: float, limit: float) -> float | None:
        safe, unsafe = 0.0, inf
        rate, last = min(wanted, self._rate or wanted), (0.0, 0.0)
        for _ in range(_MOST_STEPS):
            value = self._epsilon(curve(rate))
            self._learn(last, (rate, value))
            last = (rate, value)
            safe, unsafe = (rate, unsafe) if value <= limit else (safe, rate)
            if rate < wanted * self._least:
                return None
            guess = min(wanted, self._extrapolated(rate, value, limit))
            if safe == wanted or abs(value - limit) <= _CLOSE * limit:
                self._rate = guess
                return guess
            if unsafe <= safe * (1 + _EXACT):  # a cap's step: epsilon jumps over the target
                self._rate = safe
                return safe
            between = sqrt(max(safe, wanted * self._least / 4) * min(unsafe, wanted))
            rate = guess if safe < guess < unsafe else between
        return None

    def exact(self, curve: Callable[[float], Curve], wanted: float, near: float | None = None) -> float:
        """The largest rate up to `wanted` that meets the target by the curve's own epsilon, looked for near `near`."""

        def cost(rate: float) -> float:
            return curve(rate).epsilon(self.target.delta)

        around = near or self.near(curve, wanted) or wanted * self._least
        found = self._refined(cost, wanted, around)
        if found is not None:
            return found
        for room in (1.01, 2.0, 1 / self._least):
            low, high = around / room, min(wanted, around * room)
            try:
                found = largest(cost, self.target.epsilon, low, high, _EXACT)
            except PrivacyError:
                continue  # not even the low end is safe: more room
            if found < high or high == wanted:
                return found
        raise PrivacyError(f"No rate up to {wanted:g} meets the privacy target.")

    def _refined(self, cost: Callable[[float], float], wanted: float, rate: float) -> float | None:
        """The same from a rate that is nearly right: a few steps along the power (None: they do not end close by)."""
        limit = self.target.epsilon
        for _ in range(_MOST_REFINEMENTS):
            value = cost(rate)
            if value <= limit and (value >= limit * (1 - _EXACT) or rate == wanted):
                return rate
            rate = min(wanted, self._extrapolated(rate, value, limit * (1 - _EXACT / 2)))
        return None

    def _epsilon(self, curve: Curve) -> float:
        pure = curve.pure()
        if self.target.delta == 0 or pure == 0:
            return pure
        epsilon, order = nearby_epsilon(curve.renyi, self.target.delta, self._order)
        if isfinite(epsilon):
            self._order = order
        return min(pure, epsilon)

    def _learn(self, last: tuple[float, float], now: tuple[float, float]) -> None:
        """The slope between two probes of one curve."""
        if last[0] != now[0] and 0 < last[1] < inf and 0 < now[1] < inf:
            self._slope = min(max(log(now[1] / last[1]) / log(now[0] / last[0]), 0.3), 4.0)

    def _extrapolated(self, rate: float, value: float, limit: float) -> float:
        """The rate at which epsilon would be the limit, if it were a power of the rate."""
        if value == 0:
            return inf
        return rate * (limit / value) ** (1 / self._slope) if value < inf else rate / 8


def wanted_rate(complexity: float, rounds: int, batch: int = 1, delay: int = 0) -> float:
    """The rate that balances complexity/eta and eta T (B/8 + lag/4), the best one without privacy."""
    return sqrt(8 * max(LEAST_COMPLEXITY, complexity) / (rounds * (batch + 2 * lag(delay, batch))))


def lag(delay: int, batch: int = 1) -> int:
    """How many losses a decision may be behind those of a learner without delay."""
    return delay + batch - 1 if delay else 0


def delay_regret(rate: float, rounds: int, delay: int, batch: int = 1) -> float:
    """T tanh(eta lag/4), what late feedback adds to the regret of exponential weights with losses in [0, 1].

    Two laws whose log ratio has range r differ by at most tanh(r/4) in total variation, and n losses move the log
    ratio of two weights by at most eta n. The lags of all rounds sum to at most T times the largest, and tanh is
    concave.
    """
    return rounds * tanh(rate * lag(delay, batch) / 4)


def delay_formula(delay: int, batch: int = 1, rounds: str = "T") -> str:
    """The same in words (empty without delay)."""
    return "" if not delay else f" + {rounds} tanh(eta {'D' if batch == 1 else '(D+B-1)'}/4)"
