"""Lazy online convex optimisation: a budget on the expected number of switches. NOT PRIVATE.

Paper: "Differentially Private and Lazy Online Convex Optimization" (COLT 2023), Theorems 9, 12 and 13: CTRL without
forced redraws. Its noise makes switches rare, not decisions private: nothing is promised about the data.
Theorem 12 lacks sqrt(d) on its noise term. For strongly convex losses (Algorithm 2, Theorem 13) the noise grows as
N(0, sigma^2 t I); as printed it cannot be run: the first round must always redraw, the noise must be fresh at each
draw, and the range of the coin at round t >= 2 is

    log Phi_t = d ln(1 + beta/((t-1) lambda)) + (G^2 + 2 G sigma sqrt(t) q)/(2 sigma^2 (t-1)) + q^2/(2(t-1))
                + (d/2) ln(t/(t-1)),     q the chi_d quantile.

Regret there, repaired (the printed proof forgets that the noise changes between neighbouring leaders):
    (G^2 + d sigma^2)(1 + ln T)/lambda + 3 G D + 1.5 G D T^2 P[clip].
`LazyOCO.as_printed` runs the printed parameters, Theorem 13 with these repairs. Batches are another algorithm, follow
the regularised leader without noise and coins: plans that run it say so (`form`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import minimise, smallest
from tacit.accounting.curves import NotPrivate
from tacit.accounting.guarantee import REPLACE, Guarantee
from tacit.accounting.rounding import rounded_up
from tacit.algorithms.convex.convex_plan import ConvexLearner, ConvexPlan
from tacit.algorithms.convex.ctrl.certificate import Facts, overrun
from tacit.algorithms.convex.ctrl.coupled import Coins, CoupledLearner, barrier_domain, refuse_unconstructed
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.loss import RowLoss
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import chi_mean, chi_quantile
from tacit.printed.ctrl import Losses, theorem_9, theorem_12, theorem_13, theorem_13_phi, theorem_28
from tacit.problems import Convex
from tacit.runtime.printed import Printed, choose_reading, refuse_own
from tacit.runtime.rate_search import tosses
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, check_choice, check_flag, check_integer, check_number, check_positive

# Rounds up to which expected switches are summed one by one.
_STRETCHED = 4096


@dataclass(frozen=True)
class LazyOCO(ConvexPlan):
    """Follow a perturbed leader that rarely moves. NOT PRIVATE: a budget on switches, nothing more.

    Made by `LazyOCO.for_budget(problem, switches=...)`, or by `tacit.plan` with `epsilon=math.inf` and `max_switches`;
    a finite epsilon is refused, because none is ever met.
    Regret (oblivious): the bound of CTRL, or the logarithmic bound of strongly convex losses.
    With `batch` another algorithm runs, which no paper's theorem here is about: without noise and coins, follow the
    regularised leader decides batches of B rounds alike, R^2/(2 eta) + eta B G^2 T/2, for adaptive adversaries too.
    Many switches speak for coins, few for batches. `for_budget` has batches only where they are asked for, and
    `tacit.plan` names them (`form`).

    Reference: Agarwal, Kale, Singh and Thakurta (2023), "Differentially Private and Lazy Online Convex
    Optimization", https://proceedings.mlr.press/v195/.

    Page: docs/algorithms/lazy-oco.md.

    Attributes:
        sigma: standard deviation of the noise (of the first round's, if it grows).
        eta: inverse strength of the quadratic regulariser (infinite: none, strongly convex losses).
        switches: the budget that the expected number of switches keeps.
        max_switches: hard limit on switches; after it the point is held (None: none).
        batch: rounds that are decided alike, without noise and coins (0: coins decide).
        log_phi: half the range of a coin, where a paper prints it (None: the smallest that consecutive laws leave with
            probability at most 1/T^2). It has no use for growing noise, whose ranges follow from sigma.

    >>> from tacit.domains import Ball
    >>> from tacit.losses import QuadraticLoss
    >>> plan = LazyOCO.for_budget(Convex(domain=Ball(2), loss=QuadraticLoss(), horizon=10_000), switches=2000)
    >>> plan.expected_switches <= 2000
    True
    >>> plan.guarantee.epsilon(1e-6)
    inf
    """

    sigma: float
    eta: float
    switches: float
    max_switches: int | None = None
    batch: int = 0
    log_phi: float | None = None
    private: ClassVar[bool] = False
    printed_results: ClassVar[tuple[str, ...]] = (
        "Theorem 9", "Theorem 12", "Theorem 13", "Theorem 28", "Algorithm 2",
    )  # fmt: skip

    def _check_parameters(self) -> None:
        check_integer("LazyOCO", "batch", self.batch, at_least=0, at_most=self.rounds)
        if self.batch:
            check_choice("LazyOCO", "sigma", self.sigma, (0.0,))
            check_positive("LazyOCO", "eta", self.eta)
        else:
            check_positive("LazyOCO", "sigma", self.sigma)
        check_positive("LazyOCO", "switches", self.switches)
        if self.max_switches is not None:
            check_integer("LazyOCO", "max_switches", self.max_switches)
        if self.eta != float("inf"):
            check_positive("LazyOCO", "eta", self.eta)
        refuse_unconstructed(self.problem, "LazyOCO")
        if self.log_phi is not None:
            least = 0.0 if self.batch or self.grows else self._least_log_phi * (1 - 1e-12)
            check_number("LazyOCO", "log_phi", self.log_phi, above=least, closed_low=True)
        if self.grows and not self.problem.strong_convexity > 0:
            raise PrivacyError("LazyOCO without a regulariser (eta infinite) needs strongly convex losses.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the coins' range only where it was given."""
        return {name: value for name, value in super().parameters.items() if name != "log_phi" or value is not None}

    @property
    def form(self) -> str:
        """Batches, where they run in place of the paper's coins."""
        if not self.batch:
            return ""
        return f"batches of {self.batch:,} rounds without noise or coins, which is not the paper's algorithm"

    @property
    def grows(self) -> bool:
        """Whether this is the strongly convex mode, whose noise grows."""
        return self.eta == inf

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            curve=NotPrivate(), at_delta=0.5, released="NOT PRIVATE: decisions may reveal the data",
            theorem="none: a lazy learner, not a private one",
        )  # fmt: skip

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Everyone, where there are no coins whose law a reaction could spoil."""
        return ("oblivious", "adaptive") if self.batch else ("oblivious",)

    @property
    def _log_phi(self) -> float:
        """Half the range of each coin, if noise does not grow."""
        return self._least_log_phi if self.log_phi is None else self.log_phi

    @property
    def _least_log_phi(self) -> float:
        """The range that consecutive laws leave with probability at most 1/T^2: the bound on regret needs no less."""
        facts = Facts(self.problem, REPLACE, 1)
        return facts.log_range(self.eta, self.sigma, 1 / (self.problem.horizon or 1) ** 2)

    @cached_property
    def log_phis(self) -> FloatArray:
        """Half the range of each round's coin (infinite: always redraw)."""
        decisions = max(self.rounds - 1, 0)
        if not self.grows:
            return np.full(decisions, self._log_phi)
        return growing_ranges(self.problem, self.sigma, np.arange(1, decisions + 1), decisions)

    @property
    def expected_switches(self) -> float:
        return self.redraws if self.max_switches is None else min(self.redraws, self.max_switches)

    @property
    def overrun(self) -> float:
        """A bound on the probability with which the limit refuses a redraw."""
        if self.max_switches is None or self.batch:
            return 0.0
        return overrun(self.rounds - 1, self.redraws, self.max_switches)

    @cached_property
    def redraws(self) -> float:
        """The sum over coins of 1 - 1/Phi^2, for growing noise rounded up by at most 0.1%."""
        if self.batch:
            return float(tosses(self.rounds, self.batch))
        decisions = max(self.rounds - 1, 0)
        if not self.grows:
            return float(-decisions * np.expm1(-2 * self._log_phi))
        # The ranges fall with t: the first coin of a stretch bounds all of it.
        firsts = np.arange(1, decisions + 1)
        if decisions > _STRETCHED:
            count = int(1000 * log(decisions / _STRETCHED)) + 2
            later = np.unique(np.geomspace(_STRETCHED, decisions, count).astype(np.int64))
            firsts = np.concatenate([firsts[: _STRETCHED - 1], later])
        lengths = np.diff(np.append(firsts, decisions + 1))
        ranges = growing_ranges(self.problem, self.sigma, firsts, decisions)
        return float(np.sum(-np.expm1(-2 * ranges) * lengths))

    @property
    def regret_bound(self) -> RegretBound:
        problem, t = self.problem, self.rounds
        g, d, domain = problem.lipschitz, problem.domain.hull_dimension, problem.domain
        if self.batch:
            value = domain.radius**2 / (2 * self.eta) + self.eta * self.batch * g**2 * t / 2
            return RegretBound(value, "R^2/(2 eta) + eta B G^2 T/2", ("adaptive adversary allowed",))
        value = 3.5 * g * domain.diameter  # the barrier, and coins that clip with probability 1/T^2
        if self.grows:
            grown = (g**2 + d * self.sigma**2) * (1 + log(t))
            # One more G D: the first decision is the centre, whatever the barrier's own minimiser.
            value += grown / problem.strong_convexity + g * domain.diameter
            formula = "(G^2 + d sigma^2)(1 + ln T)/lambda + 4.5 G D"
        else:
            value += domain.radius**2 / (2 * self.eta) + g**2 * self.eta * t + self.sigma * chi_mean(d) * domain.radius
            formula = "R^2/(2 eta) + G^2 eta T + sigma E[chi] R + 3.5 G D"
        if self.max_switches is not None:
            value += g * domain.diameter * t * self.overrun
            formula += " + G D T P[limit hit]"
        return RegretBound(value, formula, ("oblivious adversary", "expectation over the learner's coins"))

    @classmethod
    def for_budget(cls, problem: Convex, *, switches: float, hard: bool = False, batches: bool = False) -> LazyOCO:
        """Return the plan of smallest certified regret with at most `switches` expected switches.

        Args:
            problem: what is to be decided.
            switches: the budget.
            hard: whether every run keeps the budget (a whole number then), not only the runs' mean.
            batches: take batches without noise and coins, which are not the paper's algorithm, where they certify less.

        Raises:
            PrivacyError: no noise keeps the budget with coins; batches always do.
        """
        check_flag("LazyOCO.for_budget", "batches", batches)
        check_positive("LazyOCO.for_budget", "switches", switches)
        limit = check_integer("LazyOCO.for_budget", "switches", switches) if hard else None
        refuse_unconstructed(problem, "LazyOCO")
        g, rounds = problem.lipschitz, problem.horizon or 1

        def fitted(eta: float) -> LazyOCO | None:
            def fits(sigma: float) -> bool:
                tried = cls(problem, sigma, eta, switches, limit)
                return tried.redraws <= switches and tried.overrun <= 1 / rounds

            if not fits(1e12 * g):
                return None
            low = 1e-3 * g
            while fits(low) and low > 1e-12 * g:
                low /= 1e3
            return cls(problem, smallest(fits, low, 1e12 * g, 1e-6), eta, switches, limit)

        def cost(eta: float) -> float:
            plan = fitted(eta)
            return plan.regret_bound.searched if plan else 1e300 * eta

        def batched() -> LazyOCO:
            size = max(1, ceil(rounds / (floor(switches) + 1)))
            return cls(problem, 0.0, problem.domain.radius / (g * sqrt(size * rounds)), switches, limit, size)

        widest = problem.domain.radius / (g * sqrt(rounds))
        candidates = [fitted(minimise(cost, widest * 1e-6, widest, 0.02))]
        if problem.strong_convexity > 0:
            candidates.append(fitted(inf))
        if batches:
            candidates.append(batched())
        plans = [plan for plan in candidates if plan is not None]
        if not plans:
            raise PrivacyError(
                f"LazyOCO finds no coins that make at most {switches:g} switches in {rounds:,} rounds: allow more of "
                "them, or batches=True, another algorithm."
            )
        return min(plans, key=lambda plan: plan.regret_bound.searched)

    @classmethod
    def _calibrate(cls, problem: Convex, target: Target, *, batches: bool = True) -> LazyOCO:
        if target.max_switches is None:
            raise PrivacyError("LazyOCO is not private and meets no epsilon; without privacy it needs max_switches.")
        if target.max_switches == 0:
            raise PrivacyError("LazyOCO needs one switch at least to learn anything: max_switches=0 holds one point.")
        made = cls.for_budget(problem, switches=target.max_switches, hard=True, batches=batches)
        if target.private:
            raise PrivacyError(
                "LazyOCO is not private and meets no epsilon; with epsilon=inf, no privacy at all, it would certify "
                f"{rounded_up(float(made.regret_bound))}."
            )
        return made

    @classmethod
    def _printed_default(cls, problem: Convex) -> str:
        return "Theorem 9" if problem.loss.family == "general" else "Theorem 12"

    @classmethod
    def _as_printed(
        cls,
        problem: Convex,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        switches: float | None = None,
        sigma: float | None = None,
    ) -> LazyOCO:
        """Make the plan of `as_printed`.

        Args:
            problem: the problem.
            asked: nothing: no privacy is promised.
            result: number of the result.
            reading: for Theorem 12: the bound as printed, or with the sqrt(d) that it lacks.
            switches: S, the budget.
            sigma: deviation of the noise, which Theorem 28 and Algorithm 2 leave open, in place of `switches`.
        """
        owner = "LazyOCO.as_printed"
        refuse_unconstructed(problem, "LazyOCO")
        if asked.private or asked.delta:
            raise InvalidInput(f"{owner} takes switches= in place of epsilon and delta: {result} promises no privacy.")
        left_open = ("switches", "sigma") if result in ("Theorem 28", "Algorithm 2") else ("switches",)
        refuse_own(owner, result, {"switches": switches, "sigma": sigma}, left_open)
        if (switches is None) == (sigma is None):
            raise InvalidInput(f"{owner} needs one of {' and '.join(left_open)} for {result}.")
        named = choose_reading(owner, result, reading, READINGS_OF_NOISE if result == "Theorem 12" else ())
        losses = Losses(
            rounds=problem.horizon or 1,
            dimension=problem.domain.hull_dimension,
            lipschitz=problem.lipschitz,
            smoothness=problem.smoothness,
            diameter=problem.domain.diameter,
        )
        budget = None if switches is None else check_positive(owner, "switches", switches)
        noise = None if sigma is None else check_positive(owner, "sigma", sigma)
        if result in ("Theorem 9", "Theorem 12"):
            assert budget is not None
            return printed_coins(problem, losses, result, named, budget)
        return printed_growing(problem, losses, result, budget, noise)

    def _learner(self, randomness: Randomness) -> ConvexLearner:
        return (BatchedLearner if self.batch else LazyOCOLearner)(self, randomness)


