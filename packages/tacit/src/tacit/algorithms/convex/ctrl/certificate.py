"""Everything CTRL certifies, as numbers: functions of public facts and of eta, sigma, the force and log Phi.

The plan shows them and the search minimises over them; the proofs are in docs/algorithms/ctrl.md. Coins are exact up to
two errors, which the accountant adds to what a later coin may drift: nu_1, because the barrier's Hessian stands at the
minimiser that was found, and nu_2, rounding. Redraws are at most a sum of independent coins in law (Lemma 5), so their
tail is binomial, and a limit on them is post-processing, which costs no privacy. A draw has a log ratio z of

    |z| <= M = offset + slope * chi,    offset = ld + k^2 G^2/(2 sigma^2),    slope = k G/sigma,

where chi is the norm of a standard Gaussian vector (generalised linear losses: of a standard Gaussian number), ld
bounds the log determinants, and k = 2m if m rounds are replaced, m if they are zeroed out
(`tacit.accounting.perturbed_minimisers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erfc, expm1, inf, log, log1p, sqrt

import numpy as np
from scipy.special import bdtrc, gammaincc, ndtri

from tacit.accounting.curves import Curve
from tacit.accounting.guarantee import Relation
from tacit.accounting.perturbed_minimisers import log_growth
from tacit.algorithms.convex.ctrl.coupled import RENEWAL, barrier_domain
from tacit.losses.loss import LinkLoss
from tacit.noise.sampler_bounds import chi_mean, chi_quantile
from tacit.problems import Convex
from tacit.releases import ClippedCoin, LazyChain, Neighbours, PerturbedMinimiser
from tacit.solvers.loss_sums import UNIT
from tacit.solvers.minimum import attainable_accuracy, truncated_norm
from tacit.validation import check_integer


def overrun(tosses: int, mean: float, limit: int) -> float:
    """A bound on the probability with which redraws of this mean exceed the limit."""
    check_integer("overrun", "limit", limit, at_least=0)
    if limit >= tosses:
        return 0.0
    return float(bdtrc(limit, tosses, mean / tosses)) if mean <= limit else 1.0


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
    coin_error: float = 0.0,
) -> LazyChain:
    """Declare the chain of CTRL: coins in (1-p)[Phi^-2, 1]; later coins drift by the second-order bound.

    The coin of a changed round may move over its whole range, 2 log Phi. Later coins see the change only in
    grad J and hess J: by at most m s2 = m (k/m)(G/sigma)^2 + m eta^2 beta^2 d (d = 1 for linear models), and by
    what is wrong with the two coins themselves, `coin_error` each.
    """
    degrees = 1 if linear_model else dimension
    coin = ClippedCoin(
        force,
        log_phi,
        per_side=(lipschitz / sigma) ** 2,
        per_round=(eta * smoothness) ** 2 * degrees,
        error=coin_error,
    )
    draw = PerturbedMinimiser(lipschitz, eta * smoothness, sigma, linear_model, dimension, shift)
    return LazyChain(rounds - 1, coin, draw)


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
    def releases(self) -> LazyChain:
        """The declaration of the transcript, but for cutting off the noise."""
        facts = self.facts
        return ctrl_chain(
            rounds=facts.rounds, dimension=facts.dimension, linear_model=facts.linear_model,
            lipschitz=facts.lipschitz, smoothness=facts.smoothness, eta=self.eta, sigma=self.sigma, force=self.force,
            log_phi=self.log_phi, shift=self.shift, coin_error=self.coin_error,
        )  # fmt: skip

    @cached_property
    def chain(self) -> Curve:
        """What the transcript leaks, but for cutting off the noise."""
        return self.releases.curve(Neighbours(self.facts.relation, self.facts.rounds_per_person))

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
