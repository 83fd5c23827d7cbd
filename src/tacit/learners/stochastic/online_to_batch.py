"""Private online-to-batch: any online learner becomes one private pass over the data.

Paper: "Differentially Private Online-to-Batch for Smooth Losses" (NeurIPS 2022), Algorithm 1.

The learner is asked for w_t; the released model is the weighted average x_t of all w so far, which moves by O(1/t)
only. Its gradient is summed from small differences, so a record moves the sum by O(1/t) of its size, and a private
running sum of them is all the learner sees. Different from the print:

- Nothing is assumed about the loss. Each record's difference is clipped to C_t, a public function of the iterates,
  so privacy holds for every loss, convex or not, and every data set, independent records or not.
- Sensitivities are exact and predictable (2 C_t instead of (k+1)-fold bounds) and priced by the exact Gaussian
  curve. The print's (2 rho sqrt(ln 1/delta), delta) holds for delta <= exp(-rho^2), the reverse of what it says.
- The running sum is `Buffered` by default: with both changes 5 to 6 times less noise than equation (6).
- Pure privacy needs node scales linear in the number of levels; its noise is two-sided geometric (`difference_sums`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import ceil
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, PrivacyError
from tacit.geometry.base import read_only
from tacit.learners.learner import Learner
from tacit.learners.on_sums import RunningSumPlan, sum_instances
from tacit.learners.small_instances import SmallInstance
from tacit.learners.small_problems import clipped_losses, few_rounds
from tacit.learners.stochastic.clipping import ClippedDifferences
from tacit.learners.stochastic.common import ConversionErrors, OnlineLearner
from tacit.learners.stochastic.confident_betting import ConfidentBetting
from tacit.learners.stochastic.conversion import Conversion
from tacit.learners.stochastic.conversion_search import Search
from tacit.learners.stochastic.difference_sums import difference_grid, start_differences
from tacit.learners.stochastic.norms import Norm
from tacit.learners.stochastic.weighting import clipping_norms
from tacit.learners.target import RegretBound, Target
from tacit.losses.base import Loss, asks_user, largest_norm
from tacit.losses.regularised import parted
from tacit.mechanisms.running_sums import RunningSum
from tacit.mechanisms.running_sums.base import check_mechanism
from tacit.mechanisms.running_sums.lattice_sums import Grid
from tacit.mechanisms.running_sums.records import SummedRecords
from tacit.privacy.curves import ROUND_UP
from tacit.problems import Problem, Stochastic
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_flag, check_integer, check_level, check_number, check_positive

_EUCLIDEAN = Norm()


@dataclass(frozen=True)
class OnlineToBatch(RunningSumPlan):
    """One private pass over the data around any online learner.

    Privacy contract: every model along the way, hence the last one: mu-Gaussian DP, or pure DP with geometric
    noise on a tree. Adaptive adversaries. Enforced: each record's gradient difference is clipped to its public
    bound, whatever the loss does. Assumed: nothing; for the excess risk, independent records and a convex loss that
    keeps its constants. Numerics: exact if pure, exact up to an epsilon that the contract states with Gaussian noise.

    Reference: Zhang, Tran and Cutkosky (2022), "Differentially Private Online-to-Batch for Smooth Losses",
    https://arxiv.org/abs/2210.06593. Page: docs/algorithms/online-to-batch.md.

    Attributes:
        learner: a fresh learner, copied at the start; anything with play() and observe(gradient).
        mechanism: the running sum, for ceil(horizon/batch) steps.
        privacy: mu for Gaussian mechanisms, epsilon for trees with geometric noise.
        power: k of the weights t^k.
        batch: how many records make one step (a short last batch still divides by it).
        lipschitz: G, the dual norm to which gradients are clipped.
        smoothness: H, how fast gradients may change.
        norm: the l_p norm of the models; gradients are measured in its dual.
        scheduled: fix the growing sensitivities in advance, from the domain's diameter (less noise in the worst
            case), instead of following the iterates (less noise once they have settled).

    >>> from tacit.geometry import Ball
    >>> from tacit.losses import LogisticLoss
    >>> problem = Stochastic(domain=Ball(10, radius=1.5), loss=LogisticLoss(), horizon=20_000)
    >>> plan = OnlineToBatch.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> plan.batch, plan.mechanism.steps
    (32, 625)
    """

    problem: Stochastic
    _takes: ClassVar[type[Problem]] = Stochastic
    learner: Any = field(compare=False)
    mechanism: RunningSum
    privacy: float
    power: float
    batch: int
    lipschitz: float
    smoothness: float
    norm: Norm = _EUCLIDEAN
    scheduled: bool = False
    unit: ClassVar[str] = "one record"
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every model of the pass, hence the final one"
    theorem: ClassVar[str] = (
        "private running sum of clipped gradient differences with predictable sensitivities "
        "(Zhang, Tran and Cutkosky 2022, Theorem 3); any loss, any data"
    )

    def _check_parameters(self) -> None:
        owner = "OnlineToBatch"
        check_number(owner, "power", self.power, above=0.0, closed_low=True)
        check_integer(owner, "batch", self.batch)
        check_positive(owner, "lipschitz", self.lipschitz)
        check_flag(owner, "scheduled", self.scheduled)
        check_number(owner, "smoothness", self.smoothness, above=0.0, closed_low=True)
        check_mechanism(owner, self.mechanism, ceil(self.problem.records / self.batch))
        if not (hasattr(self.learner, "play") and hasattr(self.learner, "observe")):
            raise InvalidInput(f"The 'learner' of {owner} needs play() and observe(). Got {self.learner!r} instead.")
        if getattr(self.learner, "rounds", 0):
            raise InvalidInput(f"The 'learner' of {owner} must be fresh: this one has seen gradients already.")

    @property
    def records(self) -> SummedRecords:
        """Differences per unit of C_t, in l2; a step adds up those of its batch."""
        d, sides, people = self.problem.domain.dimension, self.relation.sides, self.rounds_per_person
        return SummedRecords(d, sides, people, self.norm.gaussian_factor(d) * ROUND_UP, self.batch)

    @cached_property
    def grid(self) -> Grid:
        """The numbers on which the sums work, per unit of C_t."""
        schedule = self.schedule if self.scheduled else None
        return difference_grid(self.mechanism, self.privacy, self.records, schedule, self.numerics, self.lipschitz)

    @property
    def unit_scale(self) -> float:
        """Scale of a fresh noise in an averaged sum per unit of a record's clipped norm C_t."""
        return self.grid.scale / self.batch

    @cached_property
    def schedule(self) -> FloatArray:
        """The largest C_t up to each step: what the sensitivities are, or at most can become."""
        norms = clipping_norms(self.mechanism.steps, self.power, self.lipschitz, self.smoothness, self._diameter)
        return np.asarray(np.maximum.accumulate(norms))

    @cached_property
    def conversion(self) -> Conversion:
        """The public facts from which the errors of the learner's gradients follow."""
        return Conversion(
            mechanism=self.mechanism,
            grid=self.grid,
            power=self.power,
            lipschitz=self.lipschitz,
            smoothness=self.smoothness,
            diameter=self._diameter,
            batch=self.batch,
            short=(-self.problem.records % self.batch) / self.batch,
            norm=self.norm,
            dimension=self.problem.domain.dimension,
            scheduled=self.scheduled,
            gradient_deviation=self.problem.gradient_deviation,
            hessian_deviation=self.problem.hessian_deviation,
            curvature=parted(self.problem.loss)[1],
            extent=largest_norm(self.problem.domain),
        )

    @property
    def errors(self) -> ConversionErrors:
        """Bounds on what separates the learner's gradients from the true ones, at each iterate."""
        return self.conversion.errors

    @property
    def _diameter(self) -> float:
        """In the plan's norm: the learner's own, if it has the same one."""
        if isinstance(self.learner, OnlineLearner) and self.learner.norm == self.norm:
            return self.learner.diameter
        return self.problem.domain.diameter * self.norm.stretch(self.problem.domain.dimension)

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The excess risk: expected loss of the last model minus that of the best one in the domain."""
        learner = self.learner
        if not isinstance(learner, OnlineLearner):
            return RegretBound(float("inf"), "not certified: the learner has no regret bound", self._assumptions)
        if learner.norm != self.norm:
            return RegretBound(float("inf"), "not certified: the learner has another norm", self._assumptions)
        if isinstance(learner, ConfidentBetting):
            return self.risk_within(learner.reach)
        assumptions = (*self._assumptions, *self.conversion.assumptions, "expectation over everything")
        return RegretBound(learner.excess_risk(self.errors), learner.risk_formula, assumptions)

    def risk_within(self, distance: float) -> RegretBound:
        """The excess risk over models so far from the first one, of a single run; for plans with a confidence."""
        check_level("OnlineToBatch.risk_within", "distance", distance, at_least=0.0)
        learner = self.learner
        if not isinstance(learner, ConfidentBetting):
            raise InvalidInput("OnlineToBatch.risk_within needs a plan calibrated with a confidence.")
        value = learner.risk_within(distance, self.conversion)
        formula = "(regret of the bettor + 2 r sum c_t)/sum of the weights, r the distance from the first model"
        within = f"against models within {distance:g} of the first one"
        return RegretBound(value, formula, (*self._assumptions, within), confidence=learner.confidence)

    @property
    def _assumptions(self) -> tuple[str, ...]:
        return ("independent records", "a convex loss that keeps its constants")

    @property
    def expected_switches(self) -> float:
        """The model moves at every step."""
        return float(self.mechanism.steps)

    @property
    def trivial_regret(self) -> float:
        """No model of the domain is worse than this."""
        return self.conversion.slope * self.problem.domain.diameter

    @classmethod
    def _calibrate(
        cls,
        problem: Stochastic,
        target: Target,
        *,
        scheduled: bool = False,
        learner: Any = "certified",
        power: float | None = None,
        batch: int | None = None,
        mechanism: str = "buffered",
        lipschitz: float | None = None,
        smoothness: float | None = None,
        norm: Norm | None = None,
    ) -> OnlineToBatch:
        """The plan at this target.

        Args:
            problem: domain, loss, number of records, and what else is declared.
            target: the privacy to meet.
            learner: a name of `online_learners.LEARNERS`, or a fresh object with play() and observe(gradient);
                "certified" takes the one with the smallest bound on the excess risk.
            power: k of the weights t^k (1; strongly convex learners 2, bettors 3).
            batch: records per step (default: the power of two with the smallest bound, see `conversion_search`).
            mechanism: "buffered", "square-root" or "tree"; with delta = 0 a tree with two-sided geometric noise.
            lipschitz: the norm to which gradients are clipped (default: the loss's constant).
            smoothness: how fast gradients may change (default: the loss's constant).
            norm: the norm of the models (default: the learner's, else l_2); another than the learner's: not certified.
            scheduled: fix the sensitivities in advance.
        """
        if target.max_switches is not None:
            raise PrivacyError("OnlineToBatch cannot promise a limit on switches: its model moves at every step.")
        wishes = (learner, power, batch, mechanism, lipschitz, smoothness, norm, scheduled)
        return Search(cls, problem, target, *wishes).best()

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """Few records at its own privacy; pure plans in float64 draw noise with the density of a norm."""
        problem, batch = few_rounds(clipped_losses(self.problem)), min(2, self.batch)
        steps = ceil(problem.records / batch)
        small = replace(self, problem=problem, batch=batch, mechanism=replace(self.mechanism, steps=steps))
        found = sum_instances(small, steps)
        if self.mechanism.noise == "gaussian" or self.grid.units:
            return found
        return (*found, SmallInstance("norm noise", found[0].label, small))

    def _learner(self, randomness: Randomness) -> OnlineToBatchLearner:
        return OnlineToBatchLearner(self, randomness)


class OnlineToBatchLearner(Learner):
    """Plays the averaged model; records are kept until their batch is full."""

    plan: OnlineToBatch
    _state = ("_inner", "_sums", "_pending", "_step", "_weight_sum", "_previous", "_sensitivity")

    def __init__(self, plan: OnlineToBatch, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        loss, self._curvature = parted(plan.problem.loss)
        if not isinstance(loss, Loss):
            raise InvalidInput(
                f"OnlineToBatch cannot start from {plan.problem.loss!r}: it has constants only. Give the problem a "
                "loss, for example tacit.LogisticLoss()."
            )
        self._inner = copy.deepcopy(plan.learner)
        self._sums = start_differences(plan.mechanism, plan.grid, plan.norm, randomness)
        self._differences = ClippedDifferences(loss, plan.problem.domain.dimension, plan.norm)
        self._pending: list[Any] = []
        self._step = 0  # completed steps
        self._weight_sum = 1.0
        self._sensitivity = 0.0
        self._average = bool(getattr(self._inner, "takes_average", False))
        self._action = read_only(np.array(self._inner.play(), dtype=np.float64))
        self._previous = self._action

    @property
    def model(self) -> FloatArray:
        """The newest private model; after the last record, the final one."""
        with self._looking("model"):
            self._close_last()
            return np.array(self._action)

    def release(self) -> FloatArray:
        """The newest model: every model of the pass is released already."""
        return self.model

    @property
    def _shows(self) -> bool:
        """A loss of the user's is asked about the models."""
        return asks_user(self.plan.problem.loss)

    def _check(self, record: Any) -> Any:
        """The record, and the batch's sum of differences if it ends a batch: a user's loss is asked only here."""
        packed = self._differences.pack(record)
        if len(self._pending) + 1 < self.plan.batch and self._round + 1 < self.plan.problem.records:
            return packed, None
        return packed, self._total(self._differences.stack([*self._pending, packed]))

    def _check_many(self, records: Any) -> Any:
        return self._differences.pack_many(records) if not self._shows else list(records)

    @np.errstate(all="ignore")
    def _absorb(self, checked: Any) -> None:
        record, total = checked
        if total is None:
            self._pending.append(record)
            return
        self._advance(total)
        self._pending = []

    def _run_openly(self, rows: Any) -> FloatArray:
        return np.asarray(super()._run_openly(rows)).reshape(len(rows), self._action.size)

    def _consistent(self) -> bool:
        plan, waiting = self.plan, len(self._pending)
        whole = self._round == plan.problem.records or self._round == self._step * plan.batch + waiting
        return (
            whole
            and waiting < plan.batch
            and self._sums.step == self._step == -(-(self._round - waiting) // plan.batch)
        )

    def _run(self, rows: Any) -> FloatArray:
        """As play and observe, a batch at a time; returns the model that stood in each round."""
        total, size = len(rows), self.plan.batch
        models, counts, position = [], [], 0
        while position < total:
            taken = min(size - len(self._pending), total - position)
            models.append(self._action)
            counts.append(taken)
            part = rows[position : position + taken]
            last = self._round + taken == self.plan.problem.records
            if taken < size and (self._pending or not last):
                self._pending.extend(self._differences.rows_of(part))
                part = self._differences.stack(self._pending)
            if len(part) == size or last:
                self._advance(self._total(np.array(part)))
                self._pending = []
            self._round += taken
            self._played = False
            position += taken
        return np.repeat(np.array(models), counts, axis=0) if models else np.empty((0, self._action.size))

    def _weights(self) -> tuple[float, float]:
        """beta_t and beta_{t-1} of the step to come."""
        t = self._step + 1
        return float(t) ** self.plan.power, float(t - 1) ** self.plan.power if t > 1 else 0.0

    def _clip(self) -> tuple[float, float]:
        """The clipping norm and the sensitivity of the step to come."""
        plan, (weight, before) = self.plan, self._weights()
        clip = (weight - before) * plan.lipschitz
        if self._step:
            clip += before * plan.smoothness * plan.norm.size(self._action - self._previous)
        if plan.scheduled:
            sensitivity = plan.schedule.item(self._step)
            return min(clip, sensitivity), plan.grid.admissible(sensitivity)
        return clip, max(self._sensitivity, plan.grid.admissible(clip * ROUND_UP))

    @np.errstate(all="ignore")
    def _total(self, records: Any) -> FloatArray:
        """The sum of the batch's clipped differences; nothing changes yet."""
        grid, (clip, sensitivity) = self.plan.grid, self._clip()
        each = partial(self.plan.records.each, units=grid.units, stretch=sensitivity) if grid.units else None
        return self._differences.total(records, self._action, self._previous, *self._weights(), clip, each)

    def _advance(self, total: FloatArray) -> None:
        """One step of Algorithm 1: clipped differences, noisy sum, learner, average."""
        plan, x, t = self.plan, self._action, self._step + 1
        weight, _ = self._weights()
        _, self._sensitivity = self._clip()
        noisy = self._sums.add(total, self._sensitivity) / plan.batch + (weight * self._curvature) * x
        if self._average:
            self._inner.observe(noisy, average=x, weight=weight)
        else:
            self._inner.observe(noisy)
        following = float(t + 1) ** plan.power
        self._weight_sum += following
        self._previous = x
        self._action = read_only(x + (following / self._weight_sum) * (self._inner.play() - x))
        self._switches += 1
        self._step = t
