"""What `L2PConvex` leaks and certifies, as functions of public numbers: the plan and its search both use them."""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from tacit.errors import PrivacyError
from tacit.geometry import Ball, Box
from tacit.learners.search import tosses
from tacit.learners.two_chains import two_chains_curve
from tacit.losses.base import CONSTRUCTED
from tacit.losses.trust import refuse_unchecked
from tacit.privacy.curves import ROUND_UP, Curve, Gaussian
from tacit.privacy.guarantee import Relation
from tacit.problems import Convex


class Tuning(NamedTuple):
    """The parameters of `L2PConvex` that are searched for."""

    rate: float
    regularisation: float
    force: float
    clip: float
    batch: int = 1


def exact_curve(
    problem: Convex, tuned: Tuning, reference_force: float, relation: Relation, rounds_per_person: int
) -> Curve:
    """What the transcript would leak if every draw had exactly its law."""
    decisions = tosses(problem.horizon or 1, tuned.batch)
    # REPLACE changes the potential by beta (l - l'), 2 beta L-Lipschitz; ZERO_OUT by beta l.
    share = relation.sides / 2
    mu = share * problem.lipschitz * sqrt(2 * tuned.rate / tuned.regularisation) * ROUND_UP
    mu *= rounds_per_person
    if tuned.force == 1:
        return Gaussian(mu * sqrt(decisions) * ROUND_UP)
    return two_chains_curve(
        limit=tuned.clip,
        bit=coin_move(problem, tuned, reference_force, relation),
        batch=tuned.batch,
        slack=1.0,
        force=tuned.force,
        reference_force=reference_force,
        decisions=decisions,
        draw=Gaussian(mu),
        rounds_per_person=rounds_per_person,
    )


def coin_move(problem: Convex, tuned: Tuning, reference_force: float, relation: Relation) -> float:
    """By how much one round moves the logarithm of the keep probability.

    A round's term lies in [-h, h], and that of no feedback is 0 if it has the same loss everywhere. Strongly convex
    losses have none such: there the term moves over its whole range, or by what two losses differ if that is less.
    """
    if relation.sides == 2 or problem.strong_convexity == 0:
        return relation.sides * tuned.clip
    return min(2 * tuned.clip, tuned.rate * problem.lipschitz * _reach(problem, reference_force) * ROUND_UP)


def certified_regret(problem: Convex, tuned: Tuning, reference_force: float, sampler_distance: float) -> float:
    """The explicit bound, with clipping and the sampler's error."""
    rounds = problem.horizon or 1
    decisions = tosses(rounds, tuned.batch)
    error = problem.lipschitz * problem.domain.diameter * rounds
    value = gibbs_regret(problem, tuned.rate, tuned.regularisation, tuned.batch)
    if not never_clips(problem, tuned, reference_force):
        spread = tuned.rate * problem.lipschitz**2 / tuned.regularisation
        total = clip_errors(tuned.clip, spread, tuned.batch, reference_force, decisions)
        perturbed = tuned.batch * total / tuned.force if tuned.force > 0 else inf  # rounds until the next redraw
        value += error * min(1.0, perturbed / rounds)
    return value + error * min(1.0, 2 * (decisions + 1) * sampler_distance)


def never_clips(problem: Convex, tuned: Tuning, reference_force: float) -> bool:
    """Whether no log ratio can exceed the clip (there is none without a coin)."""
    if tuned.force == 1:
        return True
    return tuned.clip >= tuned.rate * problem.lipschitz * _reach(problem, reference_force)


def _reach(problem: Convex, reference_force: float) -> float:
    """How far a decision and its reference may lie apart."""
    return problem.domain.diameter if reference_force > 0 else problem.domain.radius


def check_samplable(problem: Convex) -> None:
    """Refuse problems whose measure has no certified sampler."""
    if problem.loss.family not in CONSTRUCTED:
        raise PrivacyError(
            "L2PConvex samples, and needs losses that are convex and Lipschitz by construction; "
            f"{problem.loss!r} is not: use PrivateFTRL, which clips gradients."
        )
    if not 0 < problem.lipschitz < float("inf"):
        raise PrivacyError(
            f"L2PConvex needs a finite Lipschitz constant. Got {problem.lipschitz!r} on this domain instead."
        )
    if problem.domain.dimension > 1 and not isinstance(problem.domain, Ball | Box):
        raise PrivacyError(
            f"L2PConvex draws from balls and boxes (and intervals), not from a {type(problem.domain).__name__}."
        )
    refuse_unchecked(problem.loss, "L2PConvex")


def gibbs_regret(problem: Convex, rate: float, regularisation: float, batch: int) -> float:
    """The bound lambda R^2 + min over gamma of (d/beta) ln(1/gamma) + gamma T L D, + T B L^2/(4 lambda)."""
    rounds, lipschitz, domain = problem.horizon or 1, problem.lipschitz, problem.domain
    cost = rounds * lipschitz * domain.diameter
    gamma = min(1.0, domain.dimension / (rate * cost))
    entropy = domain.dimension / rate * log(1 / gamma) + gamma * cost
    return regularisation * domain.radius**2 + entropy + rounds * batch * lipschitz**2 / (4 * regularisation)


def clip_errors(clip: float, spread: float, batch: int, reference_force: float, decisions: int) -> float:
    """A bound on the total variation that clipping adds to the law of x, summed over all decisions.

    x and a reference of age a (in batches) are independent and strongly log-concave, so each round's log ratio is
    sub-Gaussian with proxy v = `spread` = beta L^2/lambda, around a mean of at most m = a B v/2, and Chernoff's
    bound (on the kept mass as well as on the probability) gives 4 B exp(-(h - m)^2/(2v)) for h - m >= B v. The
    age is geometric; a block of ages is charged at its largest.
    """
    if decisions == 0:
        return 0.0
    if reference_force == 0:
        return float(decisions)
    first = np.unique(np.geomspace(1, decisions + 1, 300).astype(np.int64)) - 1
    oldest = np.append(first[1:] - 1, decisions)
    log_kept = np.log1p(-reference_force)
    share = np.exp(first * log_kept) - np.append(np.exp(first[1:] * log_kept), 0.0)
    room = clip - oldest * (batch * spread / 2)
    bound = 4 * batch * np.exp(-(np.maximum(room, 0.0) ** 2) / (2 * spread))
    return decisions * float(share @ np.where(room >= batch * spread, np.minimum(bound, 1.0), 1.0)) * ROUND_UP
