"""Noisy counts beside a model: how many records a class has, and where the line between two classes is drawn.

Counts are integers, records of weight w count floor(w M) of M units, and so is the noise: what is released is exact (up
to the sampler's stated slack if Gaussian). A record moves a vector of counts of disjoint classes by 1 (zero-out), or by
sqrt(2) in l2 and 2 in l1 (replacement); one number 1[above] - 1[positive] by 1 or 2.

The line. Regularisation shortens a model's coefficients and leaves its intercept large, so that under imbalance hardly
a record is called positive. The line is moved, between where it is and where it would be without the intercept, to
where as much weight is called positive as is positive: a noisy binary search of `STEPS` counts, each with fresh noise.
If the intercept is small there is nowhere to go, whatever the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from tacit.mechanisms.noisy_statistics import NoisyStatistics
from tacit.numerics.discrete_laplace import DiscreteLaplace, laplace_rate, laplace_units
from tacit.privacy.curves import ROUND_UP
from tacit.randomness import Randomness
from tacit.validation import FloatArray, IntArray

STEPS = 5
"""Counts that the search for the line asks for."""


@dataclass(frozen=True)
class NoisyCounts:
    """The noise of one release of counts.

    Attributes:
        privacy: mu of the release, or its epsilon if pure.
        reach: by how much one record moves the counts, in l2, or in l1 if pure.
        pure: whether the noise is two-sided geometric.
    """

    privacy: float
    reach: float
    pure: bool

    @property
    def units(self) -> int:
        """How many steps a count of 1 has."""
        return laplace_units(self.privacy, ceil(self.reach)) if self.pure else self._statistics.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a count, rounded up."""
        return sqrt(2) / (self._rate * self.units) * ROUND_UP if self.pure else self._statistics.deviation

    def whole(self, weights: FloatArray) -> IntArray:
        """Weights in [0, 1] as integers of at most `units`."""
        return np.clip(np.floor(weights * self.units), 0, self.units).astype(np.int64)

    def release(self, sums: IntArray, source: Randomness, name: str) -> FloatArray:
        """Integer sums of `whole` weights with fresh noise, as counts."""
        if not self.pure:
            return self._statistics.release(sums, source, name)
        noise = DiscreteLaplace.from_streams(source, name, self._rate)
        return np.asarray((sums + noise.draw(sums.size).reshape(sums.shape)) / self.units)

    @property
    def _statistics(self) -> NoisyStatistics:
        return NoisyStatistics.finest(self.privacy, lambda units: self.reach * units * ROUND_UP)

    @property
    def _rate(self) -> float:
        return laplace_rate(self.privacy, ceil(self.reach) * self.units)


def class_counts(noise: NoisyCounts, codes: IntArray, classes: int, source: Randomness) -> FloatArray:
    """The noisy number of records of each class."""
    sums = np.bincount(codes, minlength=classes).astype(np.int64) * noise.units
    return noise.release(sums, source, "class counts")


def matched_line(
    noise: NoisyCounts,
    scores: FloatArray,
    positive: FloatArray,
    weights: FloatArray,
    intercept: float,
    source: Randomness,
) -> float:
    """Where to draw the line between scores: between 0 and the intercept, see the module's docstring.

    Args:
        noise: of one count.
        scores: the decision function of the released model at each record.
        positive: 1 for records of the second class, 0 for those of the first.
        weights: of the records, in [0, 1].
        intercept: of the released model.
        source: of the noise.
    """
    low, high, whole = min(intercept, 0.0), max(intercept, 0.0), noise.whole(weights)
    for step in range(STEPS):
        middle = low + (high - low) / 2
        called = np.where(scores > middle, 1, 0) - positive.astype(np.int64)
        net = noise.release(np.array([np.sum(whole * called)]), source, f"line {step}")[0]
        low, high = (middle, high) if net > 0 else (low, middle)
    return low + (high - low) / 2
