"""What learners of arms share: their contract, and rounds that add up to batches.

A batch plays one arm; its length and its arm are functions of what was released before. Each loss is rounded to a bit
and added to the sum of its batch, and the sum is released with noise when the batch is complete, never otherwise.
So, given what was released, a round's feedback enters exactly one release, and each may spend the whole
budget: m rounds of a person, k_i of them in batch i, cost the sum of k_i epsilon/m, at most epsilon.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.learners.arms.draws import Draws
from tacit.learners.options import OptionLearner, OptionPlan
from tacit.learners.small_instances import SmallInstance
from tacit.learners.small_problems import SMALL_DELAY
from tacit.learners.target import Target
from tacit.mechanisms.clipped_geometric import ClippedGeometric
from tacit.privacy.curves import Curve, Pure
from tacit.privacy.guarantee import EXACT, ZERO_OUT
from tacit.problems import Arms, Problem
from tacit.randomness import Randomness
from tacit.validation import FloatArray, IntArray, check_number, check_positive, first_position, real_array

NAN = float("nan")
FEW = 16  # rounds that go faster one by one than as an array


@dataclass(frozen=True)
class ArmPlan(OptionPlan):
    """A plan whose decisions are arms and whose feedback is the loss of the chosen arm, or None."""

    problem: Arms
    epsilon: float
    delta: float = field(default=0.0, kw_only=True)
    _takes: ClassVar[type[Problem]] = Arms
    released_streams: ClassVar[tuple[str, ...]] = ("noise",)
    released: ClassVar[str] = "every decision and every noisy batch mean"
    theorem: ClassVar[str] = "parallel composition: a round's feedback enters one noisy sum"

    def _check_contract(self) -> None:
        super()._check_contract()
        check_positive(self.algorithm, "epsilon", self.epsilon)

    def release(self, batch: int = 1) -> ClippedGeometric:
        """The release of a batch of that length; its rate is the same for all lengths."""
        return ClippedGeometric(batch, self.epsilon, self.relation, self.rounds_per_person)

    @property
    def stated_numerics(self) -> str:
        """Bits, integer sums and geometric noise: what runs is what is proved."""
        return EXACT

    @property
    def curve(self) -> Curve:
        """Pure epsilon: delta would buy nothing where nothing is composed."""
        return Pure(self.epsilon)

    def _enumerable(self, loud: dict[str, Any], own: dict[str, Any]) -> tuple[SmallInstance, ...]:
        """Two arms and four rounds, with loud parameters and with the plan's own privacy; real runs of the first."""
        problem = replace(self.problem, n=2, horizon=4, delay=min(self.problem.delay, SMALL_DELAY))
        made = {"loud parameters": replace(self, problem=problem, **loud)}
        small = replace(self, problem=problem, **own)
        if small != made["loud parameters"]:
            made["own privacy"] = small
        counted = [SmallInstance("enumerated arms", f"{label}, K=2, T=4", plan) for label, plan in made.items()]
        return (*counted, replace(counted[0], attack="frequencies of arms"))


