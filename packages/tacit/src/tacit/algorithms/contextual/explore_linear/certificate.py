"""The certified regret of ExploreLinear: Theorems 2 and 3 of docs/algorithms/explore-linear.md, the smaller one.

A phase has a model of the first m rounds' losses and the first n rounds' features, ridge L and Gram noise of at most nu
in spectral norm, except with probability eta. With

    v = K/4 + (p-1)/2,  fac = (1 + 1/L)^2/m,  U = L + 2 nu,  s = (m+1)/(m+1+L d),  tau = K^2 sigma_b^2
    B = fac d min(psi, max(v, q) s),   psi = max over z in [0, 1] of v (1-z)^2 + q z (1-z)
    b = R sqrt(fac U min(K/2, 4 d min(1/4, s)))
    either q = tau/L and e = (K-1)/sqrt(K),  or (p = 1) q = max(tau, v U)/L and e = sqrt(2 ln K) + ln K sqrt(K/L)/3

a round of the phase costs at most min(Delta, e sqrt(B) + b + what is not linear) + eta Delta. All numbers are public,
any of them is valid, and the sum is rounded up. Theorem 3 (`Joint`) looks at exploration and all phases together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, log2
from typing import Any

import numpy as np

from tacit.algorithms.contextual.explore_linear.release import Lattice
from tacit.noise.sampler_bounds import WIDE_DISTANCE, WIDE_FAILURE
from tacit.problems import ContextualArms
from tacit.validation import FloatArray

DEVIATIONS = 4.0  # t: Gram noise is larger than (sqrt(2 d) + t) sigma with probability 2 e^{-t^2/2}
RIDGES = np.geomspace(1.0, 1e7, 700)
STARTS = ((-2.0, -0.5, 1.0), (-1.0, 0.5, 2.0), (0.1, 0.5, 1.0, 1.6), (-0.5, 0.3, 1.0))  # of the search of Theorem 3
MOST_JOINT = 32  # actions, beyond which Theorem 3 gains nothing
ROUNDED_UP = 1 + 2.0**-40  # more than the roundings of a few hundred operations on positive numbers


@dataclass(frozen=True)
class Phase:
    """Rounds that share a model: it knows the features of the first `known` rounds, in `releases` noisy sums."""

    first: int
    last: int
    known: int
    releases: int


def phases(explore: int, horizon: int, delay: int) -> Iterator[Phase]:
    """The phases of greedy rounds; a model is refreshed when the rounds whose features it knows have doubled."""
    known, releases = explore, 1
    while known + delay < horizon:
        yield Phase(known + delay, min(2 * known + delay, horizon), known, releases)
        known, releases = 2 * known, releases + 1


def weight_bits(dimension: int) -> int:
    """Bits of a model's weights: their products with features add up below 2^53, where float64 is exact."""
    return 32 - ceil(log2(dimension) / 2)


