"""The mean of a batch of losses, released with bounded output and no bias, under pure epsilon.

Each loss is rounded to a bit with that mean, so that a batch of B rounds adds up to an integer s in 0..n, n = B steps
(replace) or n = 2B half-steps (zero-out, where missing feedback is exactly one half-step). With Z two-sided geometric,
P[Z=z] proportional to q^|z|, q = e^{-epsilon/m}, d = 1/(1/q - 1) and Y = s + Z, the release is

    f = -d/n if Y <= 0,  Y/n if 0 < Y < n,  1 + d/n if Y >= n.

E f = s/n for every s in 0..n, and the mean of h(f) for convex h is largest at s = 0 or s = n. With n = 1 this is
randomised response. Proofs: docs/algorithms/batched-tsallis.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1

import numpy as np

from tacit.accounting.guarantee import REPLACE, Relation, as_relation
from tacit.errors import PrivacyError
from tacit.noise.discrete_laplace import SMALLEST_RATE, laplace_rate
from tacit.validation import FloatArray, check_integer, check_positive

# A larger rate would save nothing: noise that is other than 0 with probability 2 e^-64 costs no utility.
LARGEST_RATE = 64.0
LARGEST_BATCH = 10**6


@dataclass(frozen=True)
class ClippedGeometric:
    """The release of one batch mean in [0, 1].


    >>> release = ClippedGeometric(batch=2, epsilon=1.0)
    >>> round(release.spread, 3), [round(float(value), 3) for value in release.values]
    (1.039, [-0.291, 0.5, 1.291])
    """

    batch: int  # rounds B of the batch
    epsilon: float  # what a person pays in all, over all batches in which they stand
    relation: Relation = REPLACE  # which data sets are neighbours
    rounds_per_person: int = 1  # how many rounds one person may stand in, in this batch or others

    def __post_init__(self) -> None:
        check_integer("ClippedGeometric", "batch", self.batch, at_most=LARGEST_BATCH)
        check_positive("ClippedGeometric", "epsilon", self.epsilon)
        check_integer("ClippedGeometric", "rounds_per_person", self.rounds_per_person)
        object.__setattr__(self, "relation", as_relation("ClippedGeometric", self.relation))
        if self.rate < SMALLEST_RATE:
            raise PrivacyError(
                f"ClippedGeometric needs epsilon / rounds_per_person of at least {SMALLEST_RATE:.3g} to draw its noise "
                f"exactly. Got {self.rate:.3g} instead."
            )

    @property
    def steps_per_round(self) -> int:
        """How many steps a loss of 1 adds. A neighbour moves the sum by one step a round under either relation."""
        return 3 - self.relation.sides

    @cached_property
    def steps(self) -> int:
        """n, the largest sum of a batch."""
        return self.batch * self.steps_per_round

    @cached_property
    def rate(self) -> float:
        """What one step costs: the largest float that m times is at most epsilon."""
        return min(laplace_rate(self.epsilon, self.rounds_per_person), LARGEST_RATE)

    @cached_property
    def overshoot(self) -> float:
        """d/n, by how much the ends of the release lie outside [0, 1]."""
        return 1 / (expm1(self.rate) * self.steps)

    @cached_property
    def values(self) -> FloatArray:
        """What is released for Y = 0 (or less), 1, .., n (or more)."""
        values = np.arange(self.steps + 1) / self.steps
        values[0], values[-1] = -self.overshoot, 1 + self.overshoot
        return values

    def value(self, noisy: int) -> float:
        """The release of a noisy sum Y."""
        return self.values.item(min(max(noisy, 0), self.steps))

    def law(self, total: int) -> FloatArray:
        """The probabilities of `values` for a batch whose sum is `total`."""
        ratio = exp(-self.rate)
        law = ratio ** np.abs(np.arange(self.steps + 1) - float(total)) / (1 + ratio)
        law[1:-1] *= 1 - ratio  # the ends gather everything beyond them
        return np.asarray(law)

    @property
    def variance(self) -> float:
        """V, the largest mean of (f - 1/2)^2: that of a batch whose sum is 0."""
        return float(self.law(0) @ (self.values - 0.5) ** 2)

    @cached_property
    def skewness(self) -> float:
        """M, the size of the mean of (f - 1/2)^3 of a batch whose sum is 0."""
        return abs(float(self.law(0) @ (self.values - 0.5) ** 3))

    @property
    def spread(self) -> float:
        """B V, the number that enters the regret of a bandit learner: smaller is better."""
        return self.batch * self.variance
