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
- Pure privacy needs node scales linear in the number of levels; its noise is two-sided geometric.

`OnlineToBatch.as_printed` runs the noise of equation (6) on the paper's tree, and what it is proved to leak.

*Calibration* takes the learner and the number of records a step with the smallest certified excess risk. The sizes
tried are powers of two that make at most `STEPS` steps; where no certificate says anything, `UNCERTIFIED_STEPS`. On a
lattice each record becomes integers by itself, before the batch is added up: docs/algorithms/online-to-batch.md.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import ceil
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.stochastic.online_to_batch.betting import (
    BettingGrid,
    ConfidentBetting,
    RegularisedBetting,
    gradient_sizes,
)
from tacit.algorithms.stochastic.online_to_batch.conversion import Conversion, clipping_norms
from tacit.algorithms.stochastic.online_to_batch.descent import (
    ConversionErrors,
    MirrorDescent,
    OnlineLearner,
    Optimistic,
    StronglyConvex,
    Subgradient,
)
from tacit.algorithms.stochastic.online_to_batch.equation_six import (
    SLACK,
    EquationSixTree,
    PureEquationSixTree,
    Sized,
)
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.domains import L1Ball, Simplex
from tacit.domains.convex_set import ProjectableSet, read_only
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.custom import CustomLoss, parted
from tacit.losses.loss import Constants, LinkLoss, Loss, RowLoss, clip_rows, largest_norm, playable
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree, RunningSum, Tree
from tacit.noise.running_sums.accumulators import LARGEST_SUMMED, SummedRecords
from tacit.noise.running_sums.running_sum import FIRST_MULTIPLE, check_mechanism
from tacit.printed import online_to_batch as printed_formulas
from tacit.problems import Problem, Stochastic
from tacit.releases import NoisySums, Vectors
from tacit.runtime.learner import Learner
from tacit.runtime.on_sums import RunningSumPlan, sum_instances
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance, clipped_losses, few_rounds
from tacit.runtime.target import RegretBound, Target
from tacit.validation import (
    FloatArray,
    check_choice,
    check_integer,
    check_level,
    check_number,
    check_positive,
    invalid,
)

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

    >>> from tacit.domains import Ball
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
    unit: ClassVar[str] = "one record"
    _separates: ClassVar[bool] = False
    printed_results: ClassVar[tuple[str, ...]] = (
        "Theorem 4", "Algorithm 1", "Theorem 3", "Theorem 6", "Lemma 7", "Theorem 8", "Theorem 10", "Theorem 11",
        "Theorem 19",
    )  # fmt: skip
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every model of the pass, hence the final one"
    _assumptions: ClassVar[tuple[str, ...]] = ("independent records", "a convex loss that keeps its constants")
    theorem: ClassVar[str] = (
        "private running sum of clipped gradient differences with predictable sensitivities "
        "(Zhang, Tran and Cutkosky 2022, Theorem 3); any loss, any data"
    )

    def _check_parameters(self) -> None:
        owner = "OnlineToBatch"
        check_number(owner, "power", self.power, above=0.0, closed_low=True)
        check_integer(owner, "batch", self.batch)
        check_positive(owner, "lipschitz", self.lipschitz)
        check_number(owner, "smoothness", self.smoothness, above=0.0, closed_low=True)
        check_mechanism(owner, self.mechanism, ceil(self.problem.records / self.batch))
        if not isinstance(self.norm, Norm):
            raise InvalidInput(f"The 'norm' of {owner} must be a Norm. Got {self.norm!r} instead.")
        if not (hasattr(self.learner, "play") and hasattr(self.learner, "observe")):
            raise InvalidInput(f"The 'learner' of {owner} needs play() and observe(). Got {self.learner!r} instead.")
        if getattr(self.learner, "rounds", 0):
            raise InvalidInput(f"The 'learner' of {owner} must be fresh: this one has seen gradients already.")
        if isinstance(self.mechanism, Sized):
            self._check_sized(self.mechanism)

    def _check_sized(self, mechanism: Sized) -> None:
        """Refuse a tree of equation (6) that was made for other differences: its column norm would not hold."""
        for name, needed in self._sized_for(self.diameter).items():
            if getattr(mechanism, name) != needed:
                raise invalid("OnlineToBatch", f"mechanism.{name}", f"that of the plan, {needed!r}", mechanism)

    def _sized_for(self, diameter: float) -> dict[str, float]:
        """The facts on which a tree of equation (6) relies."""
        curvature = parted(self.problem.loss)[1]
        return {
            "power": self.power,
            "lipschitz": self.lipschitz,
            "smoothness": self.smoothness,
            "diameter": diameter,
            "steepest": self.lipschitz + curvature * largest_norm(self.problem.domain),
            "curvature": self.smoothness + curvature,
        }

    @cached_property
    def releases(self) -> NoisySums:
        """Differences per unit of C_t, in l2, whose batches a step adds up; C_1 is the Lipschitz constant."""
        dimension = self.problem.domain.dimension
        exact = self.numerics == "exact" and self.batch <= LARGEST_SUMMED
        multiple = self.lipschitz * ROUND_UP / FIRST_MULTIPLE if self.mechanism.nodes else 0.0
        made = NoisySums(
            records=Vectors(dimension, self.norm.gaussian_factor(dimension) * ROUND_UP, self.batch),
            mechanism=self.mechanism,
            privacy=self.privacy,
            exact=exact,
            multiple=multiple if exact else None,
            spherical=self.mechanism.noise != "gaussian",
            made_for=self.neighbours,
        )
        if isinstance(self.mechanism, Sized) and made.grid.units:
            check_fine(made.grid.units, dimension)
        return made

    @cached_property
    def records(self) -> SummedRecords:
        """Differences per unit of C_t, in l2; a step adds up those of its batch."""
        records = super().records
        assert isinstance(records, SummedRecords)
        return records

    @property
    def unit_scale(self) -> float:
        """Scale of a fresh noise in an averaged sum per unit of a record's clipped norm C_t."""
        return self.grid.scale / self.batch

    @cached_property
    def schedule(self) -> FloatArray:
        """The largest C_t up to each step, or s_t of equation (6): what the sensitivities at most can become."""
        if isinstance(self.mechanism, Sized):
            return self.mechanism.largest_sizes()
        norms = clipping_norms(self.mechanism.steps, self.power, self.lipschitz, self.smoothness, self.diameter)
        return np.asarray(np.maximum.accumulate(norms))

    @cached_property
    def conversion(self) -> Conversion:
        """The public facts from which the errors of the learner's gradients follow."""
        return Conversion(self)

    @property
    def diameter(self) -> float:
        """Of the domain, in the plan's norm: the learner's own, if it has the same one."""
        if isinstance(self.learner, OnlineLearner) and self.learner.norm == self.norm:
            return self.learner.diameter
        return self.problem.domain.diameter * self.norm.gaussian_factor(self.problem.domain.dimension)

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
        return RegretBound(learner.excess_risk(self.conversion.errors), learner.risk_formula, assumptions)

    def risk_after(self, records: int) -> float:
        """Bound the expected excess risk of the model after so many records, as if the pass ended there.

        Infinite where `regret_bound` is, and for bounds of single runs.
        """
        check_integer("OnlineToBatch.risk_after", "records", records, at_least=0, at_most=self.problem.records)
        if records == self.problem.records:
            return float(self.regret_bound)
        learner = self.learner
        if not isinstance(learner, OnlineLearner) or learner.norm != self.norm or isinstance(learner, ConfidentBetting):
            return float("inf")
        return min(learner.excess_risk(self.conversion.first_errors(records // self.batch)), self.trivial_regret)

    def risk_within(self, distance: float) -> RegretBound:
        """Bound a single run's excess risk over models so far from the first one, for plans with a confidence."""
        check_level("OnlineToBatch.risk_within", "distance", distance, at_least=0.0)
        learner = self.learner
        if not isinstance(learner, ConfidentBetting):
            raise InvalidInput("OnlineToBatch.risk_within needs a plan calibrated with a confidence.")
        value = learner.risk_within(distance, self.conversion)
        formula = "(regret of the bettor + 2 r sum c_t)/sum of the weights, r the distance from the first model"
        within = f"against models within {distance:g} of the first one"
        return RegretBound(value, formula, (*self._assumptions, within), confidence=learner.confidence)

    @property
    def expected_switches(self) -> float:
        return float(self.mechanism.steps)

    @property
    def trivial_regret(self) -> float:
        """No model of the domain is worse than this, slope and diameter in one norm; others' models may be anywhere."""
        if not isinstance(self.learner, OnlineLearner) or self.learner.norm != self.norm:
            return float("inf")
        return self.conversion.slope * self.diameter

    @classmethod
    def _calibrate(
        cls,
        problem: Stochastic,
        target: Target,
        *,
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
            mechanism: "buffered" or "tree"; with delta = 0 a tree with two-sided geometric noise.
            lipschitz: the norm to which gradients are clipped (default: the loss's constant).
            smoothness: how fast gradients may change (default: the loss's constant).
            norm: the norm of the models (default: the learner's, else l_2); another than the learner's: not certified.
        """
        if target.max_switches is not None:
            raise PrivacyError("OnlineToBatch cannot promise a limit on switches: its model moves at every step.")
        wishes = (learner, power, batch, mechanism, lipschitz, smoothness, norm)
        return Search(problem, target, *wishes).best()

    @classmethod
    def _as_printed(
        cls,
        problem: Stochastic,
        asked: Target,
        result: str,
        reading: str | None,
        *,
        k: float | None = None,
        learner: Any = None,
        constant: float = 1.0,
        failure: float = 0.05,
        distance: float | None = None,
        lipschitz: float | None = None,
        smoothness: float | None = None,
    ) -> OnlineToBatch:
        """The plan with the noise of equation (6).

        Args:
            problem: domain, loss, number of records, and the deviations of gradients if they are declared.
            asked: the privacy that is asked of the formula.
            result: number of the result.
            reading: of Theorem 19: a name of `READINGS`.
            k: of the weights t^k (default: 1; strongly convex 2, Theorems 10 and 11 print 3).
            learner: a name of `LEARNERS`, or a fresh object with play() and observe(gradient).
            constant: C of Theorems 10 and 11, which is not printed.
            failure: delta of Theorems 10 and 11.
            distance: |x*| of Theorem 11's bound (default: the largest there is).
            lipschitz: G, without a regulariser's part (default: the loss's constant).
            smoothness: H, the same.
        """
        open_ones = (k, learner, constant, failure, distance, lipschitz, smoothness)
        return PrintedPass(problem, asked, result, reading, *open_ones).plan()

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give few records at the plan's privacy; pure plans in float64 draw noise with the density of a norm."""
        problem, batch = few_rounds(clipped_losses(self.problem)), min(2, self.batch)
        steps = ceil(problem.records / batch)
        small = replace(self, problem=problem, batch=batch, mechanism=replace(self.mechanism, steps=steps))
        found = sum_instances(small, steps)
        if self.mechanism.noise == "gaussian" or self.grid.units:
            return found
        return (*found, SmallInstance("norm noise", found[0].label, small))

    def _learner(self, randomness: Randomness) -> OnlineToBatchLearner:
        if isinstance(self.mechanism, Sized):
            return EquationSixLearner(self, randomness)
        return OnlineToBatchLearner(self, randomness)


class OnlineToBatchLearner(Learner):
    """Plays the averaged model; records are kept until their batch is full."""

    plan: OnlineToBatch
    _state: ClassVar[tuple[str, ...]] = (
        "_inner",
        "_sums",
        "_pending",
        "_step",
        "_weight_sum",
        "_previous",
        "_sensitivity",
    )

    def __init__(self, plan: OnlineToBatch, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        part, self._curvature = parted(plan.problem.loss)
        loss = playable(part, "OnlineToBatch")
        self._differences = ClippedDifferences(loss, plan.problem.domain.dimension, plan.norm)
        self._inner = copy.deepcopy(plan.learner)
        unit = plan.norm.exponential_noise if plan.mechanism.noise == "laplace" else None
        self._sums = plan.mechanism.start_on(plan.grid, randomness, "noise", unit=unit)
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
    def shows_decisions(self) -> bool:
        """A loss of the user's is asked about the models."""
        return not isinstance(self.plan.problem.loss, RowLoss)

    def _check(self, record: Any) -> Any:
        """The record, and the batch's sum of differences if it ends a batch: a user's loss is asked only here."""
        packed = self._differences.pack(record)
        if len(self._pending) + 1 < self.plan.batch and self._round + 1 < self.plan.problem.records:
            return packed, None
        return packed, self._total(self._differences.stack([*self._pending, packed]))

    def _check_many(self, records: Any) -> Any:
        loss, dimension = parted(self.plan.problem.loss)[0], self.plan.problem.domain.dimension
        return loss.pack(records, dimension, many=True) if isinstance(loss, RowLoss) else list(records)

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
                # Copied, so that they outlive the caller's array.
                self._pending.extend(np.array(row) if isinstance(row, np.ndarray) else row for row in part)
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


class EquationSixLearner(OnlineToBatchLearner):
    """Scales the noise by the bound of Lemma 15 at the largest |w_i - x_{i-1}| so far."""

    _state = (*OnlineToBatchLearner._state, "_farthest")
    _farthest = 0.0
    _known: tuple[Any, tuple[float, float]] | None = None  # the sizes of the step at which the model is this one

    @property
    def _reached(self) -> float:
        """The largest |w_i - x_{i-1}| up to the step to come; x_t - x_{t-1} is beta_t/beta_{1:t} of the newest."""
        moved = self.plan.norm.size(self._action - self._previous)
        weight, _ = self._weights()
        return max(self._farthest, moved * (self._weight_sum / weight))

    def _clip(self) -> tuple[float, float]:
        if self._known is None or self._known[0] is not self._action:
            self._known = self._action, self._sizes()
        return self._known[1]

    def _sizes(self) -> tuple[float, float]:
        clip, _ = super()._clip()
        mechanism, step = self.plan.mechanism, self._step + 1
        assert isinstance(mechanism, Sized)
        size = mechanism.size(step, self._reached)
        # Rounding in float64 may put a point a last digit outside of the domain.
        clip = min(clip, mechanism.ratios.item(step - 1) * size)
        return clip, max(self._sensitivity, self.plan.grid.admissible(size * ROUND_UP))

    def _advance(self, total: FloatArray) -> None:
        reached = self._reached
        super()._advance(total)
        self._farthest = reached


def check_fine(units: int, dimension: int) -> None:
    """Refuse a lattice whose roundings raise the ratios of equation (6) by more than their slack.

    A coordinate is off by .51 steps at most; sizes are rounded up by less than .1%, which may shrink the slack as much.
    """
    if 0.52 * dimension**0.5 > SLACK * units:
        raise PrivacyError(
            f"The lattice of equation (6) in {dimension} dimensions is too coarse: ask for less privacy, or take "
            "OnlineToBatch.calibrate."
        )


READINGS = {"equation (6)": False, "log2(2T) for its root": True}
"""How Theorem 19 is read: its noise is that of equation (6) "correspondingly", and pure epsilons of nodes add up."""
CONVEX = ("Theorem 4", "Algorithm 1", "Theorem 3", "Theorem 19")
STRONGLY_CONVEX = ("Lemma 7", "Theorem 8")
PARAMETER_FREE = ("Theorem 10", "Theorem 11")


@dataclass(frozen=True)
class PrintedPass:
    """What `OnlineToBatch.as_printed` was asked for."""

    problem: Stochastic
    asked: Target
    result: str
    reading: str | None
    k: float | None
    learner: Any
    constant: float
    failure: float
    distance: float | None
    lipschitz: float | None
    smoothness: float | None

    def plan(self) -> OnlineToBatch:
        """The plan, with what is known of its print."""
        self._check()
        if self.result == "Theorem 10" and self.learner is None:
            # Bettors need to know how large the noisy gradients get; any plan on this domain tells.
            errors = self._around(named_learner("subgradient", self.problem, _EUCLIDEAN)).conversion.errors
            return self._around(named_learner(BETTING, self.problem, _EUCLIDEAN, errors))
        return self._around(self._inner)

    def _check(self) -> None:
        owner = "OnlineToBatch.as_printed"
        pure = self.result == "Theorem 19"
        if pure != (self.asked.delta == 0):
            wanted = "0: it promises pure privacy" if pure else "positive: only Theorem 19 promises pure privacy"
            raise InvalidInput(f"The 'delta' of {owner} must be {wanted}. Got {self.asked.delta} instead.")
        if not pure and self.reading is not None:
            raise InvalidInput(f"{self.result} leaves nothing to a reading. Got {self.reading!r} instead.")
        check_choice(owner, "reading", self.reading or next(iter(READINGS)), tuple(READINGS))
        check_number(owner, "k", self._power, above=1.0, closed_low=True)
        check_positive(owner, "constant", self.constant)
        if self.lipschitz is not None:
            check_positive(owner, "lipschitz", self.lipschitz)
        if self.smoothness is not None:
            check_level(owner, "smoothness", self.smoothness, at_least=0.0)
        check_number(owner, "failure", self.failure, above=0.0, below=1.0)
        if self.distance is not None:
            check_level(owner, "distance", self.distance, at_least=0.0)
        if self.result in PARAMETER_FREE and self._power != 3:
            raise invalid(owner, "k", f"3 in {self.result}", self.k)
        if self.result == "Theorem 11" and self.learner is not None:
            raise InvalidInput(f"{self.result} has a learner of its own, the bettor on regularised losses.")
        if self.result in STRONGLY_CONVEX and self.problem.constants.strong_convexity == 0:
            raise InvalidInput(f"{self.result} needs a strongly convex loss. Got {self.problem.loss!r} instead.")

    @property
    def _power(self) -> float:
        if self.k is not None:
            return self.k
        return 3.0 if self.result in PARAMETER_FREE else 2.0 if self.result in STRONGLY_CONVEX else 1.0

    @property
    def _norm(self) -> Norm:
        given = getattr(self.learner, "norm", None)
        if isinstance(given, Norm):
            return given
        return Norm.for_sparse(self.problem.domain.dimension) if self.learner == "mirror-descent" else _EUCLIDEAN

    @cached_property
    def _inner(self) -> Any:
        """The learner inside; the print leaves it open, up to its regret."""
        if self.result == "Theorem 11":
            return self._regularised
        usual = "optimistic" if self.result == "Theorem 6" else "subgradient"
        chosen = self.learner or ("strongly-convex" if self.result in STRONGLY_CONVEX else usual)
        return named_learner(chosen, self.problem, self._norm) if isinstance(chosen, str) else chosen

    @cached_property
    def _regularised(self) -> RegularisedBetting:
        """A bettor on the regularised losses of Theorem 11, with the printed bound on their gradients."""
        known, d = self._known, self.problem.domain.dimension
        bound = float(printed_formulas.theorem_11_gradients(known, d, self.failure, self.constant)[-1])
        bettor = BettingGrid(_projectable(self.problem), bound, known.rounds + 1, initial=self.problem.initial)
        found = printed_formulas.theorem_10(known, d, self.failure, self.constant)
        return RegularisedBetting(bettor, found["first"], found["second"], found["square"])

    @cached_property
    def _diameter(self) -> float:
        inner = None if self.result == "Theorem 11" or self.learner is None else self._inner
        if isinstance(inner, OnlineLearner) and inner.norm == self._norm:
            return inner.diameter
        return self.problem.domain.diameter * self._norm.gaussian_factor(self.problem.domain.dimension)

    @property
    def _rho(self) -> float:
        """What stands for rho in equation (6)."""
        if self.result == "Theorem 19":
            return self.asked.epsilon
        return printed_formulas.rho(self.asked.epsilon, self.asked.delta)

    @cached_property
    def _known(self) -> printed_formulas.Constants:
        """What the printed bounds are computed from: constants of the whole loss, a regulariser included."""
        problem, norm, d = self.problem, self._norm, self.problem.domain.dimension
        gradient, hessian = problem.gradient_deviation, problem.hessian_deviation
        constants = self._whole
        return printed_formulas.Constants(
            rounds=problem.records,
            power=self._power,
            diameter=self._diameter,
            lipschitz=constants.lipschitz,
            smoothness=constants.smoothness,
            gradient_deviation=2 * constants.lipschitz if gradient is None else gradient,
            hessian_deviation=2 * constants.smoothness if hessian is None else hessian,
            rho=self._rho,
            variance=(norm.gaussian_factor(d) * norm.gaussian_size(d)) ** 2,
            strong_convexity=2 * (norm.power - 1),
        )

    @cached_property
    def _part(self) -> Constants:
        """G and H of what knows the data."""
        known = parted(self.problem.loss)[0].constants(self.problem.domain)
        lipschitz = known.lipschitz if self.lipschitz is None else self.lipschitz
        smoothness = known.smoothness if self.smoothness is None else self.smoothness
        if not (np.isfinite(lipschitz) and np.isfinite(smoothness)):
            raise PrivacyError("Equation (6) needs losses that are G-Lipschitz and H-smooth, with finite G and H.")
        return Constants(float(lipschitz), float(smoothness))

    @cached_property
    def _whole(self) -> Constants:
        """G and H of the whole loss, a regulariser included, which the print takes."""
        added = parted(self.problem.loss)[1]
        steepest = self._part.lipschitz + added * largest_norm(self.problem.domain)
        return Constants(steepest, self._part.smoothness + added)

    @cached_property
    def _scale(self) -> float:
        """The scale of a node's noise in units of the bound of Lemma 15."""
        rounds, d = self.problem.records, self.problem.domain.dimension
        if self.result != "Theorem 19":
            return printed_formulas.equation_6(self._rho, rounds)["scale"]
        linear = READINGS[self.reading or next(iter(READINGS))]
        return printed_formulas.theorem_19(self._rho, rounds, d, linear=linear)["scale"]

    def _around(self, inner: Any) -> OnlineToBatch:
        known = self._part
        pure = self.result == "Theorem 19"
        kind = PureEquationSixTree if pure else EquationSixTree
        tree = kind(
            steps=self.problem.records,
            power=float(self._power),
            lipschitz=known.lipschitz,
            smoothness=known.smoothness,
            diameter=self._diameter,
            steepest=self._whole.lipschitz,
            curvature=self._whole.smoothness,
        )
        people, sides = self.asked.rounds_per_person, self.asked.relation.sides
        contract = self.asked.contract
        if pure:  # the law exp(-|x|) is drawn in float64 only
            contract["numerics"] = "float"
        made = OnlineToBatch(
            self.problem,
            learner=inner,
            mechanism=tree,
            privacy=sides * people * tree.column_norm / self._scale,
            power=float(self._power),
            batch=1,
            lipschitz=known.lipschitz,
            smoothness=known.smoothness,
            norm=self._norm,
            **contract,
        )
        return replace(made, printed=self._printed(made))

    def _printed(self, made: OnlineToBatch) -> Printed:
        bound, order, further = self._bound(made)
        values = {"k": made.power, "rho": self._rho, "scale": self._scale, **further}
        pure = self.result == "Theorem 19"
        reading = (self.reading or next(iter(READINGS))) if pure else ""
        return Printed(
            paper="online_to_batch",
            result=self.result,
            epsilon=self.asked.epsilon,
            delta=self.asked.delta,
            reading=reading,
            regret=bound,
            order=order,
            evidence=self._evidence(made),
            differs=self._differs(made),
            values=values,
        )

    def _bound(self, made: OnlineToBatch) -> tuple[float | None, str, dict[str, float]]:
        """The printed bound around the regret that the learner is proved to have (None: an order is printed)."""
        known, inner, d = self._known, made.learner, self.problem.domain.dimension
        if self.result == "Theorem 4" and isinstance(inner, OnlineLearner):
            sizes = np.sqrt(printed_formulas.theorem_4_gradients(known))
            changes = np.sqrt(printed_formulas.theorem_6_changes(known))
            found = printed_formulas.theorem_4(known, inner.expected_regret(sizes, changes))
        elif self.result == "Theorem 8":
            mu = self.problem.constants.strong_convexity
            squares = printed_formulas.theorem_8_gradients(known, mu)
            regret = printed_formulas.remark_9_regret(squares, known.steps**known.power, mu)
            found = printed_formulas.theorem_8(known, regret, mu)
        elif self.result == "Theorem 11":
            assert isinstance(inner, RegularisedBetting)
            distance = inner.reach if self.distance is None else self.distance
            sizes = printed_formulas.theorem_11_gradients(known, d, self.failure, self.constant)
            regret = inner.bettor.regret_within(distance, float(np.sum(sizes**2)), known.rounds)
            found = printed_formulas.theorem_11(known, d, self.failure, self.constant, distance, regret)
        else:
            return None, ORDERS.get(self.result, ""), {}
        bound = found["excess_risk"]
        known_regret = np.isfinite(bound)
        return (bound if known_regret else None), "", {"without_regret": found["without_regret"]}

    def _evidence(self, made: OnlineToBatch) -> tuple[str, ...]:
        kind = "pure" if self.result == "Theorem 19" else "Gaussian"
        said = [f"the exact {kind} curve of clipped differences in the nodes of each record"]
        if self.result == "Theorem 19":
            said.append(f"{made.mechanism.nodes} nodes of a record, whose epsilons add up")
        else:
            said.append(self._conversion)
        if self.result == "Theorem 8" and made.power == 1:
            said.append("at k = 1 the printed bound lacks a factor ln T")
        if self.result in PARAMETER_FREE:
            said.append(f"the constant C is not printed: {self.constant:g}")
        return tuple(said)

    @property
    def _conversion(self) -> str:
        """What became of the conversion from Renyi privacy in Section 1.1."""
        least, delta = printed_formulas.smallest_delta(self._rho), self.asked.delta
        if delta >= least:
            return "Section 1.1 converts here, and its conversion is false for such deltas"
        holds = "its conversion holds below that instead"
        return f"Section 1.1 asks delta >= exp(-rho^2) = {least:.3g}, which {delta:g} is not; {holds}"

    def _differs(self, made: OnlineToBatch) -> tuple[str, ...]:
        said = [
            "differences of gradients are clipped to what G and H allow",
            "all T gradients are used: the model is x_(T+1)",
        ]
        if made.numerics == "exact":
            said.append("whole numbers of noise on a lattice; sizes are rounded up by at most .1%")
        if np.any(np.asarray(made.learner.play())):
            said.append("x_0 is w_1, not 0")
        if parted(self.problem.loss)[1]:
            said.append("the regulariser's gradient is added without noise")
        if self.result in PARAMETER_FREE and isinstance(made.learner, RegularisedBetting | BettingGrid):
            said.append("the learner is a grid of bettors, which clips gradients to their bound")
        return tuple(said)


ORDERS = {
    "Theorem 6": "D (sigma_G + D sigma_H)/sqrt(T) + sqrt(d) D (G + D H) ln(T)/(rho T)",
    "Theorem 10": "4/T^4 (Regret + sum xi_t (|w_t| + |x*|) + nu_t (|w_t|^2 + |x*|^2))",
    "Theorem 19": "as Theorem 4, V = d (d + 1)",
}
"""What is printed of results without a bound whose every part is known before the run."""


MECHANISMS: dict[str, type[Buffered] | type[Tree]] = {"buffered": Buffered, "tree": Tree}
STEPS = 100_000
UNCERTIFIED_STEPS = 2000


@dataclass(frozen=True)
class Search:
    """What `OnlineToBatch.calibrate` was asked for."""

    problem: Stochastic
    target: Target
    learner: Any
    power: float | None
    batch: int | None
    mechanism: str
    lipschitz: float | None
    smoothness: float | None
    norm: Norm | None

    def best(self) -> OnlineToBatch:
        """The plan with the smallest certified excess risk."""
        check_choice("OnlineToBatch", "mechanism", self.mechanism, tuple(MECHANISMS))
        euclidean = self.norm is None or self.norm.power == 2.0
        bets = isinstance(self.learner, str) and self.learner in ("certified", BETTING)
        if self.target.confidence is not None and not (self.target.delta > 0 and euclidean and bets):
            raise PrivacyError(
                "OnlineToBatch bounds single runs with Gaussian noise (delta > 0), in the Euclidean norm, for learners "
                f"that bet: 'certified' or {BETTING!r}."
            )
        found = self._smallest(self._batches)
        return self._smallest([self._usual_batch]) if found.vacuous and self.batch is None else found

    @property
    def _learners(self) -> list[Any]:
        """The candidates: names, or the one object that was given."""
        if not isinstance(self.learner, str) or self.learner != "certified":
            return [self.learner]
        if self.target.confidence is not None:
            return [BETTING]
        sparse = isinstance(self.problem.domain, L1Ball | Simplex)
        curved = self.problem.constants.strong_convexity > 0
        return ["subgradient", "optimistic", *["strongly-convex"] * curved, *["mirror-descent"] * sparse]

    def _smallest(self, batches: list[int]) -> OnlineToBatch:
        found = (self._plan(learner, size) for learner in self._learners for size in batches)
        return min(found, key=lambda plan: plan.regret_bound.searched)

    @property
    def _usual_batch(self) -> int:
        return max(1, ceil(self.problem.records / UNCERTIFIED_STEPS))

    @property
    def _batches(self) -> list[int]:
        """The sizes that are compared: powers of two, unless there is nothing to compare."""
        records, given = self.problem.records, self.learner
        if self.batch is not None:
            return [check_integer("OnlineToBatch", "batch", self.batch)]
        betting = isinstance(given, str) and given == BETTING and self.target.confidence is None
        if betting or not isinstance(given, str | OnlineLearner):
            return [self._usual_batch]
        least = (ceil(records / STEPS) - 1).bit_length()
        return [2**level for level in range(least, max(least, records.bit_length() - 1) + 1)]

    def _plan(self, learner: Any, batch: int) -> OnlineToBatch:
        """The plan around one learner, at one size of the batches."""
        given = getattr(learner, "norm", None)
        if not isinstance(given, Norm):
            given = Norm.for_sparse(self.problem.domain.dimension) if learner == "mirror-descent" else Norm()
        norm = self.norm or given
        mechanism, privacy = self._sums(ceil(self.problem.records / batch))
        lipschitz, smoothness = self._constants
        around = partial(
            OnlineToBatch,
            self.problem,
            mechanism=mechanism,
            privacy=privacy,
            power=default_power(learner) if self.power is None else self.power,
            batch=batch,
            lipschitz=lipschitz,
            smoothness=smoothness,
            norm=norm,
            **self.target.contract,
        )
        if not isinstance(learner, str):
            return around(learner=learner)
        if learner != BETTING:
            return around(learner=named_learner(learner, self.problem, norm))
        # Bettors need to know how large the noisy gradients get; any plan on this domain tells.
        conversion = around(learner=named_learner("subgradient", self.problem, norm)).conversion
        if self.target.confidence is None:
            return around(learner=named_learner(learner, self.problem, norm, conversion.errors))
        return around(learner=confident_bettor(self.problem, conversion, self.target.confidence))

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """G and H, to which differences of gradients are clipped."""
        known = parted(self.problem.loss)[0].constants(self.problem.domain)
        lipschitz = known.lipschitz if self.lipschitz is None else self.lipschitz
        smoothness = known.smoothness if self.smoothness is None else self.smoothness
        if self.lipschitz is not None:
            check_positive("OnlineToBatch", "lipschitz", self.lipschitz)
        if not (np.isfinite(lipschitz) and np.isfinite(smoothness)):
            raise PrivacyError(
                "OnlineToBatch needs finite constants: give lipschitz= and smoothness= for a loss that has none "
                "(gradients are clipped to them, so privacy holds for any choice)."
            )
        return lipschitz, smoothness

    def _sums(self, steps: int) -> tuple[RunningSum, float]:
        """The running sum and its privacy."""
        if self.target.delta == 0:
            return LaplaceTree.best(steps), self.target.epsilon
        return MECHANISMS[self.mechanism](steps), self._mu

    @cached_property
    def _mu(self) -> float:
        return gaussian_mu(self.target.epsilon, self.target.delta)


BETTING = "coin-betting"
LEARNERS = ("subgradient", "optimistic", "strongly-convex", BETTING, "mirror-descent")


def named_learner(name: str, problem: Stochastic, norm: Norm, errors: ConversionErrors | None = None) -> OnlineLearner:
    """A fresh learner on the problem's domain; bettors take their gradient bound from `errors`."""
    check_choice("OnlineToBatch", "learner", name, LEARNERS)
    domain, initial = _projectable(problem), problem.initial
    if name == "strongly-convex":
        return StronglyConvex(domain, problem.constants.strong_convexity, initial)
    if name == "optimistic":
        return Optimistic(domain, initial)
    if name == "mirror-descent":
        if not isinstance(domain, L1Ball | Simplex):
            raise InvalidInput(f"mirror-descent needs an L1Ball or a Simplex. Got {domain!r} instead.")
        return MirrorDescent(domain, norm, initial)
    if errors is not None and name == BETTING:
        # A public size that noisy gradients rarely exceed: signal, sampling error, and twice the noise.
        usual = float(errors.weights[-1] * errors.lipschitz + errors.sampling[-1] + 2 * errors.noise[-1])
        return BettingGrid(domain, usual, errors.weights.size, initial=initial)
    return Subgradient(domain, initial)


def confident_bettor(problem: Stochastic, conversion: Conversion, confidence: float) -> ConfidentBetting:
    """A bettor behind the penalties of this conversion."""
    penalties = conversion.largest_errors(1 - confidence)
    largest = float(gradient_sizes(conversion, penalties).max())
    bettor = BettingGrid(_projectable(problem), largest, penalties.size, initial=problem.initial)
    return ConfidentBetting(bettor, penalties, confidence)


def _projectable(problem: Stochastic) -> ProjectableSet:
    if not isinstance(problem.domain, ProjectableSet):
        raise InvalidInput(f"OnlineToBatch needs a domain with a projection. Got {problem.domain!r} instead.")
    return problem.domain


def default_power(learner: Any) -> float:
    """The k of the weights t^k that suits the learner: bettors 3, strongly convex 2, others 1."""
    if isinstance(learner, BettingGrid | ConfidentBetting) or learner == BETTING:
        return 3.0
    return 2.0 if isinstance(learner, StronglyConvex) or learner == "strongly-convex" else 1.0


Each = Callable[[FloatArray], FloatArray]
BLOCK_ENTRIES = 1 << 18


class ClippedDifferences:
    """Sums over a batch of clip(beta_t grad l(x_t, z) - beta_{t-1} grad l(x_{t-1}, z), C_t) in the dual norm.

    Generalised linear losses never form a gradient per record: the difference is a number times the features.
    Records of other losses than tacit's own are kept as they are and asked one by one.
    """

    def __init__(self, loss: Loss, dimension: int, norm: Norm) -> None:
        self._loss = loss
        self._dimension = dimension
        self._norm = norm

    def pack(self, record: Any) -> Any:
        """One checked record (None: a missing one, whose gradient is 0, or the row that says the same)."""
        if record is None and isinstance(self._loss, RowLoss):
            neutral = self._loss.neutral(self._dimension)[0]
            # Without features there is no gradient. Other losses have one whatever the row says: mark it absent.
            return neutral if isinstance(self._loss, LinkLoss) else np.full_like(neutral, np.nan)
        if record is None:
            return None
        if isinstance(self._loss, RowLoss):
            return self._loss.pack(record, self._dimension, many=False)[0]
        record = copy.deepcopy(record)  # it waits for its batch, and the caller may write over it
        # Whether there is a gradient at all is found out before anything changes.
        gradient = self._raw(np.zeros(self._dimension), record)
        if gradient.shape != (self._dimension,):
            raise InvalidInput(
                f"A gradient of {self._loss!r} must be {self._dimension} numbers. "
                f"Got an array of shape {gradient.shape} instead."
            )
        return record

    def stack(self, records: list[Any]) -> Any:
        """A batch as `total` wants it."""
        return np.array(records) if isinstance(self._loss, RowLoss) else records

    def total(
        self,
        records: Any,
        x: FloatArray,
        previous: FloatArray,
        weight: float,
        before: float,
        clip: float,
        each: Each | None = None,
    ) -> FloatArray:
        """The sum of the clipped differences; `each` makes every row of them whole numbers before they are added."""
        if isinstance(self._loss, LinkLoss):
            features, labels = records[:, :-1], records[:, -1]
            # Both points in one product and one call of the link: small batches pay per call.
            margins = features @ np.column_stack([x, previous])
            slopes = self._loss.slope(margins, labels[:, None]) @ (weight, -before)
            slopes[~np.isfinite(slopes)] = 0.0  # of a link of the user's: to raise would depend on the data
            sizes = np.abs(slopes) * self._norm.dual_sizes(features)
            return _weighted(slopes * _shares(sizes, clip), features, each)
        with np.errstate(over="ignore", invalid="ignore"):  # differences too large to be squared have share 0
            known, absent = self._known(records)
            differences = weight * self._gradients(x, known)
            if before:
                differences -= before * self._gradients(previous, known)
            differences[absent | ~np.isfinite(differences).all(axis=1)] = 0.0
            sizes = self._norm.dual_sizes(differences)
        return _weighted(_shares(sizes, clip), differences, each)

    def _known(self, records: Any) -> tuple[Any, Any]:
        """Records with public rows in place of absent ones, and which those are."""
        if not isinstance(self._loss, RowLoss):
            return records, False
        absent = np.isnan(records[:, 0])  # whole rows are marked, and others are finite
        if not absent.any():
            return records, False
        return np.where(absent[:, None], self._loss.neutral(self._dimension), records), absent

    def _gradients(self, x: FloatArray, records: Any) -> FloatArray:
        if isinstance(self._loss, RowLoss):
            return np.asarray(self._loss.gradients(x, records))
        return np.array([self._gradient(x, record) for record in records])

    def _gradient(self, x: FloatArray, record: Any) -> FloatArray:
        """The user's gradient; what is no vector of finite numbers counts as 0, a public constant."""
        if record is None:
            return np.zeros(self._dimension)
        gradient = self._raw(x, record)
        if gradient.shape != (self._dimension,) or not np.isfinite(gradient).all():
            return np.zeros(self._dimension)
        clip = self._loss.lipschitz if isinstance(self._loss, CustomLoss) else None
        return gradient if clip is None else clip_rows(gradient[None], clip)[0]

    def _raw(self, x: FloatArray, record: Any) -> FloatArray:
        ask = self._loss.gradient_of if isinstance(self._loss, CustomLoss) else self._loss.gradient
        try:
            with np.errstate(all="ignore"):
                return np.array(ask(x.copy(), record), dtype=np.float64)
        except ArithmeticError:
            return np.full(self._dimension, np.nan)
        except (TypeError, ValueError) as error:
            name = type(error).__name__
        # Not inside of the handler: an error keeps the one that it was raised in, which may quote the record.
        raise InvalidInput(f"The gradient of {self._loss!r} cannot be taken at this record ({name}).")


def _weighted(factors: FloatArray, rows: FloatArray, each: Each | None) -> FloatArray:
    """The sum of factors times rows, each product made whole first if there is a lattice; a cache's worth at a time."""
    if each is None:
        return np.asarray(factors @ rows)
    if len(rows) == 1:  # one vector is made whole several times as fast as an array of one row, to the same numbers
        return np.asarray(each(factors[0] * rows[0]), dtype=np.float64)
    total = np.zeros(rows.shape[1])
    size = max(1, BLOCK_ENTRIES // rows.shape[1])
    for first in range(0, len(rows), size):
        part = slice(first, first + size)
        total += np.add.reduce(each(factors[part, None] * rows[part]), axis=0)  # whole numbers: exact in any order
    return total


def _shares(sizes: FloatArray, clip: float) -> FloatArray:
    """What to multiply vectors of these norms with so that none exceeds `clip`."""
    return np.asarray(np.minimum(1.0, clip / np.maximum(sizes, 1e-300)))
