"""The exact law of everything a learner releases, on small instances, and the exact curve of two neighbours.

The shipped learner runs once for every outcome of its coins (script.py), so what is enumerated is the code
that users run. The hockey-stick divergence of two such laws is the true delta(epsilon) of that pair of streams: no
sampling, no confidence level. It must lie under the certified curve for every pair of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np

from tacit.auditing.scripted.script import NotEnumerable, Script, ScriptedRandomness, symbols
from tacit.learners.plan import Plan
from tacit.validation import FloatArray

Feedback = Sequence[Any]
"""One round's feedback after the other."""

Law = dict[tuple[Any, ...], float]
"""Transcripts and their probabilities."""

MOST_TRANSCRIPTS = 200_000
# Probabilities are sums of products of doubles, and thresholds are integrated to about 1e-7.
NUMERICAL_SLACK = 1e-6
# Beyond this an epsilon says nothing that any probability could show.
LARGE_EPSILON = 50.0
# e to a larger power is near the end of the doubles (e^709.8): the smallest probabilities times it are still numbers.
LARGEST_EXPONENT = 700.0


class Walk(Script):
    """Takes given choices, then the first possible outcome each time; notes the branches it passed."""

    def __init__(self, choices: tuple[int, ...], probability: float) -> None:
        super().__init__()
        self._given = choices
        self._taken = list(choices)
        self._place = 0
        self.branches: list[tuple[tuple[int, ...], float]] = []
        self.probability = probability

    def choose(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        place = self._place
        self._place = place + 1
        if place < len(self._given):
            return self._given[place]
        probabilities = law()
        taken, before = tuple(self._taken), self.probability
        choice = -1
        for index, probability in enumerate(probabilities):
            if probability <= 0:
                continue
            if choice < 0:
                choice = index
                self.probability = before * probability
            else:
                self.branches.append(((*taken, index), before * probability))
        self._taken.append(choice)
        return choice


def transcript(plan: Plan, feedback: Feedback, script: Script) -> tuple[Any, ...]:
    """What one scripted run releases: each action, and whether each released stream was used after it."""
    names = plan.released_streams
    learner = plan.start(ScriptedRandomness(script))
    released: list[Any] = []
    late = plan.problem.delay > 0  # then feedback is absorbed before a decision, otherwise after it
    for round_feedback in feedback:
        if late:
            script.forget()
        released.append(plain(learner.play()))
        if not late:
            script.forget()
        learner.observe(round_feedback)
        if names:
            released.append(tuple(name in script.asked for name in names))
    return tuple(released)


def transcript_law(plan: Plan, feedback: Feedback) -> Law:
    """The law of everything that the learner of `plan` releases on this feedback."""
    with symbols():
        return walked_law(plan, feedback, transcript)


def walked_law(plan: Plan, feedback: Feedback, run: Callable[[Plan, Feedback, Script], tuple[Any, ...]]) -> Law:
    """The law of what `run` says of a learner of `plan` on this feedback: it is called for each outcome of a script."""
    law: Law = {}
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        walk = Walk(*waiting.pop())
        key = run(plan, feedback, walk)
        law[key] = law.get(key, 0.0) + walk.probability
        waiting += walk.branches
        if len(law) > MOST_TRANSCRIPTS:
            raise NotEnumerable(f"{plan.algorithm} has more than {MOST_TRANSCRIPTS} transcripts here.")
    return law


@dataclass(frozen=True)
class ExactCurve:
    """The exact delta(epsilon) of one pair of laws, in the worse direction."""

    one: FloatArray
    other: FloatArray

    @classmethod
    def of(cls, law: Law, neighbour: Law) -> ExactCurve:
        """Align two laws on all their transcripts."""
        keys = list(law.keys() | neighbour.keys())
        return cls(np.array([law.get(key, 0.0) for key in keys]), np.array([neighbour.get(key, 0.0) for key in keys]))

    def delta(self, epsilon: float) -> float:
        """Max over both directions of the sum of (p - e^epsilon q)+."""
        return float(self.deltas([epsilon])[0])

    def deltas(self, epsilons: Sequence[float]) -> FloatArray:
        """`delta` at several epsilons."""
        factors = np.array([growth(epsilon) for epsilon in epsilons])[:, None]
        forward = np.maximum(self.one - factors * self.other, 0.0).sum(axis=1)
        backward = np.maximum(self.other - factors * self.one, 0.0).sum(axis=1)
        return np.asarray(np.maximum(forward, backward))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon whose delta is at most this: no certificate below it can be right."""
        if self.delta(0.0) <= delta:
            return 0.0
        both = (self.one > 0) & (self.other > 0)
        high = float(np.max(np.abs(np.log(self.one[both] / self.other[both])), initial=0.0))
        if self.delta(high) > delta + NUMERICAL_SLACK * 1e-6:
            return float("inf")
        low = 0.0
        while high - low > 1e-9 * max(1.0, high):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return low

    @property
    def largest_loss(self) -> float:
        """The largest absolute log ratio of any transcript (infinite if one is impossible on one side only)."""
        if np.any((self.one > 0) != (self.other > 0)):
            return float("inf")
        here = self.one > 0
        return float(np.max(np.abs(np.log(self.one[here] / self.other[here])), initial=0.0))


def growth(epsilon: float) -> float:
    """e^epsilon, as a number however large epsilon is."""
    return exp(min(epsilon, LARGEST_EXPONENT))


def plain(action: Any) -> Any:
    """An action as a value that can be a key."""
    if isinstance(action, np.ndarray):
        return tuple(float(x) for x in action.ravel())
    return action.item() if isinstance(action, np.generic) else action


def epsilons(plan: Plan) -> tuple[float, ...]:
    """Where curves are compared: shares of the certified epsilon at a delta that small instances can reach."""
    top = plan.guarantee.epsilon(1e-3)
    top = top if top < LARGE_EPSILON else plan.guarantee.curve.pure()
    top = top if top < LARGE_EPSILON else log(1e6)
    return tuple(top * share for share in (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0))
