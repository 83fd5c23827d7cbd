"""The test of the printed Algorithm 2: every window that could end now, each behind noise of its own.

Paper: "Tracking the Best Expert Privately" (ICML 2025), Algorithm 2. A window of w + 1 rounds has the query

    q_w = max_j sum (l(j_t) - l(j)) - slope sqrt(w) - margin,   above if q_w + Lap(query) > threshold noise,

and the round of a restart is used by the old epoch and by the new one. All tests of a round are decided together: given
the threshold noise r, some test is above with probability 1 - prod_w P[Lap <= r - q_w]. One uniform a round has exactly
that law. Queries grow by at most 1 a round, so that most rounds are decided by a bound on that probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.algorithms.tracking.limited_updates import LimitedUpdatesLearner, NoisyMinimum
from tacit.algorithms.tracking.tracking_plan import SelectionPlan
from tacit.noise.discrete_laplace import two_sided_geometric
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.noise.source import Words
from tacit.noise.uniforms import Uniforms, fractions
from tacit.runtime.state import fitting
from tacit.validation import FloatArray, IntArray

LOOK_AHEAD = 1024
"""Rounds that are looked at together for one whose tests must be computed."""
FIRST_ROWS = 64
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(2)
_CELLS = np.linspace(-40.0, 40.0, 40 * 64 + 1)  # of a hidden threshold, in scales


@dataclass(frozen=True)
class WindowTest:
    """Parameters of the test.

    Attributes:
        slope: of sqrt(w) in the threshold of a window of w + 1 rounds.
        margin: the part of the threshold that does not depend on w.
        threshold_rate: rate of the threshold's two-sided geometric noise, for a step of 1/units.
        units: steps in a loss.
        query_scale: scale of each query's noise.
        selection: how experts are selected.
    """

    slope: float
    margin: float
    threshold_rate: float
    units: int
    query_scale: float
    selection: NoisyMinimum

    def fires(self, levels: FloatArray, threshold: float) -> float:
        """Return the probability that some query at these levels is above, given the threshold's noise."""
        return -float(np.expm1(np.sum(self.log_below(levels, threshold))))

    def log_below(self, levels: FloatArray, threshold: float | FloatArray) -> FloatArray:
        """Return ln P[level + Lap <= threshold] for each level, or for each threshold."""
        distance = (threshold - levels) / self.query_scale
        tail = np.exp(-np.abs(distance)) / 2
        return np.asarray(np.where(distance >= 0, np.log1p(-tail), np.log(tail)))

    def fires_at_most(self, peaks: FloatArray, counts: FloatArray, threshold: float) -> FloatArray:
        """Bound `fires` where none of so many queries is above a peak."""
        distance = (peaks - threshold) / self.query_scale
        return np.asarray(counts * np.where(distance < 0, np.exp(np.minimum(0.0, distance)) / 2, 1.0))