@dataclass(frozen=True)
class Certificate:
    """Regret bounds for one problem and one noise."""

    problem: ContextualArms
    lattice: Lattice
    rounds_per_person: int

    @property
    def _answered(self) -> float:
        """Missing feedback shrinks all gaps by this factor."""
        return 1 - self.problem.missing

    @property
    def _gap(self) -> float:
        return self.problem.largest_gap * self._answered

    def spectral(self, explore: int, phase: Phase) -> float:
        """Nu: the Gram noise that is exceeded with probability at most 2 e^{-t^2/2} and d^2 2^-100."""
        lattice, d = self.lattice, self.problem.dimension
        if lattice.public:
            return 0.0
        noise = np.sqrt(lattice.gram_noise**2 + (phase.releases - 1) * lattice.later_noise**2)
        # Whole draws are coupled to true Gaussians, within the distance a coordinate.
        longest = np.sqrt(2.0 * d) + DEVIATIONS + 2 * d * phase.releases * WIDE_DISTANCE
        return float(explore / phase.known * noise * longest) * ROUNDED_UP

    def round_cost(self, explore: int, phase: Phase, ridges: FloatArray) -> FloatArray:
        """What a round of the phase costs at most in expectation, for each ridge."""
        n, d, m, L = self.problem.n, self.problem.dimension, explore, ridges
        variances, bias, failure = self._terms(explore, phase, ridges)
        longest = m / n + np.sqrt(m) / 2 + self.lattice.cross_noise * np.sqrt(d * n)  # E max_a |C_a|
        rounded = np.sqrt(d) * 2.0 ** (1 - weight_bits(d)) * n / L * longest
        spread = np.min([_width(way, n - 1, n, L) * np.sqrt(B) for way, B in enumerate(variances)], axis=0)
        return np.asarray(np.minimum(self._gap, spread + bias + rounded) + failure * self._gap)

    def _terms(self, m: int, phase: Phase, L: FloatArray) -> tuple[list[FloatArray], FloatArray, float]:
        """B for both ways, b with what is not linear, and eta."""
        n, d, R = self.problem.n, self.problem.dimension, self.problem.radius * self._answered
        nu = self.spectral(m, phase)
        noisy = 0.0 if self.lattice.public else 2 * np.exp(-(DEVIATIONS**2) / 2)
        eta = float(noisy + d * d * phase.releases * WIDE_FAILURE)
        v, tau = n / 4 + (self.rounds_per_person - 1) / 2, n**2 * self.lattice.cross_noise**2
        fac, U = (1 + 1 / L) ** 2 / m, L + 2 * nu
        share = (m + 1) / (m + 1 + L * d)
        b = R * np.sqrt(fac * U * np.minimum(n / 2, 4 * d * np.minimum(0.25, share)))
        crooked = self._crooked() * (2 + np.sqrt(2.0 * n) * (1 + 1 / L) * (1 + 1 / (1 + L)))
        quotients = [tau / L] + ([np.maximum(tau, v * U) / L] if self.rounds_per_person == 1 else [])
        variances = [fac * d * np.minimum(_psi(v, q), np.maximum(v, q) * share) for q in quotients]
        return variances, b + crooked, eta

    def _crooked(self) -> float:
        """Xi: how far expected losses may be from linear ones, with what quantising features and losses adds."""
        problem, units = self.problem, self.lattice.units
        return (problem.misspecification + problem.radius * float(np.sqrt(problem.dimension)) / units) * (
            self._answered
        ) + 1 / (4 * units)

    def regret(self, explore: int, ridges: tuple[float, ...]) -> float:
        """The certified regret over the horizon, in units of loss: the smaller of Theorems 2 and 3."""
        return float(min(self.regret_of_rounds(explore, ridges), self.joint_regret(explore, ridges)))

    def regret_of_rounds(self, explore: int, ridges: tuple[float, ...]) -> float:
        """Theorem 2: every round by itself."""
        made = zip(phases(explore, self.problem.horizon or 0, self.problem.delay), ridges, strict=True)
        costs = [
            (phase.last - phase.first) * float(self.round_cost(explore, phase, np.array([ridge]))[0])
            for phase, ridge in made
        ]
        return self._added(explore, sum(costs))

    def joint_regret(self, explore: int, ridges: tuple[float, ...]) -> float:
        """Theorem 3: exploration and all phases at the same features, with the best parameters of a short search."""
        if self.problem.n > MOST_JOINT:
            return float("inf")
        joint = self.joint(explore, ridges)

        def total(place: FloatArray) -> float:
            near, theta = self._gap / (1 + np.exp(place[0])), 1 / (1 + np.exp(place[1]))
            first, second = np.exp(place[2:])
            return joint.bound(near, theta, *joint.multipliers(first, second))

        start = min((np.array(place) for place in product(*STARTS)), key=total)
        if not np.isfinite(total(start)):
            return np.inf
        from scipy.optimize import minimize  # when it is used: it takes long to load

        found = minimize(total, start, method="Nelder-Mead", options={"maxfev": 400, "xatol": 1e-3, "fatol": 1e-3})
        return min(total(start), total(found.x)) / self._answered * self.problem.width * ROUNDED_UP

    def joint(self, explore: int, ridges: tuple[float, ...]) -> Joint:
        """What Theorem 3 needs of exploration and of each phase."""
        problem, n = self.problem, self.problem.n
        made = list(zip(phases(explore, problem.horizon or 0, problem.delay), ridges, strict=True))
        terms = [self._best_terms(explore, phase, ridge) for phase, ridge in made]
        return Joint(
            gap=self._gap,
            explored=min(explore + problem.delay, problem.horizon or 0),
            rounds=np.array([float(phase.last - phase.first) for phase, _ in made]),
            variance=np.array([term[0] for term in terms]),
            bias=np.array([term[1] for term in terms]),
            failure=np.array([term[2] for term in terms]),
            widths=np.array([[_width(term[3], k, n, term[4]) for term in terms] for k in range(n)]),
        )

    def _best_terms(self, explore: int, phase: Phase, ridge: float) -> tuple[float, float, float, int, float]:
        """B, b, eta and the way of one phase that are best under Theorem 2; rounded weights count in b for certain."""
        n, d = self.problem.n, self.problem.dimension
        # Noise of d K coordinates is longer than this with probability below e^{-50}.
        longest = explore / 2 + self.lattice.cross_noise * (np.sqrt(d * n) + 10)
        rounded = float(np.sqrt(d) * 2.0 ** (1 - weight_bits(d)) * n / ridge * longest)
        (variances, bias, failure), made = self._terms(explore, phase, np.array([ridge])), []
        for way, B in enumerate(variances):
            cost = _width(way, n - 1, n, ridge) * float(B[0]) ** 0.5 + float(bias[0]) + failure
            made.append((cost, (float(B[0]), float(bias[0]) + rounded, failure + 1e-20, way, ridge)))
        return min(made)[1]

    def best_ridges(self, explore: int) -> tuple[float, tuple[float, ...]]:
        """The certified regret of exploring so long with the best ridges of a public grid, and those."""
        total, found = 0.0, []
        for phase in phases(explore, self.problem.horizon or 0, self.problem.delay):
            costs = self.round_cost(explore, phase, RIDGES)
            total += (phase.last - phase.first) * float(costs.min())
            found.append(float(RIDGES[costs.argmin()]))
        return self._added(explore, total), tuple(found)

    def _added(self, explore: int, greedy: float) -> float:
        """Exploring rounds, those that wait for the last exploring feedback, and greedy ones."""
        problem = self.problem
        blind = min(explore + problem.delay, problem.horizon or 0) * self._gap * (1 - 1 / problem.n)
        return (blind + greedy) / self._answered * problem.width * ROUNDED_UP


