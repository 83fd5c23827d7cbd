"""What learners of arms share: their contract, and rounds that add up to batches.

A batch plays one arm; its length and its arm are functions of what was released before. Each loss is rounded to a bit
and added to the sum of its batch, and the sum is released with noise when the batch is complete, never otherwise.
So, given what was released, a round's feedback enters exactly one release, and each may spend the whole
budget: m rounds of a person, k_i of them in batch i, cost the sum of k_i epsilon/m, at most epsilon.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.guarantee import REPLACE
from tacit.algorithms.arms.clipped_geometric import LARGEST_RATE, ClippedGeometric
from tacit.algorithms.arms.draws import Draws
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit.problems import Arms, Options, Problem
from tacit.releases import NoisyBits, Releases
from tacit.runtime.learner import OptionLearner
from tacit.runtime.plan import OptionPlan
from tacit.runtime.small_instances import SMALL_DELAY, SmallInstance
from tacit.runtime.target import Target
from tacit.validation import FloatArray, IntArray, Rows, check_number, check_positive, first_position, invalid

NAN = float("nan")
WORST = "worst"  # what missing feedback counts as, unless a plan says otherwise
MIDDLE = 0.5
FEW = 16  # rounds that go faster one by one than as an array


@dataclass(frozen=True)
class ArmPlan(OptionPlan):
    """A plan whose decisions are arms and whose feedback is the loss of the chosen arm, or None.

    Attributes:
        epsilon: of all releases together.
        missing: the loss that missing feedback counts as: "worst", the upper end of the loss range, or a number of it.
    """

    problem: Options
    epsilon: float
    delta: float = field(default=0.0, kw_only=True)
    missing: float | str = field(default=WORST, kw_only=True)
    _takes: ClassVar[type[Problem]] = Arms
    released_streams: ClassVar[tuple[str, ...]] = ("noise",)

    def _check_contract(self) -> None:
        super()._check_contract()
        check_positive(self.algorithm, "epsilon", self.epsilon)
        if self.missing != WORST:
            low, high = self.problem.loss_range
            if isinstance(self.missing, str):
                raise invalid(
                    self.algorithm, "missing", f"'{WORST}' or a number from {low:g} to {high:g}", self.missing
                )
            allowed = {"above": low, "below": high}
            check_number(self.algorithm, "missing", self.missing, closed_low=True, closed_high=True, **allowed)

    @property
    def fill(self) -> float:
        """The loss that missing feedback counts as, in units of the loss range."""
        return _fill(self.problem, self.missing)

    @property
    def missing_counts_as(self) -> str:
        """The assumption that a certificate states about missing feedback."""
        loss = "the largest loss" if self.fill == 1 else f"a loss of {self.missing:g}"
        return f"missing feedback counts as {loss}"

    def release(self, batch: int = 1) -> ClippedGeometric:
        """Give the release of a batch of that length; the release's rate is the same for all lengths."""
        return release_of(self.problem, self, self.missing, batch)

    @property
    def scale(self) -> float:
        """b, the scale of the noise in a sum of losses in [0, 1]."""
        release = self.release()
        return 1 / release.rate / release.steps_per_round

    @cached_property
    def releases(self) -> Releases:
        """Pure epsilon, or what the largest rate costs: delta would buy nothing where nothing is composed."""
        release = self.release()
        return NoisyBits(
            rate=release.rate,
            privacy=min(self.epsilon, LARGEST_RATE * self.rounds_per_person),
            steps=release.steps_per_round,
            neutral=1 if release.steps_per_round == 2 else None,
            made_for=self.neighbours,
        )

    def _enumerable(
        self, loud: dict[str, Any], own: dict[str, Any], rounds: int = 4, **size: Any
    ) -> tuple[SmallInstance, ...]:
        """Two arms and few rounds, with loud parameters and with the plan's own privacy; real runs of the first."""
        problem = replace(self.problem, n=2, horizon=rounds, delay=min(self.problem.delay, SMALL_DELAY), **size)
        made = {"loud parameters": replace(self, problem=problem, **loud)}
        small = replace(self, problem=problem, **own)
        if small != made["loud parameters"]:
            made["own privacy"] = small
        counted = [SmallInstance("enumerated arms", f"{label}, K=2, T={rounds}", plan) for label, plan in made.items()]
        return (*counted, replace(counted[0], attack="frequencies of arms"))


