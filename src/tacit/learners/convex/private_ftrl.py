"""Private follow-the-regularised-leader: gradient sums through a private mechanism, then one projection.

The baseline that every user knows (Smith and Thakurta, 2013; Kairouz et al., 2021), and the best choice at moderate
horizons:  x_{t+1} = argmin over K of <noisy sum of clipped gradients, x> + |x|^2/(2 eta).

Two regret bounds. Against adaptive adversaries the noise moves each decision by at most eta |noise|. For linear
losses and an oblivious adversary only the marginal law of the noise enters, so the noises may be coupled as a
process with independent increments, and privacy costs eta d sigma_T^2/2 in all; that needs noise whose law never
falls along the stream, so tree sums keep the first bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry.base import ProjectableSet
from tacit.learners.convex.common import ConvexLearner, ConvexPlan
from tacit.learners.ctrl.accounting import chi_mean
from tacit.learners.on_sums import RunningSumPlan, private_sum
from tacit.learners.plan import SmallInstance
from tacit.learners.small_problems import clipped_losses, few_rounds
from tacit.learners.target import RegretBound, Target
from tacit.losses.base import RowLoss
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.base import check_mechanism
from tacit.mechanisms.running_sums.records import VectorRecords
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_choice, check_positive

ADVERSARIES = ("oblivious", "adaptive")


@dataclass(frozen=True)
class PrivateFTRL(ConvexPlan, RunningSumPlan):
    """Follow the regularised leader on privately summed gradients.

    Privacy contract: every noisy gradient sum, hence every decision: mu-Gaussian DP (l2 sensitivity 2G), or pure DP
    with Laplace trees. Adaptive adversaries. Enforced: gradients clipped to G, so any loss may be given. Assumed for
    regret: convexity of a `CustomLoss`; where clipping binds, the bound is for the clipped linear losses. Numerics:
    exact with Laplace trees, exact up to an epsilon that the contract states with Gaussian noise.
    Regret: R sqrt(G^2 T + 2 G E[chi_d] sum of deviations), adaptive; R sqrt(G^2 T + d sigma_T^2) for linear losses
    and oblivious adversaries.

    Reference: Kairouz, McMahan, Song, Thakkar, Thakurta and Xu (2021), "Practical and Private (Deep) Learning
    without Sampling or Shuffling", https://arxiv.org/abs/2103.00039.

    Attributes:
        eta: learning rate; `calibrate` takes the one with the smallest certified regret, or `eta=` as it is given.
        mechanism: the running sum, for horizon - 1 steps (the last gradient is never used).
        privacy: mu for Gaussian mechanisms, epsilon for Laplace ones.
        adversary: whom the regret bound is for.

    >>> from tacit.geometry import Ball
    >>> from tacit.losses import LinearLoss
    >>> problem = Convex(domain=Ball(10), loss=LinearLoss(), horizon=10_000)
    >>> plan = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> round(float(plan.regret_bound))  # 100 without privacy
    146
    """

    eta: float
    mechanism: RunningSum
    privacy: float
    adversary: str = "oblivious"
    _no_delay: ClassVar[str] = ""
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every noisy sum of gradients, hence every decision"
    theorem: ClassVar[str] = "private running sum; the projection is post-processing"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("PrivateFTRL", "eta", self.eta)
        check_positive("PrivateFTRL", "privacy", self.privacy)
        check_choice("PrivateFTRL", "adversary", self.adversary, ADVERSARIES)
        check_mechanism("PrivateFTRL", self.mechanism, self.rounds - 1)
        projectable(self.problem)

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Everyone, unless the sharper bound for linear losses is used."""
        return ("oblivious",) if self._sharp else ADVERSARIES

    @property
    def _sharp(self) -> bool:
        gaussian = self.mechanism.noise == "gaussian" and self.mechanism.steady
        return gaussian and self.adversary == "oblivious" and self.problem.loss.family == "linear"

    @property
    def records(self) -> VectorRecords:
        """Gradients, clipped to the Lipschitz constant."""
        dimension = self.problem.domain.hull_dimension
        return VectorRecords(dimension, self.relation.sides, self.rounds_per_person, self.problem.lipschitz)

    @property
    def regret_bound(self) -> RegretBound:
        """R^2/(2 eta) + eta V/2 with V = G^2 T (1 + 2D) + what the noise adds."""
        value = self.problem.domain.radius**2 / (2 * self.eta) + self.eta * self._variation / 2 + self._lattice_cost
        late = " + eta G^2 D T" if self.problem.delay else ""
        if self._sharp:
            formula = "R^2/(2 eta) + (eta/2)(G^2 T + d sigma_T^2)" + late
            return RegretBound(value, formula, ("oblivious adversary", "linear losses", "expectation over the noise"))
        formula = "R^2/(2 eta) + eta G^2 T/2 + eta G E|noise| summed over rounds" + late
        assumptions = ["adaptive adversary allowed", "expectation over the noise"]
        if self.problem.loss.family == "custom":
            assumptions.append("convex loss with the given gradient, clipped where it is longer than G")
        return RegretBound(value, formula, tuple(assumptions))

    @property
    def _lattice_cost(self) -> float:
        """What the lattice adds.

        The bound is for the quantised gradients g', no longer than the true ones, and <g - g', x_t - x*> is at most D
        times their distance; roundings of the noise move each point, by at most eta times their own length, and cost G
        times that.
        """
        spread = sqrt(self.problem.domain.hull_dimension)
        moved = self.eta * self.problem.lipschitz * self.grid.disturbance(self.mechanism)
        return self.rounds * spread * (self.grid.lost * self.problem.domain.diameter + moved)

    @cached_property
    def _variation(self) -> float:
        g, d = self.problem.lipschitz, self.problem.domain.hull_dimension
        # A gradient taken D rounds ago was taken at most eta G D away, and costs G times that.
        total = g**2 * self.rounds * (1 + 2 * self.problem.delay)
        if self.mechanism.steps == 0:
            return total
        if self._sharp:
            return float(total + d * (self.scale * self.mechanism.largest_row_norm) ** 2)
        size = chi_mean(d) if self.mechanism.noise == "gaussian" else sqrt(d)
        return float(total + 2 * g * size * self.mechanism.standard_deviations(self.scale).sum())

    @property
    def expected_switches(self) -> float:
        """Every round may change the decision."""
        return float(self.rounds - 1)

    @classmethod
    def _calibrate(
        cls, problem: Convex, target: Target, *, mechanism: RunningSum | None = None, eta: float | None = None
    ) -> PrivateFTRL:
        if target.max_switches is not None and target.max_switches < (problem.horizon or 1) - 1:
            raise PrivacyError("PrivateFTRL cannot promise a limit on switches: its decision may change every round.")
        projectable(problem)
        steps = (problem.horizon or 1) - 1
        sums, privacy = private_sum(steps, target, mechanism)

        def make(eta: float) -> PrivateFTRL:
            return cls(problem, eta, sums, privacy, target.adversary, **target.contract)

        # Any rate is as private; the bound of another one is larger, but on benign losses it may do better.
        return make(problem.domain.radius / sqrt(make(1.0)._variation) if eta is None else eta)

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Few rounds at its own privacy."""
        return self._summed(few_rounds(clipped_losses(self.problem)))

    def _learner(self, randomness: Randomness) -> PrivateFTRLLearner:
        return PrivateFTRLLearner(self, randomness)


class PrivateFTRLLearner(ConvexLearner):
    """Projects minus eta times the noisy sum of clipped gradients."""

    plan: PrivateFTRL
    _state = ("_sums", "_points")
    _reacts = True

    def __init__(self, plan: PrivateFTRL, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._projection = projectable(plan.problem)
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
        self._norm = plan.problem.lipschitz
        self._action = np.array(self._domain.centre)
        self._opens = self._delay > 0
        self._points = np.zeros((self._delay + 1 if self._opens else 0, self._domain.dimension))  # of open rounds

    def _at_opening(self, number: int) -> None:
        self._points[number % len(self._points)] = self._action

    @np.errstate(all="ignore")
    def _check_at(self, number: int, feedback: Any) -> Any:
        """With a delay: the gradient at the point of that round."""
        if not self._opens:
            return self._check(feedback)
        if isinstance(self._loss, RowLoss):
            return self._check_row(number, super()._check(feedback)[0])
        return [self._loss.gradient(self._points[number % len(self._points)].copy(), feedback)]

    def _check_row(self, number: int, row: FloatArray) -> Any:
        return [self._gradient(row[None], self._points[number % len(self._points)])]

    @np.errstate(all="ignore")
    def _check(self, feedback: Any) -> Any:
        if isinstance(self._loss, RowLoss):
            return super()._check(feedback)
        # The user's function is asked here, about the point of the round in hand, before anything changes.
        return [self._loss.gradient(self._action, feedback)]

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
            gradient = self._gradient(rows[index : index + 1], self._action) if packed else rows[index]
            noisy = self._sums.add(self._domain.restrict(gradient))
            self._move(self._projection.project(self._domain.from_hull(-self.plan.eta * noisy)))

    def _gradient(self, data: FloatArray, point: FloatArray) -> FloatArray:
        assert isinstance(self._loss, RowLoss)
        gradient: FloatArray = self._loss.gradients(point, data)[0]
        # The constants hold up to rounding; the clip makes the sensitivity exact.
        size = sqrt(float(gradient @ gradient))
        return gradient if size <= self._norm else gradient * (self._norm / size * (1 - 1e-15))


def projectable(problem: Convex) -> ProjectableSet:
    """The domain, if it can be projected onto."""
    if not isinstance(problem.domain, ProjectableSet):
        raise PrivacyError("PrivateFTRL needs a domain with a projection (Ball, Box, Simplex, L1Ball, Polytope).")
    return problem.domain
