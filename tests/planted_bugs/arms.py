"""Planted bugs in learners of arms and in the release of batch means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planted_bugs.catalogue import Bug, Control, around, both, planting, swap
from planted_bugs.checked import found
from tacit.algorithms.arms.arm_plan import ArmPlan, BitLearner, LossLearner
from tacit.algorithms.arms.batched_tsallis.batched_tsallis import BatchedTsallis, BatchedTsallisLearner
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.arms.draws import Draws
from tacit.algorithms.arms.live_arms.live_arms import LiveArms, LiveArmsLearner
from tacit.auditing import attacks
from tacit.auditing.arms import arms_law, frequencies_of_arms
from tacit.auditing.instances import alphabet
from tacit.auditing.report import Finding
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.releases import Sized
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.testing.rounds import Case

# Plans are made when they are attacked: a bug may sit in what they keep.


def tsallis(batch: int = 1, horizon: int = 3, eta: float = 0.3, **contract: Any) -> ArmPlan:
    """Two arms, three batches."""
    return BatchedTsallis(Arms(n=2, horizon=horizon), 1.0, batch, 0.5, eta, 0.2, **contract)


def live(first: int = 1, horizon: int = 3, **contract: Any) -> ArmPlan:
    """Two arms with short first blocks."""
    return LiveArms(Arms(n=2, horizon=horizon, adversary="stochastic"), 1.0, first, **contract)


def one_pair(plan: ArmPlan, place: int) -> Finding:
    """Attack by the law of one stream of smallest losses, and of the one with the largest losses in one round."""
    stream = (0,) * plan.rounds
    pair = (stream, (*stream[:place], 3, *stream[place + 1 :]))
    instance = SmallInstance("enumeration", "planted", plan)
    return attacks.exact(instance, Randomness.replayable(3).stream("controls"), laws=2, law=arms_law, pair=pair)


def searched(plan: Plan) -> Finding:
    """Attack by enumeration with a short search."""
    instance = SmallInstance("enumeration", "planted", plan)
    return attacks.exact(instance, Randomness.replayable(3).stream("controls"), laws=8, law=arms_law)


def observed() -> Finding:
    """Attack by real runs: do they have the enumerated law?"""
    plan = tsallis(horizon=4)
    letters = alphabet(plan)
    return frequencies_of_arms(SmallInstance("enumeration", "planted", plan), letters.stream([1, 1, 1, 1]), 4, runs=900)


def masked() -> Case:
    """Twenty rounds, as the losses of both arms."""
    losses = Randomness.replayable(8).stream("losses").random(20).tolist()
    return Case(tsallis(horizon=20), losses, lambda part: np.tile(np.array(part)[:, None], 2))


def believed(rate: Callable[[Any], Any]) -> Bug:
    """Plant another rate of the noise; the declaration would refuse it if it looked at what rates cost."""
    return both(
        swap(ClippedGeometric, "rate", rate),
        swap(Sized, "check_cost", lambda _: lambda release, *numbers: None),
    )


def _loud_rate(honest: Any) -> Any:
    return property(lambda self: 2 * honest.func(self))


def _one_round(honest: Any) -> Any:
    """Noise for one round per person, whatever was asked."""
    return property(lambda self: self.epsilon)


@around
def _block_twice(honest: Any, self: Any, arm: int) -> None:
    self._draws.noisy(int(self._totals[arm]))
    honest(self, arm)


@around
def _open_blocks(honest: Any, self: Any, number: int) -> Any:
    """Shares look at the sums of open blocks."""
    found = honest(self, number)
    return found if self._in_turns or self._totals.sum() == 0 else found[::-1].copy()


@around
def _kept_reply(honest: Any, self: Any, arm: int) -> None:
    """A reply that came late in its window counts in the next block as well."""
    late = min(1, int(self._totals[arm]))
    honest(self, arm)
    self._totals[arm] = late


@around
def _not_a_round(honest: Any, self: Any, loss: float | None) -> None:
    """A missing reply is not counted as a round of its block."""
    if loss is not None:
        honest(self, loss)


@around
def _carried(honest: Any, self: Any, total: int) -> None:
    """The sum is not reset: a round enters the next release as well."""
    honest(self, total)
    self._total = total


@around
def _absent(honest: Any, self: Any, loss: float) -> int:
    """Missing feedback adds nothing, instead of the middle."""
    return int(honest(self, loss)) if loss == loss else 0


@around
def _unmasked(honest: Any, self: Any, rows: Any) -> Any:
    """Rows that a mask leaves out count as the first one that it does not."""
    self._absent = None
    return honest(self, rows)


@around
def _best_seen(honest: Any, self: Any, total: int) -> None:
    """The next arm is chosen by the sum itself."""
    honest(self, total)
    if total > 0:
        self._move(1 - self._action)


@around
def _cut(honest: Any, self: Any, loss: float) -> int:
    """A loss counts twice if the round before had one too: one round moves two steps."""
    found = int(honest(self, loss))
    return found + (found and self._total > 0)


def _stale(honest: Any) -> Any:
    """All arms are drawn from the first law."""
    return lambda self, probabilities: honest(self, probabilities * 0 + 1 / len(probabilities))


in_arms = planting("arms")
CONTROLS: tuple[Control, ...] = (
    Control("halved noise (batched Tsallis)", "arms", believed(_loud_rate), lambda: searched(tsallis())),
    Control("several rounds per person forgotten (batched Tsallis)", "arms", believed(_one_round),
            lambda: searched(tsallis(eta=0.2, rounds_per_person=2))),
    in_arms("a block released twice (live arms)", LiveArmsLearner, "_release", _block_twice,
            lambda: one_pair(live(), 0)),
    in_arms("shares from open blocks (live arms)", LiveArmsLearner, "_law", _open_blocks,
            lambda: one_pair(live(first=3, horizon=8), 6), fast=False),
    in_arms("a late reply in the next block (live arms)", LiveArmsLearner, "_release", _kept_reply,
            lambda: one_pair(live(horizon=4), 0), fast=False),
    in_arms("missing feedback that is not a round (live arms)", LiveArmsLearner, "_absorb", _not_a_round,
            lambda: searched(live(relation="zero-out")), fast=False),
    in_arms("a sum that is not reset (batched Tsallis)", BatchedTsallisLearner, "_release", _carried,
            lambda: searched(tsallis())),
    in_arms("an arm chosen by the sum itself (batched Tsallis)", BatchedTsallisLearner, "_release", _best_seen,
            lambda: searched(tsallis())),
    in_arms("missing feedback that adds nothing (zero-out)", BitLearner, "_step", _absent,
            lambda: searched(tsallis(relation="zero-out", missing=0.5))),
    in_arms("losses that add up across rounds (batched Tsallis)", BitLearner, "_step", _cut,
            lambda: searched(tsallis(batch=2, horizon=4))),
    in_arms("a round stands in for all that a mask leaves out (batched Tsallis)", LossLearner, "_read", _unmasked,
            found("missing_rounds_are_rounds", masked)),
    in_arms("an arm drawn from the first law", Draws, "arm", _stale, observed, fast=False),
)  # fmt: skip
