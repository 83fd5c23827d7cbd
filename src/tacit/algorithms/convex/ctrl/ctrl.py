"""CTRL: couple the regularised leader. Objective perturbation that switches only when a coin says so.

Paper: "Differentially Private and Lazy Online Convex Optimization" (COLT 2023), Algorithm 1, with these changes. The
sign of 2<g, u> in the density ratio is minus; clipping the coin inside the algorithm replaces the conditioning
on good events (which fails given the history) and with it the budget of switches and all extra delta terms; the
draw is priced by a moment bound (`accounting`) instead of a tail quantile; drift and determinant bounds are the
corrected ones. Minimisation is certified, and what is left of it is covered by noise that is accounted for: y is the
minimiser that was found, r the point of the domain nearest to y plus that noise, and r alone is released.

    J_t(x) = sum of losses + |x|^2/(2 eta) + barrier;   y = argmin J_0 + <Z, x>,  Z ~ N(0, sigma^2 I);   g = -Z
    each round: play r; observe; keep r with probability (1-p) exp(clip(log ratio - log Phi, -2 log Phi, 0)), where the
    log ratio takes g as it is, losses at r and the barrier at y; otherwise draw a fresh Z and y = argmin J_t + <Z, x>
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log1p, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry.base import BarrierSet
from tacit.learners.convex.common import ConvexPlan
from tacit.learners.ctrl.certificate import Certificate, Facts
from tacit.learners.ctrl.coupled import CoupledLearner, barrier_domain, refuse_unconstructed
from tacit.learners.ctrl.held_point import Coins
from tacit.learners.ctrl.search import best_parameters, paper_parameters
from tacit.learners.ctrl.switching import most_switches
from tacit.learners.plan import PrivatePlan
from tacit.learners.small_instances import SmallInstance
from tacit.learners.small_problems import described, few_dimensions, on_interval
from tacit.learners.target import RegretBound, Target
from tacit.privacy.curves import SamplerError
from tacit.privacy.lazy import LazyChain
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.solvers.minimum import TRUNCATION
from tacit.validation import FloatArray, check_choice, check_integer, check_number, check_positive


@dataclass(frozen=True)
class CTRL(ConvexPlan, PrivatePlan):
    """Follow the perturbed regularised leader, and hold the decision until a coin says otherwise.

    Privacy contract: every decision and every switch time, by the Renyi curve of `LazyChain` with the draw's
    curve `PerturbedMinimiser`; adaptive adversaries; delta pays for noise that is cut off, 1e-30 a round, and for no
    other event. A limit on switches looks at nothing but what was released, and costs no privacy. Enforced: convexity,
    G and beta by construction (losses of tacit's own, or a `TabulatedLoss`; of a `DeclaredLoss` they are assumed, and
    the contract says so), features clipped, minimisation certified for all data, its residue covered by release noise,
    errors of coins paid for.
    Numerics: idealized. Inexact minimisers are covered by noise and charged; the last digits of that noise, and of the
    coins' log ratios, are float64.
    Regret (oblivious): R^2/(2 eta) + G^2 eta T + sigma E[chi_d] R + G D T min(T/2, 1/p)(P[clip] + kappa) + 2 G D
    + G Delta T, wherever the decisions lie; Delta and kappa are what release noise and inexact coins cost.

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/.

    Page: docs/algorithms/ctrl.md.

    Attributes:
        eta: inverse strength of the quadratic regulariser.
        sigma: standard deviation of the perturbation.
        force: probability p of a forced redraw.
        log_phi: half the range of a coin, in logarithm.
        calibration: "numerical", or "paper" for the parameters and the regret bound as printed.
        max_switches: hard limit on redraws, hence on switches; after it the point is held.

    >>> from tacit.geometry import Ball
    >>> from tacit.losses import ConvexFamily
    >>> problem = Convex(domain=Ball(10), loss=ConvexFamily(1.0, 1.0, "glm"), horizon=100_000)
    >>> plan = CTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> 3500 < float(plan.regret_bound) < 3650
    True
    """

    eta: float
    sigma: float
    force: float
    log_phi: float
    calibration: str = "numerical"
    max_switches: int | None = None
    released_streams: ClassVar[tuple[str, ...]] = ("noise",)
    released: ClassVar[str] = "every decision and every switch time"
    theorem: ClassVar[str] = "CTRL, clipped coins and random-draw Renyi composition"

    def _check_parameters(self) -> None:
        check_number("CTRL", "log_phi", self.log_phi, above=0.0)
        check_positive("CTRL", "eta", self.eta)
        check_positive("CTRL", "sigma", self.sigma)
        check_number("CTRL", "force", self.force, above=0.0, below=1.0, closed_low=True)
        check_choice("CTRL", "calibration", self.calibration, ("numerical", "paper"))
        if self.max_switches is not None:
            check_integer("CTRL", "max_switches", self.max_switches)
        refuse_unconstructed(self.problem, "CTRL")
        barrier_domain(self.problem, "CTRL")
        if self.problem.horizon is not None and not self.certificate.representable:
            raise PrivacyError(
                f"CTRL cannot certify its coins in float64 at eta={self.eta:g} and sigma={self.sigma:g} on this "
                "domain: take a smaller eta, fewer rounds or a domain that is less thin."
            )

    @property
    def domain(self) -> BarrierSet:
        """The domain, which has a barrier."""
        return barrier_domain(self.problem, "CTRL")

    @cached_property
    def certificate(self) -> Certificate:
        """All certified numbers."""
        _ = self.rounds  # raises if they are not known
        facts = Facts(self.problem, self.relation, self.rounds_per_person)
        return Certificate(facts, self.eta, self.sigma, self.force, self.log_phi, self.max_switches)

    @property
    def barrier_weight(self) -> float:
        """The weight of the barrier: it costs at most G D."""
        return self.certificate.facts.weight

    @property
    def accuracy(self) -> float:
        """Certified distance of every draw from the exact minimiser: a public number that float64 reaches."""
        return self.certificate.accuracy

    @property
    def release_scale(self) -> float:
        """Standard deviation of the noise that covers inexact minimisation."""
        return self.certificate.release_scale

    @property
    def chain(self) -> LazyChain:
        """What the transcript leaks, but for cutting off the noise."""
        return self.certificate.chain

    @cached_property
    def curve(self) -> SamplerError:
        """What the transcript leaks: of each round's noise, 1e-30 is cut off."""
        return SamplerError(self.chain, TRUNCATION, self.rounds)

    @property
    def clip_probability(self) -> float:
        """The probability with which a coin's log ratio leaves its range."""
        return self.certificate.clip_probability

    @property
    def assumed(self) -> str:
        """What is believed of the losses that are minimised."""
        return self.problem.loss.assumed

    @property
    def regret_bound(self) -> RegretBound:
        """The certified regret; with calibration="paper", Theorem 4's as printed."""
        assumptions = ["oblivious adversary", "expectation over the learner's coins"]
        if self.calibration == "paper":
            g, t, d, big = self.problem.lipschitz, self.rounds, self.domain.hull_dimension, self.domain.diameter
            value = big**2 / (2 * self.eta) + 2 * g**2 * self.eta * t + self.sigma * sqrt(d) * big
            value += 6 * g * big * self.clip_probability * t**2 + 2 * g * big
            value += g * big * t * self.certificate.overrun
            formula = "D^2/(2 eta) + 2 G^2 eta T + sigma sqrt(d) D + 6 G D delta' T^2 + 2 G D (Theorem 4 as printed)"
            if value >= self.blind_regret:
                assumptions.append("VACUOUS: at least the regret G R T of always playing the centre")
            return RegretBound(value, formula, tuple(assumptions))
        formula = "R^2/(2 eta) + G^2 eta T + sigma E[chi] R + G D T min(T/2, 1/p)(P[clip] + kappa) + 2 G D + G Delta T"
        formula += " + G D T P[limit hit]" if self.max_switches is not None else ""
        if self.problem.smoothness > 0 and self.problem.loss.bend is None:
            assumptions.append("second derivatives without jumps (not proved for losses that have them)")
        return RegretBound(self.certificate.regret, formula, tuple(assumptions))

    @property
    def expected_switches(self) -> float:
        """Each toss redraws with probability at most 1 - (1-p)/Phi^2."""
        mean = self.certificate.switches
        return mean if self.max_switches is None else min(mean, self.max_switches)

    def most_switches(self, confidence: float) -> int:
        """A number of switches that a run keeps with this probability, whatever the losses (Lemma 5)."""
        most = most_switches(self.rounds - 1, self.certificate.switches, confidence)
        return most if self.max_switches is None else min(most, self.max_switches)

    @classmethod
    def _calibrate(cls, problem: Convex, target: Target, *, calibration: str = "numerical") -> CTRL:
        refuse_unconstructed(problem, "CTRL")
        barrier_domain(problem, "CTRL")
        if target.delta <= 0:
            raise PrivacyError("CTRL has Gaussian noise and needs delta > 0.")
        if target.max_switches == 0:
            raise PrivacyError(
                "CTRL needs one switch at least to learn anything: max_switches=0 holds its first point."
            )
        check_choice("CTRL.calibrate", "calibration", calibration, ("numerical", "paper"))
        search = paper_parameters if calibration == "paper" else best_parameters
        found = search(Facts(problem, target.relation, target.rounds_per_person), target)
        tuned = (found.eta, found.sigma, found.force, found.log_phi)
        return cls(problem, *tuned, calibration, target.max_switches, **target.contract)

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """An interval, where draws are integrated; few dimensions, where draws and coins are tested; sharp ratios."""
        limit = None if self.max_switches is None else 1  # it binds
        line = replace(
            self, problem=on_interval(self.problem), eta=0.5, sigma=20.0, force=0.3, log_phi=0.1, max_switches=limit
        )
        # Wide coins, noise of the size of two gradients, a regulariser that leaves curvature to the losses. The longer
        # the horizon, the less the barrier weighs; a few of its rounds are played.
        loud = self._loud(min(1_000, max(6, self.rounds)), eta=4.0, sigma=2.0, force=0.1, log_phi=0.5)
        sharp = self._loud(4, eta=0.05, sigma=4.0, force=0.7, log_phi=0.1)
        label = described("loud parameters", loud.problem)
        return (
            SmallInstance("integrated interval", "loud parameters, one dimension, T=3", line),
            SmallInstance("draws", label, loud, effort=max(1_500, 5_000 // loud.domain.hull_dimension)),
            SmallInstance("minimisers", label, loud),
            SmallInstance("keep probabilities", label, loud),
            SmallInstance("likelihood ratios", described("loud draws", sharp.problem), sharp),
        )

    def _loud(self, rounds: int, eta: float, sigma: float, **coins: Any) -> Self:
        """In few dimensions, with parameters in units of the domain and of a gradient."""
        problem = few_dimensions(self.problem, rounds)
        size, slope = problem.domain.radius, problem.lipschitz
        loud = {"eta": eta * size / slope, "sigma": sigma * slope, "max_switches": None, **coins}
        return replace(self, problem=problem, **loud)

    def _learner(self, randomness: Randomness) -> CTRLLearner:
        return CTRLLearner(self, randomness)


class CTRLLearner(CoupledLearner):
    """Holds a perturbed minimiser; memory grows with the rounds for generalised linear losses."""

    plan: CTRL

    def __init__(self, plan: CTRL, randomness: Randomness) -> None:
        super().__init__(
            plan, randomness, ridge=1 / plan.eta, weight=plan.barrier_weight,
            accuracy=plan.accuracy, blur=plan.release_scale, limit=plan.max_switches,
        )  # fmt: skip
        self._hazard = -log1p(-plan.force)
        self._draw()

    def _deviation(self, rounds: int) -> float:
        return self.plan.sigma

    def _coins(self, first: int, count: int, clocks: FloatArray) -> Coins:
        zeros = np.zeros(count)
        return Coins(
            clocks, self._hazard, np.full(count, self.plan.log_phi),
            np.full(count, 1 / (2 * self.plan.sigma**2)), zeros, zeros,
        )  # fmt: skip
