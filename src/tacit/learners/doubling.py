"""Unknown horizon: the same algorithm in epochs of 2^k rounds, each on data of its own.

Restarts on disjoint data compose in parallel: however many epochs there are, one round's feedback enters
one epoch only, so each may spend the whole budget. (With several rounds per person that fails, and is
refused.) The regret is at most the sum over epochs, a factor 1/(1 - 2^{-1/2}) for square-root rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.learners.learner import Learner
from tacit.learners.plan import Plan, SmallInstance
from tacit.learners.target import RegretBound, Target, refuse_many_rounds
from tacit.privacy.curves import Approximate
from tacit.privacy.guarantee import Guarantee
from tacit.problems import Problem
from tacit.randomness import Randomness
from tacit.validation import check_integer

FIRST_EPOCH = 1024
REFERENCE_ROUNDS = 2**17 - FIRST_EPOCH


@dataclass(frozen=True)
class Doubling(Plan):
    """Epochs of 1024, 2048, 4096, ... rounds, each planned for its own length at the full budget.

    Privacy contract: that of every epoch, (epsilon, delta) in all, because the epochs' data are disjoint.
    Regret: the sum of the epochs' bounds; an epoch's bound is never counted above its length.
    """

    target: Target
    make: Callable[[Problem], Plan]

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_many_rounds("An unknown horizon", self.target)

    @property
    def algorithm(self) -> str:
        """The algorithm that the epochs run."""
        return self.epoch(0).algorithm

    @property
    def parameters(self) -> dict[str, Any]:
        """Epoch lengths; each epoch has the parameters of its own plan."""
        return {
            "doubling": True,
            "first_epoch": FIRST_EPOCH,
            "epsilon": self.target.epsilon,
            "delta": self.target.delta,
        }

    @property
    def certified_against(self) -> tuple[str, ...]:
        """As the epochs' plans."""
        return self.epoch(0).certified_against

    def epoch(self, index: int) -> Plan:
        """The plan of epoch `index`, of FIRST_EPOCH * 2^index rounds."""
        if index not in self._epochs:
            self._epochs[index] = self.make(replace(self.problem, horizon=FIRST_EPOCH * 2**index))
        return self._epochs[index]

    @cached_property
    def _epochs(self) -> dict[int, Plan]:
        return {}

    @cached_property
    def guarantee(self) -> Guarantee:
        """The epochs' contract, stated at the one point that all of them meet."""
        first = self.epoch(0).guarantee
        return replace(
            first,
            curve=Approximate(self.target.epsilon, self.target.delta),
            at_delta=self.target.delta,
            theorem=f"parallel composition over disjoint epochs of: {first.theorem}",
        )

    @property
    def regret_bound(self) -> RegretBound:
        """The bound at REFERENCE_ROUNDS rounds; `regret_bound_at` gives any other."""
        return self.regret_bound_at(REFERENCE_ROUNDS)

    def regret_bound_at(self, rounds: int) -> RegretBound:
        """The certified regret after `rounds` rounds."""
        total, index, left = 0.0, 0, check_integer("regret_bound_at", "rounds", rounds)
        condition = self.epoch(0).regret_bound.condition
        while left > 0:
            plan = self.epoch(index)
            length = plan.horizon or 0
            share = min(left, length) / length
            total += min(float(plan.regret_bound), share * plan.trivial_regret)
            left -= length
            index += 1
        return RegretBound(
            total,
            "sum over epochs of their bounds",
            (f"at {rounds} rounds; regret_bound_at(T) gives any other", *self.epoch(0).regret_bound.assumptions),
            f"in every epoch {condition}" if condition else "",
        )

    @property
    def trivial_regret(self) -> float:
        """As for a horizon of REFERENCE_ROUNDS."""
        first = self.epoch(0)
        return first.trivial_regret / (first.horizon or 1) * REFERENCE_ROUNDS

    @property
    def blind_regret(self) -> float:
        """As for a horizon of REFERENCE_ROUNDS."""
        first = self.epoch(0)
        return first.blind_regret / (first.horizon or 1) * REFERENCE_ROUNDS

    @classmethod
    def _calibrate(cls, problem: Problem, target: Target) -> Plan:
        raise InvalidInput("Doubling is made by calibrating another plan with horizon=None.")

    @property
    def released_streams(self) -> tuple[str, ...]:
        """As the epochs' plans."""
        return self.epoch(0).released_streams

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """The border between two epochs, and the first epoch's plan."""
        first = self.epoch(0)
        border = SmallInstance("epochs", f"epochs of {first.horizon} rounds", self)
        return (border, *first.small_instances(most_rounds))

    def _learner(self, randomness: Randomness) -> DoublingLearner:
        return DoublingLearner(self, randomness)


Plan._restarted = Doubling


class DoublingLearner(Learner):
    """Hands rounds to the learner of the current epoch; nothing but the count crosses to the next."""

    plan: Doubling

    def __init__(self, plan: Doubling, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._source = randomness
        self._index = 0
        self._inner = plan.epoch(0).start(randomness.child(0))
        self._action = self._inner._action

    def _check(self, feedback: Any) -> Any:
        return self._inner._check(feedback)

    def _check_many(self, feedback: Any) -> Any:
        return self._inner._check_many(feedback)

    def _absorb(self, feedback: Any) -> None:
        self._inner.play()
        self._inner._finish(feedback)
        self._follow()

    def _run(self, rows: Any) -> Any:
        parts, first = [], 0
        while first < len(rows):
            left = (self._inner.plan.horizon or 0) - self._inner.rounds
            part = rows[first : first + left]
            self._inner._first_row = first
            parts.append(self._inner.run(part))
            self._round += len(part)
            self._played = False
            first += len(part)
            self._follow()
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _follow(self) -> None:
        if self._inner.rounds == self._inner.plan.horizon:
            self._switches += self._inner.switches
            self._index += 1
            self._inner = self.plan.epoch(self._index).start(self._source.child(self._index))
        self._action = self._inner._action

    @property
    def switches(self) -> int:
        """How often the decision has changed inside epochs."""
        return self._switches + self._inner.switches

    def state_dict(self) -> dict[str, Any]:
        """The epoch, its learner's state, and the key of the epochs to come. PRIVATE."""
        own = {"epoch": self._index, "source": self._source.state_dict(), "inner": self._inner.state_dict()}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state saved by a learner of the same plan."""
        own = {"epoch", "source", "inner"}
        missing = own - set(state) if isinstance(state, dict) else own
        if missing:
            raise InvalidInput(f"This is not the state of a {self.plan.algorithm} learner: it lacks {sorted(missing)}.")
        # The inner state is checked first: if it does not fit, nothing has changed.
        index = check_integer("load_state_dict", "epoch", state["epoch"], at_least=0, at_most=63)
        inner = self.plan.epoch(index).restore(state["inner"])
        source = Randomness.restore(state["source"])
        super().load_state_dict(state)
        self._index, self._source, self._inner = index, source, inner
