"""The public search behind every lazy plan: batch length, forced redraws, a rate and, if wanted, a hard cap.

A probe is a function of public numbers: the regret that certain parameters certify, and those parameters. Probes look
at few Renyi orders and start where the one before them ended. That can cost regret but never privacy: the parameters
that win are checked by the curve's own epsilon (`RateSearch.exact`), and only then is a plan made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, isfinite, log, sqrt, tanh
from typing import Any, NamedTuple, TypeVar

from scipy.special import bdtrc

from tacit.accounting.calibration import descend, largest
from tacit.accounting.conversion import nearby_epsilon
from tacit.accounting.curves import Curve
from tacit.errors import PrivacyError
from tacit.runtime.target import Target

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

    n losses move the log ratio of two weights by at most eta n; tanh is concave in the lags.
    """
    return rounds * tanh(rate * lag(delay, batch) / 4)


def delay_formula(delay: int, batch: int = 1, rounds: str = "T") -> str:
    """The same in words (empty without delay)."""
    return "" if not delay else f" + {rounds} tanh(eta {'D' if batch == 1 else '(D+B-1)'}/4)"


P = TypeVar("P", bound=tuple[float, Any])

# Forced redraws from hardly ever to nearly always; outside, the coin or the draws hide nothing.
FORCES = (1e-6, 0.9)
FIRST_FORCE = 0.05
# One redraw in all should come soon.
HELD_FORCE = 0.5
# Standard deviations above the mean number of redraws where the search for a cap begins.
TAIL = 3.5
# How far searches of forces and caps first step and how close to the best they stop, as differences of logarithms:
# regret is flat around its best force and steep below its best cap.
FORCE_STEPS = (0.5, 0.03)
CAP_STEPS = (0.1, 0.003)
FINE_STEPS = (0.1, 0.01)


class Parameters(NamedTuple):
    """What the search of a lazy chain tunes."""

    rate: float
    force: float
    batch: int
    cap: int | None = None

    @property
    def redraw(self) -> float:
        """Each toss redraws with probability at most 1 - (1-p) e^{-B eta}."""
        return 1 - (1 - self.force) * exp(-self.batch * self.rate)


