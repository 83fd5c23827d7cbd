"""The certified regret of `BatchedTsallis`, and the search for its parameters.

Proof: docs/algorithms/batched-tsallis.md. K arms, S batches of B rounds, Tsallis entropy of power q,
A = q/(eta (1-q)), the release f and its overshoot d/n:

    B [ (K^{1-q} - 1)/(eta (1-q)) + S min_{lambda >= 0} ( lambda + K max_{0<p<=1} (phi(p) - lambda p) ) ]

    phi(p) = A p^q max over s in {0, n} of [ p E u(z1) + (1-p) u(z0) ],  u(z) = z - ((1-q)/q) (1 - (1+z)^{-q/(1-q)})
    z0 = (c(p) - 1/2) p^{1-q}/A,   z1 = (f - c(p))/(A p^q) + z0,   c(p) = min(1/2, kappa A p^q - d/n)

u needs z > -1. Since f - c >= -kappa A p^q, z1 and z0 are at least -kappa (1-p) - a p^{1-q}, a = (1/2 + d/n)/A, which
is smallest at p = (a (1-q)/kappa)^{1/q} or 1: that point is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, exp, inf, log, sqrt

import numpy as np

from tacit.mechanisms.clipped_geometric import ClippedGeometric
from tacit.privacy.calibration import largest, minimise
from tacit.validation import FloatArray

POWERS = tuple(round(0.5 + 0.05 * k, 2) for k in range(9))
KAPPAS = (0.2, 0.4, 0.7, 1.0)  # in units of 1 - q
GRID, COARSE_GRID, SMALLEST_PROBABILITY = 1200, 150, 1e-12
# How near to -1 a step may come.
MOST_DROP = 0.9
# The largest value on a grid of probabilities is a lower bound on the supremum, short by less than this share.
GRID_SLACK = 1.0002
# Where the batches for fewer copies than this are tried.
MOST_COPIES = 40
# A law with more outcomes is thinned: mass moves to the ends of cells, which raises means of convex functions.
MOST_OUTCOMES = 65


@dataclass(frozen=True)
class BatchLoss:
    """What one batch may cost in the analysis, as a function of the learning rate.

    Attributes:
        arms: K.
        release: how the mean of a batch is released.
        power: q of the Tsallis entropy, in (0, 1).
        kappa: how far the baseline of an unlikely arm may rise.
        points: size of the grid of probabilities.
    """

    arms: int
    release: ClippedGeometric
    power: float
    kappa: float
    points: int = GRID

    def admissible(self, eta: float) -> bool:
        """Whether every step of the analysis has z well above -1, where u is finite."""
        q, kappa = self.power, self.kappa
        drop = (0.5 + self.release.overshoot) * eta * (1 - q) / q
        p = exp(min(0.0, log(drop * (1 - q) / kappa) / q))
        return bool(kappa * (1 - p) + drop * p ** (1 - q) <= MOST_DROP)

    def range(self, eta: float) -> float:
        """The range of the regulariser: what the first batches cost."""
        return float(self.arms ** (1 - self.power) - 1) / (eta * (1 - self.power))

    def stability(self, eta: float) -> float:
        """The least over lambda of lambda + K max_p (phi(p) - lambda p): what every batch costs."""
        if not self.admissible(eta):
            return inf
        p, phi = self._probabilities, self._phi(eta)
        low, high = 0.0, float((phi / p).max())
        # The slope at lambda is 1 - K p for the p that attains the maximum; the minimum is where it changes sign.
        for _ in range(50):
            middle = (low + high) / 2
            if self.arms * p[(phi - middle * p).argmax()] > 1:
                low = middle
            else:
                high = middle
        worst = max(0.0, float((phi - high * p).max()))
        return (high + self.arms * worst) * GRID_SLACK

    def _phi(self, eta: float) -> FloatArray:
        q, p = self.power, self._probabilities
        scale = q / (eta * (1 - q)) * self._powers  # A p^q
        c = np.minimum(0.5, self.kappa * scale - self.release.overshoot)
        values, law = self._outcomes
        z0 = (c - 0.5) * p / scale
        shared = (1 - p) * self._divergence(z0)
        worst: FloatArray = np.full_like(p, -inf)
        for outcomes in (values, 1 - values):  # s = 0, then s = n
            z1 = (outcomes - c[:, None]) / scale[:, None] + z0[:, None]
            np.maximum(worst, p * (self._divergence(z1) @ law) + shared, out=worst)
        return scale * worst

    def _divergence(self, z: FloatArray) -> FloatArray:
        """u(z), convex, with u(0) = u'(0) = 0."""
        if self.power == 0.5:
            return z * z / (1 + z)
        exponent = self.power / (1 - self.power)
        # 1 - (1+z)^-e = -expm1(-e log1p(z)) keeps the digits of small z.
        value = z + np.expm1(-exponent * np.log1p(z)) / exponent
        return np.asarray(np.maximum(value, 0.0))

    @cached_property
    def _probabilities(self) -> FloatArray:
        grid = np.geomspace(SMALLEST_PROBABILITY, 1.0, self.points)
        return np.union1d(grid, [1 / self.arms])

    @cached_property
    def _powers(self) -> FloatArray:
        return np.asarray(self._probabilities**self.power)

    @cached_property
    def _outcomes(self) -> tuple[FloatArray, FloatArray]:
        return thinned(self.release.values, self.release.law(0))