class ArmLearner(OptionLearner):
    """Checks losses, adds up the bits of a batch, and releases its sum when it is complete.

    Subclasses set `_action` and `_size`, the length of the batch in hand, and give `_release`, which takes the sum of
    a complete batch in steps and begins the next one.
    """

    plan: ArmPlan
    _state: ClassVar[tuple[str, ...]] = ("_draws", "_size", "_filled", "_total")
    _reacts = True
    _skips = True

    def __init__(self, plan: ArmPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._n = plan.problem.n
        self._low, self._high = plan.problem.loss_range
        release = plan.release()
        self._draws = Draws(randomness, release.rate)
        self._steps = release.steps_per_round
        # Missing feedback counts as a loss in the middle: by a fair bit, or exactly where one loss is two steps.
        self._centred = plan.relation is ZERO_OUT
        self._size = 1
        self._filled = 0
        self._total = 0

    def _check(self, loss: Any) -> float | None:
        if loss is None:
            return None
        try:
            number = loss if type(loss) is float else check_number(self.plan.algorithm, "loss", loss)
        except InvalidInput:  # it names what it got
            number = NAN
        if not self._low <= number <= self._high:
            self._reject("")
        return (number - self._low) / (self._high - self._low)  # in [0, 1], and both ends are met exactly

    def _nothing(self) -> None:
        return None

    def _check_row(self, number: int, row: FloatArray) -> float | None:
        loss = float(row[self._action])
        return None if loss != loss else self._check(loss)

    def _check_many(self, losses: Any) -> FloatArray:
        rows = real_array(self.plan.algorithm, "losses", losses, (None, self._n))
        # fmin and fmax pass over NaN, which is missing feedback.
        if rows.size and (np.fmin.reduce(rows, None) < self._low or np.fmax.reduce(rows, None) > self._high):
            row, arm = first_position(rows, lambda x: (x < self._low) | (x > self._high))
            self._reject(f" in row {self._first_row + row} for arm {arm}")
        return rows

    def _reject(self, where: str) -> None:
        raise InvalidInput(
            f"Losses of {self.plan.algorithm} must be in [{self._low:g}, {self._high:g}], or missing: None, in arrays "
            f"NaN. Got something else{where} instead."
        )

    def _absorb(self, loss: float | None) -> None:
        self._total += self._step(NAN if loss is None else loss)
        self._filled += 1
        if self._filled == self._size:
            self._fill(0, self._round + 1)

    def _step(self, loss: float) -> int:
        """The steps of one round; one bit is drawn whatever the feedback."""
        if loss == loss:
            return self._steps * self._draws.bit(loss)
        bit = self._draws.bit(0.5)
        return 1 if self._centred else bit

    def _run(self, rows: FloatArray) -> IntArray:
        return self._run_present(rows if self._absent is None else np.where(self._absent[:, None], NAN, rows))

    def _run_present(self, rows: FloatArray) -> IntArray:
        """Play rows that are NaN where feedback is missing."""
        actions = np.empty(len(rows), dtype=np.int64)
        first = 0
        while first < len(rows):
            losses = rows[first : first + self._size - self._filled, self._action]
            count = len(losses)
            actions[first : first + count] = self._action
            self._total += self._sum((losses - self._low) / (self._high - self._low))
            self._round += count
            self._played = False
            first += count
            self._fill(count, self._round)
        return actions

    def _sum(self, losses: FloatArray) -> int:
        """The steps of several rounds of one batch."""
        if len(losses) < FEW:
            return sum(map(self._step, losses.tolist()))
        missing = np.isnan(losses)
        bits = self._draws.bits(np.where(missing, 0.5, losses)) * self._steps
        if self._centred:
            bits[missing] = 1
        return int(bits.sum())

    def _fill(self, count: int, finished: int) -> None:
        self._filled += count
        if self._filled < self._size or finished == self._horizon:
            return  # a batch that the horizon cuts is never released, nor one after which nothing is decided
        total, self._total, self._filled = self._total, 0, 0
        self._release(total)

    def _consistent(self) -> bool:
        arm, filled = self._action, self._filled
        settled = [loss for loss in self._slots.values() if isinstance(loss, float)]
        if not all(0 <= loss <= 1 for loss in settled):
            return False
        inside = isinstance(arm, int) and 0 <= arm < self._n and 0 <= self._total <= filled * self._steps
        return super()._consistent() and inside and 0 <= filled <= self._size

    @abstractmethod
    def _release(self, total: int) -> None:
        """Release the sum of the batch and begin the next one."""


def pure(target: Target) -> dict[str, Any]:
    """What a plan takes over from a target: delta is left, since pure epsilon costs less noise than any delta saves."""
    return {**target.contract, "delta": 0.0}
