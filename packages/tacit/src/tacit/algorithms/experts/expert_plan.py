"""What all learners over a finite set of experts share: checking losses and playing arrays of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from tacit import kernels
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.exact_draws import coin
from tacit.noise.lattice import LOSS_UNITS, whole_losses
from tacit.noise.randomness import Randomness
from tacit.noise.uniforms import Uniforms
from tacit.problems import Experts, Problem, Tracking
from tacit.runtime.learner import OptionLearner
from tacit.runtime.plan import OptionPlan
from tacit.runtime.rate_search import Parameters
from tacit.runtime.rounds import OPEN, Absent
from tacit.runtime.small_instances import SMALL_DELAY, Attack, SmallInstance
from tacit.runtime.state import fitting
from tacit.validation import BLOCK_ENTRIES, FloatArray, IntArray, Rows, check_integer, first_position, real_array

# What a round without feedback counts as, for every expert.
MIDDLE = 0.5

# The reductions themselves: the methods of arrays cost a microsecond more a call.
_min, _max = np.minimum.reduce, np.maximum.reduce


@dataclass(frozen=True)
class ExpertPlan(OptionPlan):
    """A plan whose decisions are experts and whose feedback is one loss per expert."""

    problem: Experts
    _takes: ClassVar[type[Problem]] = Experts
    _single: ClassVar[bool] = False
    """Whether regret is certified against the best single expert only."""

    @classmethod
    def _check_problem(cls, problem: object) -> None:
        super()._check_problem(problem)
        if cls._single and isinstance(problem, Experts) and problem.switches > 0:
            raise PrivacyError(
                f"{cls.__name__} has certified regret against the best single expert only: take an Experts problem, or "
                f"an algorithm for Tracking if the comparator may switch. Got switches={problem.switches} instead."
            )

    def _resized(self, rounds: int, n: int | None = None, **changes: Any) -> Self:
        """The same algorithm on so many rounds and experts (None: as many as now), with other parameters."""
        delay = min(self.problem.delay, SMALL_DELAY)
        size: dict[str, Any] = {"horizon": rounds, "delay": delay, "n": self.problem.n if n is None else n}
        if isinstance(self.problem, Tracking):
            size["switches"] = min(self.problem.switches, rounds - 1, max(1, rounds // 10))
        return replace(self, problem=replace(self.problem, **size), **changes)

    def _enumerable(
        self,
        loud: dict[str, Any],
        own: dict[str, Any] | None = None,
        *,
        rounds: int = 6,
        also: tuple[Attack, ...] = (),
    ) -> tuple[SmallInstance, ...]:
        """The instances whose outcomes can be counted: at `loud` parameters, where mistakes show, and at its `own`.

        So many `rounds` make hundreds of transcripts; `also` names further attacks on the loud one.
        """
        found: dict[str, ExpertPlan] = {}
        for name, changes in (("loud parameters", loud), ("own parameters", own or {})):
            length = rounds if changes.get("batch", 1) == 1 else 6
            small = self._resized(length, n=2, **changes)
            if small not in found.values():
                found[f"{name}, N=2, T={length}"] = small
        label, first = next(iter(found.items()))
        return (
            *(SmallInstance("enumeration", name, small) for name, small in found.items()),
            *(SmallInstance(attack, label, first) for attack in also),
        )


class ExpertLearner(OptionLearner):
    """Checks losses once, rescales them to [0, 1], and plays blocks of rows (`_absorb_block`)."""

    plan: ExpertPlan
    _skips = True

    def __init__(self, plan: ExpertPlan, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._n = plan.problem.n
        self._shape = (self._n,)
        self._low, self._high = plan.problem.loss_range
        self._unit = self._low == 0.0 and self._high == 1.0
        self._best = 0.0  # the smallest loss of the round that was checked last

    def _check(self, losses: Any) -> Any:
        if kernels.compiled is not None and type(losses) is np.ndarray:
            copied = np.empty(self._n)
            least = kernels.compiled.check_losses(losses, copied, self._low, self._high)
            if least is not None:
                self._best = least
                return copied
        if type(losses) is np.ndarray and losses.dtype == np.float64 and losses.shape == self._shape:
            losses = losses.copy()  # what `real_array` does, without the call: this is the hot path
        else:
            losses = real_array(self.plan.algorithm, "losses", losses, self._shape)
        low, high = _extremes(losses)
        if not (low >= self._low and high <= self._high):  # written so that NaN fails
            self._reject(losses, None)
        if self._unit:
            self._best = low
            return losses
        self._best = (low - self._low) / (self._high - self._low)
        return self._rescaled(losses)

    def _nothing(self) -> FloatArray:
        self._best = MIDDLE  # sums that are counted from there do not move
        return np.full(self._n, MIDDLE)

    def _recalled(self, kept: Any) -> Any:
        if kept is OPEN or kept is None:
            return self._nothing()
        self._best = _extremes(kept)[0]
        return kept

    def _check_rows(self, rows: Rows, first: int) -> Any:
        return self._check_block(rows.read(), first)[0] if len(rows) else ()

    def _check_many(self, losses: Any) -> Rows:
        return Rows(self.plan.algorithm, "losses", losses, self._n)

    def _check_block(self, block: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
        """A block of rows that was read, moved to [0, 1], and the smallest entry of each row."""
        if self._absent is not None:
            return self._fill_block(block, first, self._absent[first : first + len(block)])
        best = _min(block, 1)
        if not (_min(best) >= self._low and _max(block, None) <= self._high):
            self._reject(block, first)
        return self._rescaled(block), self._rescaled(best)

    def _rescaled(self, losses: FloatArray) -> FloatArray:
        """Losses in their range, moved to [0, 1]."""
        if self._unit:
            return losses
        with np.errstate(under="ignore"):  # which losses underflow is private
            return (losses - self._low) / (self._high - self._low)

    def _fill_block(self, block: FloatArray, first: int, absent: Absent) -> tuple[FloatArray, FloatArray]:
        """The same where some rows have no feedback, as `_nothing` makes it of one."""
        whole, self._absent = self._absent, None
        block[absent] = self._low
        block, best = self._check_block(block, first)
        block[absent], best[absent] = MIDDLE, MIDDLE
        self._absent = whole
        return block, best

    def _reject(self, losses: FloatArray, first: int | None) -> NoReturn:
        where = first_position(losses, lambda x: ~((x >= self._low) & (x <= self._high)))
        row = "" if first is None else f" in row {self._first_row + first + where[0]}"
        # Where, never what: a refused loss is as private as any other.
        raise InvalidInput(
            f"Losses of {self.plan.algorithm} must be finite numbers in [{self._low:g}, {self._high:g}]; "
            f"the one of expert {where[-1]}{row} is not."
        )

    def _run(self, rows: Rows) -> IntArray:
        actions = np.empty(len(rows), dtype=np.int64)
        first = 0
        for read in rows.blocks():
            block, best = self._check_block(read, first)
            self._absorb_block(block, best, actions[first : first + len(block)])
            first += len(block)
        return actions

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        """Play the rounds of a checked block and write their actions."""
        for row, losses in enumerate(block):
            actions[row] = self._action
            self._best = best.item(row)
            self._finish(losses)

    @abstractmethod
    def _absorb(self, losses: FloatArray) -> None: ...

    def _waiting(self, content: dict[str, Any]) -> FloatArray:
        """The newest rounds of a state of 0.2, which are not added up yet."""
        filled = check_integer(self.plan.algorithm, "_filled", content["_filled"], at_least=0, at_most=self._round)
        rows: FloatArray = fitting(np.empty((filled, self._n)), content["_rows"])
        if not ((rows >= 0) & (rows <= 1)).all():
            raise TypeError("losses in [0, 1] expected")
        return rows

    def _consistent(self) -> bool:
        settled = [row for row in self._slots.values() if row is not OPEN and row is not None]
        rows = all(row.shape == self._shape and _min(row) >= 0 and _max(row) <= 1 for row in settled)
        return rows and 0 <= self._action < self._n and self._switches <= self._decided

    def _summable_units(self, total: IntArray) -> bool:
        """Whether losses of the rounds so far, rounded down to integers of {0..2^24}, can have this sum."""
        return bool(_min(total) >= 0 and _max(total, None) <= self._round * LOSS_UNITS)

    def _add_units(self, losses: FloatArray, total: IntArray, relative: bool = False) -> int:
        """Add checked losses in units of 2^-24; give that of the held expert, or its distance from the best one's."""
        if kernels.compiled is not None:
            score: int = kernels.compiled.add_losses(losses, total, self._action, relative)
            return score
        whole = whole_losses(losses)
        total += whole
        return int(whole[self._action]) - (int(_min(whole)) if relative else 0)


