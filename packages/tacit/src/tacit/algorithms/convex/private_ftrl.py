"""Private follow-the-regularised-leader: gradient sums through a private mechanism, then one projection.

The baseline that every user knows (Smith and Thakurta, 2013; Kairouz et al., 2021):
x_{t+1} = argmin over K of <noisy sum of clipped gradients, x> + |x|^2/(2 eta).

Against adaptive adversaries the noise moves each decision by at most eta |noise|. For losses fixed in advance there
is more to say. Linear losses: only the marginal law of the noise enters, so it may be coupled as a process with
independent increments, and privacy costs eta d sigma_T^2/2 in all. Smooth losses: noise that is independent of the
gradients cancels at first order. Two streams make it so: gradients are taken at the points of one noise, and the points
of the other are played. Where decisions may leave the domain, one stream without a projection is enough.

All certificates are R^2/(2 eta) + (eta/2) V + eta^2 W + a constant (`Terms`), in four ways for the forms above; their
proofs stand in docs/algorithms/private-ftrl.md. On the lattice the bounds are for quantised gradients, and roundings of
the noise move points: what both cost is part of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, isfinite, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.rounding import rounded_up
from tacit.algorithms.convex.convex_plan import ConvexLearner, ConvexPlan
from tacit.domains.convex_set import FullDimensionalSet, ProjectableSet
from tacit.errors import PrivacyError
from tacit.losses.loss import RowLoss, clip_rows, finite_rows
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import RunningSum
from tacit.noise.running_sums.accumulators import LARGEST_SUMMED, Records, SummedRecords
from tacit.noise.running_sums.running_sum import check_mechanism
from tacit.noise.sampler_bounds import chi_mean
from tacit.problems import Convex
from tacit.releases import NoisySums, Vectors
from tacit.runtime.on_sums import RunningSumPlan, private_sum, separated, sum_instances
from tacit.runtime.rate_search import best_batch, tosses
from tacit.runtime.small_instances import SmallInstance, clipped_losses, few_rounds
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, check_choice, check_flag, check_integer, check_positive, invalid

ADVERSARIES = ("oblivious", "adaptive")
RATES = ("certified", "practical", "given")


@dataclass(frozen=True)
class PrivateFTRL(ConvexPlan, RunningSumPlan):
    """Follow the regularised leader on privately summed gradients.

    Privacy contract: every noisy gradient sum, in all streams, hence every decision: mu-Gaussian DP (l2 sensitivity
    2G), or pure DP with Laplace trees. Adaptive adversaries. Enforced: gradients clipped to G, so any loss may be
    given. Assumed for regret: convexity of a `CustomLoss`; where clipping binds, the bound is for the clipped linear
    losses. Numerics: exact with Laplace trees, exact up to an epsilon that the contract states with Gaussian noise.
    Regret: R sqrt(G^2 T + 2 G E[chi_d] sum of deviations), adaptive. Oblivious, linear losses: R sqrt(G^2 T +
    d sigma_T^2). Oblivious, smooth losses: R^2/(2 eta) + (eta/2)(G^2 T + 2 d sigma_T^2) +
    2 beta eta^2 d sum of sigma_t^2 with two streams, or R^2/(2 eta) + eta G^2 T/2 + (beta eta^2/2) c sum of sigma_t^2
    without a projection (c = 1 for generalised linear losses, d for others).

    Reference: Kairouz, McMahan, Song, Thakkar, Thakurta and Xu (2021), "Practical and Private (Deep) Learning
    without Sampling or Shuffling", https://arxiv.org/abs/2103.00039.

    Page: docs/algorithms/private-ftrl.md.

    Attributes:
        eta: learning rate; `calibrate` takes the one with the smallest certified regret, or `eta=` as it is given.
        mechanism: the running sum, for horizon - 1 steps (the last gradient is never used).
        privacy: mu for Gaussian mechanisms, epsilon for Laplace ones, of all streams together.
        adversary: whom the regret bound is for.
        streams: 1, or 2 independent noises on the same sums: one for the points where gradients are taken, one for
            those that are played. `calibrate` takes what has the smaller certified regret, or `streams=` as given.
        projected: whether decisions are projected onto the domain; False only for a problem with proper=False.
        batch: rounds that are decided alike, whose gradients are added up before they are hidden; more than 1 where
            switches are limited.
        rate: how eta was chosen: "certified" (the smallest certified regret), "given", or "practical": one
            projected stream at the rate that would be best without a projection.

    >>> from tacit.domains import Ball
    >>> from tacit.losses import LinearLoss, LogisticLoss
    >>> problem = Convex(domain=Ball(10), loss=LinearLoss(), horizon=10_000)
    >>> plan = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> round(float(plan.regret_bound))  # 100 without privacy
    146
    >>> smooth = Convex(domain=Ball(10), loss=LogisticLoss(), horizon=100_000)
    >>> plan = PrivateFTRL.calibrate(smooth, epsilon=1.0, delta=1e-6)
    >>> plan.streams, round(float(plan.regret_bound))
    (2, 907)
    """

    _no_delay: ClassVar[str] = ""
    eta: float
    mechanism: RunningSum
    privacy: float
    adversary: str = "oblivious"
    streams: int = 1
    projected: bool = True
    rate: str = "certified"
    batch: int = 1
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy sum of gradients, hence every decision"
    theorem: ClassVar[str] = "private running sum; the projection is post-processing"

    def _check_parameters(self) -> None:
        check_integer("PrivateFTRL", "batch", self.batch, at_most=min(self.rounds, LARGEST_SUMMED))
        check_mechanism("PrivateFTRL", self.mechanism, tosses(self.rounds, self.batch))
        check_positive("PrivateFTRL", "eta", self.eta)
        check_choice("PrivateFTRL", "adversary", self.adversary, ADVERSARIES)
        check_choice("PrivateFTRL", "streams", self.streams, (1, 2))
        check_choice("PrivateFTRL", "rate", self.rate, RATES)
        check_integer("PrivateFTRL", "streams", self.streams)
        check_flag("PrivateFTRL", "projected", self.projected)
        if self.projected:
            projectable(self.problem)
        elif self.problem.proper or self.streams == 2 or self.adversary != "oblivious":
            raise PrivacyError(
                "PrivateFTRL leaves out the projection only in one stream, for losses fixed in advance and a problem "
                "with proper=False."
            )
        if self.batch > 1 and self.problem.delay:
            raise PrivacyError(
                "PrivateFTRL in batches takes no delay: take batch=1, which promises no limit on switches."
            )
        fixed = self.adversary == "oblivious" and isfinite(self.problem.smoothness)
        if self.streams == 2 and not (fixed and _steady(self.mechanism)):
            raise PrivacyError(
                "PrivateFTRL with streams=2 is for smooth losses fixed in advance and Gaussian noise that never falls "
                "(Buffered): take streams=1."
            )

    @property
    def proper(self) -> bool:
        return self.projected

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Everyone, unless a sharper bound for losses fixed in advance is used, or may be at another horizon."""
        sharper = self.problem.loss.family == "linear" or isfinite(self.problem.smoothness)
        oblivious = not self.projected or (_steady(self.mechanism) and sharper)
        return ("oblivious",) if oblivious and self.adversary == "oblivious" else ADVERSARIES

    @property
    def _sharp(self) -> bool:
        return _steady(self.mechanism) and self.adversary == "oblivious" and self.problem.loss.family == "linear"

    @property
    def lipschitz(self) -> float:
        """G, the norm to which gradients are clipped: their largest one wherever decisions may be."""
        return self.problem.lipschitz if self.projected else self.problem.everywhere.lipschitz

    @cached_property
    def releases(self) -> NoisySums:
        batch = self.batch if self.batch > 1 else None
        return NoisySums(
            records=Vectors(self.problem.domain.hull_dimension, self.lipschitz, batch),
            mechanism=self.mechanism,
            privacy=self.privacy,
            streams=self.streams,
            exact=self.numerics == "exact",
            made_for=self.neighbours,
        )

    @cached_property
    def records(self) -> Records:
        """Gradients, clipped to the Lipschitz constant, or the sums of a batch of them."""
        return super().records

    @property
    def expected_switches(self) -> float:
        """One at most after every batch but the last."""
        return float(tosses(self.rounds, self.batch))

    @property
    def trivial_regret(self) -> float:
        """The regret between two points of the domain; nothing bounds the loss of decisions that may be anywhere."""
        return super().trivial_regret if self.projected else float("inf")

    @property
    def regret_bound(self) -> RegretBound:
        """R^2/(2 eta) + (eta/2) V + eta^2 W: V holds G^2 T and what the noise adds, W what it adds at second order."""
        value = self._terms.at(self.eta)
        against = "adaptive adversary allowed" if "adaptive" in self.certified_against else "oblivious adversary"
        assumptions = [against, "expectation over the noise"]
        if not self.projected:
            formula = "R^2/(2 eta) + eta G^2 T/2 + (beta eta^2/2) c sum_t std_t^2"
            assumptions.append("comparators in the domain, decisions anywhere")
        elif self.streams == 2:
            formula = "R^2/(2 eta) + (eta/2)(G^2 T + d std_T^2) + beta eta^2 d sum_t std_t^2"
            assumptions.append("std_t the noise of each of two streams")
        elif self._sharp:
            formula = "R^2/(2 eta) + (eta/2)(G^2 T + d sigma_T^2)"
            assumptions.append("linear losses")
        else:
            formula = "R^2/(2 eta) + eta G^2 T/2 + eta G E|noise| summed over rounds"
        late = " + eta G^2 D T" if self.problem.delay else ""
        if self.batch > 1:
            assumptions.append("G, beta and T those of the sums of a batch")
        if self.problem.loss.family == "custom":
            assumptions.append("convex loss with the given gradient, clipped where it is longer than G")
        return RegretBound(value, formula + late, tuple(assumptions))

    @property
    def remark(self) -> str:
        """The expected regret of a practical rate, if any."""
        if self.rate != "practical":
            return ""
        idle = rounded_up(self._free.at(self.eta))
        return f"expected near {idle} while the projection is idle; not certified"

    @property
    def _longest(self) -> float:
        """The largest norm of a gradient; on a lattice they may be longer by half a step in each coordinate."""
        return max(self.lipschitz, self.grid.units * self.grid.step)

    @property
    def _moves(self) -> int:
        """T of the game whose rounds are batches: G, beta and F are those of sums of `batch` losses."""
        return tosses(self.rounds, self.batch) + 1

    @cached_property
    def _deviations(self) -> FloatArray:
        """std_t: of one coordinate of the noise in each sum."""
        return self.mechanism.standard_deviations(self.grid.scale)

    @property
    def _smoothness(self) -> float:
        return self.batch * (self.problem.constants if self.projected else self.problem.everywhere).smoothness

    @property
    def _variation(self) -> float:
        """G^2 T of the exact leader; 2 G^2 D T more for late gradients, which find it up to eta G D away."""
        return (self.batch * self._longest) ** 2 * self._moves * (1 + 2 * self.problem.delay)

    @property
    def _roundings(self) -> float:
        """G times how far roundings of the noise move all points, for eta = 1."""
        root, moved = sqrt(self.problem.domain.hull_dimension), self.grid.disturbance(self.mechanism)
        return self.batch * self._longest * self._moves * root * moved

    @property
    def _lost(self) -> float:
        """By how much the gradients of a round may be shortened, in l2."""
        return self.batch * sqrt(self.problem.domain.hull_dimension) * self.grid.lost

    @cached_property
    def _terms(self) -> Terms:
        """The certificate; projected points pay D times what each gradient loses on the lattice."""
        if not self.projected:
            return self._free
        domain, d, bend = self.problem.domain, self.problem.domain.hull_dimension, 0.0
        steps = self.mechanism.steps
        # Noise that never falls is coupled as a sum of increments, if losses are fixed in advance.
        coupled = d * float(self.grid.scale * self.mechanism.largest_row_norm) ** 2 / 2 if steps else 0.0
        if self.streams == 2:
            # Given the first stream losses are linear for the second; the points of both differ by eta times noises.
            noise, apart = coupled, self._deviations + sqrt(2.0) * self.grid.disturbance(self.mechanism)
            bend = self._smoothness * d * float(apart @ apart)
        elif self._sharp:
            noise = coupled
        else:  # every convex loss, adaptive adversaries: each point moves by at most eta times the length of its noise
            size = chi_mean(d) if self.mechanism.noise == "gaussian" else sqrt(d)
            noise = self.batch * self._longest * size * float(self._deviations.sum()) if steps else 0.0
        variation = self._variation + 2 * (noise + self._roundings)
        return Terms(domain.radius, variation, bend, self._moves * domain.diameter * self._lost)

    @property
    def _free(self) -> Terms:
        """Smooth losses fixed in advance, points that are not projected: the noise enters at second order only."""
        problem, noise = self.problem, self._deviations
        directions = 1 if problem.loss.family in ("glm", "linear") else problem.domain.hull_dimension
        return FreeTerms(
            problem.domain.radius,
            self._variation + 2 * self._roundings,
            self._smoothness / 2 * directions * float(noise @ noise),
            lost=self._lost,
            height=self.batch * problem.loss.height(problem.domain),
            lipschitz=self.batch * self._longest,
            rounds=self._moves,
        )

    @classmethod
    def _calibrate(
        cls,
        problem: Convex,
        target: Target,
        *,
        rate: str = "certified",
        mechanism: RunningSum | None = None,
        eta: float | None = None,
        streams: int | None = None,
        batch: int | None = None,
    ) -> PrivateFTRL:
        check_choice("PrivateFTRL.calibrate", "rate", rate, RATES[:2])
        rounds = problem.horizon or 1
        # The smallest batch with which a limit on switches is kept.
        least = 1 if target.max_switches is None else min(rounds, ceil(rounds / (target.max_switches + 1)))
        # A bound for losses fixed in advance holds for each draw of independent ones.
        against = "oblivious" if target.adversary == "stochastic" else target.adversary
        projected = problem.proper or against != "oblivious"

        def make(size: int) -> PrivateFTRL:
            """The plan of smallest certified regret with batches of this size."""
            sums, privacy = private_sum(tosses(rounds, size), target, mechanism, batch=size)
            contract = separated(target, sums)
            plain = cls(problem, 1.0, sums, privacy, against, projected=projected, batch=size, **contract)
            if rate == "practical":
                return _practical(plain, streams, eta)
            # Any rate is as private; the bound of another one is larger, but on benign losses it may do better.
            chosen = "certified" if eta is None else "given"
            made = [replace(form, eta=eta or form._terms.best_rate, rate=chosen) for form in _forms(plain, streams)]
            return min(made, key=lambda plan: plan.regret_bound.searched)

        if batch is not None:
            if check_integer("PrivateFTRL.calibrate", "batch", batch, at_most=rounds) < least:
                raise invalid("PrivateFTRL.calibrate", "batch", f"at least {least} for so few switches", batch)
            return make(batch)
        if least == 1 or mechanism is not None:  # without a limit every round may decide anew
            return make(least)
        most = min(rounds, LARGEST_SUMMED)
        found = best_batch(most, lambda size: ((plan := make(size)).regret_bound.searched, plan), first=least)
        return found[1] if found else make(least)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give an instance of few rounds at the plan's own privacy."""
        problem, batch = few_rounds(clipped_losses(self.problem)), min(2, self.batch)
        steps = tosses(problem.horizon or 1, batch)
        small = replace(self, problem=problem, batch=batch, mechanism=replace(self.mechanism, steps=steps))
        return sum_instances(small, steps)

    def _learner(self, randomness: Randomness) -> PrivateFTRLLearner:
        return (PrivateFTRLLearner if self.streams == 1 else TwoStreamsLearner)(self, randomness)


