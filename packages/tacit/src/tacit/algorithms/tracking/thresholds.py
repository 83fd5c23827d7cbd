"""When is a regret too large to be chance? Public thresholds for `RestartOnShift`; no choice of them costs privacy.

A window of w rounds raises suspicion when the learner's regret in it exceeds

    margin + slope (w/(2a) + a/2)   for some a in {4, 8, 16, ...},   close to margin + slope sqrt(w).

The test works on whole numbers of steps: a step a round, and half a step a noise, are in the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt, log, sqrt

import numpy as np

from tacit.accounting.calibration import minimise
from tacit.noise.lattice import LOSS_UNITS
from tacit.validation import FloatArray

# Tuned on simulated streams: false alarms stay rare because union bounds are loose.
TUNED_FALSE_ALARM = 0.5
CERTIFIED_FALSE_ALARM = 0.05


@dataclass(frozen=True)
class Detector:
    """The public facts that thresholds depend on.

    Attributes:
        n: number of experts.
        rounds: horizon.
        interval: rounds between tests.
        selection_scale: mean of the exponential noise of selections.
        threshold_scale: scale of the threshold's noise, 1/(rate * units).
        query_scale: scale of each test's noise.
        units: steps of the tests in a loss.
    """

    n: int
    rounds: int
    interval: int
    selection_scale: float
    threshold_scale: float
    query_scale: float
    units: int

    @property
    def windows(self) -> tuple[int, ...]:
        """The grid a = 4, 8, 16, ... up to sqrt(T)."""
        return tuple(2**k for k in range(2, max(4, isqrt(self.rounds)).bit_length()))

    @property
    def checks(self) -> int:
        """The number of tests."""
        return ceil(self.rounds / self.interval)

    def noise(self, false_alarm: float) -> float:
        """What the noise of threshold and tests together exceeds with probability at most `false_alarm`."""
        # P[noise > x + half a step] <= e^{-x/s}/2, and half of the probability for each of the two.
        threshold = self.threshold_scale * log(max(1.0, 1 / false_alarm))
        return threshold + self.query_scale * log(max(1.0, self.checks / false_alarm)) + 1 / self.units

    def envelope(self, lengths: FloatArray, slope: float) -> FloatArray:
        """Min over a of slope (w/(2a) + a/2), at each length w: concave and increasing."""
        a = np.asarray(self.windows, dtype=float)[:, None]
        result: FloatArray = slope * np.min(lengths / (2 * a) + a / 2, axis=0)
        return result


def tuned(detector: Detector) -> tuple[float, float]:
    """Slope and margin that find shifts early and rarely cry wolf. Not certified."""
    slope = sqrt(2 * log(10 * detector.n * len(detector.windows)))
    return slope, detector.noise(TUNED_FALSE_ALARM / 2)


def certified(detector: Detector, pieces: float) -> tuple[float, float]:
    """Slope and margin with the smallest certified regret over `pieces` stretches."""

    def cost(slope: float) -> float:
        return stretches_regret(detector, slope, certified_margin(detector, slope), pieces)

    slope = minimise(cost, 0.1, 100.0, 0.02)
    return slope, certified_margin(detector, slope)


def certified_margin(detector: Detector, slope: float) -> float:
    """The margin at which an epoch without a shift raises an alarm with probability at most 5%.

    Three events of a third each: the noise of the test, the fluctuation of all windows (Azuma), and learning
    (`selection_regret`), whose gaps fall with time. Roundings are added. Proof: docs/algorithms/restart-on-shift.md.
    """
    third = CERTIFIED_FALSE_ALARM / 3
    lengths = np.unique(np.ceil(np.geomspace(1, detector.rounds, 2000)))
    luck = sqrt(2 * log(2 * detector.n * detector.rounds * detector.checks / third))
    rounding = 2 / detector.units + 1 / LOSS_UNITS
    largest = learning_regret(detector, lengths, third) + luck * np.sqrt(lengths) + rounding * lengths
    # Between two grid points both sides increase: compare the later regret with the earlier envelope.
    earlier = np.append(0.0, lengths[:-1])
    excess = float(np.max(largest - detector.envelope(earlier, slope)))
    return max(0.0, excess) + detector.noise(third) + 1 / detector.units


def learning_regret(detector: Detector, lengths: FloatArray, failure: float) -> FloatArray:
    """The sum of gaps over the first w rounds of an epoch, except with probability `failure`."""
    return selection_regret(detector.n, detector.rounds, detector.selection_scale, lengths, failure)


def lattice_steps(scale: float) -> float:
    """Return how much the difference of two integer noises of this scale is above that of Laplace noises, at most.

    A two-sided geometric number is within a step of a Laplace one. A step is 2^-24 of a loss, or less than 2^-31 of the
    scale (`laplace_units`).
    """
    return 2 * (1 / LOSS_UNITS + scale * 2.0**-31)


def laplace_difference(tail: float) -> float:
    """Return what the difference of two Laplace noises of scale 1 exceeds with probability at most e^{-tail}.

    P[Z - Z' > x] = (2 + x) e^{-x}/4 for x >= 0. The iteration rises to the root, and its end is rounded up.
    """
    bound = max(0.0, tail)
    for _ in range(50):
        bound = max(bound, tail + log((2 + bound) / 4))
    return bound * (1 + 1e-9)


def selection_regret(
    n: int, rounds: int, scale: float, lengths: FloatArray, failure: float, laplace: bool = False
) -> FloatArray:
    """The sum of gaps over the first w rounds, up to probability `failure`.

    Selections are behind exponential noise of mean `scale` or, with `laplace`, behind Laplace noise of that scale.
    """
    levels = rounds.bit_length()
    tail = log(4 * n * levels / failure)
    worst = scale * laplace_difference(tail) + lattice_steps(scale) if laplace else scale * tail
    ends, sums, total = [0.0, 1.0], [0.0, 1.0], 1.0
    for level in range(levels):
        window = 2**level
        gap = min(1.0, (sqrt(2 * window * tail) + worst) / window)
        total += 2 * window * gap
        ends.append(ends[-1] + 2 * window)
        sums.append(total)
    return np.interp(lengths, ends, sums)


def stretches_regret(
    detector: Detector, slope: float, margin: float, pieces: float, failure: float | None = None
) -> float:
    """Regret over `pieces` stretches that share the horizon and contain no alarm, up to probability `failure` (1/T).

    At each test without an alarm, every window that ends there has regret at most margin + envelope + the noise; the
    rounds since the last test add at most the interval. The envelope is concave: equal stretches are the worst.
    """
    rare = 1 / detector.rounds if failure is None else failure
    slack = detector.noise(rare / 2) + detector.threshold_scale * log(detector.checks)
    mean_length = np.asarray([detector.rounds / pieces])
    each = margin + slack + detector.interval + float(detector.envelope(mean_length, slope)[0])
    return pieces * each + detector.rounds / detector.units


def expected_stretches_regret(detector: Detector, slope: float, margin: float, pieces: float) -> float:
    """The same in expectation: a failure costs at most the whole horizon, and its probability is free."""
    failures = [float(failure) for failure in np.geomspace(1 / detector.rounds, 0.1, 40)]
    return min(
        stretches_regret(detector, slope, margin, pieces, failure) + failure * detector.rounds for failure in failures
    )
