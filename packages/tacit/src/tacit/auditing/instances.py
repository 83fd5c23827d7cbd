"""What attacks are run on: a plan's small instances, and the feedback that tells neighbours apart best.

A plan for a hundred thousand rounds cannot be enumerated; its algorithm can, and the plan says how
(`Plan.small_instances`). What a round may hold depends on the problem alone.

The worst neighbours are searched by coordinate ascent over extreme feedback, from many starts. Each move changes the
feedback of one round, in both streams or in the second only. Losses enter learners through functions that are convex in
each round's loss, or close to it, so that the worst pairs are extreme. A search can miss them, and its verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from tacit.accounting.guarantee import ZERO_OUT
from tacit.algorithms.measures import L2PMeasure
from tacit.auditing.script import NUMERICAL_SLACK, ExactCurve, Law, epsilons, transcript_law
from tacit.errors import InvalidInput
from tacit.losses.custom import parted
from tacit.losses.loss import LinkLoss
from tacit.problems import Arms, Bandit, ContextualArms, Convex, Experts, Lipschitz, Policies, Problem, Stochastic
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray

Indices = tuple[int, ...]
# Below this a certified delta is compared by the largest loss only: ratios of rounding errors mean nothing.
SMALLEST_DELTA = 1e-9


@dataclass(frozen=True)
class Alphabet:
    """The feedback a round may hold: the extremes, and the public one that stands for nobody."""

    symbols: tuple[Any, ...]
    public: Any = None

    def stream(self, indices: Sequence[int]) -> list[Any]:
        """Give the feedback; index -1 is the public feedback."""
        return [self.public if index < 0 else self.symbols[index] for index in indices]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring streams, how far their exact curve comes up to the certified one, and where."""

    stream: Indices
    neighbour: Indices
    ratio: float
    at: float
    curve: ExactCurve


class Search:
    """Finds the pair whose exact delta comes nearest to, or over, the certified one."""

    def __init__(
        self,
        plan: Plan,
        alphabet: Alphabet,
        generator: np.random.Generator,
        *,
        laws: int,
        law: Callable[[Plan, list[Any]], Law] = transcript_law,
    ) -> None:
        self._plan, self._alphabet, self._generator = plan, alphabet, generator
        self._left = laws
        self._law = law
        self._known: dict[Indices, FloatArray] = {}
        self._place: dict[Any, int] = {}
        self._rounds = int(plan.horizon or 1)
        self._people, self._gap = plan.guarantee.rounds_per_person, plan.guarantee.separation
        self._zero_out = plan.guarantee.relation is ZERO_OUT
        grid = np.array(epsilons(plan))
        certified = np.array([plan.guarantee.delta(epsilon) for epsilon in grid.tolist()])
        self._grid, self._certified = (values[certified >= SMALLEST_DELTA] for values in (grid, certified))
        self._pure = plan.guarantee.curve.pure()

    def spent(self) -> bool:
        """Check whether the budget of laws is used up."""
        return self._left <= 0

    def run(self) -> Pair:
        """Ascend from structured and random starts until the budget is spent; the best pair of all."""
        best = self._ascend(self._start(0))
        for attempt in range(1, 201):  # after so many every pair near the optimum is known
            if self.spent():
                break
            best = max(best, self._ascend(self._start(attempt)), key=lambda pair: pair.ratio)
        return best

    def pair(self, stream: Indices, neighbour: Indices) -> Pair:
        """Measure one pair."""
        one, other = self._of(stream), self._of(neighbour)
        size = max(len(one), len(other))
        curve = ExactCurve(*(np.pad(law, (0, size - len(law))) for law in (one, other)))
        ratio, at = 0.0, 0.0
        if self._grid.size:
            ratios = curve.deltas(self._grid.tolist()) / self._certified
            ratio, at = float(ratios.max()), float(self._grid[ratios.argmax()])
        if self._pure < float("inf"):
            loss = curve.largest_loss
            share = loss / self._pure if self._pure > 0 else float(loss > NUMERICAL_SLACK) * 2
            if share > ratio:
                ratio, at = share, self._pure
        return Pair(stream, neighbour, ratio, at, curve)

    def _of(self, stream: Indices) -> FloatArray:
        """Compute the law as an array over all transcripts seen so far."""
        if stream not in self._known:
            law = self._law(self._plan, self._alphabet.stream(stream))
            for key in law:
                self._place.setdefault(key, len(self._place))
            vector = np.zeros(len(self._place))
            vector[[self._place[key] for key in law]] = list(law.values())
            self._known[stream] = vector
            self._left -= 1
        return self._known[stream]

    def _start(self, attempt: int) -> tuple[Indices, Indices]:
        """Start from constant streams, one round of which becomes its opposite; then from random streams."""
        size, rounds = len(self._alphabet.symbols), self._rounds
        last = max(1, rounds - 1)
        if attempt < size:
            base = [(attempt + 1) % size] * rounds
            first = 0
        else:
            base = [int(index) for index in self._generator.integers(size, size=rounds)]
            first = int(self._generator.integers(last))
        other = list(base)
        for place in range(first, first + self._people * self._gap, self._gap):
            here = place % last
            if self._gap > 1 and place >= last:  # rounds of the beginning may be closer
                break
            opposite = size - 1 - base[here]
            other[here] = -1 if self._zero_out else opposite if opposite != base[here] else (base[here] + 1) % size
        return tuple(base), tuple(other)

    def _ascend(self, start: tuple[Indices, Indices]) -> Pair:
        best = self.pair(*start)
        improved = True
        while improved and not self.spent():
            improved = False
            moves = self._moves(best)
            for place in self._generator.permutation(len(moves)):
                stream, neighbour = moves[int(place)]
                found = self.pair(stream, neighbour)
                if found.ratio > best.ratio * (1 + 1e-9):
                    best, improved = found, True
                    break
                if self.spent():
                    break
        return best

    def _moves(self, pair: Pair) -> list[tuple[Indices, Indices]]:
        size = len(self._alphabet.symbols)
        moves = []
        for place in range(max(1, self._rounds - 1)):  # nothing is decided after the last round
            changed = pair.stream[place] != pair.neighbour[place]
            for index in range(size):
                if not changed:
                    moves.append((_put(pair.stream, place, index), _put(pair.neighbour, place, index)))
                    continue
                moves.append((_put(pair.stream, place, index), pair.neighbour))
                if not self._zero_out:
                    moves.append((pair.stream, _put(pair.neighbour, place, index)))
        return [move for move in moves if move != (pair.stream, pair.neighbour) and move[0] != move[1]]


