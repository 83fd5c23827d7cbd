"""The indices of `PhasedArms` and its certified regret. Proof: docs/algorithms/phased-arms.md.

After batch j of an arm (lengths m_1..m_j, n_j rounds in all) its estimate is sum_i w_i Y_i with noise of scale b in
each sum. For s on one fixed public grid the Chernoff exponents are

    Lambda_j(q) = max_s [ s est - sum_i m_i ln(1 - q + q e^{s w_i/m_i}) + sum_i ln(1 - (s w_i b/m_i)^2) ]
    Psi_j(s) = sum_i [ s^2 w_i^2/(8 m_i) - ln(1 - (s w_i b/m_i)^2) ],   r_j = min_s (L_j + Psi_j(s))/s at s_j

the index is the smallest q with Lambda_j(q) <= L_j, and for any c in (0, 1) the certified regret is

    (T/c) Dbar + min_{lambda >= 0} [ lambda T + (K-1) max_x (x - lambda)^+ h(x) ]
    Dbar = sum_j e^{-L_j} int_0^1 prod_i (1 + x (1 - e^{-s_j w_i/m_i}))^{-m_i} dx
    h(x) = min(T, n_1 + sum_j m_{j+1} exp(-Psi*_j(((1-c) x - r_j)^+)))

With a delay D, n_1 + D and m_{j+1} + D stand in h.
For Gaussian noise of deviation b the last logarithm is -(s w_i b/m_i)^2/2. On grids everything is taken at its larger
end: s_j one step down, left sums for the integral, h at the left and x at the right end of each cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log, sqrt

import numpy as np

from tacit.privacy.calibration import minimise
from tacit.validation import FloatArray

SLOPES, GAPS, CELLS = 200, 1500, 1000
BISECTIONS = 40
_SHARES = (0.05, 0.6)  # where the best c lies


@dataclass(frozen=True)
class Phase:
    """What is known of an arm after j batches, before any data.

    Attributes:
        slopes: the grid of s.
        tilts: s w_i/m_i for each s and batch.
        noise: the logarithm of the noise's moment generating function at each s, at most.
        lengths: m_1..m_j.
        level: L_j.
    """

    slopes: FloatArray
    tilts: FloatArray
    noise: FloatArray
    lengths: FloatArray
    level: float

    def index(self, estimate: float) -> float:
        """The lower confidence bound of an arm with this estimate."""
        # Each slope refuses all q below a root of its own; the index is the largest root.
        gains, growth = self.slopes * estimate - self.noise - self.level, self._growth
        low, high = 0.0, 1.0
        refusing = gains > 0.0
        for _ in range(BISECTIONS):
            if not refusing.any():
                return low
            if not refusing.all():  # the others' roots lie below
                gains, growth = gains[refusing], growth[refusing]
            middle = (low + high) / 2
            above = gains > np.log1p(middle * growth) @ self.lengths
            if above.any():
                low, refusing = middle, above
            else:
                high, refusing = middle, ~above
        return low

    @cached_property
    def _growth(self) -> FloatArray:
        return np.expm1(self.tilts)

    @cached_property
    def exponents(self) -> FloatArray:
        """Psi_j on the grid."""
        return np.asarray((self.tilts**2) @ self.lengths / 8 + self.noise)

    @cached_property
    def radius(self) -> float:
        """r_j: the index is at least the estimate minus this."""
        return float(self._radii.min()) + 2.0**-BISECTIONS

    @property
    def _radii(self) -> FloatArray:
        return (self.level + self.exponents) / self.slopes

    def excess(self) -> float:
        """The mean of (index - true mean)^+, at most."""
        tilts = self.tilts[max(0, int(self._radii.argmin()) - 1)]
        x = np.append(0.0, np.geomspace(1e-8, 1.0, CELLS))
        density = np.exp(-np.log1p(x[:-1, None] * -np.expm1(-tilts)) @ self.lengths)
        return float(np.exp(-self.level) * (density @ np.diff(x)))

    def unlikely(self, distances: FloatArray) -> FloatArray:
        """The probability that the estimate is below the mean by r_j and this distance, at most."""
        slopes, exponents = self.slopes[::4], self.exponents[::4]
        conjugate = (np.maximum(distances - self.radius, 0.0)[:, None] * slopes - exponents).max(axis=1)
        return np.asarray(np.exp(-np.maximum(conjugate, 0.0)))


@dataclass(frozen=True)
class Phases:
    """The public schedule of `PhasedArms`.

    Attributes:
        arms: K.
        rounds: T.
        scale: b, of the noise in a sum of losses in [0, 1]: of Laplace noise, or the deviation of Gaussian noise.
        first: n_1, rounds of an arm's first batch.
        ratio: alpha, by which the rounds of an arm grow from batch to batch.
        level: L_0; L_j = L_0 + ln max(1, T/(K n_j)).
        gaussian: whether the noise is Gaussian.
        delay: D; after a batch its arm is played for so many rounds more, until the batch is back.
    """

    arms: int
    rounds: int
    scale: float
    first: int
    ratio: float
    level: float
    gaussian: bool
    delay: int = 0

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """n_1, n_2, .., up to the first one that the horizon does not exceed."""
        ends = [self.first]
        while ends[-1] < self.rounds:
            ends.append(ceil(self.ratio * ends[-1]))
        return tuple(ends)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """m_1, m_2, .."""
        return tuple(end - before for before, end in zip((0, *self.ends), self.ends, strict=False))

    @cached_property
    def precisions(self) -> FloatArray:
        """1/(1/(4 m_i) + var/m_i^2): what batch i weighs, before weights are made to add up to 1."""
        m = np.array(self.lengths, dtype=float)
        return np.asarray(1 / (1 / (4 * m) + self.variance / m**2))

    @property
    def variance(self) -> float:
        """That of the noise in a sum, at most."""
        return self.scale**2 * (1 if self.gaussian else 2)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """One for each number of complete batches that is followed by a decision."""
        return tuple(self._phase(j) for j in range(1, len(self.ends)))

    def _phase(self, j: int) -> Phase:
        m = np.array(self.lengths[:j], dtype=float)
        weights = self.precisions[:j] / self.precisions[:j].sum()
        per_slope = weights / m
        level = self.level + log(max(1.0, self.rounds / (self.arms * self.ends[j - 1])))
        # The slope that a sub-Gaussian estimate of this variance would use; small means use larger ones.
        typical = sqrt(2 * level * self.precisions[:j].sum())
        most = 40.0 if self.gaussian else 0.9999 / self.scale
        top = min(30 * typical, most / per_slope.max())
        slopes = np.geomspace(min(typical, top) / 10, top, SLOPES)
        tilts = slopes[:, None] * per_slope
        spread = (tilts * self.scale) ** 2
        noise = spread / 2 if self.gaussian else -np.log1p(-spread)
        return Phase(slopes, tilts, np.asarray(noise.sum(axis=1)), m, level)

    def regret(self, gaps: FloatArray | None = None) -> float:
        """The certified regret in units of the loss range: for any means, or for these gaps of the other arms."""
        if self.arms == 1:
            return 0.0
        excess = sum(phase.excess() for phase in self.phases)

        def certified(c: float) -> float:
            return self.rounds / c * excess + self._others(c, gaps)

        return certified(minimise(certified, *_SHARES, tolerance=0.1))

    def _others(self, c: float, gaps: FloatArray | None) -> float:
        """What the arms cost, at the best lambda, whose gap exceeds the error of the best arm's index."""
        if gaps is not None:
            plays = self._plays((1 - c) * gaps)
            return _lowest(lambda price: price * self.rounds + float(np.maximum(gaps - price, 0.0) @ plays))
        x = np.append(0.0, np.geomspace(1e-5, 1.0, GAPS))
        plays, right = self._plays((1 - c) * x[:-1]), x[1:]
        others = self.arms - 1
        return _lowest(lambda price: price * self.rounds + others * max(0.0, float(((right - price) * plays).max())))

    def _plays(self, distances: FloatArray) -> FloatArray:
        """h, the expected rounds of an arm."""
        plays = np.full_like(distances, float(self.first + self.delay))
        for phase, length in zip(self.phases, self.lengths[1:], strict=True):
            plays += (length + self.delay) * phase.unlikely(distances)
        return np.asarray(np.minimum(plays, self.rounds))


def _lowest(cost: Callable[[float], float]) -> float:
    """The minimum over [0, 1] of a convex function, from above."""
    low, high, best = 0.0, 1.0, min(cost(0.0), inf)
    while high - low > 1e-7:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        at_left, at_right = cost(left), cost(right)
        best = min(best, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return best