def copies_needed(delay: int, batch: int) -> int:
    """How many learners take turns, so that the batch of each is back when it decides again."""
    return -(-delay // batch) + 1


def fixed_regret(loss: BatchLoss, rounds: int, eta: float, delay: int = 0) -> float:
    """The certified regret of one learning rate: the copies' bounds add up, each over its own batches."""
    if loss.arms == 1:
        return 0.0
    batches = -(-rounds // loss.release.batch)
    copies = min(batches, copies_needed(delay, loss.release.batch))
    return loss.release.batch * (copies * loss.range(eta) + batches * loss.stability(eta))


def decreasing_regret(loss: BatchLoss, rounds: int, eta: float, delay: int = 0) -> float:
    """The certified regret of the rates of `decreasing_rates`: a sum over the stretches of equal rates."""
    if loss.arms == 1:
        return 0.0
    total, last = 0.0, inf
    for count, rate in decreasing_rates(loss, rounds, eta, delay):
        total, last = total + count * loss.stability(rate), rate
    return copies_needed(delay, loss.release.batch) * loss.release.batch * (loss.range(last) + total)


def decreasing_rates(loss: BatchLoss, rounds: int, eta: float, delay: int = 0) -> Iterator[tuple[int, float]]:
    """(how many batches, their rate) of a copy: eta/sqrt(s) for its batch s, constant over stretches that grow by 1/20.

    While eta/sqrt(s) is not admissible, the rate is the largest one that is.
    """
    batches, first = -(-rounds // loss.release.batch), 1
    batches = -(-batches // copies_needed(delay, loss.release.batch))
    most = largest_rate(loss, eta)
    while first <= batches:
        after = min(first + max(1, first // 20), batches + 1)
        yield after - first, min(most, eta / sqrt((first + after - 1) / 2))
        first = after


def largest_rate(loss: BatchLoss, most: float) -> float:
    """The largest admissible rate up to `most`."""
    return largest(lambda eta: 0.0 if loss.admissible(eta) else inf, 1.0, most * 1e-9, most)


def best_parameters(
    arms: int,
    rounds: int,
    releases: list[ClippedGeometric],
    powers: tuple[float, ...],
    kappas: Callable[[float], tuple[float, ...]],
    delay: int = 0,
) -> tuple[BatchLoss, float]:
    """The batch, power and kappa of the smallest certified regret, with the learning rate.

    On a coarse grid of probabilities, one parameter after the other; then the learning rate on the fine one.
    `kappas` gives the values to try for a power.
    """

    def tuned(release: ClippedGeometric, power: float, kappa: float) -> tuple[float, BatchLoss]:
        loss = BatchLoss(arms, release, power, kappa, COARSE_GRID)
        return fixed_regret(loss, rounds, best_rate(loss, rounds, 0.02, delay), delay), loss

    def better(trials: Iterator[tuple[float, BatchLoss]]) -> BatchLoss:
        return min(trials, key=lambda trial: trial[0])[1]

    found = better(tuned(releases[0], power, kappas(power)[len(kappas(power)) // 2]) for power in powers)
    near = [power for power in powers if abs(power - found.power) < 0.051]
    found = better(tuned(releases[0], power, kappa) for power in near for kappa in kappas(power))
    found = better(tuned(release, found.power, found.kappa) for release in releases)
    fine = replace(found, points=GRID)
    return fine, best_rate(fine, rounds, 0.002, delay)


def best_decreasing(loss: BatchLoss, rounds: int, delay: int = 0) -> float:
    """The first rate of the smallest certified regret with rates that decrease."""
    coarse = replace(loss, points=COARSE_GRID)
    unit = 1 / sqrt(loss.release.variance)
    return minimise(lambda eta: decreasing_regret(coarse, rounds, eta, delay), 0.3 * unit, 1.5 * unit, 0.03)


def best_rate(loss: BatchLoss, rounds: int, tolerance: float, delay: int = 0) -> float:
    """The learning rate of the smallest certified regret: for small ones phi is eta p^{1-q} V/(2q), nearly."""
    batches = -(-rounds // loss.release.batch) / copies_needed(delay, loss.release.batch)
    slope = batches * loss.release.variance * max(2, loss.arms) ** loss.power / (2 * loss.power)
    guess = sqrt((max(2, loss.arms) ** (1 - loss.power) - 1) / (1 - loss.power) / slope)
    guess = largest_rate(loss, guess)
    return minimise(lambda eta: fixed_regret(loss, rounds, eta, delay), guess / 4, guess * 1.5, tolerance)


def best_batches(
    make: Callable[[int], ClippedGeometric], least: int, most: int, delay: int = 0
) -> list[ClippedGeometric]:
    """The three lengths in [least, most] with the smallest B V times copies; B V falls, then rises."""
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


def thinned(values: FloatArray, law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most MOST_OUTCOMES outcomes with the same mean and no smaller mean of any convex function."""
    if len(values) <= MOST_OUTCOMES:
        return values, law
    keep = np.unique(np.linspace(0, len(values) - 1, MOST_OUTCOMES).round().astype(int))
    ends = values[keep]
    cell = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, len(ends) - 2)
    share = (values - ends[cell]) / (ends[cell + 1] - ends[cell])
    moved = np.bincount(cell, law * (1 - share), len(ends)) + np.bincount(cell + 1, law * share, len(ends))
    return ends, moved.astype(np.float64)
