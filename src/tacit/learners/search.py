"""The public search behind every lazy plan: batch length, forced redraws and, if wanted, a hard cap.

Each probe is a complete plan whose privacy was checked; the search compares certified regret only and
never sees data.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import TypeVar

from scipy.special import bdtrc

from tacit.errors import PrivacyError
from tacit.learners.plan import PrivatePlan
from tacit.learners.target import Target
from tacit.privacy.calibration import largest, minimise

P = TypeVar("P", bound=PrivatePlan)


def best_rate(make: Callable[[float], P], wanted: float, target: Target) -> P | None:
    """The plan at the largest rate up to `wanted` that meets the target (None: no rate does)."""

    def cost(rate: float) -> float:
        return make(rate).curve.epsilon(target.delta)

    try:
        return make(largest(cost, target.epsilon, wanted * 1e-7, wanted, 3e-4))
    except PrivacyError:
        return None


def best_chain(rounds: int, target: Target, probe: Callable[[float, int, int | None], P | None]) -> P:
    """The best of `probe(force, batch, cap)` over forces, batches and, for pure privacy, caps."""

    def best_force(batch: int) -> P | None:
        def at(log_scale_force: float) -> P | None:
            if target.delta > 0:
                return probe(log_scale_force, batch, target.max_switches)
            return best_cap(log_scale_force, batch)

        return _best(at, 1e-6, 0.9, 0.02 if target.delta > 0 else 0.1)

    def best_cap(force: float, batch: int) -> P | None:
        decisions = max(1, -(-rounds // batch) - 1)
        most = decisions if target.max_switches is None else min(decisions, target.max_switches)
        if most <= 1:
            return probe(force, batch, most)
        return _best(lambda cap: probe(force, batch, round(cap)), 1.0, float(most), 0.05)

    found = best_batch(rounds, best_force)
    if found is None:
        raise PrivacyError(
            f"No parameters meet epsilon={target.epsilon:g}, delta={target.delta:g} with {rounds} rounds."
        )
    return found


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
        elif batch > best and cost(best) < float("inf"):
            worse += 1
        batch *= 2
    for between in (best * 3 // 4, best * 3 // 2):
        if between != best and first <= between <= rounds:
            cost(between)
    return found[min(found, key=cost)]


def _best(probe: Callable[[float], P | None], low: float, high: float, tolerance: float) -> P | None:
    """The best plan seen by a golden-section search on the logarithmic scale."""
    seen: list[P] = []

    def cost(x: float) -> float:
        plan = probe(x)
        if plan is not None:
            seen.append(plan)
        # Without a feasible plan the regret is infinite; the slope leads the search towards large x,
        # where forced redraws hide the coins.
        return _cost(plan) if plan is not None else 1e300 * exp(-log(x) / 1e3)

    minimise(cost, low, high, tolerance)
    return min(seen, key=_cost, default=None)


def _cost(plan: P | None) -> float:
    return float("inf") if plan is None else float(plan.regret_bound)
