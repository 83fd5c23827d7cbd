"""What attacks are run on: a plan's small instances, and the feedback that tells neighbours apart best.

A plan for a hundred thousand rounds cannot be enumerated. Its algorithm can, and the plan says how
(`Plan.small_instances`); what a round may hold depends on the problem alone and stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import product

import numpy as np

from tacit.auditing.neighbours import Alphabet
from tacit.errors import InvalidInput
from tacit.learners.l2p_measure import L2PMeasure
from tacit.learners.plan import Plan
from tacit.learners.small_instances import Attack, SmallInstance
from tacit.losses.base import LossFamily
from tacit.losses.bent import QuadraticFormLoss
from tacit.losses.linear_models import LinkLoss
from tacit.losses.regularised import parted
from tacit.losses.several import SeveralLinks
from tacit.problems import Arms, Bandit, Convex, Experts, LipschitzLosses, Problem, Stochastic
from tacit.validation import FloatArray

# Data of this many times the allowed size: longer data are clipped, that is enforced, so it is attacked.
TOO_LONG = 5.0
# Beyond every public range of labels, and finite: labels that are not finite raise.
FAR_LABEL = 1e300


@dataclass(frozen=True)
class Instance:
    """A plan small enough for an attack, with the feedback to try."""

    label: str
    plan: Plan
    alphabet: Alphabet
    effort: int = 0

    @classmethod
    def of(cls, small: SmallInstance) -> Instance:
        """The plan's instance with the feedback of its problem."""
        return cls(small.label, small.plan, alphabet(small.plan), small.effort)


def instances(plan: Plan, attack: Attack, most_rounds: int = 1_000) -> list[Instance]:
    """The small instances that a plan names for one kind of attack."""
    return [Instance.of(small) for small in plan.small_instances(most_rounds) if small.attack == attack]


def alphabet(plan: Plan) -> Alphabet:
    """Extreme feedback for the plan's problem, or what a measure of one's own says is extreme."""
    return Alphabet(*plan.extreme_feedback) if isinstance(plan, L2PMeasure) else extremes(plan.problem)


@singledispatch
def extremes(problem: Problem) -> Alphabet:
    """Extreme feedback; opposites stand at opposite ends. Register a function for a problem of your own."""
    raise InvalidInput(
        f"No audit knows what feedback {type(problem).__name__} has: register a function that gives its extremes with "
        "tacit.auditing.instances.extremes.register."
    )


@extremes.register
def _losses(problem: Experts) -> Alphabet:
    """Every vector of extreme losses (up to three experts), or the most telling ones."""
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
    """Every row of extreme losses, of which a learner sees one entry; the public feedback is none."""
    return Alphabet(tuple(np.array(row) for row in product(problem.loss_range, repeat=min(problem.n, 3))), None)


@extremes.register
def _values(problem: Bandit) -> Alphabet:
    low, high = problem.value_range
    wide = high - low  # values outside the range are clipped: that is enforced, so it is attacked
    return Alphabet((low, high, low - wide, high + wide), (low + high) / 2)


@extremes.register
def _functions(problem: LipschitzLosses) -> Alphabet:
    # Steeper than allowed: clipping is enforced, so it is attacked.
    slope = 3 * problem.lipschitz
    shapes = ((1, 0.5), (1, 0.0), (1, 1.0), (-1, 1.0), (-1, 0.0), (-1, 0.5))
    low = problem.low
    functions = [_distance(sign * slope, low + share * problem.side) for sign, share in shapes]
    return Alphabet(tuple(functions), _distance(0.0, 0.0))


def _distance(slope: float, centre: float) -> Callable[[FloatArray], FloatArray]:
    return lambda points: slope * np.abs(points[:, 0] - centre)


@extremes.register
def _rows(problem: Convex) -> Alphabet:
    return _data(problem.loss, problem.domain.dimension)


@extremes.register
def _records(problem: Stochastic) -> Alphabet:
    return _data(problem.loss, problem.domain.dimension)


def _data(loss: LossFamily, dimension: int) -> Alphabet:
    """Data along the axes, as long as allowed and longer."""
    loss, _ = parted(loss)
    axes = list(np.eye(dimension)[:3])
    nothing = np.zeros(dimension)
    norm = getattr(loss, "data_norm", getattr(loss, "lipschitz", 1.0))
    rows = [size * norm * axis for size in (1.0, TOO_LONG) for axis in axes]
    if isinstance(loss, LinkLoss):
        # Labels far outside are pulled into their public range: its ends.
        low, high = loss.clip_labels(np.array([-FAR_LABEL, FAR_LABEL])).tolist()
        return Alphabet((*((row, high) for row in rows), *((row, low) for row in reversed(rows))), (nothing, low))
    if isinstance(loss, SeveralLinks):
        low, high = loss.link.clip_labels(np.array([-FAR_LABEL, FAR_LABEL])).tolist()
        # All rows along one axis add up; along several they bend the loss in as many directions.
        blocks = [np.tile(rows[place], (loss.count, 1)) for place in (0, -1)]
        blocks.append(np.array([rows[place % len(rows)] for place in range(loss.count)]))
        ends = [(block, np.full(loss.count, label)) for block in blocks for label in (low, high)]
        return Alphabet(tuple(ends), (np.zeros((loss.count, dimension)), np.full(loss.count, low)))
    if isinstance(loss, QuadraticFormLoss):
        # Eigenvalues far above the bound, and below 0: clipping is enforced, so it is attacked.
        forms = [TOO_LONG * loss.largest_curvature * sign * np.eye(dimension) for sign in (1, -1)]
        ends = [(form, sign * row) for form in forms for row in (rows[0], rows[-1]) for sign in (1, -1)]
        return Alphabet(tuple(ends), (np.zeros((dimension, dimension)), nothing))
    return Alphabet((*rows, *(-row for row in reversed(rows))), nothing)
