"""Unknown horizon: the same algorithm in epochs of 2^k rounds, each on data of its own.

Restarts on disjoint data compose in parallel: one round's feedback enters one epoch only, so each may spend the whole
budget; that it spends no more is checked before it begins. A person's m rounds may stand in several epochs: they cost m
times what one of them may, by group privacy, if that is pure or Gaussian, and other plans are refused. The regret is at
most the sum over epochs, a factor 1/(1 - 2^{-1/2}) for square-root rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.curves import Approximate
from tacit.accounting.guarantee import Guarantee
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Problem
from tacit.releases import Epochs, Neighbours
from tacit.releases.combinators import shared_curve, within
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.state import same_plan
from tacit.runtime.target import RegretBound, Target
from tacit.validation import check_integer

FIRST_EPOCH = 1024
REFERENCE_ROUNDS = 2**17 - FIRST_EPOCH


def _of_first(name: str) -> Any:
    """What all epochs have in common."""
    return property(lambda plan: getattr(plan.epoch(0), name))


@dataclass(frozen=True)
class Doubling(Plan):
    """Epochs of 1024, 2048, 4096, ... rounds, each planned for its own length at the full budget.

    Privacy contract: that of every epoch, (epsilon, delta) in all, because the epochs' data are disjoint. With
    `rounds_per_person` = m > 1 epochs are planned for epsilon/m or mu/m.
    Regret: the sum of the epochs' bounds; an epoch's bound is never counted above its length.
    """

    target: Target
    make: Callable[[Problem], Plan]
    _no_delay: ClassVar[str] = ""

    def _check_parameters(self) -> None:
        if self.target.confidence is not None:
            raise PrivacyError(
                "An unknown horizon has no bound for a single run: plan for a horizon, or leave 'confidence' out."
            )
        if self.target.max_switches is not None:
            # A limit for each epoch is none for all of them, and no positive share is left for the last of
            # infinitely many; an epoch that starts with the old decision has another law than the one it is proved for.
            raise PrivacyError(
                f"An unknown horizon cannot promise max_switches={self.target.max_switches}: every epoch begins with a "
                "new draw, and there is no last epoch. Plan for a horizon, or leave the limit out."
            )
        self.epoch(0)  # refused at once where it cannot begin, or nothing is proved

    algorithm = _of_first("algorithm")
    undelayed = _of_first("undelayed")
    certified_against = _of_first("certified_against")
    uses_data = _of_first("uses_data")
    released_streams = _of_first("released_streams")

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "doubling": True,
            "first_epoch": FIRST_EPOCH,
            "epsilon": self.target.epsilon,
            "delta": self.target.delta,
            **({"rounds_per_person": several} if (several := self.target.rounds_per_person) > 1 else {}),
        }

    @cached_property
    def signature(self) -> str:
        """Also of all that was asked for, and of the first epoch's plan: the parameters tell few plans apart."""
        asked = self.make.args[1:] if isinstance(self.make, partial) else (self.target,)
        return f"{super().signature} for {asked!r}, beginning with {self.epoch(0).signature}"

    @np.errstate(all="ignore")  # epochs are planned between two rounds, whatever numpy was told
    def epoch(self, index: int) -> Plan:
        """The plan of epoch `index`, of FIRST_EPOCH * 2^index rounds."""
        if index not in self._epochs:
            plan = self.make(replace(self.problem, horizon=FIRST_EPOCH * 2**index))
            plan.refuse_unkept(private=True)
            first = plan if index == 0 else self.epoch(0)
            shared = shared_curve(first.guarantee.curve, self.target.epsilon, self.target.delta)
            several = self.target.rounds_per_person
            if several > 1 and isinstance(shared, Approximate):
                raise PrivacyError(
                    f"An unknown horizon has no proved accounting for rounds_per_person={several} with "
                    f"{plan.algorithm} at delta={self.target.delta:g}, because a person's rounds may stand in several "
                    "epochs: take delta=0, or an algorithm with Gaussian noise on sums."
                )
            if not within(shared, plan.guarantee.curve, several):
                raise PrivacyError(
                    f"Epoch {index} of {plan.algorithm} has a guarantee of its own, beyond epsilon="
                    f"{self.target.epsilon:g} at delta={self.target.delta:g}: all epochs must share one."
                )
            self._epochs[index] = plan
        return self._epochs[index]

    @cached_property
    def _epochs(self) -> dict[int, Plan]:
        return {}

    def planned(self) -> list[Plan]:
        """The plans of all epochs up to the last one that is planned so far, or has begun."""
        return [self.epoch(index) for index in range(max(self._epochs, default=0) + 1)]

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours; rounds of a person may be any, also the closest ones."""
        return Neighbours(self.epoch(0).guarantee.relation, self.target.rounds_per_person)

    @property
    def releases(self) -> Epochs | None:
        """The declaration of the epochs that are planned so far (None: they declare nothing)."""
        planned = [epoch.releases for epoch in self.planned()]
        parts = tuple(part for part in planned if part is not None)
        if not parts:
            return None
        return Epochs(parts, self.target.epsilon, self.target.delta, made_for=self.neighbours)

    @cached_property
    def guarantee(self) -> Guarantee:
        first, releases = self.epoch(0).guarantee, self.releases
        several = self.target.rounds_per_person
        group = f", {several} rounds of a person as {several} single ones," if several > 1 else ""
        if releases is None:
            curve = shared_curve(first.curve, self.target.epsilon, self.target.delta)
            numerics = first.numerics
        else:
            curve = releases.curve(self.neighbours)
            numerics = releases.numerics(self.neighbours, self.target.delta)
        return replace(
            first,
            curve=curve,
            rounds_per_person=several,
            numerics=numerics,
            at_delta=self.target.delta if first.at_delta else 0.0,  # 0 where the epochs are pure
            theorem=f"parallel composition over disjoint epochs{group} of: {first.theorem}",
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
        first = self.epoch(0)
        return first.trivial_regret / (first.horizon or 1) * REFERENCE_ROUNDS

    @property
    def blind_regret(self) -> float:
        first = self.epoch(0)
        return first.blind_regret / (first.horizon or 1) * REFERENCE_ROUNDS

    @classmethod
    def _calibrate(cls, problem: Problem, target: Target) -> Plan:
        raise InvalidInput("Doubling is made by calibrating another plan with horizon=None.")

    def small_instances(self) -> tuple[SmallInstance, ...]:
        first = self.epoch(0)
        border = SmallInstance("epochs", f"epochs of {first.horizon} rounds", self)
        return (border, *first.small_instances())

    def _learner(self, randomness: Randomness) -> DoublingLearner:
        return DoublingLearner(self, randomness)


Plan._restarted = Doubling


def _of_epoch(name: str) -> Any:
    """What the learner of the current epoch does with the same arguments."""
    return lambda learner, *arguments: getattr(learner._inner, name)(*arguments)


class DoublingLearner(Learner):
    """Hands rounds to the learner of the current epoch; nothing but the count crosses to the next."""

    plan: Doubling

    def __init__(self, plan: Doubling, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._source = randomness
        self._index = 0
        self._inner = plan.epoch(0).start(randomness.child(0))
        self._action = self._inner._action
        self._skips = self._inner._skips
        self._takes_context, self._context = self._inner._takes_context, self._inner._context
        self._opens = self._delay > 0

    @property
    def _begun(self) -> int:
        """The first round of this epoch."""
        return int(FIRST_EPOCH * (2**self._index - 1))

    @property
    def shows_decisions(self) -> bool:
        return self._inner.shows_decisions

    _decision = _of_epoch("_decision")
    _check = _of_epoch("_check")
    _check_many = _of_epoch("_check_many")
    _check_context = _of_epoch("_check_context")
    _check_contexts = _of_epoch("_check_contexts")
    _loaded_context = _of_epoch("_loaded_context")
    _nothing = _of_epoch("_nothing")
    _recalled = _of_epoch("_recalled")

    def _choose(self, number: int, context: Any) -> Any:
        self._inner._action = self._inner._choose(number - self._begun, context)
        return self._inner._action

    def _check_at(self, number: int, feedback: Any) -> Any:
        if number < self._begun:  # of an epoch that is over
            return self._inner._check(feedback)
        return self._inner._check_at(number - self._begun, feedback)

    def _check_row(self, number: int, row: Any) -> Any:
        if not self._takes_context:
            return self._inner._check_row(number - self._begun, row)
        self._inner._opened[number - self._begun] = self._opened[number]  # for as long as the row is read
        try:
            return self._inner._check_row(number - self._begun, row)
        finally:
            del self._inner._opened[number - self._begun]

    def _at_opening(self, number: int) -> None:
        """With a delay an epoch ends when the next one's first round is decided, whatever is still open."""
        if number == self._begun + (self._inner.plan.horizon or 0):
            self._begin_next()
        if self._inner._opens:
            self._inner._at_opening(number - self._begun)
        self._action = self._inner._action

    def _absorb(self, feedback: Any) -> None:
        opened = self._taken() if self._takes_context else None
        if self._round < self._begun:
            return  # feedback of an epoch that is over could change decisions of that epoch only
        if opened is not None:
            self._inner._opened[self._inner._round] = opened
        self._inner._finish(feedback)
        self._follow()

    def _run(self, rows: Any) -> Any:
        return self._run_epochs(rows, lambda part: self._inner._run(part))

    def _run_openly(self, rows: Any) -> Any:
        if self._delay:
            return super()._run_openly(rows)
        process, self._process = self._process, None  # the epoch counts its rounds before they are counted here
        try:
            actions = self._run_epochs(rows, lambda part: self._inner._run_openly(part))
        except BaseException:  # what the epoch has shown stays shown
            self._count()
            over = self._inner.rounds == self._inner.plan.horizon
            self._process = None if over else self._inner._process
            raise
        self._process = process
        return actions

    def _run_epochs(self, rows: Any, run: Callable[[Any], Any]) -> Any:
        parts, first = [], 0
        while first < len(rows):
            left = (self._inner.plan.horizon or 0) - self._inner.rounds
            part = rows[first : first + left]
            self._inner._first_row, self._inner._played = first, self._played
            self._inner._absent = None if self._absent is None else self._absent[first : first + len(part)]
            parts.append(run(part))
            self._inner._absent = None
            first += len(part)
            self._count()
            self._follow()
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _count(self) -> None:
        self._round = self._begun + self._inner._round
        self._played, self._action = self._inner._played, self._inner._action

    def _follow(self) -> None:
        if self._inner.rounds == self._inner.plan.horizon:
            self._begin_next()
        self._action = self._inner._action

    def _begin_next(self) -> None:
        self._switches += self._inner.switches
        self._index += 1
        self._inner = self.plan.epoch(self._index).start(self._source.child(self._index))
        if self._takes_context:  # decides when its first round is opened
            self._inner._action = self._action

    @property
    def switches(self) -> int:
        with self._looking("switches"):
            return self._switches + self._inner.switches

    def _gather(self) -> dict[str, Any]:
        own = {"epoch": self._index, "source": self._source.state_dict(), "inner_plan": self._inner.plan.signature}
        return {**super()._gather(), **own, "inner": self._inner._remembered()}

    def _scatter(self, content: dict[str, Any]) -> None:
        index = check_integer("load_state_dict", "epoch", content["epoch"], at_least=0, at_most=63)
        source = self._source.continued(content["source"])
        inner = self._inner if index == self._index else self.plan.epoch(index)._learner(source.child(index))
        if not same_plan(content["inner_plan"], inner.plan.signature):
            raise InvalidInput("The epoch of this state was saved by another plan.")
        inner._scatter(content["inner"])
        super()._scatter(content)
        self._index, self._source, self._inner = index, source, inner

    def _consistent(self) -> bool:
        kinds = {self._private, self._source.private, self._inner._private}
        counted = max(self._round, self._begun) == self._begun + self._inner._round
        return len(kinds) == 1 and counted and self._begun <= self._decided and self._inner_consistent()

    def _inner_consistent(self) -> bool:
        """Whether the epoch's learner can have this state, given the open rounds that are its own."""
        inner, played = self._inner, self._inner._played
        inner._slots = {number - self._begun: kept for number, kept in self._slots.items() if number >= self._begun}
        inner._played = self._played
        try:
            return inner._consistent()
        finally:
            inner._slots, inner._played = {}, played
