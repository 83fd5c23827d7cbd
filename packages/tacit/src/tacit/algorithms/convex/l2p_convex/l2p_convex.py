"""L2P on regularised multiplicative weights: private online convex optimisation without smoothness.

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), Section 3.2. The measure is
nu_s ~ exp(-beta (sum of losses + lambda |x|^2)) on the domain, the switching rule is `tacit.runtime.two_chains`.
A draw from it is mu-Gaussian DP, mu = L sqrt(2 beta/lambda).

What differs from the print. Each round's log ratio is clipped at h, so one replaced loss moves the log of the keep
probability by at most 2h whatever the data, and clipping costs utility only. The reference need not be a second
chain: the centre of the domain (`reference_force=0`) costs no draws and, with h = beta L R, never clips. With `force=1`
there is no coin at all, only a fresh draw after each batch. The batching term is T B L^2/(4 lambda), not the print's
(its Proposition 3.3 is false). The sampler's certified error is inside delta; in one dimension draws are exact.

Regret: lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda). In two and more dimensions kinks are
rounded off over a width w (`RoundedKink`), for at most w a^2/2 a round. Proofs: docs/algorithms/l2p-convex.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, exp, inf, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.accounting.calibration import gaussian_mu, largest, smallest
from tacit.accounting.curves import ROUND_UP, Curve
from tacit.algorithms.convex.convex_plan import ConvexLearner, ConvexPlan
from tacit.algorithms.convex.l2p_convex.measure import (
    LARGEST_CHANGE,
    IntervalMeasure,
    ProximalMeasure,
    interval_nodes,
    interval_steepness,
    sampler_after,
)
from tacit.domains import Ball, Box
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.kinks import KinkedLoss, RoundedKink
from tacit.losses.loss import CONSTRUCTED, RowLoss, refuse_unchecked
from tacit.noise.randomness import Randomness
from tacit.printed import l2p
from tacit.problems import Convex
from tacit.releases import Coin, GibbsDraw, Inexact, LazyChain, Releases, Repeated
from tacit.runtime.plan import PrivatePlan
from tacit.runtime.printed import Printed
from tacit.runtime.rate_search import RateSearch, best_batch, best_near, tosses
from tacit.runtime.small_instances import SmallInstance, on_interval
from tacit.runtime.target import RegretBound, Target
from tacit.runtime.two_chains import CHAIN_STREAMS, TwoChains
from tacit.validation import FloatArray, check_choice, check_integer, check_number, check_positive, invalid

REPAIRED = "repaired"
"""The reading of Theorem 3.12 with the logarithm in eta as small as what is proved allows."""
# Loss evaluations in one draw that a plan accepts: several seconds.
WORK_LIMIT = 1e8


@dataclass(frozen=True)
class L2PConvex(ConvexPlan, PrivatePlan):
    """A point drawn from regularised multiplicative weights and held until a coin says otherwise.

    Privacy contract: every decision and the switch times of both chains; draws are mu-Gaussian DP with
    mu = L sqrt(2 beta/lambda), the coin's log moves by at most 2h, once. Adaptive adversaries. Enforced: feature
    norms and labels (clipped by the loss), log ratios clipped at h. Numerics: idealized; draws in two and more
    dimensions are within `sampler_distance` of their law, which is charged to delta.
    Regret (oblivious): lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda) + clipping.

    Reference: Asi, Koren, Liu and Talwar (2024), "Private Online Learning via Lazy Algorithms",
    https://arxiv.org/abs/2406.03620.

    Page: docs/algorithms/l2p-convex.md.

    Attributes:
        rate: beta, the weight of the losses.
        regularisation: lambda.
        force: probability of a forced redraw at each toss of the coins; 1: a fresh draw after each batch, no coin.
        clip: h, the most that one round moves the coin.
        batch: rounds from one toss to the next.
        reference_force: probability of a redraw of the reference at each toss; 0: it is the domain's centre.
        sampler_distance: total variation error of a draw (0 in one dimension, where draws are exact).
        work_limit: most loss evaluations in one draw; plans that need more are refused (None: no limit).
        smoothing: width over which the kink of a loss is rounded off where points are drawn (0: it is not).
        slack: the coin's constant C in units of batch * clip; 1 suffices, the print has 2.

    >>> from tacit.domains import Ball
    >>> from tacit.losses import LogisticLoss
    >>> problem = Convex(domain=Ball(1), loss=LogisticLoss(), horizon=1000)
    >>> plan = L2PConvex(problem, rate=0.05, regularisation=60.0, force=0.3, clip=0.05, batch=8)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> point = learner.play()
    >>> learner.observe(([1.0], 1.0))
    """

    rate: float
    regularisation: float
    force: float
    clip: float
    batch: int = 1
    reference_force: float = 0.0
    sampler_distance: float = 0.0
    work_limit: float | None = WORK_LIMIT
    smoothing: float = 0.0
    slack: float = 1.0
    printed_results: ClassVar[tuple[str, ...]] = ("Theorem 3.12",)
    released_streams: ClassVar[tuple[str, ...]] = ("draw", "reference draw")
    released: ClassVar[str] = "every decision and the switch times of both chains"

    def _check_parameters(self) -> None:
        check_number("L2PConvex", "smoothing", self.smoothing, above=0.0, closed_low=True)
        if self.smoothing and not isinstance(self.problem.loss, KinkedLoss):
            raise invalid("L2PConvex", "smoothing", f"0: {self.problem.loss!r} has no kink", self.smoothing)
        check_samplable(self.problem)
        check_number("L2PConvex", "slack", self.slack, above=1.0, closed_low=True)
        for name in ("rate", "regularisation", "clip"):
            check_positive("L2PConvex", name, getattr(self, name))
        check_number("L2PConvex", "force", self.force, above=0.0, below=1.0, closed_low=True, closed_high=True)
        check_number("L2PConvex", "reference_force", self.reference_force, above=0.0, below=1.0, closed_low=True)
        check_integer("L2PConvex", "batch", self.batch)
        exact = self.problem.domain.dimension == 1
        check_number("L2PConvex", "sampler_distance", self.sampler_distance, above=0.0, below=1.0, closed_low=exact)
        if self.work_limit is not None and self.work > check_positive("L2PConvex", "work_limit", self.work_limit):
            raise PrivacyError(
                f"A draw of L2PConvex at {self.rounds} rounds in {self.problem.domain.dimension} dimensions takes "
                f"{self.work:.2g} loss evaluations, more than work_limit={self.work_limit:.2g}: raise work_limit, plan "
                f"for fewer rounds, or use PrivateFTRL{' or CTRL' if self.problem.smoothness < inf else ''}."
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the slack only where it is not 1."""
        named = super().parameters
        if self.slack == 1:
            del named["slack"]
        return named

    @cached_property
    def sampled(self) -> Convex:
        """The problem whose losses points are drawn by: without their kinks, if these are rounded off."""
        loss = self.problem.loss
        if not self.smoothing or not isinstance(loss, KinkedLoss):
            return self.problem
        return replace(self.problem, loss=RoundedKink(loss.data_norm, loss, self.smoothing))

    @property
    def decisions(self) -> int:
        """How many times the coins are tossed: after every batch but the last."""
        return tosses(self.rounds, self.batch)

    @cached_property
    def work(self) -> float:
        """Expected loss evaluations in one draw at the end of the horizon: steps times history, at most."""
        if self.problem.domain.dimension == 1:
            steepness = interval_steepness(self.problem, self.rate, self.regularisation)
            if steepness * self.problem.domain.diameter > LARGEST_CHANGE:
                return inf
            return float(self.rounds + interval_nodes(self.problem, self.rate, self.regularisation))
        sampler = sampler_after(self.sampled, self.rate, self.regularisation, self.sampler_distance, self.rounds)
        return sampler.work * self.rounds

    @property
    def theorem(self) -> str:
        if self.force == 1:
            return "fresh draws from strongly log-concave measures, Gaussian composition"
        return "L2P on strongly log-concave measures, random-draw Renyi composition"

    @cached_property
    def releases(self) -> Releases:
        """The declaration of the transcript, the sampler's error included."""
        if self.sampler_distance == 0:
            return self.exact_releases
        chains = 2 if self.reference_force > 0 and self.force < 1 else 1
        return Inexact(self.exact_releases, self.sampler_distance, chains * self.decisions)

    @cached_property
    def exact_releases(self) -> Releases:
        """The declaration if every draw had exactly its law."""
        return declare(self.problem, self._tuned, self.reference_force, self.slack)

    @property
    def exact_curve(self) -> Curve:
        """The transcript's privacy curve if every draw had exactly its law."""
        return self.exact_releases.curve(self.neighbours)

    @property
    def _tuned(self) -> Tuning:
        return Tuning(self.rate, self.regularisation, self.force, self.clip, self.batch)

    @property
    def regret_bound(self) -> RegretBound:
        """The explicit bound, with clipping and the sampler's error."""
        value = certified_regret(self.problem, self._tuned, self.reference_force, self.sampler_distance)
        formula = "lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda) + clipping"
        if isinstance(self.sampled.loss, RoundedKink):
            value += self.rounds * self.sampled.loss.price
            formula += " + T w a^2/2"
        return RegretBound(
            value,
            formula,
            (f"{self.certified_against[-1]} adversary", "expectation over the learner's coins", "convex losses"),
        )

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adaptive adversaries too when every round draws afresh."""
        return ("oblivious", "adaptive") if self.force == 1 and self.batch == 1 else ("oblivious",)

    @property
    def expected_switches(self) -> float:
        """A coin keeps with probability at least (1 - p) e^{-2 B h}; by Jensen, more on average."""
        if not self.decisions:
            return 0.0
        if self.force == 1:
            return float(self.decisions)
        hazard = (self.slack + 1) * self.batch * self.clip
        if self.reference_force == 0 and never_clips(self.problem, self._tuned, 0.0):
            # The mean log ratio to the centre sums to at most the regret against the centre.
            drift = self.rate * float(self.regret_bound) / self.decisions
            hazard = min(hazard, self.slack * self.batch * self.clip + drift)
        return self.decisions * (1 - (1 - self.force) * exp(-hazard))

    @property
    def work_per_round(self) -> float:
        """The evaluations of losses in the draws of an average round, each of so many coordinates."""
        return self.work * self.problem.domain.dimension * max(1.0, self.expected_switches) / self.rounds

    @classmethod
    def _calibrate(cls, problem: Convex, target: Target, *, work_limit: float | None = WORK_LIMIT) -> L2PConvex:
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError(
                "L2PConvex cannot promise a limit on switches and has no pure form: leave out max_switches, and "
                "take delta > 0."
            )
        check_samplable(problem)
        tuned, distance = best_parameters(problem, target)
        make = partial(cls, problem, *tuned, sampler_distance=distance, **target.contract)
        width = 0.0
        if problem.domain.dimension > 1 and isinstance(problem.loss, KinkedLoss):
            width = _least_width(problem, lambda size: make(smoothing=size, work_limit=None).work, work_limit)
        return make(smoothing=width, work_limit=work_limit)

    @classmethod
    def _as_printed(
        cls,
        problem: Convex,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        work_limit: float | None = WORK_LIMIT,
    ) -> L2PConvex:
        if reading is not None:
            check_choice("L2PConvex.as_printed", "reading", reading, (REPAIRED,))
        if asked.delta == 0:
            raise InvalidInput(f"{result} needs delta above 0. Got 0 instead.")
        check_samplable(problem)
        logarithm = log((problem.horizon or 1) / asked.delta)
        values = printed_values(problem, asked, logarithm)
        batch = max(1, ceil(values["batch"] * (1 - 1e-12)))
        differs: tuple[str, ...] = ()
        named = ""

        def make(values: Mapping[str, float], printed: Printed | None = None, limit: float | None = None) -> L2PConvex:
            return cls(
                problem,
                rate=values["rate"],
                regularisation=values["regularisation"],
                force=values["force"],
                clip=printed_clip(problem, values),
                batch=batch,
                reference_force=values["force"],
                sampler_distance=printed_distance(problem, asked, batch),
                slack=2 * values["eta"] / printed_clip(problem, values),  # the coin's constant is 2 B eta
                printed=printed,
                work_limit=limit,
                **asked.contract,
            )

        running = values
        if reading == REPAIRED:
            # eta grows as the logarithm shrinks, and p = eta/epsilon stays below one half.
            low = max(1e-6, 2 * logarithm * values["force"])
            share = largest(
                lambda less: make(printed_values(problem, asked, 1 / less)).guarantee.epsilon(asked.delta),
                asked.epsilon,
                1 / (1e6 * logarithm),
                1 / low,
                1e-3,
            )
            running = printed_values(problem, asked, 1 / share)
            named = f"{REPAIRED}: ln(T/delta) = {logarithm:.3g} -> {1 / share:.3g}"
            differs = (f"eta, force, rate and regularisation follow from {1 / share:.3g} for ln(T/delta)",)
        if not running["force"] < 1:
            raise InvalidInput(
                f"{result} has p = eta/epsilon = {running['force']:.4g} here, which is no probability below 1: take "
                "more rounds, or a larger epsilon."
            )
        printed = Printed(
            "l2p",
            result,
            asked.epsilon,
            asked.delta,
            reading=named,
            order="L D O(sqrt(T) + T^(1/3) sqrt(d ln T) ln(T/delta)/epsilon^(2/3))",
            evidence=printed_evidence(problem, asked, running, batch),
            differs=(*differs, *printed_differs(problem, asked, running, batch)),
            values=values,
        )
        return make(running, printed, work_limit)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give an interval, where draws are integrated."""
        reference: dict[str, Any] = {"reference_force": 0.3} if self.reference_force > 0 else {}
        line = replace(self, problem=on_interval(self.problem), **reference, **INTERVAL)
        return (SmallInstance("integrated interval", "loud parameters, one dimension, T=3", line),)

    def _learner(self, randomness: Randomness) -> L2PConvexLearner:
        loss = self.sampled.loss
        if not isinstance(loss, RowLoss):
            raise InvalidInput(
                f"L2PConvex can be planned for {self.problem.loss!r}, but starts only with a loss of rows of data."
            )
        return L2PConvexLearner(self, randomness, loss)


