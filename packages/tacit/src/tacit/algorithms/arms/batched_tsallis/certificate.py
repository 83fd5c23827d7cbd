"""The certified regret of `BatchedTsallis`, and the search for its parameters.

Proof: docs/algorithms/batched-tsallis.md. K arms, S batches of B rounds, Tsallis entropy of power q,
A = q/(eta (1-q)), the release f with overshoot d/n, E_s its mean for a batch of sum s; for every real lambda

    B [ (K^{1-q} - 1)/(eta (1-q)) + S ( lambda + K sup_{0<p<=1} (phi(p) - lambda p) ) ]

    c(p) = max(-d/n, min(1/2 - m/(A p^q), kappa A p^q - d/n)),   m = lowering |E_0 (f - 1/2)^3| (2-q)/(3 (1-q))

with phi of `step_cost.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np

from tacit.accounting.calibration import descend, largest
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.algorithms.arms.step_cost import ROUND_UP, SMALL_STEP, TOLERANCE_COST, StepCost
from tacit.validation import FloatArray

POWERS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
KAPPAS = (0.4, 0.7, 1.0, 2.5)  # in units of 1 - q
LOWERINGS = (0.0, 0.5, 1.0)
# How near to -1 a step may come, in the analysis.
MOST_DROP = 0.95
# Where the batches for fewer copies than this are tried.
MOST_COPIES = 40
# Newton's method stops when the law adds up to 1 up to this much; float64 adds less.
TOLERANCE = 1e-10


@dataclass(frozen=True)
class BatchLoss(StepCost):
    """What one batch may cost in the analysis, as a function of the learning rate."""

    power: float  # q of the Tsallis entropy, in (0, 1)
    kappa: float  # how far the baseline of an unlikely arm may rise
    lowering: float  # how much of the skewness of the release the baseline makes up for, in [0, 1]

    @cached_property
    def lowered(self) -> float:
        """m: the baseline is at most 1/2 - m/(A p^q)."""
        return self.lowering * self.release.skewness * (2 - self.power) / (3 * (1 - self.power))

    def admissible(self, eta: float) -> bool:
        """Tell whether no step of the analysis comes near -1, where u is infinite; proved on cells."""
        return bool(self.kappa <= MOST_DROP and self._deepest(eta, *self._cells) >= -MOST_DROP)

    def range(self, eta: float) -> float:
        """Compute the range of the regulariser: what the first batches cost."""
        return float(self.arms ** (1 - self.power) - 1) / (eta * (1 - self.power))

    def _kinks(self, eta: float) -> FloatArray:
        m, kappa, high = self.lowered, self.kappa, 0.5 + self.release.overshoot
        root = sqrt(max(0.0, high * high - 4 * kappa * m))
        scales = np.array([m / high, (high - root) / (2 * kappa), (high + root) / (2 * kappa)])
        return np.asarray((scales * eta * (1 - self.power) / self.power) ** (1 / self.power))

    @np.errstate(over="ignore")  # where p is 0, minus infinity is below the least baseline
    def _baseline(self, eta: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A p^q and the baseline c(p), which rises with p."""
        scale = np.maximum(self.power / (eta * (1 - self.power)) * p**self.power, 1e-300)
        c = np.minimum(0.5 - self.lowered / scale, self.kappa * scale - self.release.overshoot)
        return scale, np.maximum(c, -self.release.overshoot)

    def _deepest(self, eta: float, low: FloatArray, high: FloatArray) -> float:
        """The lowest z0 on the cells: f is at most 1 + d/n, c rises and p^{1-q} rises."""
        low, high = self._widened(low, high)
        c, scale = self._baseline(eta, low)[1], self._baseline(eta, high)[0]
        return -float(((1 + self.release.overshoot - c) * high / scale).max()) * ROUND_UP

    @property
    def lowest(self) -> float:
        """The baseline is at most kappa A p^q above the least release."""
        return -self.kappa

    @property
    def widening(self) -> float:
        """By which share the chance of an arm may differ from the leader's."""
        return float(4 * TOLERANCE * self.arms ** (1 - self.power) / self.power)

    def divergence(self, z: FloatArray) -> FloatArray:
        """Compute u(z), convex, with u(0) = u'(0) = 0: never below it but for rounding."""
        exponent = self.power / (1 - self.power)
        # 1 - (1+z)^-e = -expm1(-e log1p(z)) keeps the digits of small z.
        with np.errstate(over="ignore"):
            value = z + np.expm1(-exponent * np.log1p(z)) / exponent
        small = np.abs(z) < SMALL_STEP
        if small.any():
            near = z[small]
            # Half of z^2 times the second derivative, which falls, at the left end.
            value[small] = near**2 / 2 / (1 - self.power) * (1 + np.minimum(near, 0.0)) ** (-exponent - 2)
        return np.asarray(value)