class BatchedLearner(ConvexLearner):
    """Follows the regularised leader of the gradients of all whole batches."""

    plan: LazyOCO
    _state: ClassVar[tuple[str, ...]] = ("_total", "_summed")

    def __init__(self, plan: LazyOCO, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._projection = barrier_domain(plan.problem, plan.algorithm)
        self._total = np.zeros(self._domain.hull_dimension)  # of the gradients, the batch in hand included
        self._summed = 0
        self._action = np.array(self._domain.centre)

    def _consistent(self) -> bool:
        return self._summed == self._round

    def _absorb_rows(self, rows: FloatArray, actions: FloatArray, first: int) -> None:
        assert isinstance(self._loss, RowLoss)
        size, done = self.plan.batch, 0
        while done < len(rows):
            following = min(len(rows), done + size - (first + done) % size)
            actions[done:following] = self._action
            for row in range(done, following):
                gradient = self._loss.gradients(self._action, rows[row : row + 1])[0]
                self._total = self._total + self._domain.restrict(gradient)
            self._summed += following - done
            done = following
            if (first + done) % size == 0 and first + done < self.plan.rounds:
                self._move(self._projection.project(self._domain.from_hull(-self.plan.eta * self._total)))


class LazyOCOLearner(CoupledLearner):
    """CTRL's learner without forced redraws, release noise or any promise of privacy."""

    plan: LazyOCO

    def __init__(self, plan: LazyOCO, randomness: Randomness) -> None:
        facts, curvature = Facts(plan.problem, REPLACE, 1), plan.problem.strong_convexity
        growth = sqrt(plan.rounds) if plan.grows else 1.0
        super().__init__(
            plan,
            randomness,
            ridge=0.0 if plan.grows else 1 / plan.eta,
            weight=facts.weight,
            accuracy=facts.accuracy(curvature if plan.grows else 1 / plan.eta, plan.sigma * growth),
            blur=0.0,
            limit=plan.max_switches,
        )
        if plan.grows:
            # No losses and no noise yet: the barrier alone, held at the centre.
            origin = np.zeros(facts.dimension)
            self._hold(self._set.from_hull(origin), origin, origin)
        else:
            self._draw()

    def _deviation(self, rounds: int) -> float:
        return self.plan.sigma * (sqrt(rounds) if self.plan.grows else 1.0)

    def _coins(self, first: int, count: int, clocks: FloatArray) -> Coins:
        log_phi = np.zeros(count)
        known = self.plan.log_phis[first : first + count]
        log_phi[: len(known)] = known
        variance = 2 * self.plan.sigma**2
        if not self.plan.grows:
            zeros = np.zeros(count)
            return Coins(clocks, 0.0, log_phi, np.full(count, 1 / variance), zeros, zeros)
        t = np.arange(first + 1, first + count + 1, dtype=np.float64)
        before = np.maximum(t - 1, 1.0)
        # The first round has no law to compare with: its clock rings at once.
        clocks = np.where((t == 1) & (clocks < inf), 0.0, clocks)
        log_phi = np.where(t == 1, 0.0, log_phi)
        d = self._set.hull_dimension
        return Coins(
            clocks, 0.0, log_phi, 1 / (variance * t), (1 / before - 1 / t) / variance, d / 2 * np.log(t / before)
        )


READINGS_OF_NOISE = ("as printed", "sqrt(d) on the noise")
"""The bound of Theorem 12 lacks sqrt(d) on its noise term; the learner is the same."""
BARRIER = "the barrier adds at most G D on the shrunk set, as assumed; the printed example of a ball adds more"


def printed_coins(problem: Convex, losses: Losses, result: str, reading: str, switches: float) -> LazyOCO:
    """Make the plan of Theorems 9 and 12, with the printed eta, sigma and Phi."""
    if result == "Theorem 12" and problem.loss.family == "general":
        raise PrivacyError(f"Theorem 12 is for generalised linear losses, such as LogisticLoss. Got {problem.loss!r}.")
    if result == "Theorem 9":
        values = theorem_9(losses, switches)
    else:
        values = theorem_12(losses, switches, sqrt(losses.dimension) if reading == READINGS_OF_NOISE[1] else 1.0)
    printed = Printed(
        paper="ctrl",
        result=result,
        reading="" if reading == READINGS_OF_NOISE[0] else reading,
        regret=values.pop("regret"),
        evidence=_preconditions(losses, switches),
        differs=(BARRIER,),
        values=values,
    )
    sigma, eta = values["sigma"], values["eta"]
    return LazyOCO(problem, sigma, eta, switches, log_phi=values["log_phi"], printed=printed)


def printed_growing(
    problem: Convex, losses: Losses, result: str, switches: float | None, sigma: float | None
) -> LazyOCO:
    """Make the plan of Theorem 13, Theorem 28 or Algorithm 2, which run as they were repaired only."""
    curvature = problem.strong_convexity
    if not curvature > 0:
        raise PrivacyError(f"{result} is for strongly convex losses, such as QuadraticLoss. Got {problem.loss!r}.")
    values: dict[str, float] = {}
    evidence: tuple[str, ...] = ()
    if switches is not None:
        values = theorem_13(losses, curvature, switches)
        evidence = _preconditions(losses, switches)
        if switches < values["least"]:
            evidence = (*evidence, f"S >= {values['least']:,.0f} does not hold")
        sigma = values["sigma"]
    assert sigma is not None
    regret = values.get("regret")
    if result != "Theorem 13":
        regret = theorem_28(losses, curvature, sigma, 2 / losses.rounds**2)
    last = theorem_13_phi(losses, curvature, sigma, losses.rounds)
    if last < 1:
        evidence = (*evidence, f"the printed Phi_T is {last:.2g}, below 1: as printed no coin redraws")
    printed = Printed(
        paper="ctrl",
        result=result,
        reading="repaired",
        regret=regret,
        evidence=evidence,
        differs=(
            "ln Phi_t with its exp and index t-1, by the quantile of chi_d; as printed Phi_t falls below 1",
            "the first round redraws, for it has no law to compare with",
            "each redraw takes fresh noise, where Z_t is never sampled in print",
            "the first decision is the centre",
            BARRIER,
        ),
        values={"sigma": sigma, **({} if switches is None else {"switches": switches, "least": values["least"]})},
    )
    return LazyOCO(problem, sigma, inf, float(losses.rounds) if switches is None else switches, printed=printed)


def _preconditions(losses: Losses, switches: float) -> tuple[str, ...]:
    """Return which of T >= 3 and S <= T do not hold."""
    known = {"T >= 3": losses.rounds >= 3, "S <= T": switches <= losses.rounds}
    return tuple(f"{text} does not hold" for text, holds in known.items() if not holds)


def growing_ranges(problem: Convex, sigma: float, rounds: IntArray, decisions: int) -> FloatArray:
    """The ranges log Phi_t of these rounds, with misses of probability 1/T^2."""
    g, d = problem.lipschitz, problem.domain.hull_dimension
    q = chi_quantile(d, 1 / (decisions + 1) ** 2)
    t = rounds.astype(np.float64)
    before = np.maximum(t - 1, 1.0)
    ranges = d * np.log1p(problem.smoothness / (before * problem.strong_convexity))
    ranges += (g**2 + 2 * g * sigma * np.sqrt(t) * q) / (2 * sigma**2 * before)
    ranges += q**2 / (2 * before) + d / 2 * np.log(t / before)
    return np.where(t == 1, inf, ranges)
