"""A plan under check and its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tacit.algorithms.bandit.bandit_plan import BanditLearner, Rounds
from tacit.decisions import Decision
from tacit.errors import TacitError
from tacit.noise.randomness import Randomness, Stream
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.runtime.state import State

Runs = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Case:
    """A plan, rounds of feedback for it, how `run` takes them, and the context of each where decisions take one."""

    plan: Plan
    feedback: list[Any]
    as_run: Runs | None = None
    contexts: list[Any] | None = None

    @property
    def middle(self) -> int:
        """Where streams are cut."""
        return len(self.feedback) * 3 // 5

    def start(self, seed: int | None = 5) -> Learner:
        """A fresh learner: replayable, or secret without a seed."""
        return self.plan.start(None if seed is None else Randomness.replayable(seed))

    def rows(self, first: int = 0, last: int | None = None) -> Any:
        """Some rounds as `run` takes them."""
        part, row = self.feedback[first:last], self.feedback[0]
        if self.as_run is not None:
            return self.as_run(part)
        if isinstance(self.start(), BanditLearner):
            return Rounds(lambda points, at: np.array(part[at : at + len(points)], dtype=float), len(part))
        if isinstance(row, tuple):
            return tuple(np.array([row[k] for row in self.feedback])[first:last] for k in range(len(row)))
        return part if callable(row) else np.array(self.feedback)[first:last]

    def loop(self, learner: Learner, first: int = 0, last: int | None = None) -> list[Any]:
        """Play and observe some rounds; the decisions."""
        actions = []
        for row in self.feedback[first:last]:
            actions.append(np.array(self.play(learner)).tolist())
            learner.observe(row)
        return actions

    def play(self, learner: Learner) -> Any:
        """Play a round, in its context where there are contexts."""
        return learner.play(*self.context(learner))

    def decide(self, learner: Learner) -> Decision:
        """Decide a round, in its context where there are contexts."""
        if self.contexts is None:
            return learner.decide()
        return learner.decide(self.contexts[learner.decided % len(self.contexts)])

    def run(self, learner: Learner, rows: Any, mask: Any = None) -> Any:
        """Run rows, in their contexts where there are contexts."""
        if self.contexts is None:
            return learner.run(rows, mask)
        first = self._number(learner)
        around = [self.contexts[number % len(self.contexts)] for number in range(first, first + len(rows))]
        return learner.run(rows, mask, contexts=np.array(around).reshape(len(rows), *np.shape(self.contexts[0])))

    def context(self, learner: Learner) -> tuple[Any, ...]:
        """Give the context of the round in hand, or of the next one, if there are contexts."""
        return () if self.contexts is None else (self.contexts[self._number(learner) % len(self.contexts)],)

    def _number(self, learner: Learner) -> int:
        """Give the number of the round in hand, or of the next one."""
        return learner._decided - learner._played

    def advanced(self, seed: int | None = 5) -> Learner:
        """A learner in the middle of the stream."""
        learner = self.start(seed)
        self.loop(learner, 0, self.middle)
        return learner


def listed(actions: Any) -> list[Any]:
    """The decisions of a run as a list."""
    return list(np.asarray(actions).tolist())


def parts(learner: Learner) -> list[Learner]:
    """The learner and the learners inside it."""
    inner = [value for value in vars(learner).values() if isinstance(value, Learner)]
    return [learner, *(part for value in inner for part in parts(value))]


def streams(learner: Learner) -> list[Stream]:
    """Every stream that a learner draws from, wherever among its attributes it is kept."""
    found: dict[int, Stream] = {}
    seen, waiting = {id(learner)}, [vars(learner)]
    while waiting:
        for value in _inside(waiting.pop()):
            if isinstance(value, Stream):
                found[id(value)] = value
            elif id(value) not in seen and not isinstance(value, _PUBLIC):
                seen.add(id(value))
                waiting.append(value)
    return list(found.values())


_PUBLIC = (Plan, np.ndarray, str, int, float, type, ModuleType, FunctionType, type(None))


def _inside(value: Any) -> list[Any]:
    """What a value is made of: entries, attributes, and the arguments and owners of functions."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    owned = [getattr(value, "__self__", None), getattr(value, "func", None), *getattr(value, "args", ())]
    return [*owned, *getattr(value, "__dict__", {}).values()]


def content(learner: Learner) -> dict[str, Any]:
    """The state of a learner, also of one that may not be saved any more, for comparison."""
    return State(learner.plan.signature, learner._remembered()).entries()


def resealed(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A state changed by somebody who computes the digest anew."""
    around = ("warning", "version", "plan", "digest")
    kept = {name: entry for name, entry in state.items() if name not in around}
    return State(state["plan"], {**kept, **changes}).entries()


@contextmanager
def refused(what: str, *words: str) -> Iterator[None]:
    """An error of tacit's must come, in one sentence that contains these words."""
    try:
        yield
    except TacitError as error:
        text = str(error)
        assert "\n" not in text, f"{what} is refused in more than one line: {text}"
        assert text.endswith("."), f"{what} is refused by less than a sentence: {text}"
        missing = [word for word in words if word not in text]
        assert not missing, f"{what} is refused without naming {missing}: {text}"
    else:
        raise AssertionError(f"{what} is accepted")
