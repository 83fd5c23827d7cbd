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
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.domains import L1Ball, Simplex
from tacit.domains.convex_set import ProjectableSet, read_only
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.custom import CustomLoss, parted
from tacit.losses.loss import LinkLoss, Loss, RowLoss, clip_rows, playable
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree, RunningSum, Tree
from tacit.noise.running_sums.accumulators import LARGEST_SUMMED, SummedRecords
from tacit.noise.running_sums.running_sum import FIRST_MULTIPLE, check_mechanism
from tacit.problems import Problem, Stochastic
from tacit.releases import NoisySums, Vectors
from tacit.runtime.learner import Learner
from tacit.runtime.on_sums import RunningSumPlan, sum_instances
from tacit.runtime.small_instances import SmallInstance, clipped_losses, few_rounds
from tacit.runtime.target import RegretBound, Target
from tacit.validation import (
    FloatArray,
    check_choice,
    check_integer,
    check_level,
    check_number,
    check_positive,
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

    @cached_property
    def releases(self) -> NoisySums:
        """Differences per unit of C_t, in l2, whose batches a step adds up; C_1 is the Lipschitz constant."""
        dimension = self.problem.domain.dimension
        exact = self.numerics == "exact" and self.batch <= LARGEST_SUMMED
        multiple = self.lipschitz * ROUND_UP / FIRST_MULTIPLE if self.mechanism.nodes else 0.0
        return NoisySums(
            records=Vectors(dimension, self.norm.gaussian_factor(dimension) * ROUND_UP, self.batch),
            mechanism=self.mechanism,
            privacy=self.privacy,
            exact=exact,
            multiple=multiple if exact else None,
            spherical=self.mechanism.noise != "gaussian",
            made_for=self.neighbours,
        )

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
        """The largest C_t up to each step: what the sensitivities at most can become."""
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
        return OnlineToBatchLearner(self, randomness)


class OnlineToBatchLearner(Learner):
    """Plays the averaged model; records are kept until their batch is full."""

    plan: OnlineToBatch
    _state = ("_inner", "_sums", "_pending", "_step", "_weight_sum", "_previous", "_sensitivity")

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