def _put(stream: Indices, place: int, index: int) -> Indices:
    return (*stream[:place], index, *stream[place + 1 :])


# Data of this many times the allowed size: longer data are clipped, that is enforced, so it is attacked.
TOO_LONG = 5.0
# Beyond every public range of labels, and finite: labels that are not finite raise.
FAR_LABEL = 1e300


def alphabet(plan: Plan) -> Alphabet:
    """Give extreme feedback for the plan's problem, or what a measure of one's own says is extreme."""
    return Alphabet(*plan.extreme_feedback) if isinstance(plan, L2PMeasure) else extremes(plan.problem)


@singledispatch
def extremes(problem: Problem) -> Alphabet:
    """Give extreme feedback; opposites stand at opposite ends. Register a function for a problem of your own."""
    raise InvalidInput(
        f"No audit knows what feedback {type(problem).__name__} has: register a function that gives its extremes with "
        "tacit.auditing.instances.extremes.register."
    )


@extremes.register
def _losses(problem: Experts) -> Alphabet:
    """Give every vector of extreme losses (up to three experts), or the most telling vectors."""
    low, high = problem.loss_range
    n = problem.n
    if n <= 3:
        rows = [np.array(row) for row in product((low, high), repeat=n)]
    else:
        rows = [np.full(n, low), *(np.where(np.arange(n) == expert, high, low) for expert in range(4))]
        rows += [low + high - row for row in reversed(rows)]
    return Alphabet(tuple(rows), np.full(n, (low + high) / 2))


@extremes.register
def _replies(problem: Arms) -> Alphabet:
    """Give every row of extreme losses, of which a learner sees one entry; the public feedback is none."""
    return Alphabet(tuple(np.array(row) for row in product(problem.loss_range, repeat=min(problem.n, 3))), None)


@extremes.register
def _advised(problem: Policies) -> Alphabet:
    """Give rows of extreme losses, with private recommendations of two policies among two actions if there are any."""
    rows = [np.array(row) for row in product(problem.loss_range, repeat=min(problem.actions, 3))]
    if problem.recommendations == "public":
        return Alphabet(tuple(rows), None)
    return Alphabet(tuple((advice, row) for row in rows for advice in product((0, 1), repeat=2)), None)


@extremes.register
def _requests(problem: ContextualArms) -> Alphabet:
    """Give features along and between axes, as long as allowed and longer, each with both extreme losses."""
    d, (low, high) = problem.dimension, problem.loss_range
    axes = [np.eye(d)[0], np.eye(d)[-1], -np.eye(d)[0]]
    between = np.full(d, 1e6) if d == 1 else np.array([0.5, sqrt(0.75), *[0.0] * (d - 2)])
    if problem.features == "public":
        records = [(axes[0], loss) for loss in (low, (low + high) / 2, high)]
        return Alphabet(tuple(records), (axes[0], None))
    records = [
        (features, loss)
        for features in (*axes, between, TOO_LONG * axes[1], np.full(d, np.nan))
        for loss in (low, high)
    ]
    return Alphabet(tuple(records), (np.zeros(d), None))


@extremes.register
def _values(problem: Bandit) -> Alphabet:
    low, high = problem.value_range
    wide = high - low  # values outside the range are clipped: that is enforced, so it is attacked
    return Alphabet((low, high, low - wide, high + wide), (low + high) / 2)


@extremes.register
def _functions(problem: Lipschitz) -> Alphabet:
    # Steeper than allowed: clipping is enforced, so it is attacked.
    slope = 3 * problem.lipschitz
    shapes = ((1, 0.5), (1, 0.0), (1, 1.0), (-1, 1.0), (-1, 0.0), (-1, 0.5))
    low = problem.low
    functions = [_distance(sign * slope, low + share * problem.side) for sign, share in shapes]
    return Alphabet(tuple(functions), _distance(0.0, 0.0))


def _distance(slope: float, centre: float) -> Callable[[FloatArray], FloatArray]:
    return lambda points: slope * np.abs(points[:, 0] - centre)


@extremes.register
def _data(problem: Convex | Stochastic) -> Alphabet:
    """Give data along the axes, as long as allowed and longer."""
    (loss, _), dimension = parted(problem.loss), problem.domain.dimension
    axes = list(np.eye(dimension)[:3])
    nothing = np.zeros(dimension)
    norm = getattr(loss, "data_norm", getattr(loss, "lipschitz", 1.0))
    rows = [size * norm * axis for size in (1.0, TOO_LONG) for axis in axes]
    if isinstance(loss, LinkLoss):
        # Labels far outside are pulled into their public range: its ends.
        low, high = loss.clip_labels(np.array([-FAR_LABEL, FAR_LABEL])).tolist()
        return Alphabet((*((row, high) for row in rows), *((row, low) for row in reversed(rows))), (nothing, low))
    return Alphabet((*rows, *(-row for row in reversed(rows))), nothing)
