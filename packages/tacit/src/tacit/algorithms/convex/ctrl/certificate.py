"""Everything CTRL certifies, as numbers: functions of public facts and of eta, sigma, the force and log Phi.

The plan shows them and the search minimises over them; the proofs are in docs/algorithms/ctrl.md. Coins are exact up to
two errors, which the accountant adds to what a later coin may drift: nu_1, because the barrier's Hessian stands at the
minimiser that was found, and nu_2, rounding. Redraws are at most a sum of independent coins in law (Lemma 5), so their
tail is binomial, and a limit on them is post-processing, which costs no privacy. A draw has a log ratio z of

    |z| <= M = offset + slope * chi,    offset = ld + k^2 G^2/(2 sigma^2),    slope = k G/sigma,

where chi is the norm of a standard Gaussian vector (generalised linear losses: of a standard Gaussian number), ld
bounds the log determinants, and k = 2m if m rounds are replaced, m if they are zeroed out. Since E[e^z] = 1, for a > 1

    E[e^{az}] <= 1 + E[phi(M)],   phi(z) = e^{az} - 1 - a(e^z - 1) >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erfc, expm1, inf, log, log1p, sqrt

import numpy as np
from scipy.special import bdtrc, gammaincc, gammaln, ndtri

from tacit.accounting.curves import Curve
from tacit.accounting.guarantee import Relation
from tacit.accounting.lazy import LazyChain
from tacit.algorithms.convex.ctrl.coupled import RENEWAL, barrier_domain
from tacit.losses.loss import LinkLoss
from tacit.noise.sampler_bounds import chi_mean, chi_quantile
from tacit.problems import Convex
from tacit.solvers.loss_sums import UNIT
from tacit.solvers.minimum import attainable_accuracy, truncated_norm
from tacit.validation import FloatArray, check_integer, check_number


def overrun(tosses: int, mean: float, limit: int) -> float:
    """A bound on the probability with which redraws of this mean exceed the limit."""
    check_integer("overrun", "limit", limit, at_least=0)
    if limit >= tosses:
        return 0.0
    return float(bdtrc(limit, tosses, mean / tosses)) if mean <= limit else 1.0


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
# The quadrature is good to 1e-12 (tests compare it with 30 digits); this is on the private side.
_QUADRATURE = 1.0 + 1e-9
_SERIES = 14


@dataclass(frozen=True)
class PerturbedMinimiser(Curve):
    """One draw of a perturbed minimiser: |log ratio| <= offset + slope chi, plus a Gaussian shift.

    Attributes:
        degrees: degrees of freedom of chi (1 for generalised linear losses).
        offset: what the log ratio may reach without noise.
        slope: what each unit of chi adds.
        shift: Gaussian DP mu of the release noise that covers inexact minimisation.
    """

    degrees: int
    offset: float
    slope: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_integer("PerturbedMinimiser", "degrees", self.degrees)
        for name in ("offset", "slope", "shift"):
            check_number("PerturbedMinimiser", name, getattr(self, name), above=0.0, closed_low=True)

    def renyi(self, orders: FloatArray) -> FloatArray:
        orders = np.asarray(orders, dtype=np.float64)
        log_excess = log_excess_moment(orders, self.degrees, self.offset, self.slope)
        moment = np.logaddexp(0.0, log_excess) / (orders - 1)
        return np.asarray((moment + orders * self.shift**2 / 2) * _QUADRATURE)


def log_excess_moment(orders: FloatArray, degrees: int, offset: float, slope: float) -> FloatArray:
    """The logarithm of E[phi(offset + slope chi)] at each order, by Gauss-Legendre where the integrand lives."""
    a = orders[:, None]
    # The integrand x^{d-1} e^{-x^2/2} phi peaks between sqrt(d-1) and the peak with phi replaced by M^2 e^{aM}
    # (close to the latter once the tilt is large), and falls at least as fast as a Gaussian on both sides.
    tilt = a * slope
    high = (tilt + np.sqrt(tilt**2 + 4 * (degrees + 1.0))) / 2 + 13.0
    low = np.where(tilt > 20.0, high - 27.0, max(0.0, np.sqrt(degrees - 1.0) - 13.0))
    half = (high - low) / 2
    x = low + half * (1 + _NODES)
    log_density = (degrees - 1) * np.log(x) - x**2 / 2 - (degrees / 2 - 1) * np.log(2) - gammaln(degrees / 2)
    terms = log_density + _log_phi(a, offset + slope * x) + np.log(half * _WEIGHTS)
    top = np.max(terms, axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return np.asarray(top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1)))


def ctrl_chain(
    *,
    rounds: int,
    dimension: int,
    linear_model: bool,
    lipschitz: float,
    smoothness: float,
    eta: float,
    sigma: float,
    force: float,
    log_phi: float,
    shift: float,
    relation: Relation,
    rounds_per_person: int,
    coin_error: float = 0.0,
) -> LazyChain:
    """The chain of CTRL: coins in (1-p)[Phi^-2, 1]; later coins drift by the second-order bound.

    The coin of a changed round may move over its whole range, 2 log Phi. Later coins see the change only in
    grad J and hess J: by at most m s2 = m (k/m)(G/sigma)^2 + m eta^2 beta^2 d (d = 1 for linear models), and by
    what is wrong with the two coins themselves, `coin_error` each.
    """
    m = rounds_per_person
    sides = relation.sides
    move = sides * m * lipschitz / sigma
    if linear_model:
        degrees = 1
        growth = m * log_growth(eta * smoothness, 1)
    else:
        degrees = dimension
        growth = dimension * float(np.log1p(m * eta * smoothness))
    draw = PerturbedMinimiser(degrees, float(growth + move**2 / 2), move, shift)
    drift = m * (sides * (lipschitz / sigma) ** 2 + (eta * smoothness) ** 2 * degrees)
    return LazyChain.of_hazards(
        decisions=rounds - 1,
        least=-float(np.log1p(-force)),
        spread=2 * log_phi,
        bit=2 * log_phi,
        draw=draw,
        rounds_per_person=m,
        drift=min(drift + 2 * coin_error, 2 * log_phi),
    )


def log_growth(trace: float, rank: int) -> float:
    """The most by which a matrix of this rank and trace (in units of the ridge) moves a log determinant.

    Eigenvalues l_1, ..., l_r >= 0 with a sum of at most the trace: sum ln(1 + l_i) is largest if they are equal.
    """
    return float(rank * np.log1p(trace / rank))


def _log_phi(a: FloatArray, m: FloatArray) -> FloatArray:
    """The logarithm of e^{am} - 1 - a(e^m - 1) for m > 0, without cancellation."""
    am = a * m
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        small_am = np.minimum(am, 1.0)
        # phi = sum_{k>=2} (a^k - a) m^k/k!, every term positive.
        log_a = np.log1p(a - 1)
        series = np.zeros_like(am)
        term = small_am * np.minimum(m, 1.0)  # a m^k/k!, times a^{k-1} - 1 in the sum
        for k in range(2, _SERIES):
            term = term / k if k == 2 else term * m / k
            series = series + term * np.expm1((k - 1) * log_a)
        small = np.log(series)
        # e^{am}(1 - e^{-am}(1 + a(e^m - 1)))
        share = np.exp(-am) + a * (np.exp(m - am) - np.exp(-am))
        large = am + np.log1p(-np.minimum(share, 1.0))
    return np.where(am < 0.5, small, large)


class Facts:
    """What is public before any parameter is chosen.

    Attributes:
        problem: the problem, of a known horizon.
        relation: which data sets are neighbours.
        rounds_per_person: how many rounds one person may stand in.
        rounds: the horizon.
        domain: the domain, which has a barrier.
        dimension: that of the affine hull.
        lipschitz: the largest gradient G.
        smoothness: the largest curvature beta.
        linear_model: whether a loss bends along one direction only.
        degrees: along how many directions a loss bends, k.
        features: a bound on the norm of features.
    """

    def __init__(self, problem: Convex, relation: Relation, rounds_per_person: int) -> None:
        self.problem, self.relation, self.rounds_per_person = problem, relation, rounds_per_person
        self.rounds = problem.horizon or 1
        self.domain = barrier_domain(problem, "CTRL")
        self.dimension = self.domain.hull_dimension
        self.lipschitz, self.smoothness = problem.lipschitz, problem.smoothness
        self.linear_model = problem.loss.family != "general"
        self.degrees = 1 if self.linear_model else self.dimension
        self.features = problem.loss.data_norm if isinstance(problem.loss, LinkLoss) else 1.0

    @cached_property
    def weight(self) -> float:
        """The weight with which the barrier adds at most G D on the domain shrunk by 1/T around its centre.

        There a self-concordant barrier of parameter nu exceeds its value at the centre by at most nu ln T.
        """
        barrier = self.domain.hull_barrier
        grown = barrier.value(np.zeros(self.dimension)) + barrier.parameter * max(1.0, log(self.rounds))
        return self.lipschitz * self.domain.diameter / grown

    @cached_property
    def longest_noise(self) -> float:
        """q: the largest norm of the noise over sigma."""
        return truncated_norm(self.dimension)

    @cached_property
    def chi(self) -> float:
        """The mean norm of a standard Gaussian vector."""
        return chi_mean(self.dimension)

    def accuracy(self, ridge: float, sigma: float) -> float:
        """The distance from the exact minimiser, with noise of at most this deviation, that float64 certifies."""
        return attainable_accuracy(
            rounds=self.rounds,
            dimension=self.dimension,
            lipschitz=self.lipschitz,
            smoothness=self.smoothness,
            ridge=ridge,
            noise=sigma * self.longest_noise,
            domain=self.domain,
            weight=self.weight,
        )

    def log_growth(self, eta: float) -> float:
        """The most by which one round moves the log determinant."""
        trace = eta * self.smoothness
        return log_growth(trace if self.linear_model else trace * self.degrees, self.degrees)

    def log_range(self, eta: float, sigma: float, miss: float) -> float:
        """The log Phi that consecutive laws leave with probability at most `miss`."""
        if self.linear_model:
            quantile, growth = -float(ndtri(miss / 2)), log_growth(eta * self.smoothness, 1)
        else:
            quantile = chi_quantile(self.dimension, miss)
            growth = self.dimension * float(np.log1p(eta * self.smoothness))
        ratio = self.lipschitz / sigma
        return float(growth + ratio**2 / 2 + ratio * quantile)


@dataclass(frozen=True)
class Certificate:
    """The numbers of one choice of parameters.

    Attributes:
        facts: what is public before.
        eta: inverse strength of the quadratic regulariser.
        sigma: standard deviation of the perturbation.
        force: probability p of a forced redraw.
        log_phi: half the range of a coin, in logarithm.
        limit: hard limit on redraws (None: none).
    """

    facts: Facts
    eta: float
    sigma: float
    force: float
    log_phi: float
    limit: int | None = None

    @cached_property
    def accuracy(self) -> float:
        """tau: the certified distance of every draw from the exact minimiser, which float64 reaches."""
        return self.facts.accuracy(1 / self.eta, self.sigma)

    @property
    def longest_hold(self) -> float:
        """A bound on the mean number of rounds that a point is held: 1/p, or all of them."""
        return min(self.facts.rounds, 1 / self.force) if self.force > 0 else float(self.facts.rounds)

    @property
    def _kept_weight(self) -> float:
        """1 + 2 log Phi/p: how often a draw is played, over all that coins may do, in units of fresh draws."""
        return 1 + 2 * self.log_phi * self.longest_hold

    @cached_property
    def shift(self) -> float:
        """Gaussian DP of the release noise: this share of the draw's own move balances both costs in regret."""
        facts = self.facts
        cost = 1.5 * self.accuracy * facts.rounds * self._kept_weight / facts.domain.radius
        move = facts.relation.sides * facts.rounds_per_person * facts.lipschitz / self.sigma
        return min(0.5, float(np.cbrt(cost))) * move

    @property
    def release_scale(self) -> float:
        """s: the standard deviation of the noise that covers inexact minimisation."""
        return 2 * self.accuracy / self.shift

    @property
    def local_distance(self) -> float:
        """rho: how far a minimiser that was found is from the exact one, in the barrier's local norm."""
        modulus = 1 / self.eta + self.facts.problem.strong_convexity * self.facts.rounds
        return 2.5 * self.accuracy * sqrt(modulus / self.facts.weight)

    @cached_property
    def largest_curvature(self) -> float:
        """H: a bound on the norm of the objective's Hessian wherever a coin looks at it."""
        facts = self.facts
        push = facts.lipschitz * facts.rounds + 1 / self.eta * facts.domain.radius + self.sigma * facts.longest_noise
        bend = facts.weight * facts.domain.barrier_stiffness(push / facts.weight) ** 2
        # At the minimiser that was found, not at the exact one.
        bend /= (1 - min(self.local_distance, 0.5)) ** 2
        return 1 / self.eta + facts.rounds * facts.smoothness + bend

    @property
    def representable(self) -> bool:
        """Whether float64 can hold what coins look at; other plans are refused."""
        condition = (self.facts.dimension + 1) ** 2 * UNIT * self.eta * self.largest_curvature
        return self.local_distance <= 0.5 and condition <= 0.25

    @cached_property
    def coin_error(self) -> float:
        """nu_1 + nu_2: how far the logarithm of a keep probability is from that of exact arithmetic."""
        facts, growth = self.facts, self.eta * self.facts.smoothness
        d, t, g, n = facts.dimension, facts.rounds, facts.lipschitz, min(facts.rounds, RENEWAL)
        rounding = (d + t + 3) * (self.sigma * facts.longest_noise + g * t) * g / self.sigma**2
        if growth == 0:
            return UNIT * rounding
        inverse = 8 * d**2 * (self.eta * self.largest_curvature + n * (1 + growth * n) ** 3)
        rounding += facts.degrees * growth * (inverse + (200 + t / n) * (1 + growth * t))
        barrier = -2 * log1p(-min(self.local_distance, 0.5)) * facts.degrees * growth / (1 + growth)
        return barrier + UNIT * rounding

    @cached_property
    def chain(self) -> LazyChain:
        """What the transcript leaks, but for cutting off the noise."""
        facts = self.facts
        return ctrl_chain(
            rounds=facts.rounds, dimension=facts.dimension, linear_model=facts.linear_model,
            lipschitz=facts.lipschitz, smoothness=facts.smoothness, eta=self.eta, sigma=self.sigma, force=self.force,
            log_phi=self.log_phi, shift=self.shift, relation=facts.relation,
            rounds_per_person=facts.rounds_per_person, coin_error=self.coin_error,
        )  # fmt: skip

    @property
    def clip_probability(self) -> float:
        """The probability with which a coin's log ratio leaves its range."""
        facts = self.facts
        ratio, d = facts.lipschitz / self.sigma, facts.degrees
        quantile = (self.log_phi - facts.log_growth(self.eta) - ratio**2 / 2) / ratio
        if quantile <= 0:
            return 1.0
        return float(gammaincc(d / 2, quantile**2 / 2)) if d > 1 else erfc(quantile / sqrt(2))

    @property
    def displacement(self) -> float:
        """Delta: a bound on the mean distance of what is played from the exact minimiser."""
        return self._kept_weight * (self.release_scale * self.facts.chi + self.accuracy)

    @property
    def coin_bias(self) -> float:
        """kappa: a bound on the mean error of a keep probability, because coins see losses at the released point."""
        facts, growth = self.facts, self.eta * self.facts.smoothness
        steep = self.sigma * facts.longest_noise + (2 * self.longest_hold + 1) * facts.lipschitz
        bend = 2 * (facts.problem.loss.bend or 0.0) * facts.features * self.displacement
        first = facts.smoothness * self.displacement * steep / self.sigma**2
        return first + facts.degrees * growth * bend + self.coin_error

    @property
    def regret(self) -> float:
        """The certified regret."""
        facts, miss = self.facts, self.clip_probability
        if miss > 0.5:
            return inf
        g, t, radius, diameter = facts.lipschitz, facts.rounds, facts.domain.radius, facts.domain.diameter
        value = radius**2 / (2 * self.eta) + g**2 * self.eta * t + self.sigma * facts.chi * radius
        value += g * diameter * t * min(t / 2, self.longest_hold) * (miss + self.coin_bias)
        value += g * diameter * t * self.overrun
        return value + 2 * g * diameter + g * self.displacement * t

    @property
    def switches(self) -> float:
        """Each toss redraws with probability at most 1 - (1-p)/Phi^2."""
        return (self.facts.rounds - 1) * -expm1(log1p(-self.force) - 2 * self.log_phi)

    @property
    def overrun(self) -> float:
        """A bound on the probability with which the limit on redraws refuses one."""
        return 0.0 if self.limit is None else overrun(self.facts.rounds - 1, self.switches, self.limit)
