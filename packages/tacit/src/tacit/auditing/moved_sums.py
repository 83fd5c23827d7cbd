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
from itertools import cycle, product
from math import sqrt
from typing import Any

import numpy as np

from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.contextual import ExploreLinear
from tacit.auditing.instances import alphabet
from tacit.auditing.report import Finding
from tacit.auditing.script import NUMERICAL_SLACK, swapped
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import WIDE_SIGMA
from tacit.runtime.small_instances import SmallInstance

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
    """A draw that records the integers it is added to, and releases those of an earlier run if there was one."""

    def __init__(self, released: list[int] | None) -> None:
        self.hidden: list[int] = []
        self._released = released

    def __radd__(self, total: int) -> int:
        self.hidden.append(int(total))
        return int(total) if self._released is None else self._released[len(self.hidden) - 1]


def played(plan: ExploreLinear, stream: Stream, coins: Sequence[int], released: list[int] | None) -> tuple[Any, ...]:
    """Run the shipped learner: its decisions, and the integers that noise hid."""
    tape = _Frozen(released)
    learner: Any = plan.start(_SOURCE)
    learner._coins = _Coins(coins, plan.problem.n)
    actions = []
    with swapped((DiscreteGaussian, "draw_wide", lambda self, count: np.full(count, tape, dtype=object))):
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


def moved_sums(instance: SmallInstance, generator: np.random.Generator, *, pairs: int) -> Finding:
    """Compute the largest exact mu over coins and neighbours of extreme records, and random streams around them."""
    plan, letters = instance.plan, alphabet(instance.plan)
    assert isinstance(plan, ExploreLinear)
    rounds, coined, size = plan.rounds, plan.explore + plan.problem.delay, len(letters.symbols)
    promised = plan.lattice.products(len(plan.phases)).mu(plan.neighbours)
    people, zero_out = min(plan.rounds_per_person, plan.explore), plan.relation is ZERO_OUT
    worst, reason = 0.0, ""
    every = product(range(plan.problem.n), repeat=coined)
    for index, coins in zip(range(max(pairs, plan.problem.n**coined)), cycle(every), strict=False):
        base = generator.integers(size, size=rounds)
        stream = letters.stream(base.tolist())
        for symbol, place in product(range(size), range(rounds)):
            neighbour = list(stream)
            for later in range(people):
                neighbour[(place + later) % rounds] = letters.public if zero_out else letters.symbols[symbol]
            found, why = moved(plan, stream, neighbour, coins)
            if found > worst:
                worst, reason = found, why or f"coins {coins}, round {place}, stream {index}"
    return Finding(
        "exact shifts", instance.label, "mu", promised, worst, worst > promised * (1 + NUMERICAL_SLACK), detail=reason
    )
