"""Everything CTRL certifies, as numbers: functions of public facts and of eta, sigma, the force and log Phi.

The plan shows them and the search minimises over them; the proofs are on the algorithm's page. Coins are exact up to
two errors, which the accountant adds to what a later coin may drift. With tau the certified distance of minimisers,
m the strong convexity, w the barrier's weight and u the unit roundoff:

- the barrier's Hessian stands at the minimiser that was found. In the barrier's local norm that is within
  rho = 2.5 tau sqrt(m/w) of the exact one (2 from the certificate, the rest for rounding), so it is wrong by factors
  of at most (1-rho)^-2, and a coin by nu_1 = 2 |ln(1-rho)| k eta beta/(1 + eta beta);
- rounding: nu_2 = u [(d + T + 2 + j)(sigma q + G T) G/sigma^2
  + k eta beta (8 d^2 eta H + 8 d^2 N j (1 + eta beta N)^3 + (200 + T/N)(1 + eta beta T))], where inverses are computed
  anew after N held rounds, H bounds the Hessian, q sigma the noise, and a round has j links (1 in most losses).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erfc, expm1, inf, log1p, sqrt

import numpy as np
from scipy.special import gammaincc

from tacit.geometry.base import BarrierSet
from tacit.learners.ctrl.accounting import chi_mean, coin_range, ctrl_chain, directions, log_growth
from tacit.learners.ctrl.coupled import RENEWAL, barrier_domain, barrier_weight
from tacit.learners.ctrl.switching import overrun
from tacit.losses.linear_models import LinkLoss
from tacit.losses.several import SeveralLinks
from tacit.privacy.guarantee import Relation
from tacit.privacy.lazy import LazyChain
from tacit.problems import Convex
from tacit.solvers.loss_sums import UNIT
from tacit.solvers.minimum import truncated_norm
from tacit.solvers.objective import attainable_accuracy, largest_push


@dataclass(frozen=True)
class Facts:
    """What is public before any parameter is chosen.

    Attributes:
        problem: the problem, of a known horizon.
        relation: which data sets are neighbours.
        rounds_per_person: how many rounds one person may stand in.
    """

    problem: Convex
    relation: Relation
    rounds_per_person: int

    @cached_property
    def rounds(self) -> int:
        """The horizon."""
        return self.problem.horizon or 1

    @cached_property
    def domain(self) -> BarrierSet:
        """The domain, which has a barrier."""
        return barrier_domain(self.problem, "CTRL")

    @cached_property
    def weight(self) -> float:
        """The weight of the barrier."""
        return barrier_weight(self.domain, self.lipschitz, self.rounds)

    @cached_property
    def lipschitz(self) -> float:
        """The largest gradient G."""
        return self.problem.lipschitz

    @cached_property
    def smoothness(self) -> float:
        """The largest curvature beta."""
        return self.problem.smoothness

    @cached_property
    def dimension(self) -> int:
        """The dimension of the affine hull."""
        return self.domain.hull_dimension

    @property
    def linear_model(self) -> bool:
        """Whether a loss bends along one direction only."""
        return self.problem.loss.family != "general"

    @property
    def terms(self) -> int:
        """How many links one round sums."""
        return self.problem.loss.terms

    @cached_property
    def degrees(self) -> int:
        """Along how many directions a loss bends: k."""
        return directions(self.dimension, self.terms) if self.linear_model else self.dimension

    def log_growth(self, eta: float) -> float:
        """The most by which one round moves the log determinant."""
        trace = eta * self.smoothness
        return log_growth(trace if self.linear_model else trace * self.degrees, self.degrees)

    @cached_property
    def longest_noise(self) -> float:
        """q: the largest norm of the noise over sigma."""
        return truncated_norm(self.dimension)

    @cached_property
    def chi(self) -> float:
        """The mean norm of a standard Gaussian vector."""
        return chi_mean(self.dimension)

    @property
    def features(self) -> float:
        """A bound on the norm of features."""
        loss = self.problem.loss
        return loss.data_norm if isinstance(loss, LinkLoss | SeveralLinks) else 1.0

    def log_range(self, eta: float, sigma: float, miss: float) -> float:
        """The log Phi that consecutive laws leave with probability at most `miss`."""
        return coin_range(
            dimension=self.dimension, linear_model=self.linear_model, lipschitz=self.lipschitz,
            smoothness=self.smoothness, eta=eta, sigma=sigma, miss=miss, terms=self.terms,
        )  # fmt: skip


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
        facts = self.facts
        return attainable_accuracy(
            rounds=facts.rounds,
            dimension=facts.dimension,
            lipschitz=facts.lipschitz,
            smoothness=facts.smoothness,
            ridge=1 / self.eta,
            noise=self.sigma * facts.longest_noise,
            domain=facts.domain,
            weight=facts.weight,
            gradient_rounding=facts.problem.loss.gradient_rounding(facts.domain.dimension),
        )

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
        push = largest_push(
            facts.rounds, facts.lipschitz, 1 / self.eta, self.sigma * facts.longest_noise, facts.domain.radius
        )
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
        rounding = (d + t + 2 + facts.terms) * (self.sigma * facts.longest_noise + g * t) * g / self.sigma**2
        if growth == 0:
            return UNIT * rounding
        inverse = 8 * d**2 * (self.eta * self.largest_curvature + n * facts.terms * (1 + growth * n) ** 3)
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
            rounds_per_person=facts.rounds_per_person, coin_error=self.coin_error, terms=facts.terms,
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