class LossLearner(OptionLearner):
    """Checks the loss of the chosen option, late or missing, and rows of losses of which one entry is used."""

    _reacts = True
    _skips = True

    def __init__(self, plan: OptionPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._n = plan.problem.n
        self._low, self._high = plan.problem.loss_range

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
        loss = float(row[self._opened[number][1] if self._takes_context else self._action])
        return None if loss != loss else self._check(loss)

    def _check_many(self, losses: Any) -> Rows:
        return Rows(self.plan.algorithm, "losses", losses, self._n)

    def _read(self, rows: Rows) -> Iterator[FloatArray]:
        """Blocks of rows, each checked after it was read; NaN where feedback is missing."""
        first = 0
        for block in rows.blocks():
            if self._absent is not None:
                block[self._absent[first : first + len(block)]] = NAN
            # fmin and fmax pass over NaN.
            if block.size and (np.fmin.reduce(block, None) < self._low or np.fmax.reduce(block, None) > self._high):
                row, arm = first_position(block, lambda x: (x < self._low) | (x > self._high))
                self._reject(f" in row {self._first_row + first + row} for arm {arm}")
            yield block
            first += len(block)

    def _reject(self, where: str) -> None:
        raise InvalidInput(
            f"Losses of {self.plan.algorithm} must be in [{self._low:g}, {self._high:g}], or missing: None, in arrays "
            f"NaN. Got something else{where} instead."
        )


class BitLearner(LossLearner):
    """Rounds each loss to a bit; one bit is drawn a round, whatever the feedback is."""

    plan: ArmPlan
    _state: ClassVar[tuple[str, ...]] = ("_draws",)

    def __init__(self, plan: ArmPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        release = plan.release()
        self._draws = Draws(randomness, release.rate)
        self._steps = release.steps_per_round
        self._missing = plan.fill
        self._centred = self._steps == 2  # missing feedback is then exactly one step of two

    def _step(self, loss: float) -> int:
        """The steps of one round; one bit is drawn whatever the feedback."""
        if loss == loss:
            return self._steps * self._draws.bit(loss)
        bit = self._draws.bit(self._missing)
        return 1 if self._centred else bit

    def _bits(self, losses: FloatArray) -> IntArray:
        """The steps of several rounds, NaN where feedback is missing: the same as `_step` one after the other."""
        if len(losses) < FEW:
            return np.array([self._step(loss) for loss in losses.tolist()], dtype=np.int64)
        missing = np.isnan(losses)
        bits = self._draws.bits(np.where(missing, self._missing, losses)) * self._steps
        if self._centred:
            bits[missing] = 1
        return bits

    def _consistent(self) -> bool:
        settled = [loss for loss in self._slots.values() if isinstance(loss, float)]
        arm = self._action
        inside = isinstance(arm, int) and 0 <= arm < self._n and all(0 <= loss <= 1 for loss in settled)
        return super()._consistent() and inside


class ArmLearner(BitLearner):
    """Holds one arm for a batch, adds up its bits, and releases the sum when the batch is complete.

    Subclasses set `_action` and `_size`, the length of the batch in hand, and give `_release`, which takes the sum of
    a complete batch in steps and begins the next one.
    """

    _state: ClassVar[tuple[str, ...]] = (*BitLearner._state, "_size", "_filled", "_total")

    def __init__(self, plan: ArmPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._size = 1
        self._filled = 0
        self._total = 0

    def _absorb(self, loss: float | None) -> None:
        self._total += self._step(NAN if loss is None else loss)
        self._filled += 1
        if self._filled == self._size:
            self._fill(0, self._round + 1)

    def _run(self, rows: Rows) -> IntArray:
        parts = [self._run_present(block) for block in self._read(rows)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _run_present(self, rows: FloatArray) -> IntArray:
        """Play rows that are NaN where feedback is missing."""
        actions = np.empty(len(rows), dtype=np.int64)
        first = 0
        while first < len(rows):
            losses = rows[first : first + self._size - self._filled, self._action]
            count = len(losses)
            actions[first : first + count] = self._action
            self._total += int(self._bits((losses - self._low) / (self._high - self._low)).sum())
            self._round += count
            self._played = False
            first += count
            self._fill(count, self._round)
        return actions

    def _fill(self, count: int, finished: int) -> None:
        self._filled += count
        if self._filled < self._size or finished == self._horizon:
            return  # a batch that the horizon cuts is never released, nor one after which nothing is decided
        total, self._total, self._filled = self._total, 0, 0
        self._release(total)

    def _consistent(self) -> bool:
        filled = self._filled
        return super()._consistent() and 0 <= filled <= self._size and 0 <= self._total <= filled * self._steps

    @abstractmethod
    def _release(self, total: int) -> None:
        """Release the sum of the batch and begin the next one."""


def release_of(problem: Options, contract: ArmPlan | Target, missing: float | str, batch: int) -> ClippedGeometric:
    """The release of a batch of that length.

    Half steps, which halve the noise, serve zero-out where missing feedback counts as the middle. Any other loss may be
    a whole range away from some feedback, as under replacement.
    """
    relation = contract.relation if _fill(problem, missing) == MIDDLE else REPLACE
    return ClippedGeometric(batch, contract.epsilon, relation, contract.rounds_per_person)


def _fill(problem: Options, missing: float | str) -> float:
    return 1.0 if isinstance(missing, str) else (missing - problem.loss_range[0]) / problem.width


def pure(target: Target) -> dict[str, Any]:
    """What a plan takes over from a target: delta is left, since pure epsilon costs less noise than any delta saves."""
    return {**target.contract, "delta": 0.0}
