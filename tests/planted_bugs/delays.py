"""Planted bugs in late feedback: whose expert the coin tests, when slots close, and how often."""

from __future__ import annotations

from typing import Any

from attacks import rows
from planted_bugs.catalogue import Control, around, planting
from planted_bugs.checked import found
from planted_bugs.experts import described
from tacit.algorithms.experts.lazy_experts import LazyExperts, LazyExpertsLearner
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.runtime.learner import Learner
from tacit.runtime.rounds import OPEN
from tacit.testing.rounds import Case

LATE = LazyExperts(Experts(n=2, horizon=5, delay=1), eta=0.3, force=0.3)


def late() -> Case:
    """Twenty rounds with a window of two."""
    losses = Randomness.replayable(8).stream("rows").random((20, 3))
    return Case(LazyExperts(Experts(n=3, horizon=20, delay=2), eta=0.5, force=0.2), list(losses))


@around
def _old_expert(honest: Any, self: Any, losses: Any) -> None:
    """With a delay of one round: the coin tests the expert that was played in the round of the losses."""
    now = self._action
    played = vars(self).get("_before", now)
    vars(self)["_before"] = now
    self._action = played
    honest(self, losses)
    if self._action == played:
        self._action = now


@around
def _absorbed_again(honest: Any, self: Any, round: int, feedback: Any) -> None:
    if round < self._round:
        self._absorb(self._nothing() if feedback is None else self._check(feedback))
    else:
        honest(self, round, feedback)


@around
def _in_order_of_arrival(honest: Any, self: Any, round: int, feedback: Any) -> None:
    waiting = [number for number, kept in self._slots.items() if kept is OPEN]
    honest(self, waiting[0] if waiting else round, feedback)


@around
def _replaced(honest: Any, self: Any, round: int, feedback: Any) -> None:
    if round in self._slots:
        self._slots[round] = OPEN
    honest(self, round, feedback)


in_delays = planting("delays")
CONTROLS: tuple[Control, ...] = (
    in_delays("the coin tests the expert of the old round", LazyExpertsLearner, "_absorb", _old_expert,
              lambda: described(LATE)),
    in_delays("a late report is absorbed a second time", Learner, "settle", _absorbed_again,
              found("slots_refuse", late), row=rows.REPEATED),
    in_delays("feedback is absorbed in order of arrival", Learner, "settle", _in_order_of_arrival,
              found("deciding_is_playing", late)),
    in_delays("a second report replaces the first", Learner, "settle", _replaced, found("slots_refuse", late),
              row=rows.REPEATED),
)  # fmt: skip
