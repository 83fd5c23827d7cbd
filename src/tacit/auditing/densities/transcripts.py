"""Transcripts of the shipped learner, read under a claim: their exact likelihood, their draws and their coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import chdtr, ndtr

from tacit.auditing.densities.claimed_ctrl import Claim, PerturbedMinimiser, stacked
from tacit.auditing.densities.claimed_l2p import Gibbs
from tacit.auditing.densities.goodness_of_fit import Surprise, coin_surprise, normal_surprises
from tacit.errors import InvalidInput
from tacit.learners.ctrl.ctrl import CTRL
from tacit.learners.l2p_convex.l2p_convex import L2PConvex, L2PConvexLearner
from tacit.learners.learner import Learner
from tacit.learners.plan import Plan
from tacit.randomness import Randomness
from tacit.validation import FloatArray


@dataclass(frozen=True)
class Transcript:
    """The point of every round; with a second chain also the reference, which stood beside it."""

    points: FloatArray
    references: FloatArray | None = None


@dataclass(frozen=True)
class Draw:
    """A point that was drawn after `finished` rounds."""

    finished: int
    point: FloatArray


@dataclass(frozen=True)
class Toss:
    """A coin.

    Attributes:
        kept: what it said.
        log_keep: the logarithm of the claimed probability of that.
        position: where in its range it stood, in [-1, 1]; for a reference, whether the decision was kept.
        held: which draw was held.
        reference: whether it is the reference's coin.
    """

    kept: bool
    log_keep: float
    position: float
    held: int
    reference: bool = False


@dataclass
class Reading:
    """What transcripts show under a claim."""

    draws: list[Draw] = field(default_factory=list)
    tosses: list[Toss] = field(default_factory=list)


def claim_of(plan: Plan, feedback: Sequence[Any]) -> Claim:
    """The claim of a plan about this stream."""
    if isinstance(plan, CTRL):
        return PerturbedMinimiser(plan, feedback)
    if isinstance(plan, L2PConvex):
        return Gibbs(plan, feedback)
    raise InvalidInput(f"No audit knows which densities {plan.algorithm} claims for its draws.")


def transcript(plan: Plan, feedback: Sequence[Any], source: Randomness) -> Transcript:
    """One run of the shipped learner."""
    learner = plan.start(source)
    if isinstance(learner, L2PConvexLearner) and learner._chains is not None:
        return stepwise(learner, feedback)
    return Transcript(np.asarray(learner.run(stacked(feedback))))


def stepwise(learner: Learner, feedback: Sequence[Any]) -> Transcript:
    """One run, round by round; the reference is looked up beside it."""
    chains = learner._chains if isinstance(learner, L2PConvexLearner) else None
    points, references = [], []
    for row in feedback:
        points.append(np.asarray(learner.play()))
        if chains is not None:
            references.append(np.array(chains.state_dict()["reference"]))
        learner.observe(row)
    return Transcript(np.array(points), np.array(references) if references else None)


def read(claim: Claim, seen: Transcript, reading: Reading | None = None) -> float:
    """The log likelihood of a transcript; its draws and coins join the reading."""
    noted = Reading() if reading is None else reading
    references = seen.references
    second = references is not None and claim.reference_keep < 1
    total = _drawn(claim, noted, seen.points[0], 0)
    held = len(noted.draws) - 1
    reference_held = held
    if references is not None and second:
        total += _drawn(claim, noted, references[0], 0)
        reference_held = len(noted.draws) - 1
    for finished in range(1, len(seen.points)):
        point, following = seen.points[finished - 1], seen.points[finished]
        kept = bool(np.array_equal(point, following))
        if finished not in claim.decisions:
            if not kept:
                return -np.inf  # a point that moves where nothing is decided
            continue
        log_keep = claim.log_keep(point, None if references is None else references[finished - 1], finished)
        position = 1 + (log_keep - claim.log_force) / claim.half_range if log_keep > -np.inf else 0.0
        noted.tosses.append(Toss(kept, log_keep, position, held))
        total += _log_bit(kept, log_keep)
        if not kept:
            total += _drawn(claim, noted, following, finished)
            held = len(noted.draws) - 1
        if references is None or not second:
            continue
        beside = 1.0 if kept else -1.0
        kept = bool(np.array_equal(references[finished - 1], references[finished]))
        log_keep = float(np.log(claim.reference_keep))
        noted.tosses.append(Toss(kept, log_keep, beside, reference_held, reference=True))
        total += _log_bit(kept, log_keep)
        if not kept:
            total += _drawn(claim, noted, references[finished], finished)
            reference_held = len(noted.draws) - 1
    return total


def _drawn(claim: Claim, reading: Reading, point: FloatArray, finished: int) -> float:
    reading.draws.append(Draw(finished, point))
    return claim.log_density(point, finished)


def _log_bit(kept: bool, log_keep: float) -> float:
    if kept:
        return log_keep
    return float(np.log(-np.expm1(log_keep))) if log_keep < 0 else -np.inf


def normals_of(claim: Claim, draws: Sequence[Draw]) -> FloatArray:
    """The standard normal vector of each draw."""
    times = np.array([draw.finished for draw in draws])
    points = np.array([draw.point for draw in draws])
    made = np.empty((len(draws), claim.normals(points[:1], int(times[0])).shape[1]))
    for finished in np.unique(times):
        here = times == finished
        made[here] = claim.normals(points[here], int(finished))
    return made


def surprises(claim: Claim, reading: Reading, first: int, later: int, slack: float) -> list[Surprise]:
    """Tests of the first draws of runs and of the later ones (fixed numbers of each, in order), and of all coins.

    A run ends when its coins say so, hence the number of its draws is random; but the sequence of all draws of all
    runs is one of independent draws, and a fixed number from its beginning can be tested exactly.
    """
    outside = sum(not claim.domain.contains(draw.point, 1e-9) for draw in reading.draws)
    if outside:
        return [Surprise("draws outside the domain", np.inf)]
    normals = normals_of(claim, reading.draws)
    initial = np.array([draw.finished == 0 for draw in reading.draws])
    found = normal_surprises(normals[initial][:first], "first draws", slack)
    found += normal_surprises(normals[~initial][:later], "later draws", slack)
    for label, reference in (("coins", False), ("coins of the reference", True)):
        tosses = [toss for toss in reading.tosses if toss.reference == reference]
        if tosses:
            found.append(_coins(tosses, normals, label))
    return found


def _coins(tosses: list[Toss], normals: FloatArray, label: str) -> Surprise:
    """Bets on the average, on the place in the range, and on what is held."""
    holding = normals[[toss.held for toss in tosses]]
    lengths = chdtr(holding.shape[1], np.sum(holding**2, axis=1))
    positions = [toss.position for toss in tosses]
    weights = np.column_stack([np.ones(len(tosses)), positions, 2 * ndtr(holding) - 1, 2 * lengths - 1])
    kept = np.array([toss.kept for toss in tosses], dtype=bool)
    return coin_surprise(kept, np.exp([toss.log_keep for toss in tosses]), weights, label)
