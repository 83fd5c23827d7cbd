"""Coin betting: bet a fraction of the wealth won so far; no learning rate at all.

The magnitude of `BettingGrid` is the wealth of a uniform mixture of constant bettors, fractions +-2^-j/(2G), j < K; its
direction is adaptive descent on the unit ball (Cutkosky and Orabona 2018). Gradients longer than the declared bound are
scaled down to it.

`RegularisedBetting` has the regularisers of Theorem 11, whose universal constant the paper does not give.
`ConfidentBetting` penalises gradients by their largest error, so that excess risk holds in a single run: Theorems 10
and 11 with explicit constants in place of the regularisers.
The bettor sees g_t + c_t (w_t - x_1)/|w_t - x_1|, c_t a bound on |error_t| for all t at once (`largest_errors`):

    L(x) - L(u) <= (Regret of the bettor at |u - x_1| + 2 |u - x_1| sum c_t)/beta_{1:T+1}   with probability 1 - f.

Proofs: docs/algorithms/online-to-batch.md.
"""

from __future__ import annotations

from math import ceil, log, log2, sqrt

import numpy as np

from tacit.algorithms.stochastic.online_to_batch.conversion import Conversion
from tacit.algorithms.stochastic.online_to_batch.descent import Initial, OnlineLearner, Subgradient
from tacit.domains import Ball
from tacit.domains.convex_set import ProjectableSet
from tacit.runtime.target import check_confidence
from tacit.validation import FloatArray, check_integer, check_positive

_MOST = 600.0  # wealth saturates at e^600: beyond it float64 overflows


class BettingGrid(OnlineLearner):
    """A mixture of constant bettors times a direction: adapts to the comparator and to the gradients' sizes.

    Attributes:
        gradient_bound: G; longer gradients are scaled down to it.
        horizon: an upper bound on the rounds (sets the finest fraction).
        wealth: what may be lost against the first point (default G times its largest distance from another).
    """

    def __init__(
        self,
        domain: ProjectableSet,
        gradient_bound: float,
        horizon: int,
        wealth: float | None = None,
        initial: Initial = None,
    ) -> None:
        super().__init__(domain, initial=initial)
        self.gradient_bound = check_positive("BettingGrid", "gradient_bound", gradient_bound)
        self.horizon = check_integer("BettingGrid", "horizon", horizon)
        self.wealth = check_positive("BettingGrid", "wealth", gradient_bound * self.reach if wealth is None else wealth)
        self.levels = ceil(log2(self.horizon)) + 1
        half = 0.5 ** np.arange(1, self.levels + 1) / self.gradient_bound
        self._fractions = np.concatenate([half, -half])
        self._log_wealth = np.zeros(2 * self.levels)
        self._direction = Subgradient(Ball(self.domain.dimension))
        self._free = np.zeros(domain.dimension)  # where the bettor stands, relative to the first point

    def _update(self, gradient: FloatArray) -> None:
        size = sqrt(float(gradient @ gradient))
        if size > self.gradient_bound:
            gradient, size = gradient * (self.gradient_bound / size), self.gradient_bound
        outward = self._free - (self._point - self._start)
        distance = sqrt(float(outward @ outward))
        if distance > 1e-12 * self.domain.radius:
            gradient = gradient + outward * (size / distance)
        gradient = gradient / 2
        direction = self._direction.play()
        self._log_wealth += np.log1p(-self._fractions * float(gradient @ direction))
        self._direction.observe(gradient)
        wealths = np.exp(np.minimum(self._log_wealth, _MOST))
        magnitude = self.wealth / (2 * self.levels) * float(self._fractions @ wealths)
        self._free = self._direction.play() * magnitude
        self._point = self.domain.nearest(self._start + self._free)

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """No bound holds in expectation: noisy gradients may exceed the declared bound."""
        return float("inf")

    def regret_within(self, distance: float, squares: float, rounds: int) -> float:
        """A bound on the regret against points at most R = `distance` from the first one, V = `squares`, sum |g_t|^2.

        2 (w + R max(sqrt(4.5 V Y), 4 G Y, G T/2^(K-1)) + R sqrt(8 V)), Y = ln(1 + 2K R G T/w).
        """
        bound = self.gradient_bound
        logarithm = log(1 + 2 * self.levels * distance * bound * rounds / self.wealth)
        least = bound * rounds / 2 ** (self.levels - 1)
        most = max(sqrt(4.5 * squares * logarithm), 4 * bound * logarithm, least)
        return float(2 * (self.wealth + distance * (most + sqrt(8 * squares))))

    def _shown(self) -> str:
        known = f"gradient_bound={self.gradient_bound!r}, wealth={self.wealth!r}, horizon={self.horizon!r}"
        return f"{self.domain!r}, {known}"


