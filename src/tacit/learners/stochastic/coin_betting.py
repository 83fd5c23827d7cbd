"""Parameter-free learners: bet a fraction of the wealth won so far; no learning rate at all.

`KrichevskyTrofimov` (Orabona and Pal 2016): regret <= |u| G sqrt(T ln(1 + 24 T^2 |u|^2 G^2/w^2)) + w at every u.
`BettingGrid` also adapts to small gradients. Its magnitude is the wealth of a uniform mixture of constant bettors,
fractions +-2^-j/(2G), j < K; its direction is adaptive descent on the unit ball (Cutkosky and Orabona 2018).
Each bettor has ln(1 - l s) >= -l s - l^2 s^2, and the best fraction is within a factor that costs 8/9 of the
exponent, so wealth >= (w/2K) exp(psi(|S|)), psi(S) = min(2 S^2/(9 V), S/(4 G)), V = sum s_t^2, unless
|S| <= G T/2^(K-1). Hence for every u (wealth above w + |u| G T contradicts |u||S| <= |u| G T)

    regret <= w + |u| max(sqrt(4.5 V Y), 4 G Y, G T/2^(K-1)) + |u| sqrt(8 sum |g_t|^2),  Y = ln(1 + 2K |u| G T/w).

Both are for the whole space; on a domain the point is projected and the surrogate (g + |g| n)/2 is fed, n the
outward direction, at twice the regret. Gradients longer than the declared bound are scaled down to it: the regret
is then that of the scaled gradients. |u| is the distance from the first point. The paper's regularisers xi, nu have a
universal constant that it does not give: they are left out here, and `confident_betting` has explicit ones.
"""

from __future__ import annotations

from abc import abstractmethod
from math import ceil, log, log1p, log2, sqrt

import numpy as np

from tacit.geometry import Ball
from tacit.geometry.base import ProjectableSet
from tacit.learners.stochastic.common import Initial, OnlineLearner
from tacit.learners.stochastic.subgradient import Subgradient
from tacit.learners.target import RegretBound
from tacit.validation import FloatArray, check_integer, check_positive

_MOST = 600.0  # wealth saturates at e^600: beyond it float64 overflows