def copies_needed(delay: int, batch: int) -> int:
    """Count the learners that take turns, so that the batch of each is back when it decides again."""
    return -(-delay // batch) + 1


def tsallis_regret(loss: BatchLoss, rounds: int, eta: float, delay: int = 0, rough: bool = False) -> float:
    """Certify the regret of one learning rate: the copies' bounds add up, each over its own batches.

    `rough` is for searches: the value is then an estimate.
    """
    if loss.arms == 1:
        return 0.0
    batches = -(-rounds // loss.release.batch)
    copies = min(batches, copies_needed(delay, loss.release.batch))
    stability = loss.rough_stability(eta) if rough else loss.stability(eta)
    return loss.release.batch * (copies * loss.range(eta) + batches * (stability + TOLERANCE_COST))


def largest_rate(loss: BatchLoss, most: float) -> float:
    """Find the largest admissible rate up to `most`."""
    # (1 + 2 d/n)/A is an upper bound of every -z0, and a lower bound is half of it, for c <= 1/2 at p = 1.
    sure = MOST_DROP * (1 - 1e-5) * loss.power / (1 - loss.power) / (1 + 2 * loss.release.overshoot)
    if most <= sure:
        return most
    return largest(lambda eta: 0.0 if loss.admissible(eta) else inf, 1.0, sure, min(most, 3 * sure))


def best_parameters(
    arms: int, rounds: int, releases: list[ClippedGeometric], delay: int = 0
) -> tuple[BatchLoss, float]:
    """Search the parameters of the smallest certified regret, one after the other, and the learning rate."""

    def kappas(power: float) -> tuple[float, ...]:
        return tuple(min(unit * (1 - power), MOST_DROP) for unit in KAPPAS)

    def tuned(loss: BatchLoss) -> float:
        return tsallis_regret(loss, rounds, best_rate(loss, rounds, 0.02, delay), delay, rough=True)

    def starts() -> Iterator[BatchLoss]:
        for power in POWERS:
            for kappa, lowering in zip(kappas(power)[::-2], LOWERINGS[::-1], strict=False):
                yield BatchLoss(arms, releases[0], power, kappa, lowering)

    found = min(starts(), key=tuned)
    for _ in range(2):
        place = POWERS.index(found.power)
        near = POWERS[max(0, place - 1) : place + 2]
        found = min((replace(found, lowering=lowering) for lowering in LOWERINGS), key=tuned)
        found = min((replace(found, power=q, kappa=kappa) for q in near for kappa in kappas(q)), key=tuned)
    found = min((replace(found, release=release) for release in releases), key=tuned)
    return found, best_rate(found, rounds, 0.002, delay)


def best_rate(loss: BatchLoss, rounds: int, tolerance: float, delay: int = 0) -> float:
    """Search the rate of the smallest certified regret: phi is about eta p^{1-q} (1-p) V/(2q) for small rates."""
    arms = max(2, loss.arms)
    batches = max(1.0, -(-rounds // loss.release.batch) / copies_needed(delay, loss.release.batch))
    slope = batches * loss.release.variance * arms**loss.power * (1 - 1 / arms) / (2 * loss.power)
    guess = sqrt((arms ** (1 - loss.power) - 1) / (1 - loss.power) / slope)
    most = largest_rate(loss, 2 * guess)
    return descend(
        lambda eta: tsallis_regret(loss, rounds, eta, delay, rough=True), guess, most / 1e3, most, 0.1, tolerance
    )


def best_batches(
    make: Callable[[int], ClippedGeometric], least: int, most: int, delay: int = 0
) -> list[ClippedGeometric]:
    """Choose the three lengths in [least, most] with the smallest B V times copies; B V falls, then rises."""
    low, high = least, min(most, max(least, 8 * ceil(1 / make(1).rate)))
    while high - low > 8:
        third = (high - low) // 3
        if make(low + third).spread <= make(high - third).spread:
            high -= third
        else:
            low += third
    window = {*range(max(least, low - 2), min(most, high + 2) + 1)}
    # With a delay: the shortest batches for so many copies, where these are few.
    window |= {batch for k in range(1, MOST_COPIES) if least <= (batch := -(-delay // k)) <= most}

    def cost(release: ClippedGeometric) -> float:
        return release.spread * copies_needed(delay, release.batch)

    return sorted((make(batch) for batch in sorted(window)), key=cost)[:3]