@dataclass(frozen=True)
class Joint:
    """Theorem 3: an action is either far at some features, and rarely confused there, or near, and cheap to explore."""

    gap: float  # Delta
    explored: int  # m + D
    rounds: FloatArray  # T_j
    variance: FloatArray  # B_j
    bias: FloatArray  # b_j
    failure: FloatArray  # eta_j
    widths: FloatArray  # e_k of each phase, one row for each k = 0..K-1

    def multipliers(self, first: float, second: float) -> tuple[FloatArray, FloatArray]:
        """l1 and l2 of each phase; at 1, 1 what balances e sqrt(V) against l1 V, and beta against l2 beta^2."""
        return first * self.widths[-1] / (2 * np.sqrt(self.variance)), second / (2 * self.bias)

    def bound(self, near: float, theta: float, l1: FloatArray, l2: FloatArray) -> float:
        """The regret bound with these parameters (infinite: they are none of the theorem's)."""
        paid = float(self.rounds @ (l1 * self.variance + l2 * self.bias**2 + self.failure * self.gap))
        return paid + self.left(near, theta, l1, l2)

    def left(self, near: float, theta: float, l1: FloatArray, l2: FloatArray) -> float:
        """What is left at the worst gaps after l1 V + l2 beta^2 was subtracted in every round."""
        n, gap, worst = len(self.widths), self.gap, -np.inf
        peak = np.maximum(theta * near, 1 / (2 * l2))
        biased = self.widths[-1] ** 2 / (4 * l1) + peak - l2 * peak**2
        for k in range(n):
            for close in {0, n - 1 - k}:
                far = n - 1 - k - close
                c = 2 * close / (near * (1 - theta) ** 2) + 2 * far * gap / (gap - theta * near) ** 2
                if not np.all(c < l1):
                    return np.inf
                unbiased = self.widths[k] ** 2 / (4 * (l1 - c)) + (1 / (4 * l2) if k else 0.0)
                explored = self.explored / n * ((k + close) * near + far * gap)
                worst = max(worst, explored + float(self.rounds @ np.maximum(biased, unbiased)))
        return worst


def _width(way: int, others: int, n: int, L: Any) -> Any:
    """Give e for the best action and `others` more: by second moments, or by Bennett's inequality."""
    if way == 0:
        return others / np.sqrt(others + 1)
    return np.sqrt(2 * np.log(others + 1)) + np.log(others + 1) * np.sqrt(n / L) / 3


def _psi(v: float, q: FloatArray) -> FloatArray:
    """The maximum of v (1-x)^2 + q x (1-x) for x from 0 to 1: at 0 if q <= 2 v, else at (q - 2 v)/(2 (q - v))."""
    place = np.where(q > 2 * v, (q - 2 * v) / np.where(q > 2 * v, 2 * (q - v), 1.0), 0.0)
    return np.asarray(v * (1 - place) ** 2 + q * place * (1 - place))