def tosses(rounds: int, batch: int) -> int:
    """How many batches end in a decision: all but the last."""
    return -(-rounds // batch) - 1


def best_chain(
    rounds: int,
    target: Target,
    *,
    curve: Callable[[Parameters], Curve],
    regret: Callable[[Parameters], float],
    wanted: Callable[[int], float],
) -> Parameters:
    """The parameters of the smallest certified regret over forces, batches and, for pure privacy, caps.

    `curve` is what a chain leaks, `regret` what it certifies, `wanted` the best rate without privacy at a batch length.
    """
    search = _ChainSearch(rounds, target, curve, regret, wanted)
    found = min(filter(None, (best_batch(rounds, search.best_force), search.held())), key=_cost, default=None)
    if found is None:
        raise PrivacyError(
            f"No parameters meet epsilon={target.epsilon:g}, delta={target.delta:g} with {rounds} rounds."
        )
    return search.exact(search.polished(found[1]))


@dataclass
class _ChainSearch:
    """Probes chains, each from where the one before it was best."""

    _rounds: int
    _target: Target
    _curve: Callable[[Parameters], Curve]
    _regret: Callable[[Parameters], float]
    _wanted: Callable[[int], float]
    _force: float = FIRST_FORCE

    def __post_init__(self) -> None:
        self._rates = RateSearch(self._target)

    def best_force(self, batch: int) -> tuple[float, Parameters] | None:
        """The best chain with this batch length."""
        limit, start = self._target.max_switches, self._force
        if limit is not None:  # more forced redraws than the limit allows lead nowhere
            start = min(start, (limit + 1) / (2 * max(1, tosses(self._rounds, batch))))
        found = best_near(lambda force: self._probe(Parameters(0.0, force, batch, limit)), start, *FORCES, *FORCE_STEPS)
        self._force = found[1].force if found else self._force
        return found

    def held(self) -> tuple[float, Parameters] | None:
        """One redraw, then the same decision for ever: the best of capped chains where no chain learns enough."""
        limit = self._target.max_switches
        if limit is None and self._target.delta > 0:
            return None
        return self._fixed(Parameters(0.0, HELD_FORCE, 1, 1 if limit is None else min(limit, 1)))

    def polished(self, found: Parameters) -> Parameters:
        """The best chain close to this one if it has a cap to be tuned: now the forces at each cap, which is smooth."""
        if self._target.delta > 0 or not found.cap:
            return found

        def best_force(cap: float) -> tuple[float, Parameters] | None:
            capped = found._replace(cap=round(cap))
            return best_near(lambda force: self._fixed(capped._replace(force=force)), found.force, *FORCES, *FINE_STEPS)

        better = best_near(best_force, found.cap, 1, self._most(found.batch), *CAP_STEPS)
        return better[1] if better else found

    def exact(self, found: Parameters) -> Parameters:
        """The same chain at the rate that the full conversion allows."""
        wanted = self._wanted(found.batch)
        return found._replace(rate=self._rates.exact(self._at(found), wanted, found.rate))

    def _probe(self, tried: Parameters) -> tuple[float, Parameters] | None:
        """The chain at its best rate; a pure one with the best cap, close to what its redraws rarely exceed."""
        if self._target.delta > 0:
            return self._fixed(tried)
        wanted = self._wanted(tried.batch)
        rate = self._rates.near(lambda rate: self._curve(self._capped(tried._replace(rate=rate))), wanted)
        if rate is None:
            return None
        capped = self._capped(tried._replace(rate=rate))
        if not capped.cap:
            return self._fixed(capped)
        most = self._most(tried.batch)
        return best_near(lambda cap: self._fixed(capped._replace(cap=round(cap))), capped.cap, 1, most, *CAP_STEPS)

    def _most(self, batch: int) -> int:
        """The largest cap that can be hit and is allowed."""
        decisions, limit = max(1, tosses(self._rounds, batch)), self._target.max_switches
        return decisions if limit is None else min(decisions, limit)

    def _capped(self, tried: Parameters) -> Parameters:
        decisions = max(0, tosses(self._rounds, tried.batch))
        mean = decisions * tried.redraw
        cap = min(decisions, ceil(mean + TAIL * sqrt(mean * (1 - tried.redraw))))
        return tried._replace(cap=cap if tried.cap is None else min(tried.cap, cap))

    def _fixed(self, tried: Parameters) -> tuple[float, Parameters] | None:
        rate = self._rates.near(self._at(tried), self._wanted(tried.batch))
        if rate is None:
            return None
        tried = tried._replace(rate=rate)
        return self._regret(tried), tried

    def _at(self, tried: Parameters) -> Callable[[float], Curve]:
        return lambda rate: self._curve(tried._replace(rate=rate))


def cap_probability(decisions: int, redraw: float, cap: int) -> float:
    """P[Binomial(decisions, redraw) > cap]: a bound on the chance that a hard cap binds."""
    return float(bdtrc(cap, decisions, redraw)) if cap < decisions else 0.0


def best_batch(rounds: int, probe: Callable[[int], P | None], first: int = 1) -> P | None:
    """Batches first, 2 first, 4 first, ... until the regret rises twice, then lengths around the best."""
    found: dict[int, P | None] = {}

    def cost(batch: int) -> float:
        if batch not in found:
            found[batch] = probe(batch)
        return _cost(found[batch])

    batch, best, worse = first, first, 0
    while batch <= rounds and worse < 2:
        if cost(batch) < cost(best):
            best, worse = batch, 0
        elif batch > best and cost(best) < inf:
            worse += 1
        batch *= 2
    for between in (best * 3 // 4, best * 3 // 2):
        if between != best and first <= between <= rounds:
            cost(between)
    return found[min(found, key=cost)]


def best_near(
    probe: Callable[[float], P | None], start: float, low: float, high: float, step: float, tolerance: float
) -> P | None:
    """The best answer of a search downhill from `start`."""
    seen: dict[float, P | None] = {}

    def cost(x: float) -> float:
        seen[x] = probe(x)
        return _cost(seen[x])

    return seen[descend(cost, start, low, high, step, tolerance)]


def _cost(found: tuple[float, Any] | None) -> float:
    return inf if found is None else found[0]