class L2PConvexLearner(ConvexLearner):
    """Plays the first chain."""

    plan: L2PConvex
    _stream_names = CHAIN_STREAMS
    _state = ("_measure", "_chains")

    def __init__(self, plan: L2PConvex, randomness: Randomness, loss: RowLoss) -> None:
        super().__init__(plan, randomness)
        problem = plan.sampled
        self._loss: RowLoss = loss
        self._last_decision = plan.decisions * plan.batch
        self._measure: IntervalMeasure | ProximalMeasure
        if problem.domain.dimension == 1:
            self._measure = IntervalMeasure(problem, loss, plan.rate, plan.regularisation)
        else:
            self._measure = ProximalMeasure(problem, loss, plan.rate, plan.regularisation, plan.sampler_distance)
        self._chains: TwoChains | None = None
        if plan.force == 1:  # no coin: fresh draws after every batch
            self._action = self._measure.sample(self._streams["draw"])
            return
        self._chains = TwoChains(
            self._measure,
            limit=plan.clip,
            batch=plan.batch,
            slack=plan.slack,
            force=plan.force,
            reference_force=plan.reference_force,
            streams=self._streams,
        )
        if plan.reference_force == 0:  # the reference stands at the centre for ever
            self._chains.load_state_dict({**self._chains.state_dict(), "reference": problem.domain.centre})
        self._action = self._chains.decision

    def _consistent(self) -> bool:
        return self._measure.count == self._round

    @np.errstate(all="ignore")
    def _absorb_rows(self, rows: FloatArray, actions: FloatArray, first: int) -> None:
        for index, row in enumerate(rows):
            actions[index] = self._action
            finished = first + index + 1
            deciding = finished % self.plan.batch == 0 and finished <= self._last_decision
            if self._chains is None:
                self._measure.absorb(row)
                if deciding:
                    self._move(self._measure.sample(self._streams["draw"]))
                continue
            self._chains.absorb(row)
            if deciding and self._chains.decide():
                self._move(self._chains.decision)

    def _move(self, point: FloatArray) -> None:
        self._switches += 1
        self._action = point