class PrivateFTRLLearner(ConvexLearner):
    """Projects minus eta times the noisy sum of clipped gradients."""

    plan: PrivateFTRL
    _state: ClassVar[tuple[str, ...]] = ("_sums", "_points", "_pending", "_waiting")
    _reacts = True

    def __init__(self, plan: PrivateFTRL, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        # Whatever is asked for in every round is looked up once.
        self._row_loss = self._loss if isinstance(self._loss, RowLoss) else None
        self._dimension = self._domain.dimension
        self._centre = self._domain.centre if isinstance(self._domain, FullDimensionalSet) else None
        self._nearest = projectable(plan.problem).nearest if plan.projected else None
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
        self._norm = plan.lipschitz
        self._batch, self._last = plan.batch, plan.mechanism.steps * plan.batch  # no decision after round `_last`
        self._pending = np.zeros(self._domain.hull_dimension)  # of the batch in hand; whole numbers on a lattice
        self._waiting = 0  # how many gradients that is
        self._action = np.array(self._domain.centre)
        self._opens = self._delay > 0
        self._points = np.zeros((self._delay + 1 if self._opens else 0, self._domain.dimension))  # of open rounds

    def _gather(self) -> dict[str, Any]:
        content = super()._gather()
        if self._batch == 1:  # nothing waits between two rounds
            del content["_pending"], content["_waiting"]
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter({"_pending": self._pending, "_waiting": self._waiting, **content})

    def _at_opening(self, number: int) -> None:
        self._points[number % len(self._points)] = self._asked

    @np.errstate(all="ignore")
    def _check_at(self, number: int, feedback: Any) -> Any:
        """With a delay: the gradient at the point of that round."""
        if not self._opens:
            return self._check(feedback)
        if self._row_loss is not None:
            return self._check_row(number, self._row_loss.pack(feedback, self._dimension, many=False)[0])
        return [self._answered(self._points[number % len(self._points)], feedback)]

    def _check_row(self, number: int, row: FloatArray) -> Any:
        return [self._gradient(row[None], self._points[number % len(self._points)])]

    @property
    def _asked(self) -> FloatArray:
        """Where the gradient of the round in hand is taken."""
        action: FloatArray = self._action
        return action

    @np.errstate(all="ignore")
    def _check(self, feedback: Any) -> Any:
        if self._row_loss is not None:
            return self._row_loss.pack(feedback, self._dimension, many=False)
        # The user's function is asked here, about the point of the round in hand, before anything changes.
        return [self._answered(self._asked, feedback)]

    def _answered(self, point: FloatArray, feedback: Any) -> FloatArray:
        """The gradient that a loss of the user's gives at a copy of a point, clipped, before anything changes."""
        gradient = self._loss.gradient(point.copy(), feedback)
        rows = finite_rows(self.plan.algorithm, "gradient", gradient, point.size, many=False)
        return np.asarray(clip_rows(rows, self._norm)[0])

    def _nothing(self) -> Any:
        return [np.zeros(self._domain.dimension)]

    def _consistent(self) -> bool:
        return self._sums.step * self._batch + self._waiting == min(self._round, self._last)

    @np.errstate(all="ignore")
    def _absorb(self, rows: Any) -> None:
        if self._round < self._last:
            self._follow(rows)

    def _absorb_rows(self, rows: Any, actions: FloatArray, first: int) -> None:
        for index in range(len(rows)):
            actions[index] = self._action
            if first + index < self._last:
                self._follow(rows[index : index + 1])

    def _follow(self, rows: Any) -> None:
        """Take the gradient of one round, and decide anew if its batch is full."""
        packed = self._row_loss is not None and not isinstance(rows, list)  # a list holds gradients
        gradient = self._gradient(rows, self._asked) if packed else rows[0]
        if self._centre is None:
            gradient = self._domain.restrict(gradient)
        if self._batch == 1:
            self._add(gradient)
            return
        assert isinstance(self.plan.records, SummedRecords)
        self._pending = self._pending + self.plan.records.each(gradient, self.plan.grid.units)
        self._waiting += 1
        if self._waiting == self._batch:
            self._add(self._pending)
            self._pending, self._waiting = np.zeros_like(self._pending), 0

    def _add(self, gradient: FloatArray) -> None:
        self._move(self._point(self._sums.add(gradient)))

    def _point(self, noisy: FloatArray) -> FloatArray:
        step = -self.plan.eta * noisy
        point = self._domain.from_hull(step) if self._centre is None else self._centre + step
        return point if self._nearest is None else self._nearest(point)

    def _gradient(self, data: FloatArray, point: FloatArray) -> FloatArray:
        assert self._row_loss is not None
        gradient: FloatArray = self._row_loss.gradients(point, data)[0]
        # The constants hold up to rounding; the clip makes the sensitivity exact.
        size = sqrt(float(gradient @ gradient))
        if size <= self._norm:
            return gradient
        # One that a link of the user's made too large for floats counts as 0: to raise would depend on the data.
        return gradient * (self._norm / size * (1 - 1e-15)) if isfinite(size) else np.zeros_like(gradient)


class TwoStreamsLearner(PrivateFTRLLearner):
    """Takes gradients at the points of one noise and plays those of another, which no gradient has ever seen."""

    _state = (*PrivateFTRLLearner._state, "_played_sums", "_query")

    def __init__(self, plan: PrivateFTRL, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._played_sums = plan.mechanism.start_on(plan.grid, randomness, "played noise")
        self._query = np.array(self._domain.centre)

    @property
    def _asked(self) -> FloatArray:
        return self._query

    def _consistent(self) -> bool:
        return super()._consistent() and self._played_sums.step == self._sums.step

    def _add(self, gradient: FloatArray) -> None:
        self._query = self._point(self._sums.add(gradient))
        self._move(self._point(self._played_sums.add(gradient)))


def projectable(problem: Convex) -> ProjectableSet:
    """The domain, if it can be projected onto."""
    if not isinstance(problem.domain, ProjectableSet):
        raise PrivacyError("PrivateFTRL needs a domain with a projection (Ball, Box, Simplex, L1Ball, Polytope).")
    return problem.domain


def _steady(mechanism: RunningSum) -> bool:
    """Whether the noise may be coupled as a sum of independent increments."""
    return mechanism.noise == "gaussian" and mechanism.steady


def _forms(plain: PrivateFTRL, streams: int | None) -> list[PrivateFTRL]:
    """The forms that may be calibrated: what was asked for, or all that the problem allows."""
    projected = replace(plain, projected=True) if streams == 2 else plain
    if streams is not None:
        return [replace(projected, streams=streams)]
    try:
        return [plain, replace(plain, streams=2)] if plain.projected and plain.rounds > 1 else [plain]
    except PrivacyError:
        return [plain]


def _practical(plain: PrivateFTRL, streams: int | None, eta: float | None) -> PrivateFTRL:
    """One projected stream at the rate that would be best without the projection."""
    if streams not in (None, 1) or eta is not None or not isfinite(plain.problem.smoothness):
        raise PrivacyError(
            "PrivateFTRL with rate='practical' is one stream on smooth losses: leave out streams and eta, or take "
            "rate='certified'."
        )
    projected = replace(plain, projected=True, rate="practical")
    return replace(projected, eta=projected._free.best_rate)


@dataclass(frozen=True)
class Terms:
    """R^2/(2 eta) + (eta/2) variation + eta^2 bend + constant."""

    radius: float
    variation: float
    bend: float = 0.0
    constant: float = 0.0

    def at(self, eta: float) -> float:
        """The bound at this rate."""
        return self.radius**2 / (2 * eta) + eta * self.variation / 2 + eta**2 * self.bend + self.constant

    @property
    def best_rate(self) -> float:
        """The root of 4 W eta^3 + V eta^2 = R^2, by Newton's method: convex, and from the right it never overshoots."""
        eta = self.radius / sqrt(self.variation)
        for _ in range(200):
            excess = eta**2 * (4 * self.bend * eta + self.variation) - self.radius**2
            following = eta - excess / (eta * (12 * self.bend * eta + 2 * self.variation))
            if not 0 < following < eta:
                break
            eta = following
        return eta


@dataclass(frozen=True)
class FreeTerms(Terms):
    """Without a projection: besides, what it costs that each gradient may be shortened by `lost`.

    Points may be eta G t away from the centre, so at first sight the t-th one costs eta G t `lost`. But if no loss on
    the domain lies more than F above its smallest value, the mean square of the distance to the comparator grows by at
    most 2 eta (F + beta eta^2 c std_t^2/2 + lost times the distance) + eta^2 G^2 a round, roundings of the noise aside.
    """

    lost: float = 0.0
    height: float = float("inf")
    lipschitz: float = 0.0
    rounds: int = 0

    def at(self, eta: float) -> float:
        drift = eta * self.rounds * self.lost
        square = self.radius**2 + 2 * eta * (self.rounds * self.height + eta**2 * self.bend) + eta**2 * self.variation
        distance = drift + sqrt(drift**2 + square)
        return super().at(eta) + min(eta * self._shortened, self.lost * self.rounds * distance)

    @property
    def best_rate(self) -> float:
        """The better one of the rates with and without what shortened gradients cost at first sight."""
        plain = super().best_rate
        careful = Terms(self.radius, self.variation + 2 * self._shortened, self.bend).best_rate
        return min(plain, careful, key=self.at)

    @property
    def _shortened(self) -> float:
        return self.lipschitz * self.lost * self.rounds * (self.rounds - 1) / 2
