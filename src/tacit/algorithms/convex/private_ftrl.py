"""Private follow-the-regularised-leader: gradient sums through a private mechanism, then one projection.

The baseline that every user knows (Smith and Thakurta, 2013; Kairouz et al., 2021):
x_{t+1} = argmin over K of <noisy sum of clipped gradients, x> + |x|^2/(2 eta).

Against adaptive adversaries the noise moves each decision by at most eta |noise|. For losses fixed in advance there
is more to say. Linear losses: only the marginal law of the noise enters, so it may be coupled as a process with
independent increments, and privacy costs eta d sigma_T^2/2 in all. Smooth losses: noise that is independent of the
gradients cancels at first order. Two streams make it so: gradients are taken at the points of one noise, and the points
of the other are played. Where decisions may leave the domain, one stream without a projection is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry.base import ProjectableSet
from tacit.learners.convex.common import ConvexLearner, ConvexPlan
from tacit.learners.convex.ftrl_regret import Setting, Terms, any_losses, linear_losses, not_projected, two_streams
from tacit.learners.on_sums import RunningSumPlan, private_sum
from tacit.learners.small_instances import SmallInstance
from tacit.learners.small_problems import clipped_losses, few_rounds
from tacit.learners.target import RegretBound, Target
from tacit.losses.base import RowLoss
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.base import check_mechanism
from tacit.mechanisms.running_sums.records import VectorRecords
from tacit.privacy.rounding import rounded_up
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_choice, check_flag, check_integer, check_positive

ADVERSARIES = ("oblivious", "adaptive")
RATES = ("certified", "practical", "given")


@dataclass(frozen=True)
class PrivateFTRL(ConvexPlan, RunningSumPlan):
    """Follow the regularised leader on privately summed gradients.

    Privacy contract: every noisy gradient sum, in all streams, hence every decision: mu-Gaussian DP (l2 sensitivity
    2G), or pure DP with Laplace trees. Adaptive adversaries. Enforced: gradients clipped to G, so any loss may be
    given. Assumed for regret: convexity of a `CustomLoss`; where clipping binds, the bound is for the clipped linear
    losses. Numerics: exact with Laplace trees, exact up to an epsilon that the contract states with Gaussian noise.
    Regret: R sqrt(G^2 T + 2 G E[chi_d] sum of deviations), adaptive; for oblivious adversaries R sqrt(G^2 T +
    d sigma_T^2) if losses are linear, and if they are smooth R^2/(2 eta) + (eta/2)(G^2 T + 2 d sigma_T^2) +
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
        rate: how eta was chosen: "certified" (the smallest certified regret), "given", or "practical": one
            projected stream at the rate that would be best without a projection.

    >>> from tacit.geometry import Ball
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
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy sum of gradients, hence every decision"
    theorem: ClassVar[str] = "private running sum; the projection is post-processing"

    def _check_parameters(self) -> None:
        check_mechanism("PrivateFTRL", self.mechanism, self.rounds - 1)
        check_positive("PrivateFTRL", "eta", self.eta)
        check_choice("PrivateFTRL", "adversary", self.adversary, ADVERSARIES)
        check_choice("PrivateFTRL", "streams", self.streams, (1, 2))
        check_choice("PrivateFTRL", "rate", self.rate, RATES)
        check_integer("PrivateFTRL", "streams", self.streams)
        check_flag("PrivateFTRL", "projected", self.projected)
        if self.projected:
            projectable(self.problem)
        else:
            self._check_free()
        if self.streams == 2:
            _check_two_streams(self.problem, self.mechanism, self.adversary)

    def _check_free(self) -> None:
        if self.problem.proper or self.streams == 2 or self.adversary != "oblivious":
            raise PrivacyError(
                "PrivateFTRL leaves out the projection only in one stream, for losses fixed in advance and a problem "
                "with proper=False."
            )

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

    @property
    def records(self) -> VectorRecords:
        """Gradients, clipped to the Lipschitz constant."""
        dimension = self.problem.domain.hull_dimension
        return VectorRecords(dimension, self.relation.sides, self.rounds_per_person, self.lipschitz)

    @property
    def trivial_regret(self) -> float:
        """That of two points of the domain; nothing bounds the loss of decisions that may be anywhere."""
        return super().trivial_regret if self.projected else float("inf")

    @property
    def regret_bound(self) -> RegretBound:
        """R^2/(2 eta) + (eta/2) V + eta^2 W: V holds G^2 T and what the noise adds, W what it adds at second order."""
        value = self._terms.at(self.eta)
        assumptions = ["expectation over the noise"]
        if "adaptive" in self.certified_against:
            assumptions.insert(0, "adaptive adversary allowed")
        else:
            assumptions.insert(0, "oblivious adversary")
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
        if self.problem.loss.family == "custom":
            assumptions.append("convex loss with the given gradient, clipped where it is longer than G")
        return RegretBound(value, formula + late, tuple(assumptions))

    @property
    def remark(self) -> str:
        """What a practical rate is good for."""
        if self.rate != "practical":
            return ""
        idle = rounded_up(not_projected(self._setting).at(self.eta))
        return f"expected near {idle} while the projection is idle; not certified"

    @property
    def _longest(self) -> float:
        """The largest norm of a gradient; on a lattice they may be longer by half a step in each coordinate."""
        return max(self.lipschitz, self.grid.units * self.grid.step)

    @cached_property
    def _setting(self) -> Setting:
        problem, domain = self.problem, self.problem.domain
        constants = problem.constants if self.projected else problem.everywhere
        return Setting(
            radius=domain.radius,
            diameter=domain.diameter,
            lipschitz=self._longest,
            smoothness=constants.smoothness,
            height=problem.loss.height(domain),
            directions=1 if problem.loss.family in ("glm", "linear") else domain.hull_dimension,
            dimension=domain.hull_dimension,
            rounds=self.rounds,
            mechanism=self.mechanism,
            grid=self.grid,
            delay=self.problem.delay,
        )

    @cached_property
    def _terms(self) -> Terms:
        if not self.projected:
            return not_projected(self._setting)
        if self.streams == 2:
            return two_streams(self._setting)
        return linear_losses(self._setting) if self._sharp else any_losses(self._setting)

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
    ) -> PrivateFTRL:
        if target.max_switches is not None and target.max_switches < (problem.horizon or 1) - 1:
            raise PrivacyError("PrivateFTRL cannot promise a limit on switches: its decision may change every round.")
        check_choice("PrivateFTRL.calibrate", "rate", rate, RATES[:2])
        steps = (problem.horizon or 1) - 1
        sums, privacy = private_sum(steps, target, mechanism)
        # A bound for losses fixed in advance holds for each draw of independent ones.
        against = "oblivious" if target.adversary == "stochastic" else target.adversary
        projected = problem.proper or against != "oblivious"
        plain = cls(problem, 1.0, sums, privacy, against, projected=projected, **target.contract)
        if rate == "practical":
            return _practical(plain, streams, eta)
        # Any rate is as private; the bound of another one is larger, but on benign losses it may do better.
        chosen = "certified" if eta is None else "given"
        made = [replace(form, eta=eta or form._terms.best_rate, rate=chosen) for form in _forms(plain, streams)]
        return min(made, key=lambda plan: float(plan.regret_bound))

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Few rounds at its own privacy."""
        return self._summed(few_rounds(clipped_losses(self.problem)))

    def _learner(self, randomness: Randomness) -> PrivateFTRLLearner:
        return (PrivateFTRLLearner if self.streams == 1 else TwoStreamsLearner)(self, randomness)


class PrivateFTRLLearner(ConvexLearner):
    """Projects minus eta times the noisy sum of clipped gradients."""

    plan: PrivateFTRL
    _state: ClassVar[tuple[str, ...]] = ("_sums", "_points")
    _reacts = True

    def __init__(self, plan: PrivateFTRL, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._projection = projectable(plan.problem) if plan.projected else None
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
        self._norm = plan.lipschitz
        self._action = np.array(self._domain.centre)
        self._opens = self._delay > 0
        self._points = np.zeros((self._delay + 1 if self._opens else 0, self._domain.dimension))  # of open rounds

    def _at_opening(self, number: int) -> None:
        self._points[number % len(self._points)] = self._asked

    @np.errstate(all="ignore")
    def _check_at(self, number: int, feedback: Any) -> Any:
        """With a delay: the gradient at the point of that round."""
        if not self._opens:
            return self._check(feedback)
        if isinstance(self._loss, RowLoss):
            return self._check_row(number, super()._check(feedback)[0])
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
        if isinstance(self._loss, RowLoss):
            return super()._check(feedback)
        # The user's function is asked here, about the point of the round in hand, before anything changes.
        return [self._answered(self._asked, feedback)]

    def _answered(self, point: FloatArray, feedback: Any) -> FloatArray:
        """The gradient that a loss of the user's gives at a copy of a point, clipped; nothing if it is not finite."""
        gradient = np.array(self._loss.gradient(point.copy(), feedback), dtype=np.float64)
        return self._clipped(gradient) if np.isfinite(gradient).all() else np.zeros_like(point)

    def _nothing(self) -> Any:
        return [np.zeros(self._domain.dimension)]

    def _consistent(self) -> bool:
        return self._sums.step == min(self._round, self.plan.rounds - 1)

    def _absorb_rows(self, rows: Any, actions: FloatArray, first: int) -> None:
        packed = isinstance(self._loss, RowLoss) and not isinstance(rows, list)  # a list holds gradients
        for index in range(len(rows)):
            actions[index] = self._action
            if first + index + 1 == self.plan.rounds:
                return
            gradient = self._gradient(rows[index : index + 1], self._asked) if packed else rows[index]
            self._add(self._domain.restrict(gradient))

    def _add(self, gradient: FloatArray) -> None:
        self._move(self._point(self._sums.add(gradient)))

    def _point(self, noisy: FloatArray) -> FloatArray:
        point = self._domain.from_hull(-self.plan.eta * noisy)
        return point if self._projection is None else self._projection.project(point)

    def _gradient(self, data: FloatArray, point: FloatArray) -> FloatArray:
        assert isinstance(self._loss, RowLoss)
        return self._clipped(self._loss.gradients(point, data)[0])

    def _clipped(self, gradient: FloatArray) -> FloatArray:
        # The constants hold up to rounding; the clip makes the sensitivity exact.
        size = sqrt(float(gradient @ gradient))
        return gradient if size <= self._norm else gradient * (self._norm / size * (1 - 1e-15))


class TwoStreamsLearner(PrivateFTRLLearner):
    """Takes gradients at the points of one noise and plays those of another, which no gradient has ever seen."""

    _state = ("_sums", "_points", "_played_sums", "_query")

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


def _check_two_streams(problem: Convex, mechanism: RunningSum, adversary: str) -> None:
    if adversary != "oblivious" or not _steady(mechanism) or not isfinite(problem.smoothness):
        raise PrivacyError(
            "PrivateFTRL with streams=2 is for smooth losses fixed in advance and Gaussian noise that never falls "
            "(Buffered, SquareRoot): take streams=1."
        )


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
    return replace(projected, eta=not_projected(projected._setting).best_rate)