def _least_width(problem: Convex, work: Callable[[float], float], limit: float | None) -> float:
    """The least width that the limit on work allows, or the widest: privacy and the rest of regret do not see it."""
    widest = problem.domain.radius * problem.loss.constants(None).lipschitz
    if limit is None or work(0.0) <= limit:
        return 0.0
    return smallest(lambda size: work(size) <= limit, 1e-6 * widest, widest, 1e-2) if work(widest) <= limit else widest


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
        among = self._target.neighbours
        return lambda rate: declare(self._problem, self._at(tuned, rate), 0.0).curve(among)

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


# On an interval: a clip that binds, and draws that say little, so that the coins are what is attacked.
INTERVAL: dict[str, Any] = {
    "rate": 0.4, "regularisation": 40.0, "force": 0.1, "clip": 0.02, "batch": 1, "sampler_distance": 0.0,
}  # fmt: skip


def printed_values(problem: Convex, asked: Target, logarithm: float) -> dict[str, float]:
    """Return the parameters of Theorem 3.12 with this number for ln(T/delta)."""
    domain = problem.domain
    return l2p.theorem_3_12(
        domain.dimension,
        problem.horizon or 1,
        asked.epsilon,
        asked.delta,
        problem.lipschitz,
        domain.diameter,
        logarithm=logarithm,
    )


