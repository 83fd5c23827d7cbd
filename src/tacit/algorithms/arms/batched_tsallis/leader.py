"""One batch of Tsallis-INF: credit the arm that was played, then find the law that leads.

p_i = (A/(G_i - nu))^{1/(1-q)} with nu such that they add up to 1. To the power -(1-q) their sum is nearly linear in nu,
concave and decreasing: Newton's method on it overshoots once at most and then falls monotonically.

Few arms go through one loop over them, as it stands or compiled by numba: the same operations in the same order, so the
same bits. Many arms go through numpy, with or without numba.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from tacit.validation import FloatArray, require

FEW_ARMS = 64
MOST_STEPS = 100  # of Newton's method; it takes two or three
TOLERANCE = 1e-10
_sum, _min = np.add.reduce, np.minimum.reduce  # the methods of arrays cost a microsecond more a call


class Rule(NamedTuple):
    """What a learner does with a release, the same for all batches.

    Attributes:
        exponent: 1/(1-q) of the Tsallis entropy of power q.
        kappa: how far the baseline of an unlikely arm may rise.
        overshoot: by how much the ends of a release lie outside [0, 1].
    """

    exponent: float
    kappa: float
    overshoot: float


def advance(
    rule: Rule,
    scores: FloatArray,
    weights: FloatArray,
    level: float,
    played: tuple[int, float],
    scales: tuple[float, float],
    fast: bool,
) -> float:
    """Credit the (arm, released mean) that was `played`; scores and weights become those of the next batch.

    Args:
        rule: of the learner.
        scores: G, changed in place.
        weights: p, changed in place.
        level: nu.
        played: the arm of the batch, and its release.
        scales: A = q/(eta (1-q)) of this batch and of the next one.
        fast: whether to compile the loop for few arms.

    Returns:
        nu of the next batch.
    """
    if scores.size > FEW_ARMS:
        return _advance_many(rule, scores, weights, level, *played, scales)
    if fast:
        return float(compiled_loop()(scores, weights, level, *played, *scales, *rule))
    listed, law = scores.tolist(), weights.tolist()
    level = _advance_few(listed, law, level, *played, *scales, *rule)
    scores[:], weights[:] = listed, law
    return level


def _advance_few(
    scores: Any,
    weights: Any,
    level: float,
    arm: int,
    mean: float,
    scale: float,
    following: float,
    exponent: float,
    kappa: float,
    overshoot: float,
) -> float:
    """The loop, for lists or for the compiler."""
    chance, apart = weights[arm], scores[arm] - level
    baseline = min(0.5, kappa * chance * apart - overshoot)
    slope, least = -chance * scale / apart, inf
    for i in range(len(scores)):
        gap = scores[i] - level
        slope += weights[i] * scale / gap
        shift = kappa * weights[i] * gap - overshoot - 0.5  # A p^q = p (G - nu)
        if shift < 0.0:
            scores[i] += shift
        if i == arm:
            scores[i] += (mean - baseline) / chance
        if scores[i] < least:
            least = scores[i]
    top = least - following
    # Nearly all that has changed is the weight of the arm: a first step without a sum over all of them.
    ratio = following / (scores[arm] - level)
    weight = ratio**exponent
    total = 1.0 - chance + weight
    slope += weight * ratio
    if total > 0.0 and slope > 0.0:
        level += (1.0 - total ** (1.0 / exponent)) * total * following / slope
    for _ in range(MOST_STEPS):
        level = min(level, top)
        total = 0.0
        slope = 0.0
        for i in range(len(scores)):
            ratio = following / (scores[i] - level)
            weight = ratio**exponent
            weights[i] = weight
            total += weight
            slope += weight * ratio
        if abs(total - 1.0) <= TOLERANCE:
            break
        level += (1.0 - total ** (1.0 / exponent)) * total * following / slope
    for i in range(len(scores)):
        weights[i] /= total
    return level


@cache
def compiled_loop() -> Any:
    """The loop compiled by numba, or an error that names the extra that installs it."""
    return require("numba", "fast").njit(_advance_few)


def _advance_many(
    rule: Rule,
    scores: FloatArray,
    weights: FloatArray,
    level: float,
    arm: int,
    mean: float,
    scales: tuple[float, float],
) -> float:
    baseline = np.minimum(rule.kappa * weights * (scores - level) - rule.overshoot, 0.5)
    scores += baseline - 0.5
    scores[arm] += (mean - baseline[arm]) / weights[arm]
    weights[:], level = leader(scores, scales[1], rule.exponent, level)
    return level


def leader(scores: FloatArray, scale: float, exponent: float, level: float) -> tuple[FloatArray, float]:
    """The law p of these scores, and nu, by Newton's method from `level`.

    At min G - A one weight alone is 1: nu is not above it.
    """
    top = float(_min(scores)) - scale
    nu = min(level, top)
    for _ in range(MOST_STEPS):
        ratios = scale / (scores - nu)
        weights = ratios**exponent
        total = float(_sum(weights))
        if abs(total - 1) <= TOLERANCE:
            break
        nu = min(nu + (1 - total ** (1 / exponent)) * total * scale / float(weights @ ratios), top)
    return weights / total, nu
