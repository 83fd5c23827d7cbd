"""Planted bugs in learners that take the advice of policies."""

from __future__ import annotations

from typing import Any

from planted_bugs.arms import searched
from planted_bugs.catalogue import Control, around, planting
from tacit.algorithms.arms.batched_tsallis.batched_tsallis import BatchedTsallis
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.policies.policy_arms import PolicyArms, PolicyArmsLearner
from tacit.algorithms.policies.responses import Responses, ResponsesLearner
from tacit.problems import Arms, Policies


def responses(rate: float = 1.0, **contract: Any) -> Responses:
    """Two policies, two actions, three rounds."""
    return Responses(Policies(n=2, actions=2, horizon=3), 1.0, rate, 0.3, **contract)


def as_arms() -> PolicyArms:
    """Two policies as arms, with private recommendations."""
    problem = Policies(n=2, actions=2, horizon=3, recommendations="private")
    arms = BatchedTsallis(Arms(n=2, horizon=3, adversary="oblivious"), 1.0, 1, 0.5, 0.3, 0.2)
    return PolicyArms(problem, arms)


def _whole_budget(honest: Any) -> Any:
    """Every round of a person spends all that the person has."""
    return lambda self, batch=1: ClippedGeometric(batch, self.epsilon)


@around
def _reused(honest: Any, self: Any, loss: float | None) -> None:
    """The noise of a round is that of the round before."""
    draws, fresh = self._draws, type(self._draws).noisy

    def noisy(total: int) -> int:
        if not hasattr(self, "_kept"):
            found = fresh(draws, total)
            self._kept = found - total
            return found
        draws.sums.append(total + self._kept)
        return int(total + self._kept)

    draws.noisy = noisy
    honest(self, loss)


@around
def _by_the_loss(honest: Any, self: Any, loss: float | None) -> None:
    """The loss itself is credited beside its response."""
    honest(self, loss)
    self._scores[0, 0] += 10 * (loss or 0.0)


@around
def _to_all_who_agree(honest: Any, self: Any, loss: Any) -> None:
    """Private recommendations decide who is credited: the next policy tells whether the two agreed."""
    advice, _ = self._opened[self._round]
    honest(self, loss)
    if advice[0] == advice[1]:
        self._arms._move(1 - self._arms._action)


in_policies = planting("policies")
CONTROLS: tuple[Control, ...] = (
    in_policies("several rounds per person forgotten (responses)", Responses, "release", _whole_budget,
                lambda: searched(responses(0.5, rounds_per_person=2))),
    in_policies("coins reused (responses)", ResponsesLearner, "_absorb", _reused, lambda: searched(responses())),
    in_policies("weights by the loss itself (responses)", ResponsesLearner, "_absorb", _by_the_loss,
                lambda: searched(responses())),
    in_policies("recommendations credited to others (policies as arms)", PolicyArmsLearner, "_absorb",
                _to_all_who_agree, lambda: searched(as_arms()), fast=False),
)  # fmt: skip