def printed_clip(problem: Convex, values: Mapping[str, float]) -> float:
    """Return the clip of the printed coin: what no log ratio exceeds, or eta if that is less."""
    return min(values["eta"], values["rate"] * problem.lipschitz * problem.domain.diameter)


def printed_distance(problem: Convex, asked: Target, batch: int) -> float:
    """Return how far a draw may be from its law, so that both chains pay a small share of delta for all draws."""
    if problem.domain.dimension == 1:
        return 0.0
    draws = 2 * max(1, tosses(problem.horizon or 1, batch))
    return asked.delta * SAMPLER_SHARE / ((1 + exp(min(asked.epsilon, 500.0))) * draws)


def printed_evidence(problem: Convex, asked: Target, values: Mapping[str, float], batch: int) -> tuple[str, ...]:
    """Return what Theorem 3.2 and Lemma 3.11 say at the parameters of Theorem 3.12."""
    rounds = problem.horizon or 1
    eta, force = values["eta"], values["force"]
    log_one = l2p.theorem_3_2_log_one(rounds, asked.delta)
    promised = l2p.theorem_3_2_epsilon(rounds, eta, force, batch, log_one)
    measure_delta = l2p.theorem_3_12_measure_delta(rounds, asked.delta, eta, force, batch, log_one)
    moved = l2p.lemma_3_11_eta(values["rate"], values["regularisation"], problem.lipschitz, measure_delta)
    return (
        f"epsilon of Theorem 3.2 is {promised:.4g} at these parameters, of which 2 eta/p is {2 * eta / force:.4g}",
        f"eta of Lemma 3.11 is {moved / eta:.3g} times the printed one at delta_0={measure_delta:.2g}",
        *l2p.theorem_3_2_failures(rounds, eta, force, batch, log_one),
    )


