"""What released moments say: means, quotients, lifts with intervals at all looks, sample ratio, cells.

Everything here is post-processing of releases, so it costs no privacy. Variances come from released
second moments, plus the public variance of the noise, plus three pseudo-persons, without which
plug-in variances fail in small samples. A lift x of an arm at a look is in the interval if

    |a - (1+x) b| <= c sqrt(v_a + (1+x)^2 v_b)

(Fieller), c = Phi^-1(1 - alpha level/2). The levels of all looks add up to 1, so that all intervals
of an arm are right together with probability 1 - alpha, however persons return and effects change
(docs/algorithms/tests.md, Theorem 4). Functions work on the last axes, so that many runs fit in one
array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from tacit.validation import FloatArray
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Metric, Ratio
from tacit_experiments.ab_tests.release import Block

ALPHA = 0.05
RATIO_ALARM = 0.001
"""The chance, over all looks, that a sample ratio is refused that is right."""
PSEUDO = 1.5
"""Pseudo-persons at each end of the range, in variances only."""
DEVIATIONS, CLEAR = 8.0, 4.0
"""An arm is known from so many deviations of its noise on, and what stands below a line from so many."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Estimates:
    """A metric in each arm.

    Attributes:
        value: the mean of the scaled metric, or the quotient of two.
        variance: of the value, with that of the noise.
        known: whether there are enough persons beside the noise.
    """

    value: FloatArray
    variance: FloatArray
    known: Flags


@dataclass(frozen=True, eq=False)
class Intervals:
    """The interval of a lift, or of a difference where the default is not clearly above 0.

    Attributes:
        low: the lower end of the lift (NaN: not known).
        high: the upper end of the lift.
        difference: arm less default.
        margin: half of the width of the difference's interval.
        known: whether arm and default are known.
    """

    low: FloatArray
    high: FloatArray
    difference: FloatArray
    margin: FloatArray
    known: Flags

    @property
    def larger(self) -> Flags:
        """Whether the whole interval lies above 0."""
        return self.known & (self.difference > self.margin)

    @property
    def smaller(self) -> Flags:
        """Whether the whole interval lies below 0."""
        return self.known & (self.difference < -self.margin)


def estimate(design: ABTest, metric: Metric, block: Block) -> Estimates:
    """Estimate a metric in each arm of a block."""
    if isinstance(metric, Ratio):
        return _estimate_ratio(design, metric, block)
    place = 1 + design.measures.index(metric)
    moments = block.moments
    persons, total = moments[..., 0], moments[..., place]
    squares = moments[..., place + len(design.measures)]
    known = _are_persons_known(block)
    count = np.where(known, persons, 1.0)
    value = np.where(known, total / count, 0.0)
    direction = np.zeros(moments.shape)
    direction[..., place] = 1.0
    direction[..., 0] = -value
    sampling = np.maximum(0.0, squares - total * value) + PSEUDO * (value**2 + (1 - value) ** 2)
    variance = (sampling + _noise_along(direction, block.noise)) / count**2
    return Estimates(value, variance, known)


def _estimate_ratio(design: ABTest, metric: Ratio, block: Block) -> Estimates:
    over, under = design.places(metric)
    measures = len(design.measures)
    moments = block.moments
    pair = 1 + 2 * measures + design.layout.pairs.index((min(over, under), max(over, under)))
    above, below = moments[..., 1 + over], moments[..., 1 + under]
    deviation = sqrt(block.noise[1 + under, 1 + under])
    known = _are_persons_known(block) & (below > CLEAR * deviation) & (below > 0)
    count = np.where(known, below, 1.0)
    value = np.where(known, above / count, 0.0)
    squares = moments[..., 1 + measures + over]
    squares = squares - 2 * value * moments[..., pair] + value**2 * moments[..., 1 + measures + under]
    direction = np.zeros(moments.shape)
    direction[..., 1 + over] = 1.0
    direction[..., 1 + under] = -value
    sampling = np.maximum(0.0, squares) + PSEUDO * (1 + value**2)
    variance = (sampling + _noise_along(direction, block.noise)) / count**2
    return Estimates(value, variance, known)


def _are_persons_known(block: Block) -> Flags:
    persons = block.moments[..., 0]
    return np.asarray((persons >= 1) & (persons >= DEVIATIONS * sqrt(block.noise[0, 0])))


