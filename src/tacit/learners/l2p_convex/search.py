"""The public search behind `L2PConvex`: certified regret over rate, regularisation, force and batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import scipy

from tacit.errors import PrivacyError
from tacit.learners.l2p_convex.l2p_convex import WORK_LIMIT, L2PConvex, check_samplable
from tacit.learners.search import best_batch
from tacit.learners.target import Target
from tacit.privacy.calibration import gaussian_mu, largest
from tacit.privacy.guarantee import ZERO_OUT
from tacit.problems import Convex

# The share of delta that pays for the sampler: the steps of a draw grow with its logarithm only.
SAMPLER_SHARE = 1e-3


def best_plan(problem: Convex, target: Target, work_limit: float | None = WORK_LIMIT) -> L2PConvex:
    """The plan with the smallest certified regret at the target; too much work is refused."""
    check_samplable(problem)
    rounds = problem.horizon or 1
    search = _Search(problem, target)
    if target.adversary == "adaptive":
        return replace(search.scheduled(1), work_limit=work_limit)
    # A redrawn reference can be planned by hand; where compared (d = 5 to 200, T = 1e5 and 1e6, epsilon = 0.1 to 5)
    # it gained at most half a percent over the better of these two.
    best = best_batch(rounds, search.scheduled) or search.scheduled(1)
    lazy = best_batch(rounds, search.anchored, first=max(1, best.batch // 16))
    lazy = lazy and search.polished(lazy)
    if lazy and float(lazy.regret_bound) < float(best.regret_bound):
        best = lazy
    return replace(best, work_limit=work_limit)


class _Search:
    """Makes plans that meet the target and compares them."""

    def __init__(self, problem: Convex, target: Target) -> None:
        self._problem = problem
        self._target = target
        self._rounds = problem.horizon or 1
        self._slope = problem.lipschitz
        self._exact = problem.domain.dimension == 1
        self._delta = target.delta * (1.0 if self._exact else 1 - SAMPLER_SHARE)

    def scheduled(self, batch: int) -> L2PConvex:
        """The best plan with a fresh draw after each batch: decisions of them, composed as Gaussian DP."""
        decisions = max(1, -(-self._rounds // batch) - 1)
        mu = gaussian_mu(self._target.epsilon, self._delta) / sqrt(decisions) * (1 - 1e-10)
        mu /= self._target.rounds_per_person * (0.5 if self._target.relation is ZERO_OUT else 1.0)
        spread = mu**2 / 2
        regularisation = self._regularisation(spread, batch)
        rate = spread * regularisation / self._slope**2
        return self._make(rate, regularisation, 1.0, rate * self._slope * self._problem.domain.radius, batch)

    def anchored(self, batch: int) -> L2PConvex | None:
        """The best plan whose reference is the centre: h = beta L R never clips."""
        unit = self._slope * sqrt(self._rounds * batch) / self._problem.domain.radius

        def probe(log_force: float, log_scale: float) -> L2PConvex | None:
            return self._largest(unit * exp(log_scale), exp(log_force), batch, 1e-2)

        return _nelder_mead(probe, (log(0.15), log(0.8)), ((log(1e-4), log(0.9)), (log(0.05), log(200.0))))

    def _regularisation(self, spread: float, batch: int) -> float:
        """The best lambda at a given spread: lambda R^2 against (T B/4 + d ln(1/gamma)/v) L^2/lambda."""
        domain = self._problem.domain
        scale = self._slope * sqrt(self._rounds * batch) / domain.radius
        for _ in range(4):  # the logarithm settles at once
            rate = spread * scale / self._slope**2
            gamma = min(1.0, domain.dimension / (rate * self._rounds * self._slope * domain.diameter))
            entropy = domain.dimension * (log(1 / gamma) + 1) / spread
            scale = self._slope * sqrt(self._rounds * batch / 4 + entropy) / domain.radius
        return scale

    def _make(self, rate: float, regularisation: float, force: float, clip: float, batch: int) -> L2PConvex:
        draws = max(1, -(-self._rounds // batch) - 1)
        price = (1 + exp(min(self._target.epsilon, 500.0))) * draws
        return L2PConvex(
            self._problem,
            rate=rate,
            regularisation=regularisation,
            force=force,
            clip=clip,
            batch=batch,
            sampler_distance=0.0 if self._exact else self._target.delta * SAMPLER_SHARE / price * (1 - 1e-6),
            work_limit=None,
            **self._target.contract,
        )

    def polished(self, plan: L2PConvex) -> L2PConvex:
        """The same plan with a rate that meets the target more closely."""
        return self._largest(plan.regularisation, plan.force, plan.batch, 3e-4) or plan

    def _largest(self, regularisation: float, force: float, batch: int, tolerance: float) -> L2PConvex | None:
        """The plan with the largest rate that meets the target, if there is one."""
        reach = self._slope * self._problem.domain.radius

        def make(rate: float) -> L2PConvex:
            return self._make(rate, regularisation, force, rate * reach, batch)

        def cost(rate: float) -> float:
            # Coins that keep with a probability too small for floats are not worth a look.
            return make(rate).exact_curve.epsilon(self._delta) if batch * rate * reach < 100 else float("inf")

        try:
            return make(largest(cost, self._target.epsilon * (1 - 1e-7), 1e-9 / reach, 10 / reach, tolerance))
        except PrivacyError:
            return None


def _nelder_mead(
    probe: Callable[[float, float], L2PConvex | None],
    start: tuple[float, float],
    bounds: tuple[tuple[float, float], tuple[float, float]],
) -> L2PConvex | None:
    """The best plan seen by a simplex search over two logarithms."""
    seen: list[L2PConvex] = []

    def cost(point: Any) -> float:
        plan = probe(float(point[0]), float(point[1]))
        if plan is None:
            return 700.0 - float(point[0])  # more forced redraws hide the coins
        seen.append(plan)
        return log(float(plan.regret_bound))

    first = [start, (start[0] - 0.7, start[1]), (start[0], start[1] - 0.5)]
    scipy.optimize.minimize(
        cost,
        start,
        method="Nelder-Mead",
        bounds=bounds,
        options={"initial_simplex": first, "xatol": 0.1, "fatol": 2e-3, "maxfev": 40},
    )
    return min(seen, key=lambda plan: float(plan.regret_bound), default=None)