def printed_differs(problem: Convex, asked: Target, values: Mapping[str, float], batch: int) -> tuple[str, ...]:
    """Return where the learner is not the printed one."""
    differs = []
    if abs(values["batch"] - batch) > 1e-9 * batch:
        differs.append(f"B = {values['batch']:.4g} is rounded up to {batch}")
    if values["rate"] * problem.lipschitz * problem.domain.diameter > values["eta"]:
        differs.append("the log ratio of a round is clipped at eta")
    if distance := printed_distance(problem, asked, batch):
        differs.append(f"draws are within {distance:.2g} of their law in total variation")
    if np.any(problem.domain.centre != 0):
        differs.append("the regulariser is centred in the set, not in 0")
    return tuple(differs)


class Tuning(NamedTuple):
    """The parameters of `L2PConvex` that are searched for."""

    rate: float
    regularisation: float
    force: float
    clip: float
    batch: int = 1


def declare(problem: Convex, tuned: Tuning, reference_force: float, slack: float = 1.0) -> Releases:
    """Declare the transcript, if every draw has exactly its law.

    A round's term of the coin lies in [-h, h], and that of no feedback is 0 if it has the same loss everywhere.
    Strongly convex losses have none such: there the term moves over its whole range, or by what two losses differ
    if that is less.
    """
    decisions = tosses(problem.horizon or 1, tuned.batch)
    draw = GibbsDraw(problem.lipschitz, tuned.rate, tuned.regularisation)
    if tuned.force == 1:
        return Repeated(draw, decisions)
    steepest = tuned.rate * problem.lipschitz * _reach(problem, reference_force) * ROUND_UP
    coin = Coin(
        tuned.force,
        limit=tuned.clip,
        batch=tuned.batch,
        signed=True,
        slack=slack,
        neutral=None if problem.strong_convexity == 0 else steepest,
    )
    return LazyChain(decisions, coin, draw, reference=reference_force)


