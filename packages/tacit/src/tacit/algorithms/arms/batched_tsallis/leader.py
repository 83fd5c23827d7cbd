"""One batch of Tsallis-INF: credit the arm that was played, then find the law that leads.

p_i = (A/(G_i - nu))^{1/(1-q)} with nu such that they add up to 1. To the power -(1-q) their sum is nearly linear in nu,
concave and decreasing: Newton's method on it overshoots once at most and then falls monotonically.

Few arms go through one loop over them, in C or in Python: the same operations in the same order, so the same bits. Many
arms go through numpy.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from tacit import kernels
from tacit.algorithms.arms.batched_tsallis.certificate import TOLERANCE
from tacit.validation import FloatArray

FEW_ARMS = 64
MOST_STEPS = 100  # of Newton's method; it takes two or three
SMALLEST_SCALE = 1e-300  # of A p^q, by which m is divided
_sum, _min = np.add.reduce, np.minimum.reduce  # the methods of arrays cost a microsecond more a call


class Rule(NamedTuple):
    """What a learner does with a release, the same for all batches."""

    exponent: float  # 1/(1-q) of the Tsallis entropy of power q
    kappa: float  # how far the baseline of an unlikely arm may rise
    overshoot: float  # by how much the ends of a release lie outside [0, 1]
    lowered: float  # m, by which the baseline 1/2 - m/(A p^q) is lowered


def advance(
    rule: Rule, scores: FloatArray, weights: FloatArray, level: float, played: tuple[int, float], scale: float
) -> float:
    """Credit the (arm, released mean) that was `played`; scores and weights become those of the next batch.

    Scores G and weights p are changed in place, `level` is nu and `scale` A = q/(eta (1-q)); give nu of the next batch.
    """
    if scores.size > FEW_ARMS:
        return _advance_many(rule, scores, weights, level, *played, scale)
    if kernels.compiled is not None:
        given = (*played, scale, *rule, SMALLEST_SCALE, TOLERANCE, MOST_STEPS)
        found: float = kernels.compiled.tsallis(scores, weights, level, *given)
        return found
    listed, law = scores.tolist(), weights.tolist()
    level = _advance_few(rule, listed, law, level, *played, scale)
    scores[:], weights[:] = listed, law
    return level


def _advance_few(
    rule: Rule, scores: list[float], weights: list[float], level: float, arm: int, mean: float, scale: float
) -> float:
    """Take the step in one loop, for lists."""
    exponent, kappa, overshoot, lowered = rule
    chance = weights[arm]
    slope, least = -chance * scale / (scores[arm] - level), inf
    for i in range(len(scores)):
        gap = scores[i] - level
        slope += weights[i] * scale / gap
        size = max(weights[i] * gap, SMALLEST_SCALE)  # A p^q = p (G - nu)
        baseline = max(min(0.5 - lowered / size, kappa * size - overshoot), -overshoot)
        scores[i] += baseline - 0.5
        if i == arm:
            scores[i] += (mean - baseline) / chance
        if scores[i] < least:
            least = scores[i]
    bottom, top = least - scale * float(len(scores)) ** (1.0 / exponent), least - scale
    # Nearly all that has changed is the weight of the arm: a first step without a sum over all of them.
    ratio = scale / (scores[arm] - level)
    weight = ratio**exponent
    total = 1.0 - chance + weight
    slope += weight * ratio
    if total > 0.0 and slope > 0.0:
        level += (1.0 - total ** (1.0 / exponent)) * total * scale / slope
    for _ in range(MOST_STEPS):
        level = max(min(level, top), bottom)
        total = 0.0
        slope = 0.0
        for i in range(len(scores)):
            ratio = scale / (scores[i] - level)
            weight = ratio**exponent
            weights[i] = weight
            total += weight
            slope += weight * ratio
        if abs(total - 1.0) <= TOLERANCE:
            break
        level += (1.0 - total ** (1.0 / exponent)) * total * scale / slope
    for i in range(len(scores)):
        weights[i] /= total
    return level


def _advance_many(
    rule: Rule, scores: FloatArray, weights: FloatArray, level: float, arm: int, mean: float, scale: float
) -> float:
    size = np.maximum(weights * (scores - level), SMALLEST_SCALE)
    baseline = np.minimum(0.5 - rule.lowered / size, rule.kappa * size - rule.overshoot)
    baseline = np.maximum(baseline, -rule.overshoot)
    scores += baseline - 0.5
    scores[arm] += (mean - baseline[arm]) / weights[arm]
    weights[:], level = leader(scores, scale, rule.exponent, level)
    return level


def leader(scores: FloatArray, scale: float, exponent: float, level: float) -> tuple[FloatArray, float]:
    """Find the law p of these scores, and nu, by Newton's method from `level`.

    At min G - A one weight alone is 1, and at min G - A K^{1-q} all are 1/K at most: nu lies between.
    """
    least = float(_min(scores))
    bottom, top = least - scale * float(scores.size) ** (1 / exponent), least - scale
    nu = level
    for _ in range(MOST_STEPS):
        nu = max(min(nu, top), bottom)
        ratios = scale / (scores - nu)
        weights = ratios**exponent
        total = float(_sum(weights))
        if abs(total - 1) <= TOLERANCE:
            break
        nu += (1 - total ** (1 / exponent)) * total * scale / float(weights @ ratios)
    return weights / total, nu
