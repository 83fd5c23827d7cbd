"""Feedback that depends on a problem's public numbers only, and ways to play it.

Losses, records and recommendations are read from SHAKE-256, so that they need no generator of the
library and are the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tacit import problems
from tacit.algorithms import Rounds

OPTIONS = "options"
POINTS = "points"
"""What digests are of: int64, or float64 whose last digits may differ on another processor."""
MISSING = 10
"""Every tenth round has no feedback where that is allowed to be so."""


def numbers(name: str, *shape: int) -> Any:
    """Return numbers in [0, 1) with 20 binary digits; every third row has zeros and ones only."""
    size = int(np.prod(shape))
    words = np.frombuffer(hashlib.shake_256(name.encode()).digest(4 * size), dtype="<u4")
    found = ((words >> 12) / 2**20).reshape(shape)
    found[::3] = np.round(found[::3])
    return found


@dataclass(frozen=True)
class Script:
    """Rounds of a problem.

    Attributes:
        feedback: one entry a round.
        contexts: one entry a round, or None.
        scalar: whether one number a round is reported, whatever was decided.
    """

    problem: Any
    feedback: list[Any]
    contexts: list[Any] | None = None
    scalar: bool = False

    def rows(self, first: int, last: int) -> Any:
        """Return rounds as `run` takes them."""
        part = self.feedback[first:last]
        if isinstance(self.problem, problems.Bandit):
            values = np.array(part)
            return Rounds(lambda points, at: values[at : at + len(points)], len(part))
        if self.scalar:
            return np.tile(np.array(part, dtype=float)[:, None], self.options)
        if isinstance(part[0], tuple):
            features = np.array([row for row, _ in part])
            labels = np.array([label for _, label in part])
            return features, labels
        return part if callable(part[0]) else np.array(part)

    def around(self, first: int, last: int) -> dict[str, Any]:
        """Return the keyword arguments of `run` for the contexts of these rounds."""
        if self.contexts is None:
            return {}
        return {"contexts": np.array(self.contexts[first:last])}

    def context(self, number: int) -> tuple[Any, ...]:
        """Return the arguments of `play` and `decide` for a round."""
        return () if self.contexts is None else (self.contexts[number],)

    @property
    def options(self) -> int:
        """The number of arms or actions."""
        if isinstance(self.problem, problems.Policies):
            return int(self.problem.actions)
        return int(self.problem.n)


def script(problem: Any, rounds: int, shape: tuple[int, ...] = (3,)) -> Script:
    """Return rounds of a problem.

    Args:
        problem: any problem of tacit.
        rounds: the number of rounds.
        shape: that of one round's feedback where the problem does not name one.
    """
    match problem:
        case problems.Experts() | problems.Tracking():
            low, high = problem.loss_range
            losses = low + (high - low) * numbers("losses", rounds, problem.n)
            return Script(problem, list(losses))
        case problems.Arms():
            return Script(problem, _replies(problem, rounds), scalar=True)
        case problems.Policies():
            chosen = numbers("advice", rounds, problem.n) * (problem.actions - 1)
            advice = list(np.round(chosen).astype(np.int64))
            return Script(problem, _replies(problem, rounds), advice, scalar=True)
        case problems.ContextualArms():
            features = numbers("features", rounds, problem.dimension) - 0.5
            return Script(problem, _replies(problem, rounds), list(features), scalar=True)
        case problems.Bandit():
            low, high = problem.value_range
            return Script(problem, (low + (high - low) * numbers("values", rounds)).tolist())
        case problems.Lipschitz():
            return Script(problem, [_tent(at) for at in numbers("tents", rounds).tolist()])
        case problems.Convex() | problems.Stochastic():
            return Script(problem, _records(problem, rounds))
    return Script(problem, list(numbers("feedback", rounds, *shape)))


def _replies(problem: Any, rounds: int) -> list[Any]:
    low, high = problem.loss_range
    return (low + (high - low) * numbers("replies", rounds)).tolist()


def _records(problem: Any, rounds: int) -> list[Any]:
    dimension = problem.domain.dimension
    rows = list(2 * numbers("records", rounds, dimension) - 1)
    if problem.loss.family != "glm":
        return rows
    labels = np.where(numbers("labels", rounds) < 0.5, -1.0, 1.0).tolist()
    return list(zip(rows, labels, strict=True))


def _tent(top: float) -> Any:
    return lambda points: 0.5 - np.abs(np.asarray(points)[:, 0] - top) / 2


def loop(learner: Any, rounds: Script, first: int, last: int) -> list[Any]:
    """Play and observe round by round; return the decisions."""
    decisions = []
    for number in range(first, last):
        decisions.append(np.array(learner.play(*rounds.context(number))))
        learner.observe(rounds.feedback[number])
    return decisions


def array(learner: Any, rounds: Script, first: int, last: int) -> list[Any]:
    """Run rounds as arrays, in three parts; return the decisions."""
    decisions: list[Any] = []
    third = (last - first) // 3
    borders = (first, first + third, first + 2 * third, last)
    for start, end in pairwise(borders):
        if end > start:
            made = learner.run(rounds.rows(start, end), **rounds.around(start, end))
            decisions.extend(np.asarray(made))
    return decisions


def late(learner: Any, rounds: Script, first: int, last: int) -> list[Any]:
    """Decide rounds, and settle them late, out of order and not all; return the decisions."""
    decisions = []
    for number in range(first, last):
        decision = learner.decide(*rounds.context(number))
        decisions.append(np.array(decision.action))
        for settled in _due(number, rounds.problem.delay):
            if settled >= first:
                learner.settle(settled, rounds.feedback[settled])
    return decisions


def _due(number: int, delay: int) -> Iterator[int]:
    """Yield the rounds whose feedback arrives after this decision: even ones first, some never."""
    if number % MISSING == MISSING - 1:
        return
    if number % 2 == 0:
        yield number
    elif delay:
        yield number - min(delay, 2)
    else:
        yield number


def digest(decisions: list[Any]) -> str:
    """Return SHA-256 of the bytes of decisions, which are options or points."""
    whole = np.asarray(decisions)
    kind, named = ("<i8", OPTIONS) if whole.dtype.kind in "iub" else ("<f8", POINTS)
    text = f"{kind} {whole.shape}".encode()
    content = np.ascontiguousarray(whole.astype(kind)).tobytes()
    return f"{named} {hashlib.sha256(text + content).hexdigest()}"


def summary(decisions: list[Any]) -> list[float]:
    """Return the mean and mean square of decisions, and the sum of the last one."""
    whole = np.asarray(decisions, dtype=float).reshape(len(decisions), -1)
    last = whole[-1].sum()
    return [float(whole.mean()), float((whole**2).mean()), float(last)]
