"""Exact attacks on learners that decide by features: every coin, and every neighbour of extreme records, is tried.

The shipped learner runs on a stream with its coins scripted; each noisy sum, as the integers that noise is added to, is
recorded, and what it releases is frozen. On a neighbour the same coins and releases are forced, and the integers are
compared. Their distance over the deviation of the noise is the mu of that pair, exactly: given the coins, the law of
everything that is released is one of two discrete Gaussians that differ by this shift.

With releases frozen, decisions of all other rounds must be the same (the billboard lemma), exploring ones also in the
changed rounds, since coins know no features; with public features so must be all decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.contextual import ExploreLinear
from tacit.auditing.instances import Alphabet, Instance
from tacit.auditing.report import Finding
from tacit.auditing.script import NUMERICAL_SLACK, swapped
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import WIDE_SIGMA
from tacit.validation import IntArray

Stream = Sequence[tuple[Any, Any]]
_SOURCE = Randomness.replayable(0)


class _Coins:
    """Scripted public coins: words whose leading bits say which action is meant."""

    private = False

    def __init__(self, actions: Sequence[int], n: int) -> None:
        self._words = [(2 * action + 1) * 2**63 // n for action in actions]

    def take_one(self) -> tuple[int, int]:
        return 0, self._words.pop(0)


class _Frozen:
    """Draws that record the integers they are added to, and release those of an earlier run if there was one."""

    def __init__(self, released: list[int] | None) -> None:
        self.hidden: list[int] = []
        self._released = released

    def draw(self, source: DiscreteGaussian, count: int) -> Any:
        made = np.empty(count, dtype=object)
        made[:] = [_Draw(self) for _ in range(count)]
        return made

    def release(self, total: int) -> int:
        self.hidden.append(total)
        return total if self._released is None else self._released[len(self.hidden) - 1]


class _Draw:
    def __init__(self, tape: _Frozen) -> None:
        self._tape = tape

    def __radd__(self, total: int) -> int:
        return self._tape.release(int(total))


def played(plan: ExploreLinear, stream: Stream, coins: Sequence[int], released: list[int] | None) -> tuple[Any, ...]:
    """Run the shipped learner: its decisions, and the integers that noise hid."""
    tape = _Frozen(released)
    learner: Any = plan.start(_SOURCE)
    learner._coins = _Coins(coins, plan.problem.n)
    actions = []
    with swapped((DiscreteGaussian, "draw_wide", lambda self, count: tape.draw(self, count))):
        for features, loss in stream:
            actions.append(int(learner.play(features)))
            learner.observe(loss)
    return actions, tape.hidden


def moved(plan: ExploreLinear, stream: Stream, neighbour: Stream, coins: Sequence[int]) -> tuple[float, str]:
    """Compute the exact mu between two streams given the coins, and what else tells them apart (empty: nothing)."""
    actions, hidden = played(plan, stream, coins, None)
    others, shifted = played(plan, neighbour, coins, hidden)
    if len(hidden) != len(shifted):
        return float("inf"), "the number of releases depends on the data"
    changed = [at for at, (one, other) in enumerate(zip(stream, neighbour, strict=True)) if one is not other]
    exploring, public = plan.explore + plan.problem.delay, plan.problem.features == "public"
    for at, (one, other) in enumerate(zip(actions, others, strict=True)):
        if one != other and (public or at not in changed or at < exploring):
            return float("inf"), f"the decision of round {at} depends on what was not released"
    return sqrt(sum((one - other) ** 2 for one, other in zip(hidden, shifted, strict=True))) / WIDE_SIGMA, ""


def moved_sums(instance: Instance, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Compute the largest exact mu over coins and neighbours of extreme records, and random streams around them."""
    plan, alphabet = instance.plan, instance.alphabet
    assert isinstance(plan, ExploreLinear)
    rounds, coined, size = plan.rounds, plan.explore + plan.problem.delay, len(alphabet.symbols)
    promised = plan.lattice.mu(plan.relation, plan.rounds_per_person)
    people = min(plan.rounds_per_person, plan.explore)
    worst, reason = 0.0, ""
    for index, coins in zip(range(max(pairs, plan.problem.n**coined)), _cycled(plan.problem.n, coined), strict=False):
        base = generator.integers(size, size=rounds)
        stream = alphabet.stream(base.tolist())
        for symbol, place in product(range(size), range(rounds)):
            neighbour = _changed(stream, alphabet, plan.relation is ZERO_OUT, symbol, _places(place, people, rounds))
            found, why = moved(plan, stream, neighbour, coins)
            if found > worst:
                worst, reason = found, why or f"coins {coins}, round {place}, stream {index}"
    return Finding(
        "exact shifts", instance.label, "mu", promised, worst, worst > promised * (1 + NUMERICAL_SLACK), detail=reason
    )


def _cycled(n: int, count: int) -> Any:
    """Give every sequence of coins, again and again."""
    while True:
        yield from product(range(n), repeat=count)


def _places(first: int, people: int, rounds: int) -> IntArray:
    return (first + np.arange(people)) % rounds


def _changed(stream: Stream, alphabet: Alphabet, zero_out: bool, symbol: int, places: IntArray) -> list[Any]:
    neighbour = list(stream)
    for place in places.tolist():
        neighbour[place] = alphabet.public if zero_out else alphabet.symbols[symbol]
    return neighbour