class EveryWindowLearner(LimitedUpdatesLearner):
    """Tests all windows after each round; `restarts` lists the first rounds that the later epochs decide."""

    _state: ClassVar[tuple[str, ...]] = (
        *LimitedUpdatesLearner._state, "_lead", "_threshold", "_peak", "_seen", "_coins", "_hidden", "_restarts"
    )  # fmt: skip
    _any_shape: ClassVar[tuple[str, ...]] = ("_lead",)

    def __init__(self, plan: SelectionPlan, randomness: Randomness, test: WindowTest) -> None:
        self._test = test
        self._restarts: list[int] = []
        self._coins = Uniforms.from_streams(randomness, "alarm")
        self._hidden = Uniforms.from_streams(randomness, "threshold")
        self._words: Words | None = None  # the uniforms of the rounds of a block
        self._first = 0  # the first round of these
        super().__init__(plan, randomness, 0.0, test.selection)

    @property
    def restarts(self) -> list[int]:
        """The rounds (counted from 0) from which the learner started again. Released."""
        with self._looking("restarts"):
            return list(self._restarts)

    def _begin(self) -> None:
        super()._begin()
        # Row k: sum over the first k rounds of the epoch of l(j_t) - l(j), in units. PRIVATE.
        self._lead = np.zeros((FIRST_ROWS, self._n), dtype=np.int64)
        self._peak, self._seen = -self._test.margin, 0  # no query of the epoch's first rounds was above this
        self._posterior: tuple[FloatArray, FloatArray] | None = None
        if self._coins.decide is None:
            drawn = int(two_sided_geometric(self._hidden, self._test.threshold_rate, 1)[0])
            self._threshold = drawn / self._test.units
        else:
            self._threshold = 0.0
            self._posterior = self._prior()

    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """Places of the hidden threshold and their weights, for scripts that walk through all outcomes."""
        half = np.diff(_CELLS) / 2
        middle = (_CELLS[1:] + _CELLS[:-1]) / 2
        unit = (middle[:, None] + half[:, None] * _NODES).ravel()
        weights = (half[:, None] * _WEIGHTS).ravel() * np.exp(-np.abs(unit))
        return unit / self._test.threshold_rate / self._test.units, weights / weights.sum()

    def _absorb(self, losses: FloatArray) -> None:
        self._take(1)
        super()._absorb(losses)

    def _absorb_block(self, block: FloatArray, best: FloatArray, actions: IntArray) -> None:
        self._take(len(block))
        super()._absorb_block(block, best, actions)

    def _take(self, count: int) -> None:
        """Take one uniform for each of the next rounds, whatever happens in them."""
        if self._coins.decide is None:
            self._first = self._round
            self._words = self._coins.take(count)[1]

    @property
    def _room(self) -> int:
        """Rounds up to the next selection, or to the next round whose tests must be computed."""
        room = super()._room
        if self._words is None:
            return 1
        waiting = fractions(self._words[self._round - self._first :][: min(room, LOOK_AHEAD)])
        ahead: FloatArray = np.arange(1, len(waiting) + 1, dtype=np.float64) + (self._local - self._seen)
        bound = self._test.fires_at_most(self._peak + ahead, self._seen + ahead, self._threshold)
        possible = np.flatnonzero(waiting < bound)
        return int(possible[0]) + 1 if len(possible) else max(1, len(waiting))

    def _keep(self, rows: FloatArray) -> None:
        losses = quantise_losses(rows)
        last = self._local + len(rows)
        if last >= len(self._lead):
            longer = np.zeros((2 * last + 1, self._n), dtype=np.int64)
            longer[: len(self._lead)] = self._lead
            self._lead = longer
        moved = losses[:, [self._action]] - losses
        self._lead[self._local + 1 : last + 1] = self._lead[self._local] + np.add.accumulate(moved, axis=0)
        super()._keep(rows)

    def _checkpoint(self, finished: int) -> None:
        if self._alarmed(finished):
            self._restarts.append(finished)
            shared = self._lead[self._local] - self._lead[self._local - 1]
            self._begin()
            self._start.integer(self._n)  # j_0 of the new instance, which is not played: its round 1 has been
            self._sums = shared.max() - shared  # the losses of the round up to a constant, which no selection sees
            self._lead[1] = shared
            self._local = 1

    def _alarmed(self, finished: int) -> bool:
        """Decide all tests of the round that has just ended."""
        if self._words is not None:
            uniform = float(fractions(self._words[finished - 1 - self._first : finished - self._first])[0])
            peak = np.array([self._peak + self._local - self._seen])
            if not uniform < self._test.fires_at_most(peak, np.array([self._local]), self._threshold)[0]:
                return False
            levels = self._levels()
            self._peak, self._seen = max(float(np.max(levels)), -self._test.margin), self._local
            return uniform < self._test.fires(levels, self._threshold)
        return self._answer(self._levels())

    def _levels(self) -> FloatArray:
        """Return the queries of all windows that end now, the shortest one first."""
        count = self._local
        regret = np.max(self._lead[count] - self._lead[count - 1 :: -1], axis=1) / LOSS_UNITS
        return np.asarray(regret - self._test.slope * np.sqrt(np.arange(count)) - self._test.margin)

    def _answer(self, levels: FloatArray) -> bool:
        """Ask a script, with the probability given all answers so far."""
        assert self._posterior is not None
        assert self._coins.decide is not None
        places, weights = self._posterior
        below = np.exp(np.sum([self._test.log_below(np.array([level]), places) for level in levels], axis=0))
        chance = min(1.0, max(0.0, 1.0 - float(weights @ below)))
        fired = self._coins.decide(lambda: (1 - chance, chance)) == 1
        if not fired:
            self._posterior = places, weights * below / float(weights @ below)
        return fired

    def _epoch_start(self) -> int:
        return self._restarts[-1] - 1 if self._restarts else 0

    def _gather(self) -> dict[str, Any]:
        content = super()._gather()
        content["_lead"] = content["_lead"][: self._local + 1]
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        rows = self._lead
        self._lead = np.zeros((max(FIRST_ROWS, len(rows)), self._n), dtype=np.int64)
        self._lead[: len(rows)] = fitting(self._lead[: len(rows)], rows)

    def _consistent(self) -> bool:
        rounds = [0, *self._restarts, self._round]
        counted = bool(np.abs(self._lead).max() <= self._local * LOSS_UNITS) and 0 <= self._seen <= self._local
        ordered = all(type(r) is int for r in rounds) and rounds == sorted(rounds)
        return super()._consistent() and counted and ordered
