"""CTRL: couple the regularised leader. Objective perturbation that switches only when a coin says so.

Paper: "Differentially Private and Lazy Online Convex Optimization" (COLT 2023), Algorithm 1, with these changes. The
sign of 2<g, u> in the density ratio is minus; clipping the coin inside the algorithm replaces the conditioning
on good events (which fails given the history) and with it the budget of switches and all extra delta terms; the
draw is priced by a moment bound (`certificate`) instead of a tail quantile; drift and determinant bounds are the
corrected ones. Minimisation is certified, and what is left of it is covered by noise that is accounted for: y is the
minimiser that was found, r the point of the domain nearest to y plus that noise, and r alone is released.

    J_t(x) = sum of losses + |x|^2/(2 eta) + barrier;   y = argmin J_0 + <Z, x>,  Z ~ N(0, sigma^2 I);   g = -Z
    each round: play r; observe; keep r with probability (1-p) exp(clip(log ratio - log Phi, -2 log Phi, 0)), where the
    log ratio takes g as it is, losses at r and the barrier at y; otherwise draw a fresh Z and y = argmin J_t + <Z, x>

The search compares certificates, that is public numbers, over the regulariser, the noise, the forced redraws and the
coins' range; the plan is made once, in the end. `CTRL.as_printed` runs the printed parameters (Theorems 8 and 11 and
what they rest on); their constants of 1000 make the printed regret bound vacuous for every horizon up to a million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, exp, inf, log, log1p, sqrt
from typing import ClassVar

import numpy as np
import scipy

from tacit.accounting.calibration import largest, smallest
from tacit.accounting.conversion import renyi_epsilon
from tacit.algorithms.convex.convex_plan import ConvexPlan
from tacit.algorithms.convex.ctrl.certificate import Certificate, Facts
from tacit.algorithms.convex.ctrl.coupled import Coins, CoupledLearner, barrier_domain, refuse_unconstructed
from tacit.domains.convex_set import BarrierSet
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.printed.ctrl import (
    CONSTANT,
    Losses,
    lemma_5,
    lemma_7,
    lemma_10,
    theorem_4,
    theorem_6,
    theorem_6_promise,
    theorem_8,
    theorem_11,
)
from tacit.problems import Convex
from tacit.releases import Inexact
from tacit.runtime.plan import PrivatePlan
from tacit.runtime.printed import Printed, choose_reading, refuse_own
from tacit.runtime.small_instances import SmallInstance, on_interval
from tacit.runtime.target import RegretBound, Target
from tacit.solvers.minimum import TRUNCATION
from tacit.validation import FloatArray, check_choice, check_integer, check_number, check_positive


@dataclass(frozen=True)
class CTRL(ConvexPlan, PrivatePlan):
    """Follow the perturbed regularised leader, and hold the decision until a coin says otherwise.

    Privacy contract: every decision and every switch time, by the Renyi curve of `LazyChain` with the draw's
    curve `PerturbedMinimiser`. Adaptive adversaries. Delta pays for noise that is cut off, 1e-30 a round, and for no
    other event. A limit on switches looks at nothing but what was released, and costs no privacy. Enforced: convexity,
    G and beta by construction, since only losses of tacit's own are taken. Features are clipped. Minimisation is
    certified for all data, and release noise covers the residue. Errors of coins are paid for.
    Numerics: idealized. Inexact minimisers are covered by noise and charged; the last digits of that noise, and of the
    coins' log ratios, are float64.
    Regret (oblivious): R^2/(2 eta) + G^2 eta T + sigma E[chi_d] R + G D T min(T/2, 1/p)(P[clip] + kappa) + 2 G D
    + G Delta T, wherever the decisions lie. Delta and kappa are what release noise and inexact coins cost.

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/.

    Page: docs/algorithms/ctrl.md.

    Attributes:
        eta: inverse strength of the quadratic regulariser.
        sigma: standard deviation of the perturbation.
        force: probability p of a forced redraw.
        log_phi: half the range of a coin, in logarithm.
        calibration: always "numerical": saved states name it. Printed parameters are made by `as_printed`.
        max_switches: hard limit on redraws, hence on switches; after it the point is held.

    >>> from tacit.domains import Ball
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
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 8", "Theorem 11", "Theorem 6", "Theorem 4", "Algorithm 1")
    released_streams: ClassVar[tuple[str, ...]] = ("noise",)
    theorem: ClassVar[str] = "CTRL, clipped coins and random-draw Renyi composition"

    def _check_parameters(self) -> None:
        check_number("CTRL", "log_phi", self.log_phi, above=0.0)
        check_positive("CTRL", "eta", self.eta)
        check_positive("CTRL", "sigma", self.sigma)
        check_number("CTRL", "force", self.force, above=0.0, below=1.0, closed_low=True)
        refuse_old_spelling(self.calibration)
        if self.max_switches is not None:
            check_integer("CTRL", "max_switches", self.max_switches)
        refuse_unconstructed(self.problem, "CTRL")
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

    @cached_property
    def releases(self) -> Inexact:
        """The declaration of the transcript: of each round's noise, 1e-30 is cut off."""
        return Inexact(self.certificate.releases, TRUNCATION, self.rounds)

    @property
    def regret_bound(self) -> RegretBound:
        """The certified regret, also of printed parameters; `printed.regret` is the bound as printed."""
        assumptions = ["oblivious adversary", "expectation over the learner's coins"]
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

    @classmethod
    def _calibrate(cls, problem: Convex, target: Target, *, calibration: str = "numerical") -> CTRL:
        refuse_unconstructed(problem, "CTRL")
        if target.delta <= 0:
            raise PrivacyError("CTRL has Gaussian noise and needs delta > 0.")
        if target.max_switches == 0:
            raise PrivacyError(
                "CTRL needs one switch at least to learn anything: max_switches=0 holds its first point."
            )
        refuse_old_spelling(calibration)
        found = best_parameters(Facts(problem, target.relation, target.rounds_per_person), target)
        tuned = (found.eta, found.sigma, found.force, found.log_phi)
        return cls(problem, *tuned, calibration, target.max_switches, **target.contract)

    @classmethod
    def _printed_default(cls, problem: Convex) -> str:
        return "Theorem 8" if problem.loss.family == "general" else "Theorem 11"

    @classmethod
    def _as_printed(
        cls,
        problem: Convex,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        eta: float | None = None,
        sigma: float | None = None,
        force: float | None = None,
        log_phi: float | None = None,
        miss: float | None = None,
        budget: float | None = None,
        constant: float | str | None = None,
    ) -> CTRL:
        """Make the plan of `as_printed`.

        Args:
            problem: the problem.
            asked: the privacy that is asked.
            result: number of the result.
            reading: for Theorem 4: which budget.
            eta: where the result leaves it open (default: the one of Theorem 8 or 11, also for what follows).
            sigma: where the result leaves it open.
            force: p, where the result leaves it open (default: T^-1/3).
            log_phi: ln Phi for Algorithm 1 (default: the one of Theorem 6).
            miss: delta of Theorem 4, the closeness of consecutive laws (default: the delta' of Theorem 6).
            budget: B for Algorithm 1 (default: 3 p~ T).
            constant: in place of 10^3 in Theorems 8 and 11; "smallest" is the smallest that keeps what is asked.
        """
        refuse_unconstructed(problem, "CTRL")
        owner = "CTRL.as_printed"
        own = {"eta": eta, "sigma": sigma, "force": force, "log_phi": log_phi, "miss": miss, "budget": budget}
        refuse_own(owner, result, {**own, "constant": constant}, LEFT_OPEN[result])
        named = choose_reading(owner, result, reading, READINGS_OF_BUDGET if result == "Theorem 4" else ())
        if asked.delta <= 0:
            raise PrivacyError(f"{owner} needs delta > 0: its noise is Gaussian.")
        if result == "Theorem 11" and problem.loss.family == "general":
            raise PrivacyError(
                f"Theorem 11 is for generalised linear losses, such as LogisticLoss. Got {problem.loss!r}."
            )
        maker = _Printing(problem, asked, result, named)
        if constant == "smallest":
            return maker.smallest_constant()
        if constant is not None:
            constant = check_positive(owner, "constant", constant)
        return maker.plan(own, CONSTANT if constant is None else constant)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give an interval, where draws are integrated."""
        limit = None if self.max_switches is None else 1  # it binds
        line = replace(
            self, problem=on_interval(self.problem), eta=0.5, sigma=20.0, force=0.3, log_phi=0.1, max_switches=limit
        )
        return (SmallInstance("integrated interval", "loud parameters, one dimension, T=3", line),)

    def _learner(self, randomness: Randomness) -> CTRLLearner:
        return CTRLLearner(self, randomness)


def refuse_old_spelling(calibration: str) -> None:
    """Raise InvalidInput for a calibration that `as_printed` replaced, or that never was one."""
    if calibration == "paper":
        raise InvalidInput(
            "CTRL has no calibration='paper': use CTRL.as_printed(problem, epsilon=..., delta=...), which runs the "
            "parameters of Theorem 8, or of Theorem 11 for generalised linear losses."
        )
    check_choice("CTRL", "calibration", calibration, ("numerical",))


READINGS_OF_BUDGET = ("B = 3 p~ T", "B infinite")
"""The two cases of Theorem 4."""
LEFT_OPEN = {
    "Theorem 8": ("constant",),
    "Theorem 11": ("constant",),
    "Theorem 6": ("eta", "sigma"),
    "Theorem 4": ("eta", "sigma", "force", "miss"),
    "Algorithm 1": ("eta", "sigma", "force", "log_phi", "budget"),
}
"""Parameters that each result leaves to its reader; the constant is printed, and may be replaced to repair it."""
DIFFERS = (
    "release noise covers what minimisation leaves, and is charged",
    "of a round's noise 1e-30 is cut off, and charged",
    "the barrier adds at most G D on the shrunk set, as assumed; the printed example of a ball adds more",
)


@dataclass(frozen=True)
class _Printing:
    """Makes the plan of a printed result: what every choice of open parameters shares."""

    problem: Convex
    asked: Target
    result: str
    reading: str

    @property
    def losses(self) -> Losses:
        problem = self.problem
        return Losses(
            rounds=problem.horizon or 1,
            dimension=problem.domain.hull_dimension,
            lipschitz=problem.lipschitz,
            smoothness=problem.smoothness,
            diameter=problem.domain.diameter,
        )

    @property
    def linear_model(self) -> bool:
        """True if Lemma 10 and Theorem 11 apply, and the result is not Theorem 8."""
        return self.problem.loss.family != "general" and self.result != "Theorem 8"

    def plan(self, own: Mapping[str, float | None], constant: float) -> CTRL:
        """Make the plan with these parameters in place of the open ones."""
        losses, asked = self.losses, self.asked
        given = {name: value for name, value in own.items() if value is not None}
        noise = (theorem_11 if self.linear_model else theorem_8)(losses, asked.epsilon, asked.delta, constant)
        eta, sigma = given.get("eta", noise["eta"]), given.get("sigma", noise["sigma"])
        check_positive("CTRL.as_printed", "eta", eta)
        check_positive("CTRL.as_printed", "sigma", sigma)
        known = theorem_6(losses, eta, sigma, asked.delta, self.linear_model)
        force, miss = given.get("force", known["force"]), given.get("miss", known["miss"])
        check_number("CTRL.as_printed", "miss", miss, above=0.0, below=0.5, closed_high=True)
        log_phi = given.get("log_phi", known["log_phi"])
        if self.result == "Theorem 4":  # consecutive laws only: the difference is one loss
            log_phi = (lemma_10 if self.linear_model else lemma_7)(losses, eta, sigma, miss)
        switching = lemma_5(losses.rounds, force, log_phi)
        limited = self.reading != "B infinite"
        regret = theorem_4(losses, eta, sigma, miss, switching["rate"] if limited else None)
        printed = Printed(
            paper="ctrl",
            result=self.result,
            epsilon=asked.epsilon,
            delta=asked.delta,
            reading=self.reading if constant == CONSTANT else f"10^3 -> {constant:.4g}",
            # Any Phi, p and B run Algorithm 1; Theorem 4 is for laws that are close and B = 3 p~ T.
            regret=None if self.result == "Algorithm 1" else regret,
            order=ORDERS.get(self.result, ""),
            evidence=self.evidence(eta, sigma, log_phi),
            differs=(*DIFFERS, *self.changes(constant)),
            values={
                "eta": eta,
                "sigma": sigma,
                "force": force,
                "log_phi": log_phi,
                "switches": switching["switches"],
                **({"budget": given.get("budget", switching["budget"])} if limited else {}),
            },
        )
        # Algorithm 1 redraws while b_t < B: so often as the next whole number says.
        most = max(1, ceil(printed.values["budget"])) if limited else None
        return CTRL(self.problem, eta, sigma, force, log_phi, max_switches=most, printed=printed, **asked.contract)

    def changes(self, constant: float) -> tuple[str, ...]:
        """Return what was changed to repair the print."""
        return () if constant == CONSTANT else (f"the constant is {constant:.4g} in place of 10^3",)

    def evidence(self, eta: float, sigma: float, log_phi: float) -> tuple[str, ...]:
        """Return what the status rests on, and which preconditions fail."""
        asked, rounds = self.asked, self.losses.rounds
        promise = theorem_6_promise(self.losses, eta, sigma, asked.delta, log_phi)
        preconditions = {
            "epsilon <= 1": asked.epsilon <= 1,
            "delta <= 1/2": asked.delta <= 0.5,
            "T >= 12 ln(1/delta)": rounds >= 12 * log(1 / asked.delta),
            "one replaced round a person": asked.rounds_per_person == 1 and str(asked.relation) == "replace",
        }
        return (
            *(f"{text} does not hold" for text, holds in preconditions.items() if not holds),
            f"Theorem 6 itself promises epsilon={promise['epsilon']:.3g}, delta={promise['delta']:.3g} here",
            "what is proved rests on the clip of the coins, not on Theorem 6, whose Claim 27 is false",
        )

    def smallest_constant(self) -> CTRL:
        """Make the plan with the smallest constant, in place of 10^3, that keeps what is asked."""

        def keeps(constant: float) -> bool:
            try:
                return self.plan({}, constant).printed_status == "kept"
            except PrivacyError:  # no coins in float64 with so little noise
                return False

        exponent = smallest(lambda power: keeps(10**power), -2.0, 6.0, 1e-5)
        return self.plan({}, 10**exponent)


ORDERS = {
    "Theorem 8": "O~(G D sqrt(T) + (G D + beta D^2 max(beta D/G, 1)) d T^(1/3) log(T/delta)/epsilon)",
    "Theorem 11": "O~(G D sqrt(T) + (G D sqrt(d) + beta D^2 max(beta D/G, 1)) T^(1/3) log(T/delta)/epsilon)",
}


class CTRLLearner(CoupledLearner):
    """Holds a perturbed minimiser; memory grows with the rounds for generalised linear losses."""

    plan: CTRL

    def __init__(self, plan: CTRL, randomness: Randomness) -> None:
        known = plan.certificate
        super().__init__(
            plan, randomness, ridge=1 / plan.eta, weight=known.facts.weight,
            accuracy=known.accuracy, blur=known.release_scale, limit=plan.max_switches,
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


# A calibrated epsilon stays this much below its target: conversions to and fro may differ in their last digits.
_BELOW = 1 - 1e-7
# The range of the force, and that of the probability with which a coin leaves its own range.
_FORCE, _MISS = (1e-4, 0.7), (1e-8, 1e-4)
_FIRST_FORCE = 0.03


def best_parameters(facts: Facts, target: Target) -> Certificate:
    """Minimise the certified regret over eta, force and clipping; the noise is the smallest that meets the target."""
    search = _Search(facts, target)
    widest = facts.domain.radius / (facts.lipschitz * sqrt(2 * facts.rounds))  # the best eta without privacy
    first_force = min(_FIRST_FORCE, 0.3 * search.most_redraws / facts.rounds)
    low = np.log([widest * 1e-4, min(_FORCE[0], first_force / 30), _MISS[0]])
    high = np.log([widest, _FORCE[1], _MISS[1]])

    def regret(logs: FloatArray) -> float:
        eta, force, miss = np.exp(np.clip(logs, low, high)).tolist()
        outside = float(np.sum(np.abs(logs - np.clip(logs, low, high))))  # leads back into the box
        found = search.least_noise(eta, force, miss, 2e-3)
        if found is not None and found.regret < inf:
            return log(found.regret) + outside
        # Without a limit on switches a wider eta may be of use, with one the way leads to fewer redraws.
        return 100.0 + (search.excess(eta, force) or -log(eta)) + outside

    starts = [np.log([widest * share, first_force, 1e-6]) for share in (0.3, 0.02)]
    if search.most_redraws < facts.rounds and facts.smoothness > 0:
        growth = 0.1 * search.most_redraws / facts.rounds / facts.degrees / facts.smoothness
        starts.append(np.clip(np.log([growth, first_force, 1e-6]), low, high))
    start = min(starts, key=regret)
    simplex = np.vstack([start, start + np.diag([0.7, 0.7, 1.5])])
    best = scipy.optimize.minimize(
        regret,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 0.04, "fatol": 1e-4, "maxfev": 160},
    ).x
    eta, force, miss = np.exp(np.clip(best, low, high)).tolist()
    rough = search.least_noise(eta, force, miss, 1e-3)
    if rough is None:
        raise PrivacyError(
            f"CTRL finds no parameters for epsilon={target.epsilon:g}, delta={target.delta:g}, {facts.rounds} rounds"
            f"{'' if target.max_switches is None else f' and at most {target.max_switches} switches'}."
        )
    return search.refined(rough, miss)


class _Search:
    """Finds the noise that meets a target, each time from where it was found before."""

    def __init__(self, facts: Facts, target: Target) -> None:
        self._facts, self._epsilon = facts, target.epsilon * _BELOW
        self._limit = target.max_switches
        self.most_redraws = facts.rounds if self._limit is None else min(self._limit, facts.rounds)
        self.delta = target.delta - (1 + exp(min(target.epsilon, 700.0))) * facts.rounds * TRUNCATION * (1 + 1e-9)
        if not self.delta > 0:
            raise PrivacyError(
                f"delta={target.delta:g} is less than CTRL needs to cut off its noise: (1 + e^epsilon) T 1e-30."
            )
        # Few orders around the one that the Gaussian part alone would choose: fewer orders only cost regret.
        centre = 2 * log(1 / target.delta) / target.epsilon
        self._orders = 1 + centre * np.geomspace(0.1, 4.0, 12)
        self._start = 1e-3 / facts.lipschitz  # inverse noise at which the next search begins

    def least_noise(self, eta: float, force: float, miss: float, tolerance: float) -> Certificate | None:
        """The certificate with the least noise at these parameters (None: no noise is enough)."""

        def cost(inverse: float) -> float:
            tried = self._at(eta, 1 / inverse, force, miss)
            if not self._allowed(tried):
                return inf
            return renyi_epsilon(tried.chain.renyi, self.delta, self._orders)

        low, high = self._start / 1.2, self._start * 1.2
        floor, ceiling = 1e-12 / self._facts.lipschitz, 10 / self._facts.lipschitz
        while low > floor and cost(low) > self._epsilon:
            low, high = low / 4, low
        while high < ceiling and cost(high) <= self._epsilon:
            low, high = high, high * 2
        try:
            inverse = largest(cost, self._epsilon, low, high, tolerance)
        except PrivacyError:
            return None
        self._start = inverse
        return self._at(eta, 1 / inverse, force, miss)

    def refined(self, rough: Certificate, miss: float) -> Certificate:
        """The same parameters with the noise that all orders together ask for."""

        def price(inverse: float) -> float:
            tried = self._at(rough.eta, 1 / inverse, rough.force, miss)
            return tried.chain.epsilon(self.delta) if self._allowed(tried) else inf

        around = 1 / rough.sigma
        inverse = largest(price, self._epsilon, around * 0.99, around * 1.05, 1e-4)
        return self._at(rough.eta, 1 / inverse, rough.force, miss)

    def excess(self, eta: float, force: float) -> float:
        """By how much redraws exceed their limit without any noise's help, in logarithm (0: they do not)."""
        if self._limit is None:
            return 0.0
        least = force + 2 * self._facts.degrees * eta * self._facts.smoothness
        return max(0.0, log(self._facts.rounds * least / self.most_redraws))

    def _allowed(self, tried: Certificate) -> bool:
        """Whether float64 holds its coins, and a limit on switches refuses a redraw in one of T runs at most."""
        return tried.overrun <= 1 / self._facts.rounds and tried.representable

    def _at(self, eta: float, sigma: float, force: float, miss: float) -> Certificate:
        return Certificate(self._facts, eta, sigma, force, self._facts.log_range(eta, sigma, miss), self._limit)
