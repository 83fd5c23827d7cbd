"""The certified regret of `BatchedTsallis`, and the search for its parameters.

Proof: docs/algorithms/batched-tsallis.md. K arms, S batches of B rounds, Tsallis entropy of power q,
A = q/(eta (1-q)), the release f with overshoot d/n, E_s its mean for a batch of sum s; for every real lambda

    B [ (K^{1-q} - 1)/(eta (1-q)) + S ( lambda + K sup_{0<p<=1} (phi(p) - lambda p) ) ]

    phi(p) = A p^{1+q} max_{s in {0,n}} E_s u(z1) + A p^q (1-p) max_{s in {0,n}} E_s u(z0)
    u(z) = z - ((1-q)/q) (1 - (1+z)^{-q/(1-q)}),   z1 = (f - c)(1-p)/(A p^q),   z0 = (c - f) p^{1-q}/A
    c(p) = max(-d/n, min(1/2 - m/(A p^q), kappa A p^q - d/n)),   m = lowering |E_0 (f - 1/2)^3| (2-q)/(3 (1-q))

The supremum is the largest of proved bounds on cells of p, not the largest value at points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np

from tacit.accounting.calibration import descend, largest, minimise
from tacit.algorithms.arms.clipped_geometric import ClippedGeometric
from tacit.validation import FloatArray

POWERS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
KAPPAS = (0.4, 0.7, 1.0, 2.5)  # in units of 1 - q
LOWERINGS = (0.0, 0.5, 1.0)
# How near to -1 a step may come, in the analysis.
MOST_DROP = 0.95
# Where the batches for fewer copies than this are tried.
MOST_COPIES = 40
# A law with more outcomes is thinned: mass moves to the ends of cells, which raises means of convex functions.
MOST_OUTCOMES = 65
# Newton's method stops when the law adds up to 1 up to this much; float64 adds less.
TOLERANCE = 1e-10
# What the law that is played instead of the leader's may cost a round.
TOLERANCE_COST = 1e-9
# The rounding errors of phi are below 1e-9 of it.
ROUND_UP = 1 + 1e-8
# u is evaluated by its second derivative below this, where its digits cancel.
SMALL_STEP = 1e-6
_SMALLEST, _CELLS, _PARTS, _MOST_CELLS = 1e-12, 160, 4, 2**16
_CELL_EXCESS, _STRETCH_EXCESS = 1e-4, 3e-3


@dataclass(frozen=True)
class BatchLoss:
    """What one batch may cost in the analysis, as a function of the learning rate.

    Attributes:
        arms: K.
        release: how the mean of a batch is released.
        power: q of the Tsallis entropy, in (0, 1).
        kappa: how far the baseline of an unlikely arm may rise.
        lowering: how much of the skewness of the release the baseline makes up for, in [0, 1].
    """

    arms: int
    release: ClippedGeometric
    power: float
    kappa: float
    lowering: float

    @cached_property
    def lowered(self) -> float:
        """m: the baseline is at most 1/2 - m/(A p^q)."""
        third = abs(float(self.release.law(0) @ (self.release.values - 0.5) ** 3))
        return self.lowering * third * (2 - self.power) / (3 * (1 - self.power))

    def admissible(self, eta: float) -> bool:
        """Tell whether no step of the analysis comes near -1, where u is infinite; proved on cells."""
        return bool(self.kappa <= MOST_DROP and self._deepest(eta, *self._cells) >= -MOST_DROP)

    def range(self, eta: float) -> float:
        """Compute the range of the regulariser: what the first batches cost."""
        return float(self.arms ** (1 - self.power) - 1) / (eta * (1 - self.power))

    def stability(self, eta: float, excess: float = _CELL_EXCESS) -> float:
        """Bound what every batch costs: lambda + K sup_p (phi(p) - lambda p), with the supremum proved on cells.

        `excess` is about how far the bound may lie above the supremum, as a share of it.
        """
        if not self.admissible(eta):
            return inf
        points = self._fine_points if excess < _STRETCH_EXCESS else self._points
        rough, slope = self._dual(eta, self._with_kinks(eta, points))
        reached, worst = (rough - slope) / self.arms, -inf
        low, high = self._cells
        while low.size:
            bounds = self.cell_bounds(eta, low, high) - slope * np.where(slope > 0, low, high)
            wide = ~(bounds <= reached + excess * rough / self.arms) & (low.size < _MOST_CELLS)
            worst = max(worst, float(np.where(np.isnan(bounds), inf, bounds)[~wide].max(initial=-inf)))
            low, high = _split(low[wide], high[wide])
            reached = max(reached, float((self._phi(eta, low) - slope * low).max(initial=-inf)))
        return slope + self.arms * worst + (abs(slope) + self.arms * abs(worst)) * (ROUND_UP - 1)

    def rough_stability(self, eta: float) -> float:
        """Estimate `stability` at a few points: for the search, never for a certificate."""
        return self._dual(eta, self._with_kinks(eta, self._points))[0] if self.admissible(eta) else inf

    def _dual(self, eta: float, p: FloatArray) -> tuple[float, float]:
        """Minimise lambda + K max_p (phi(p) - lambda p) over lambda, on these points; return it and its lambda."""
        phi, place = self._phi(eta, p), int(np.searchsorted(p, 1 / self.arms))
        # At p = 1/K the maximum is attained for every slope between those of the chords to the right and to the left.
        slopes = np.delete(phi - phi[place], place) / np.delete(p - p[place], place)
        low, high = float(slopes[place:].max()), float(slopes[:place].min())
        if low > high:  # elsewhere: the slope in lambda is 1 - K p, and the minimum is where it changes sign
            low, high = high, low
            for _ in range(40):
                middle = (low + high) / 2
                steep = self.arms * p[(phi - middle * p).argmax()] > 1
                low, high = (middle, high) if steep else (low, middle)
        slope = (low + high) / 2
        return slope + self.arms * float((phi - slope * p).max()), slope

    def _with_kinks(self, eta: float, points: FloatArray) -> FloatArray:
        """The points, and those where the baseline c(p) has its kinks."""
        m, kappa, high = self.lowered, self.kappa, 0.5 + self.release.overshoot
        root = sqrt(max(0.0, high * high - 4 * kappa * m))
        scales = np.array([m / high, (high - root) / (2 * kappa), (high + root) / (2 * kappa)])
        kinks = (scales * eta * (1 - self.power) / self.power) ** (1 / self.power)
        return np.union1d(points, kinks[(kinks > _SMALLEST) & (kinks < 1)])

    def _baseline(self, eta: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A p^q and the baseline c(p), which rises with p."""
        scale = np.maximum(self.power / (eta * (1 - self.power)) * p**self.power, 1e-300)
        with np.errstate(over="ignore"):  # minus infinity is below the least baseline too
            c = np.minimum(0.5 - self.lowered / scale, self.kappa * scale - self.release.overshoot)
        return scale, np.maximum(c, -self.release.overshoot)

    def _phi(self, eta: float, p: FloatArray) -> FloatArray:
        scale, c = self._baseline(eta, p)
        values, law = self._outcomes
        played, other = np.full_like(p, -inf), np.full_like(p, -inf)
        for outcomes in (values, 1 - values):  # s = 0, then s = n
            gap = outcomes - c[:, None]
            np.maximum(played, self.divergence(gap * ((1 - p) / scale)[:, None]) @ law, out=played)
            np.maximum(other, self.divergence(-gap * (p / scale)[:, None]) @ law, out=other)
        return scale * (p * played + (1 - p) * other)

    def cell_bounds(self, eta: float, low: FloatArray, high: FloatArray) -> FloatArray:
        """Bound phi on cells [low, high] of p, by the lemma of the page."""
        low, high = self._widened(low, high)
        (scale_low, c_low), (scale, c_high) = self._baseline(eta, low), self._baseline(eta, high)
        rest, flat = 1 - low, (high / scale)[:, None]
        steep = (rest / scale_low)[:, None] * (1 + self.widening)
        deepest = -self.kappa * (1 + self.widening) * rest[:, None]
        values, law = self._outcomes
        played, other = np.zeros_like(low), np.zeros_like(low)
        for outcomes in (values, 1 - values):
            above = np.maximum(outcomes - c_low[:, None], 0.0)
            below = np.maximum(c_high[:, None] - outcomes, 0.0)
            # u(z) <= z for z >= 0 holds where p is 0 too.
            up = np.minimum((scale * high)[:, None] * self.divergence(above * steep), high[:, None] * above)
            down = (scale * high)[:, None] * self.divergence(np.maximum(-below * steep, deepest))
            np.maximum(played, np.maximum(up, down) @ law, out=played)
            sides = np.maximum(self.divergence(-above * flat), self.divergence(below * flat))
            np.maximum(other, sides @ law, out=other)
        return (played + scale * rest * other) * ROUND_UP

    def _deepest(self, eta: float, low: FloatArray, high: FloatArray) -> float:
        """The lowest z0 on the cells: f is at most 1 + d/n, c rises and p^{1-q} rises."""
        low, high = self._widened(low, high)
        c, scale = self._baseline(eta, low)[1], self._baseline(eta, high)[0]
        return -float(((1 + self.release.overshoot - c) * high / scale).max()) * ROUND_UP

    def _widened(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cells that hold the law that is played and the leader's own."""
        return low * (1 - self.widening), high * (1 + self.widening)

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

    @cached_property
    def _cells(self) -> tuple[FloatArray, FloatArray]:
        ends = np.append(0.0, np.geomspace(_SMALLEST, 1.0, _CELLS))
        return ends[:-1], ends[1:]

    @cached_property
    def _points(self) -> FloatArray:
        return np.union1d(np.geomspace(1e-6, 1.0, 60), self._near(33))

    @cached_property
    def _fine_points(self) -> FloatArray:
        return np.union1d(np.geomspace(_SMALLEST, 1.0, 800), self._near(801))

    def _near(self, count: int) -> FloatArray:
        """An odd number of points about 1/K, which is one of them."""
        around = np.geomspace(0.5, 2.0, count) / self.arms
        around[count // 2] = 1 / self.arms
        return np.minimum(around, 1.0)

    @cached_property
    def _outcomes(self) -> tuple[FloatArray, FloatArray]:
        return thinned(self.release.values, self.release.law(0))


def _split(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut cells into parts of equal ratio, the cell at 0 into parts of equal length."""
    shares = np.arange(1, _PARTS)[:, None] / _PARTS
    with np.errstate(divide="ignore"):
        inner = np.where(low > 0, low ** (1 - shares) * high**shares, high * shares)
    ends = np.vstack([low, inner, high])
    return ends[:-1].ravel(), ends[1:].ravel()


def copies_needed(delay: int, batch: int) -> int:
    """Count the learners that take turns, so that the batch of each is back when it decides again."""
    return -(-delay // batch) + 1


def fixed_regret(loss: BatchLoss, rounds: int, eta: float, delay: int = 0, rough: bool = False) -> float:
    """Certify the regret of one learning rate: the copies' bounds add up, each over its own batches.

    `rough` is for searches: the value is then an estimate.
    """
    if loss.arms == 1:
        return 0.0
    batches = -(-rounds // loss.release.batch)
    copies = min(batches, copies_needed(delay, loss.release.batch))
    stability = loss.rough_stability(eta) if rough else loss.stability(eta)
    return loss.release.batch * (copies * loss.range(eta) + batches * (stability + TOLERANCE_COST))


def decreasing_regret(loss: BatchLoss, rounds: int, eta: float, delay: int = 0, rough: bool = False) -> float:
    """Certify the regret of the rates of `decreasing_rates`: a sum over the stretches of equal rates."""
    if loss.arms == 1:
        return 0.0
    counts, rates = map(np.array, zip(*decreasing_rates(loss, rounds, eta, delay), strict=True))
    if rough:
        knots = np.geomspace(rates[-1], rates[0], 12)
        costs = np.interp(rates, knots, [loss.rough_stability(rate) for rate in knots])
    else:
        costs = np.array([loss.stability(rate, _STRETCH_EXCESS) for rate in rates.tolist()])
    total = float(counts @ (costs + TOLERANCE_COST)) * ROUND_UP
    return copies_needed(delay, loss.release.batch) * loss.release.batch * (loss.range(float(rates[-1])) + total)


def decreasing_rates(loss: BatchLoss, rounds: int, eta: float, delay: int = 0) -> Iterator[tuple[int, float]]:
    """Give (how many batches, their rate) of a copy: eta/sqrt(s) for its batch s, over stretches that grow by 1/20.

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
    """Find the largest admissible rate up to `most`."""
    # (1 + 2 d/n)/A is an upper bound of every -z0, and a lower bound is half of it, for c <= 1/2 at p = 1.
    sure = MOST_DROP * (1 - 1e-5) * loss.power / (1 - loss.power) / (1 + 2 * loss.release.overshoot)
    if most <= sure:
        return most
    return largest(lambda eta: 0.0 if loss.admissible(eta) else inf, 1.0, sure, min(most, 3 * sure))


def best_parameters(
    arms: int,
    rounds: int,
    releases: list[ClippedGeometric],
    powers: tuple[float, ...],
    kappas: Callable[[float], tuple[float, ...]],
    lowerings: tuple[float, ...],
    delay: int = 0,
) -> tuple[BatchLoss, float]:
    """Search the parameters of the smallest certified regret, one after the other, and the learning rate.

    `kappas` gives the values to try for a power.
    """

    def tuned(loss: BatchLoss) -> float:
        return fixed_regret(loss, rounds, best_rate(loss, rounds, 0.02, delay), delay, rough=True)

    def starts() -> Iterator[BatchLoss]:
        for power in powers:
            for kappa, lowering in zip(kappas(power)[::-2], lowerings[::-1], strict=False):
                yield BatchLoss(arms, releases[0], power, kappa, lowering)

    found = min(starts(), key=tuned)
    for _ in range(2):
        place = powers.index(found.power)
        near = powers[max(0, place - 1) : place + 2]
        found = min((replace(found, lowering=lowering) for lowering in lowerings), key=tuned)
        found = min((replace(found, power=q, kappa=kappa) for q in near for kappa in kappas(q)), key=tuned)
    found = min((replace(found, release=release) for release in releases), key=tuned)
    return found, best_rate(found, rounds, 0.002, delay)


def best_decreasing(loss: BatchLoss, rounds: int, delay: int = 0) -> float:
    """Search the first rate of the smallest certified regret with rates that decrease."""
    unit = 1 / sqrt(loss.release.variance)
    return minimise(lambda eta: decreasing_regret(loss, rounds, eta, delay, rough=True), 0.3 * unit, 1.5 * unit, 0.03)


def best_rate(loss: BatchLoss, rounds: int, tolerance: float, delay: int = 0) -> float:
    """Search the rate of the smallest certified regret: phi is about eta p^{1-q} (1-p) V/(2q) for small rates."""
    arms = max(2, loss.arms)
    batches = max(1.0, -(-rounds // loss.release.batch) / copies_needed(delay, loss.release.batch))
    slope = batches * loss.release.variance * arms**loss.power * (1 - 1 / arms) / (2 * loss.power)
    guess = sqrt((arms ** (1 - loss.power) - 1) / (1 - loss.power) / slope)
    most = largest_rate(loss, 2 * guess)
    return descend(
        lambda eta: fixed_regret(loss, rounds, eta, delay, rough=True), guess, most / 1e3, most, 0.1, tolerance
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


def thinned(values: FloatArray, law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give at most MOST_OUTCOMES outcomes with the same mean and no smaller mean of any convex function."""
    if len(values) <= MOST_OUTCOMES:
        return values, law
    keep = np.unique(np.linspace(0, len(values) - 1, MOST_OUTCOMES).round().astype(int))
    ends = values[keep]
    cell = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, len(ends) - 2)
    share = (values - ends[cell]) / (ends[cell + 1] - ends[cell])
    moved = np.bincount(cell, law * (1 - share), len(ends)) + np.bincount(cell + 1, law * share, len(ends))
    return ends, moved.astype(np.float64)
