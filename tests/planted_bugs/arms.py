"""Planted bugs in learners of arms and in the release of batch means."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, swap
from planted_bugs.checked import found
from tacit.auditing import attacks
from tacit.auditing.instances import Instance, alphabet
from tacit.auditing.report import Finding
from tacit.auditing.scripted.arms import arms_law, frequencies_of_arms, unbiased
from tacit.learners.arms.batched_tsallis import BatchedTsallis, BatchedTsallisLearner
from tacit.learners.arms.common import ArmLearner, ArmPlan
from tacit.learners.arms.draws import Draws
from tacit.learners.arms.phased_arms import PhasedArms, PhasedArmsLearner
from tacit.mechanisms.clipped_geometric import ClippedGeometric
from tacit.problems import Arms
from tacit.randomness import Randomness
from tacit.testing.rounds import Case

# Plans are made when they are attacked: a bug may sit in what they keep.


def tsallis(batch: int = 1, horizon: int = 3, **contract: Any) -> ArmPlan:
    """Two arms, three batches."""
    return BatchedTsallis(Arms(n=2, horizon=horizon), 1.0, batch, 0.5, 0.3, 0.2, **contract)


def phased(**contract: Any) -> ArmPlan:
    """Two arms, one batch each before the first choice."""
    return PhasedArms(Arms(n=2, horizon=3, adversary="stochastic"), 1.0, 1, **contract)


def searched(plan: ArmPlan) -> Finding:
    """Attack by enumeration with a short search."""
    instance = Instance("planted", plan, alphabet(plan))
    return attacks.exact(instance, Randomness.replayable(3).stream("controls"), laws=8, law=arms_law)


def observed() -> Finding:
    """Attack by real runs: do they have the enumerated law?"""
    plan = tsallis(horizon=4)
    letters = alphabet(plan)
    return frequencies_of_arms(Instance("planted", plan, letters), letters.stream([1, 1, 1, 1]), 4, runs=900)


def masked() -> Case:
    """Twenty rounds, as the losses of both arms."""
    losses = Randomness.replayable(8).stream("losses").random(20).tolist()
    return Case(tsallis(horizon=20), losses, lambda part: np.tile(np.array(part)[:, None], 2))


def _loud_rate(honest: Any) -> Any:
    return property(lambda self: 2 * honest.func(self))


def _one_round(honest: Any) -> Any:
    """Noise for one round per person, whatever was asked."""
    return property(lambda self: self.epsilon)


def _twice(honest: Any) -> Any:
    def release(self: Any, total: int) -> None:
        self._draws.noisy(total)
        honest(self, total)

    return release


def _carried(honest: Any) -> Any:
    """The sum is not reset: a round enters the next release as well."""

    def release(self: Any, total: int) -> None:
        honest(self, total)
        self._total = total

    return release


def _absent(honest: Any) -> Any:
    """Missing feedback adds nothing, instead of the middle."""

    def step(self: Any, loss: float) -> int:
        return int(honest(self, loss)) if loss == loss else 0

    return step


def _unmasked(honest: Any) -> Any:
    """Rows that a mask leaves out count as the first one that it does not."""
    return lambda self, rows: self._run_present(rows)


def _best_seen(honest: Any) -> Any:
    """The next arm is chosen by the sum itself."""

    def release(self: Any, total: int) -> None:
        honest(self, total)
        if total > 0:
            self._move(1 - self._action)

    return release


def _cut(honest: Any) -> Any:
    """A loss counts twice if the round before had one too: one round moves two steps."""

    def step(self: Any, loss: float) -> int:
        found = int(honest(self, loss))
        return found + (found and self._total > 0)

    return step


def _ends(factor: float) -> Any:
    """Other ends of the release: the scale of the noise, or half of what they must be."""

    def make(honest: Any) -> Any:
        return property(lambda self: factor * honest.func(self) if factor else 1 / (self.rate * self.steps))

    return make


def _stale(honest: Any) -> Any:
    """All arms are drawn from the first law."""
    return lambda self, probabilities: honest(self, probabilities * 0 + 1 / len(probabilities))


CONTROLS: tuple[Control, ...] = (
    Control(
        "halved noise (batched Tsallis)", "arms",
        swap(ClippedGeometric, "rate", _loud_rate), lambda: searched(tsallis()),
    ),
    Control(
        "halved noise (phased arms)", "arms",
        swap(ClippedGeometric, "rate", _loud_rate), lambda: searched(phased()),
    ),
    Control(
        "several rounds per person forgotten (batched Tsallis)", "arms",
        swap(ClippedGeometric, "rate", _one_round), lambda: searched(tsallis(rounds_per_person=2)),
    ),
    Control(
        "a batch released twice (batched Tsallis)", "arms",
        swap(BatchedTsallisLearner, "_release", _twice), lambda: searched(tsallis()),
    ),
    Control(
        "a batch released twice (phased arms)", "arms",
        swap(PhasedArmsLearner, "_release", _twice), lambda: searched(phased()), fast=False,
    ),
    Control(
        "a sum that is not reset (batched Tsallis)", "arms",
        swap(BatchedTsallisLearner, "_release", _carried), lambda: searched(tsallis()),
    ),
    Control(
        "an arm chosen by the sum itself (batched Tsallis)", "arms",
        swap(BatchedTsallisLearner, "_release", _best_seen), lambda: searched(tsallis()),
    ),
    Control(
        "missing feedback that adds nothing (zero-out)", "arms",
        swap(ArmLearner, "_step", _absent), lambda: searched(tsallis(relation="zero-out")),
    ),
    Control(
        "losses that add up across rounds (batched Tsallis)", "arms",
        swap(ArmLearner, "_step", _cut), lambda: searched(tsallis(batch=2, horizon=4)),
    ),
    Control(
        "ends of the release at the noise's scale", "arms",
        swap(ClippedGeometric, "overshoot", _ends(0.0)), lambda: unbiased(tsallis()),
    ),
    Control(
        "a round stands in for all that a mask leaves out (batched Tsallis)", "arms",
        swap(ArmLearner, "_run", _unmasked), found("missing_rounds_are_rounds", masked),
    ),
    Control(
        "halved ends of the release", "arms",
        swap(ClippedGeometric, "overshoot", _ends(0.5)), lambda: unbiased(tsallis()),
    ),
    Control("an arm drawn from the first law", "arms", swap(Draws, "arm", _stale), observed, fast=False),
)  # fmt: skip