class LazyLearner(ExpertLearner):
    """A chain that decides at the end of each batch; blocks of whole batches are played at once.

    Subclasses call `_begin_chain`, count `self._redraws`, and give `_advance` and `_play_whole`.
    """

    def _begin_chain(self, tuned: Parameters, decisions: int, randomness: Randomness) -> None:
        eta, force, batch, cap = tuned
        self._rate, self._stay = eta / LOSS_UNITS, 1 - force
        self._keep, self._choice = (Uniforms.from_streams(randomness, name) for name in ("keep", "draw"))
        per_block = max(1, min(1024, BLOCK_ENTRIES // self._n))
        self._block = batch * max(1, per_block // batch)
        if self._block * self._n > 64 * BLOCK_ENTRIES:
            self._block = per_block
        # A capped chain may stop deciding inside a block: it is played round by round.
        self._vectorised = self._block % batch == 0 and cap is None
        self._batch = batch
        self._last_decision = decisions * batch
        self._cap = cap
        self._redraws = 0
        self._held_loss = 0  # in the batch in hand
        self._action = Uniforms.from_streams(randomness, "start").integer(self._n)

    def _lost(self, finished: int) -> bool:
        """Toss the coin at the end of a batch, unless a cap was hit: whether a draw follows."""
        capped = self._cap is not None and self._redraws >= self._cap
        if finished % self._batch or finished > self._last_decision or capped:
            return False
        kept = coin(self._keep, self._stay, self._rate, self._held_loss)
        self._held_loss = 0
        return not kept

    def _run(self, rows: Rows) -> IntArray:
        actions = np.empty(len(rows), dtype=np.int64)
        first = 0
        while first < len(rows):
            ahead = self._block - self._round % self._block
            part = rows[first : first + ahead]
            out = actions[first : first + len(part)]
            whole = self._vectorised and len(part) == self._block and not self._played
            if whole and self._round + self._block <= self._last_decision:
                self._play_whole(part, first, out)
            else:
                self._absorb_block(*self._check_block(part.read(), first), out)
            first += len(part)
        return actions

    @abstractmethod
    def _advance(self, rows: FloatArray) -> None:
        """Take in checked losses of some rounds."""

    @abstractmethod
    def _play_whole(self, rows: Rows, first: int, actions: IntArray) -> None:
        """Read, check and play one aligned block of whole batches, all of which end in a decision."""

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        if "_rows" in content:
            self._advance(self._waiting(content))

    def _consistent(self) -> bool:
        capped = self._cap is None or self._redraws <= self._cap
        return super()._consistent() and self._redraws <= self._round and capped


def _extremes(losses: FloatArray) -> tuple[float, float]:
    """The smallest and the largest entry; NaN if any entry is NaN."""
    if losses.shape[0] > 32:
        return float(_min(losses)), float(_max(losses))
    # Short rows go faster through plain floats; their sum tells whether one of them is NaN.
    values = losses.tolist()
    total = sum(values)
    return (min(values), max(values)) if total == total else (total, total)
