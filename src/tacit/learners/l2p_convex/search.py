"""The public search behind `L2PConvex`: certified regret over rate, regularisation, force and batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log, sqrt

from tacit.learners.l2p_convex.accounting import Tuning, certified_regret, exact_curve
from tacit.learners.rates import RateSearch
from tacit.learners.search import best_batch, best_near, tosses
from tacit.learners.target import Target
from tacit.privacy.calibration import gaussian_mu
from tacit.privacy.curves import Curve
from tacit.problems import Convex

# The share of delta that pays for the sampler: the steps of a draw grow with its logarithm only.
SAMPLER_SHARE = 1e-3
# Lambda in units of L sqrt(T B)/R, the best one without privacy up to a constant, and the forces beside it.
SCALES = (0.05, 200.0)
FORCES = (1e-4, 0.9)
# How far searches of both first step and how close to the best they stop, as differences of logarithms.
STEPS = (0.5, 0.1)
# Rates in units of 1/(L R): above the largest the law is a point next to the leader, below the least it is uniform.
MOST_RATE, LEAST_RATE = 10.0, 1e-9
# A batch that moves the coin's logarithm by more than this keeps with a probability too small to be worth a look.
MOST_HAZARD = 100.0
# Rounding errors between the curve's epsilon at a delta and its delta at that epsilon.
_ROUNDING = 1 - 1e-7


def best_parameters(problem: Convex, target: Target) -> tuple[Tuning, float]:
    """The parameters of the smallest certified regret at the target, and the sampler's distance that goes with them."""
    search = _Search(problem, target)
    if target.adversary == "adaptive":
        return search.finished(search.scheduled(1)[1])
    # A redrawn reference can be planned by hand; where compared (d = 5 to 200, T = 1e5 and 1e6, epsilon = 0.1 to 5)
    # it gained at most half a percent over the better of these two.
    rounds = problem.horizon or 1
    fresh = best_batch(rounds, search.scheduled) or search.scheduled(1)
    lazy = best_batch(rounds, search.anchored, first=max(1, fresh[1].batch // 16))
    return search.finished(min(fresh, lazy or fresh)[1])


class _Search:
    """Makes parameters that meet the target and compares them."""

    def __init__(self, problem: Convex, target: Target) -> None:
        self._problem, self._target = problem, target
        self._rounds, self._slope = problem.horizon or 1, problem.lipschitz
        self._reach = self._slope * problem.domain.radius
        self._exact = problem.domain.dimension == 1
        share = 1.0 if self._exact else 1 - SAMPLER_SHARE
        self._draws = replace(target, epsilon=target.epsilon * _ROUNDING, delta=target.delta * share)
        self._rates = RateSearch(self._draws, LEAST_RATE / MOST_RATE)
        self._scale, self._force = 0.8, 0.15  # where the last search ended

    def finished(self, tuned: Tuning) -> tuple[Tuning, float]:
        """The rate that meets the target by the full conversion, and the sampler's distance."""
        if tuned.force < 1:
            rate = self._rates.exact(self._curves(tuned), self._most(tuned.batch), tuned.rate)
            tuned = self._at(tuned, rate)
        return tuned, self._distance(tuned.batch)

    def scheduled(self, batch: int) -> tuple[float, Tuning]:
        """The best parameters with a fresh draw after each batch: decisions of them, composed as Gaussian DP."""
        decisions = max(1, tosses(self._rounds, batch))
        mu = gaussian_mu(self._draws.epsilon, self._draws.delta) / sqrt(decisions) * (1 - 1e-10)
        mu /= self._target.rounds_per_person * self._target.relation.sides / 2
        spread = mu**2 / 2
        regularisation = self._regularisation(spread, batch)
        rate = spread * regularisation / self._slope**2
        return self._judged(Tuning(rate, regularisation, 1.0, rate * self._reach, batch))

    def anchored(self, batch: int) -> tuple[float, Tuning] | None:
        """The best parameters whose reference is the centre: h = beta L R never clips."""
        unit = self._slope * sqrt(self._rounds * batch) / self._problem.domain.radius

        def probe(scale: float, force: float) -> tuple[float, Tuning] | None:
            tried = Tuning(0.0, unit * scale, force, 0.0, batch)
            rate = self._rates.near(self._curves(tried), self._most(batch))
            return None if rate is None else self._judged(self._at(tried, rate))

        def best_force(scale: float) -> tuple[float, Tuning] | None:
            found = best_near(lambda force: probe(scale, force), self._force, *FORCES, *STEPS)
            self._force = found[1].force if found else self._force
            return found

        found = best_near(best_force, self._scale, *SCALES, *STEPS)
        self._scale = found[1].regularisation / unit if found else self._scale
        return found

    def _most(self, batch: int) -> float:
        return min(MOST_RATE, MOST_HAZARD / batch) / self._reach

    def _at(self, tuned: Tuning, rate: float) -> Tuning:
        return tuned._replace(rate=rate, clip=rate * self._reach)

    def _curves(self, tuned: Tuning) -> Callable[[float], Curve]:
        relation, rounds_per_person = self._target.relation, self._target.rounds_per_person
        return lambda rate: exact_curve(self._problem, self._at(tuned, rate), 0.0, relation, rounds_per_person)

    def _judged(self, tuned: Tuning) -> tuple[float, Tuning]:
        return certified_regret(self._problem, tuned, 0.0, self._distance(tuned.batch)), tuned

    def _distance(self, batch: int) -> float:
        price = (1 + exp(min(self._target.epsilon, 500.0))) * max(1, tosses(self._rounds, batch))
        return 0.0 if self._exact else self._target.delta * SAMPLER_SHARE / price * (1 - 1e-6)

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