class Bettor(OnlineLearner):
    """What both bettors share: the projection, the surrogate gradient and the clipping."""

    def __init__(
        self, domain: ProjectableSet, gradient_bound: float, wealth: float | None = None, initial: Initial = None
    ) -> None:
        super().__init__(domain, initial=initial)
        owner = type(self).__name__
        self.gradient_bound = check_positive(owner, "gradient_bound", gradient_bound)
        self.wealth = check_positive(owner, "wealth", gradient_bound * self.reach if wealth is None else wealth)
        self._free = np.zeros(domain.dimension)  # where the bettor stands, relative to the first point
        self._squares = 0.0
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Nothing was won or lost so far."""

    def _update(self, gradient: FloatArray) -> None:
        size = sqrt(float(gradient @ gradient))
        if size > self.gradient_bound:
            gradient, size = gradient * (self.gradient_bound / size), self.gradient_bound
        self._squares += size**2
        outward = self._free - (self._point - self._start)
        distance = sqrt(float(outward @ outward))
        if distance > 1e-12 * self.domain.radius:
            gradient = (gradient + outward * (size / distance)) / 2
        else:
            gradient = gradient / 2
        self._bet(gradient)
        self._point = self.domain._project(self._start + self._free)

    @abstractmethod
    def regret_within(self, distance: float, squares: float, rounds: int) -> float:
        """A bound on the regret against points at most so far from the first one, V = `squares` for sum |g_t|^2."""

    @abstractmethod
    def _bet(self, gradient: FloatArray) -> None:
        """Take a gradient of norm at most the bound and move `_free`."""

    def expected_regret(self, sizes: FloatArray, changes: FloatArray) -> float:
        """No bound holds in expectation: noisy gradients may exceed the declared bound."""
        return float("inf")

    def _shown(self) -> str:
        return f"{self.domain!r}, gradient_bound={self.gradient_bound!r}, wealth={self.wealth!r}"


class KrichevskyTrofimov(Bettor):
    """Coin betting with the Krichevsky-Trofimov fraction.

    Attributes:
        gradient_bound: G; longer gradients are scaled down to it.
        wealth: what may be lost against the first point (default G times its largest distance from another).

    >>> learner = KrichevskyTrofimov(Ball(1, radius=10.0), gradient_bound=1.0, wealth=1.0)
    >>> learner.observe([-1.0])
    >>> learner.play()
    array([0.25])
    """

    def _begin(self) -> None:
        self._coins = np.zeros(self.domain.dimension)
        self._won = 0.0

    def _bet(self, gradient: FloatArray) -> None:
        # In units of G: coins c = -g/G, wealth w/G + sum <c, free>, fraction sum c/t.
        self._won -= float(gradient @ self._free)
        self._coins = self._coins - gradient / self.gradient_bound
        held = (self.wealth + self._won) / self.gradient_bound
        self._free = self._coins * (held / (self._rounds + 2))

    def regret_within(self, distance: float, squares: float, rounds: int) -> float:
        """2 (R G sqrt(T ln(1 + 24 T^2 R^2 G^2/w^2)) + w), R the distance."""
        share = distance * self.gradient_bound / self.wealth
        value = distance * self.gradient_bound * sqrt(rounds * log1p(24 * (rounds * share) ** 2)) + self.wealth
        return 2 * value

    def regret_bound(self) -> RegretBound:
        """That of `regret_within` for the whole domain."""
        formula = "2 (R G sqrt(T ln(1 + 24 T^2 R^2 G^2/w^2)) + w)"
        value = self.regret_within(self.reach, self._squares, self._rounds)
        return RegretBound(value, formula, ("gradients scaled down to G",))


class BettingGrid(Bettor):
    """A mixture of constant bettors times a direction: adapts to the comparator and to the gradients' sizes.

    Attributes:
        gradient_bound: G; longer gradients are scaled down to it.
        horizon: an upper bound on the rounds (sets the finest fraction).
        wealth: what may be lost against the first point (default G times its largest distance from another).

    >>> learner = BettingGrid(Ball(1, radius=10.0), gradient_bound=1.0, horizon=100)
    >>> for _ in range(40):
    ...     learner.observe([-1.0])
    >>> bool(learner.play()[0] > 5)
    True
    """

    def __init__(
        self,
        domain: ProjectableSet,
        gradient_bound: float,
        horizon: int,
        wealth: float | None = None,
        initial: Initial = None,
    ) -> None:
        self.horizon = check_integer("BettingGrid", "horizon", horizon)
        super().__init__(domain, gradient_bound, wealth, initial)

    def _begin(self) -> None:
        self.levels = ceil(log2(self.horizon)) + 1
        half = 0.5 ** np.arange(1, self.levels + 1) / self.gradient_bound
        self._fractions = np.concatenate([half, -half])
        self._log_wealth = np.zeros(2 * self.levels)
        self._direction = Subgradient(Ball(self.domain.dimension))

    def _bet(self, gradient: FloatArray) -> None:
        direction = self._direction.play()
        self._log_wealth += np.log1p(-self._fractions * float(gradient @ direction))
        self._direction.observe(gradient)
        wealths = np.exp(np.minimum(self._log_wealth, _MOST))
        magnitude = self.wealth / (2 * self.levels) * float(self._fractions @ wealths)
        self._free = self._direction.play() * magnitude

    def regret_within(self, distance: float, squares: float, rounds: int) -> float:
        """Twice the bound of the module's docstring at |u| = R, with sum |g_t|^2 for V."""
        bound = self.gradient_bound
        logarithm = log(1 + 2 * self.levels * distance * bound * rounds / self.wealth)
        least = bound * rounds / 2 ** (self.levels - 1)
        most = max(sqrt(4.5 * squares * logarithm), 4 * bound * logarithm, least)
        return float(2 * (self.wealth + distance * (most + sqrt(8 * squares))))

    def regret_bound(self) -> RegretBound:
        """That of `regret_within` for the whole domain."""
        formula = "2 (w + R (max(sqrt(4.5 V Y), 4 G Y, G T/2^(K-1)) + sqrt(8 V))), V = sum |g_t|^2"
        value = self.regret_within(self.reach, self._squares, max(self._rounds, 1))
        return RegretBound(value, formula, ("gradients scaled down to G", f"at most {self.horizon} rounds"))

    def _shown(self) -> str:
        return f"{super()._shown()}, horizon={self.horizon!r}"