def _noise_along(direction: FloatArray, noise: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...i,ij,...j->...", direction, noise, direction))


def critical(alpha: float, level: float) -> float:
    """Return the number of deviations beyond which a look may speak.

    >>> from tacit_experiments.ab_tests.weights import levels
    >>> [round(critical(0.05, level), 3) for level in levels(4)]
    [3.481, 3.175, 2.968, 2.005]
    """
    return NormalDist().inv_cdf(1 - alpha * level / 2)


def compare(estimates: Estimates, default: int, deviations: float) -> Intervals:
    """Compare every arm with the default (which is compared with itself, and is then never different)."""
    a, va = estimates.value, estimates.variance
    b, vb = a[..., [default]], va[..., [default]]
    known = estimates.known & estimates.known[..., [default]]
    square = deviations**2
    clear = b**2 - square * vb  # Fieller's A
    is_interval = known & (b > 0) & (clear > 0)
    below = np.where(is_interval, clear, 1.0)
    # B^2 - A C, with nothing that cancels
    root = np.sqrt(np.maximum(0.0, square * (va * below + vb * a**2)))
    low = np.where(is_interval, (a * b - root) / below - 1, np.nan)
    high = np.where(is_interval, (a * b + root) / below - 1, np.nan)
    return Intervals(low, high, a - b, deviations * np.sqrt(va + vb), known)


def alpha_of(design: ABTest, metric: Metric) -> float:
    """Return what all comparisons of one arm in this metric may be wrong: families are arms and secondary metrics."""
    alpha = ALPHA / (len(design.arms) - 1)
    others = [other for other in design.metrics if other.name not in (design.primary, *design.guardrails)]
    return alpha / len(others) if metric in others else alpha


def verdict(design: ABTest, metric: Metric, intervals: Intervals, arm: int) -> str:
    """Say "better" or "worse", by the direction that is good; of a guardrail "safe" or "harmed"; else "open"."""
    good, bad = intervals.larger[arm], intervals.smaller[arm]
    if metric.good == "less":
        good, bad = bad, good
    if metric.name not in design.guardrails:
        return "better" if good else "worse" if bad else "open"
    margin = design.guardrails[metric.name]
    low, high = intervals.low[arm], intervals.high[arm]
    is_safe = low > -margin if metric.good == "more" else high < margin  # not for NaN
    return "harmed" if bad else "safe" if is_safe else "open"


def ratio_chance(persons: FloatArray, variance: float, shares: Sequence[float]) -> FloatArray:
    """Compute the chance of numbers of persons as far from the shares as these, if arms were drawn as planned.

    Args:
        persons: noisy numbers of persons, arms along the last axis.
        variance: of the noise in each.
        shares: of the arms.
    """
    planned = np.array(shares)
    whole = persons.sum(axis=-1, keepdims=True)
    apart = (persons - planned * whole)[..., 1:]
    project = (np.eye(len(planned)) - np.outer(planned, np.ones(len(planned))))[1:]
    drawn = (np.diag(planned) - np.outer(planned, planned))[1:, 1:]
    covariance = np.maximum(whole, 0.0)[..., None] * drawn + variance * project @ project.T
    safe = covariance + 1e-12 * np.eye(len(planned) - 1)
    distance = np.einsum("...i,...i->...", apart, np.linalg.solve(safe, apart[..., None])[..., 0])
    return np.asarray(gammaincc((len(planned) - 1) / 2, distance / 2))


def ratio_alarm(design: ABTest, block: Block) -> Flags:
    """Tell whether the noisy numbers of persons do not fit the shares of the arms."""
    chance = ratio_chance(block.moments[..., 0], float(block.noise[0, 0]), design.arm_shares)
    return np.asarray(chance < RATIO_ALARM / design.looks)


def cells_differ(design: ABTest, metric: Metric, blocks: Sequence[Block], arm: int) -> float | None:
    """Compute Cochran's chance that the arm's lift is equal in all cells (None: not known in two cells).

    On logarithms of a/b, so that cells with other bases do not look different. Cells count whose two
    values are above 4 of their deviations.
    """
    logs, variances = [], []
    for block in blocks:
        found = estimate(design, metric, block)
        value, variance = found.value[[arm, design.default_place]], found.variance[[arm, design.default_place]]
        if found.known[[arm, design.default_place]].all() and np.all(value > CLEAR * np.sqrt(variance)):
            logs.append(float(np.log(value[0] / value[1])))
            variances.append(float((variance / value**2).sum()))
    if len(logs) < 2:
        return None
    weights = 1 / np.array(variances)
    apart = np.array(logs) - np.average(logs, weights=weights)
    return float(gammaincc((len(logs) - 1) / 2, float(weights @ apart**2) / 2))
