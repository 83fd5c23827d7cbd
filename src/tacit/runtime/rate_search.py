"""The public search behind every lazy plan: batch length, forced redraws, a rate and, if wanted, a hard cap.

A probe is a function of public numbers: it returns the regret that certain parameters certify, and those parameters.
Each probe starts where the one before it ended. The parameters that win are checked by the curve's own epsilon, and
only then is a plan made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, sqrt
from typing import Any, NamedTuple, TypeVar

from scipy.special import bdtrc

from tacit.errors import PrivacyError
from tacit.learners.rates import RateSearch
from tacit.learners.target import Target
from tacit.privacy.calibration import descend
from tacit.privacy.curves import Curve

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

    Args:
        rounds: the horizon.
        target: what the chain must meet.
        curve: what it leaks, more at a higher rate.
        regret: what it certifies.
        wanted: the best rate without privacy, at a batch length.
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