def certified_regret(problem: Convex, tuned: Tuning, reference_force: float, sampler_distance: float) -> float:
    """The explicit bound, with clipping and the sampler's error."""
    rounds = problem.horizon or 1
    decisions = tosses(rounds, tuned.batch)
    error = problem.lipschitz * problem.domain.diameter * rounds
    value = gibbs_regret(problem, tuned.rate, tuned.regularisation, tuned.batch)
    if not never_clips(problem, tuned, reference_force):
        spread = tuned.rate * problem.lipschitz**2 / tuned.regularisation
        total = clip_errors(tuned.clip, spread, tuned.batch, reference_force, decisions)
        perturbed = tuned.batch * total / tuned.force if tuned.force > 0 else inf  # rounds until the next redraw
        value += error * min(1.0, perturbed / rounds)
    return value + error * min(1.0, 2 * (decisions + 1) * sampler_distance)


def never_clips(problem: Convex, tuned: Tuning, reference_force: float) -> bool:
    """Whether no log ratio can exceed the clip (there is none without a coin)."""
    if tuned.force == 1:
        return True
    return tuned.clip >= tuned.rate * problem.lipschitz * _reach(problem, reference_force)


def _reach(problem: Convex, reference_force: float) -> float:
    """How far a decision and its reference may lie apart."""
    return problem.domain.diameter if reference_force > 0 else problem.domain.radius


def check_samplable(problem: Convex) -> None:
    """Refuse problems whose measure has no certified sampler."""
    if problem.loss.family not in CONSTRUCTED:
        raise PrivacyError(
            "L2PConvex samples, and needs losses that are convex and Lipschitz by construction; "
            f"{problem.loss!r} is not: use PrivateFTRL, which clips gradients."
        )
    if not 0 < problem.lipschitz < float("inf"):
        raise PrivacyError(
            f"L2PConvex needs a finite Lipschitz constant. Got {problem.lipschitz!r} on this domain instead."
        )
    if problem.domain.dimension > 1 and not isinstance(problem.domain, Ball | Box):
        raise PrivacyError(
            f"L2PConvex draws from balls and boxes (and intervals), not from a {type(problem.domain).__name__}."
        )
    refuse_unchecked(problem.loss, "L2PConvex")


def gibbs_regret(problem: Convex, rate: float, regularisation: float, batch: int) -> float:
    """The bound lambda R^2 + min over gamma of (d/beta) ln(1/gamma) + gamma T L D, + T B L^2/(4 lambda)."""
    rounds, lipschitz, domain = problem.horizon or 1, problem.lipschitz, problem.domain
    cost = rounds * lipschitz * domain.diameter
    gamma = min(1.0, domain.dimension / (rate * cost))
    entropy = domain.dimension / rate * log(1 / gamma) + gamma * cost
    return regularisation * domain.radius**2 + entropy + rounds * batch * lipschitz**2 / (4 * regularisation)


def clip_errors(clip: float, spread: float, batch: int, reference_force: float, decisions: int) -> float:
    """A bound on the total variation that clipping adds to the law of x, summed over all decisions.

    x and a reference of age a (in batches) are independent and strongly log-concave, so each round's log ratio is
    sub-Gaussian with proxy v = `spread` = beta L^2/lambda, around a mean of at most m = a B v/2, and Chernoff's
    bound (on the kept mass as well as on the probability) gives 4 B exp(-(h - m)^2/(2v)) for h - m >= B v. The
    age is geometric; a block of ages is charged at its largest.
    """
    if decisions == 0:
        return 0.0
    if reference_force == 0:
        return float(decisions)
    first = np.unique(np.geomspace(1, decisions + 1, 300).astype(np.int64)) - 1
    oldest = np.append(first[1:] - 1, decisions)
    log_kept = np.log1p(-reference_force)
    share = np.exp(first * log_kept) - np.append(np.exp(first[1:] * log_kept), 0.0)
    room = clip - oldest * (batch * spread / 2)
    bound = 4 * batch * np.exp(-(np.maximum(room, 0.0) ** 2) / (2 * spread))
    return decisions * float(share @ np.where(room >= batch * spread, np.minimum(bound, 1.0), 1.0)) * ROUND_UP
