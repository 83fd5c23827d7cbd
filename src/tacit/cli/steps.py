"""Where `tacit run` takes its decisions from: a learner in memory, or one in a store that survives the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import tacit
from tacit.cli import options
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.randomness import Randomness


class Steps(Protocol):
    """One decision after the other, each followed by its feedback."""

    @property
    def plan(self) -> tacit.Comparison:
        """What is run."""

    @property
    def rounds(self) -> int:
        """How many rounds had their row, those of earlier programs included."""

    @property
    def switches(self) -> int:
        """How often the decision has changed."""

    @property
    def guarantee(self) -> tacit.Guarantee:
        """The contract."""

    @property
    def goes_on(self) -> str:
        """What a message adds on how to go on after the program has ended."""

    def play(self) -> Any:
        """The decision of the round in hand."""

    def observe(self, feedback: Any) -> None:
        """End the round in hand."""

    def close(self) -> None:
        """Let go of what is open."""


class InMemory:
    """A learner that ends with the program."""

    goes_on = ""

    def __init__(self, plan: tacit.Comparison, randomness: Randomness | None) -> None:
        self.plan = plan
        self.rounds = 0
        self._learner = plan.start(randomness)

    @property
    def switches(self) -> int:
        """How often the decision has changed."""
        return self._learner.switches

    @property
    def guarantee(self) -> tacit.Guarantee:
        """The contract."""
        return self._learner.guarantee

    def play(self) -> Any:
        """The decision of the round in hand."""
        return self._learner.play()

    def observe(self, feedback: Any) -> None:
        """End the round in hand."""
        self._learner.observe(feedback)
        self.rounds += 1

    def close(self) -> None:
        """Nothing is open."""


class InStore:
    """A learner in a store: its last round is still in hand if the program ended before its feedback was kept."""

    goes_on = " The same --store and --name go on after the last row that was kept."

    def __init__(self, store: tacit.Store, live: tacit.Live) -> None:
        self.close = store.close
        self.plan = live.plan
        self.guarantee = live.guarantee
        self._live = live
        self.rounds = live.rounds
        self._decision = next((open for open in live.waiting if open.round == self.rounds - 1), None)
        self.rounds -= self._decision is not None

    @property
    def switches(self) -> int:
        """How often the decision has changed."""
        return self._live.switches

    def play(self) -> Any:
        """The decision of the round in hand, which is durable."""
        if self._decision is None:
            self._decision = self._live.decide()
        return self._decision.action

    def observe(self, feedback: Any) -> None:
        """End the round in hand once its feedback is durable."""
        self._live.settle(self.rounds, feedback)
        self._decision = None
        self.rounds += 1


@dataclass(frozen=True)
class Source:
    """What the options say about where decisions come from.

    Attributes:
        seed: makes the noise replayable.
        store: the file or address of a store, or None.
        name: the learner's name in it.
    """

    seed: int | None
    store: str | None = None
    name: str | None = None

    def start(self, problem: Problem, privacy: dict[str, Any]) -> Steps:
        """Plan, and begin or go on."""
        if (self.store is None) != (self.name is None):
            raise InvalidInput(
                "The options --store and --name go together: where the learner is kept, and its name there."
            )
        randomness = None if self.seed is None else Randomness.replayable(self.seed)
        if self.store is None or self.name is None:
            return InMemory(tacit.plan(problem, **privacy), randomness)
        store = tacit.Store(self.store)
        return InStore(store, store.open(self.name, problem, randomness=randomness, **privacy))


def source_of(seed: options.Seed = None, store: options.Kept = None, name: options.Name = None) -> Source:
    """Where decisions come from, from its options."""
    return Source(seed, store, name)