class ConfidentBetting(OnlineLearner):
    """A fresh bettor behind penalties c_1, c_2, ...; `OnlineToBatch` makes it where a `confidence` is asked for.

    Attributes:
        bettor: the bettor; its gradient bound must be at least the largest beta_t G + 2 c_t.
        penalties: c_t, in the order of the rounds.
        confidence: the probability with which no error exceeds its penalty.
    """

    def __init__(self, bettor: BettingGrid, penalties: FloatArray, confidence: float) -> None:
        super().__init__(bettor.domain, initial=bettor.initial)
        check_confidence("ConfidentBetting", confidence)
        self.confidence = confidence
        self.bettor = bettor
        self.penalties = tuple(np.asarray(penalties, dtype=np.float64).tolist())

    def _update(self, gradient: FloatArray) -> None:
        away = self._point - self._start
        distance = float(np.sqrt(away @ away))
        penalty = self.penalties[min(self._rounds, len(self.penalties) - 1)]
        self.bettor.observe(gradient + away * (penalty / distance) if distance > 0 else gradient)
        self._point = self.bettor.play()

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """Nothing is proved in expectation."""
        return float("inf")

    def risk_within(self, distance: float, conversion: Conversion) -> float:
        """The bound of the module's docstring, or infinity if the penalties are not those of the conversion."""
        if conversion.plan.norm.power != 2.0 or conversion.plan.mechanism.noise != "gaussian":
            return float("inf")
        largest = conversion.largest_errors(1 - self.confidence)
        sizes = gradient_sizes(conversion, largest)
        if self.penalties != tuple(largest.tolist()) or float(sizes.max()) > self.bettor.gradient_bound:
            return float("inf")
        regret = self.bettor.regret_within(distance, float(np.sum(sizes**2)), sizes.size)
        return (regret + 2 * distance * float(np.sum(largest))) / float(np.sum(conversion.weights))

    def _shown(self) -> str:
        return f"{self.bettor!r}, confidence={self.confidence!r}"


class RegularisedBetting(OnlineLearner):
    """A fresh bettor on the regularised losses of Theorem 11: <g_t, w> + xi_t |w| + nu_t |w|^2, w from the first point.

    Attributes:
        bettor: the bettor; its gradient bound is the printed one.
        first: xi_t over t^(5/2), but for the noise.
        second: the noise's part of xi_t over t^2.
        square: nu_t over t^(5/2).
    """

    def __init__(self, bettor: BettingGrid, first: float, second: float, square: float) -> None:
        super().__init__(bettor.domain, initial=bettor.initial)
        self.bettor = bettor
        self.first = check_positive("RegularisedBetting", "first", first)
        self.second = check_positive("RegularisedBetting", "second", second)
        self.square = check_positive("RegularisedBetting", "square", square)

    def regularisers(self, step: int) -> tuple[float, float]:
        """Return xi_t and nu_t."""
        growth = step**2.5
        return self.first * growth + self.second * step**2, self.square * growth

    def _update(self, gradient: FloatArray) -> None:
        away = self._point - self._start
        distance = sqrt(float(away @ away))
        xi, nu = self.regularisers(self._rounds + 1)
        # At the first point 0 is a subgradient of the norm.
        pull = xi / distance + 2 * nu if distance > 0 else 0.0
        self.bettor.observe(gradient + pull * away)
        self._point = self.bettor.play()

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """Nothing is proved in expectation."""
        return float("inf")

    def _shown(self) -> str:
        return f"{self.bettor!r}, first={self.first!r}, second={self.second!r}, square={self.square!r}"


def gradient_sizes(conversion: Conversion, largest: FloatArray) -> FloatArray:
    """beta_t G + 2 c_t."""
    return np.asarray(conversion.weights * conversion.slope + 2 * largest)
