"""Regularised multiplicative weights: the measure exp(-rate (sum of losses + lambda |x - centre|^2)) on a convex set.

Two ways to draw from it: on an interval exactly (`IntervalMeasure`), on balls and boxes by the certified proximal
sampler (`tacit.algorithms.convex.l2p_convex.proximal`). Both fill in `two_chains.Measure`. On an interval the piecewise
exponential law of continued chords is an envelope: draws from it are accepted with probability exp(bound - potential),
and the chord itself decides almost every acceptance (the squeeze of adaptive rejection sampling; Gilks and Wild, 1992).
Details: docs/algorithms/l2p-convex.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, expm1, log1p
from typing import Any

import numpy as np

from tacit.algorithms.convex.l2p_convex.proximal import ProximalSampler, certified_sampler
from tacit.domains import Ball, Box
from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, RowLoss
from tacit.problems import Convex
from tacit.runtime.state import fitting
from tacit.validation import FloatArray

# Margins of the history at several points are computed in blocks of about this many entries.
BLOCK_ENTRIES = 1 << 18
# Rejections after which a grid is made finer: with enough cells for the law, none needs that many.
PATIENCE = 64
# Potentials that change by more than this have too few digits left in float64.
LARGEST_CHANGE = 1e12


class GibbsMeasure:
    """What both ways to draw share: the packed rows of the rounds so far, and the sum of their losses as a function."""

    def __init__(self, problem: Convex, loss: RowLoss, rate: float, regularisation: float) -> None:
        self._loss = loss
        self._rate = rate
        self._regularisation = regularisation
        self._domain: ConvexSet = problem.domain
        self._rows = np.empty((0, 0))
        self.count = 0

    def absorb(self, feedback: FloatArray) -> None:
        """Add this round's packed row."""
        if self.count == len(self._rows):
            grown = np.empty((max(64, 2 * self.count), feedback.shape[-1]))
            if self.count:
                grown[: self.count] = self._rows
            self._rows = grown
        self._rows[self.count] = feedback
        self.count += 1

    def log_ratio(self, decision: FloatArray, feedback: FloatArray) -> float:
        """-rate times this round's loss of the point."""
        return -self._rate * float(self._loss.values(decision, feedback[None, :])[0])

    def losses(self, points: FloatArray, first: int = 0) -> FloatArray:
        """The summed loss of the rounds from `first` on, at each row of `points`."""
        rows = self._rows[first : self.count]
        total = np.zeros(len(points))
        if not len(rows):
            return total
        if not isinstance(self._loss, LinkLoss):
            return np.array([np.add.reduce(self._loss.values(point, rows)) for point in points])
        size = max(1, BLOCK_ENTRIES // len(points))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            margins = block[:, :-1] @ points.T
            total += np.add.reduce(self._loss.link(margins, block[:, -1:]), axis=0)
        return total

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the data of every round."""
        return {"rows": self._rows[: self.count].copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        rows = np.array(state["rows"], dtype=np.float64)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InvalidInput("The rows in the state of a measure must be finite.")
        self._rows, self.count = rows, len(rows)


class IntervalMeasure(GibbsMeasure):
    """The measure on an interval: sums of losses are kept at the nodes of a public grid, draws are exact."""

    def __init__(self, problem: Convex, loss: RowLoss, rate: float, regularisation: float) -> None:
        super().__init__(problem, loss, rate, regularisation)
        low, high = (float(problem.domain.minimize_linear([sign])[0]) for sign in (1.0, -1.0))
        self._nodes = np.linspace(low, high, interval_nodes(problem, rate, regularisation) + 1)
        self._steepest = interval_steepness(problem, rate, regularisation)
        self._sums = np.zeros(len(self._nodes))
        self._summed = 0

    def sample(self, generator: np.random.Generator) -> FloatArray:
        """An exact draw."""
        # Rows wait until a draw needs them.
        self._sums += self.losses(self._nodes[:, None], self._summed)
        self._summed = self.count
        values = self._rate * (self._sums + self._penalty(self._nodes))

        def exact(point: float) -> float:
            total = self.losses(np.array([[point]]))[0]
            return self._rate * float(total + self._penalty(np.array(point)))

        return np.array([sample_interval(self._nodes, values, self._steepest, exact, generator)])

    def _penalty(self, points: FloatArray) -> FloatArray:
        return np.asarray(self._regularisation * (points - self._domain.centre[0]) ** 2)

    def state_dict(self) -> dict[str, Any]:
        """PRIVATE: the data of every round, and their sums at the nodes."""
        return {**super().state_dict(), "sums": self._sums.copy(), "summed": self._summed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._sums = np.array(fitting(self._sums, state["sums"]))
        self._summed = fitting(self._summed, state["summed"])


class ProximalMeasure(GibbsMeasure):
    """The measure on a ball or a box, drawn from by the proximal sampler."""

    def __init__(self, problem: Convex, loss: RowLoss, rate: float, regularisation: float, distance: float) -> None:
        super().__init__(problem, loss, rate, regularisation)
        self._problem = problem
        self._distance = distance

    def sample(self, generator: np.random.Generator) -> FloatArray:
        """A draw within the certified distance of the measure."""
        rounds = rounded_count(self.count)
        sampler = sampler_after(self._problem, self._rate, self._regularisation, self._distance, rounds)
        return sampler.sample(self, generator)

    def value(self, points: FloatArray) -> FloatArray:
        """The weighted losses at some points: the potential without its quadratic part."""
        return self._rate * self.losses(points)

    def gradient(self, point: FloatArray) -> FloatArray:
        """A subgradient of `value` at one point."""
        rows = self._rows[: self.count]
        if not len(rows):
            return np.zeros(self._domain.dimension)
        if not isinstance(self._loss, LinkLoss):
            return np.asarray(self._rate * np.add.reduce(self._loss.gradients(point, rows), axis=0))
        features = rows[:, :-1]
        return np.asarray(self._rate * (self._loss.slope(features @ point, rows[:, -1]) @ features))


@lru_cache(maxsize=512)
def sampler_after(problem: Convex, rate: float, regularisation: float, distance: float, rounds: int) -> ProximalSampler:
    """The sampler for a history of at most `rounds` rounds: public quantities only."""
    domain, constants = problem.domain, problem.constants
    assert isinstance(domain, Ball | Box)
    return certified_sampler(
        domain,
        strength=2 * rate * regularisation,
        lipschitz=rate * rounds * constants.lipschitz,
        smoothness=rate * rounds * constants.smoothness if rounds else 0.0,
        # Uniform start: the mean of the potential less its minimum.
        divergence=rate * (rounds * constants.lipschitz * domain.diameter + regularisation * domain.radius**2),
        distance=distance,
    )


def rounded_count(count: int) -> int:
    """The next of eight values an octave: longer histories than the real one are covered by the same certificate."""
    if count <= 8:
        return count
    unit = 1 << (count.bit_length() - 4)
    return -(-count // unit) * unit


def interval_steepness(problem: Convex, rate: float, regularisation: float) -> float:
    """A bound on the slopes of the potential after the whole horizon."""
    return rate * ((problem.horizon or 1) * problem.lipschitz + 2 * regularisation * problem.domain.diameter)


def interval_nodes(problem: Convex, rate: float, regularisation: float) -> int:
    """How many cells the grid has: enough that the measure changes little within one."""
    change = interval_steepness(problem, rate, regularisation) * problem.domain.diameter
    return min(8192, max(256, 2 * ceil(min(change, LARGEST_CHANGE))))


def sample_interval(
    nodes: FloatArray,
    values: FloatArray,
    steepest: float,
    exact: Callable[[float], float],
    generator: np.random.Generator,
) -> float:
    """A draw from the law proportional to exp(-f) on [nodes[0], nodes[-1]].

    Args:
        nodes: equally spaced points.
        values: the convex function f at the nodes.
        steepest: a bound on the slopes of f.
        exact: f at any point.
        generator: the source of the draw.
    """
    widths = np.full(len(nodes) - 1, float(nodes[1] - nodes[0]))
    while True:
        point, rejected = _tries(nodes, values, widths, steepest, exact, generator)
        if point is not None:
            return point
        # The grid is too coarse for a law this narrow: what was learnt about it makes it finer where draws fall.
        nodes, first = np.unique(np.concatenate([nodes, list(rejected)]), return_index=True)
        values = np.concatenate([values, list(rejected.values())])[first]
        widths = np.diff(nodes)


def _tries(
    nodes: FloatArray,
    values: FloatArray,
    widths: FloatArray,
    steepest: float,
    exact: Callable[[float], float],
    generator: np.random.Generator,
) -> tuple[float | None, dict[float, float]]:
    """A draw, or None after `PATIENCE` rejections; and f at the points that were rejected."""
    slopes = np.diff(values) / widths
    before = np.append(-steepest, slopes[:-1])  # the chord on the left, continued into the cell
    after = np.append(slopes[1:], steepest)
    turn = after - before
    meet = np.clip(np.where(turn > 0, (after - slopes) / np.where(turn > 0, turn, 1.0), 0.5), 0.0, 1.0) * widths
    # Two pieces a cell: from its left end with slope `before`, into its right end with slope `after`.
    lengths = np.concatenate([meet, widths - meet])
    starts = np.concatenate([nodes[:-1], nodes[:-1] + meet])
    levels = np.concatenate([values[:-1], values[1:] - after * (widths - meet)])
    rates = np.concatenate([before, after])
    logs = _log_masses(levels, rates, lengths)
    masses = np.exp(logs - logs.max())
    cumulative = np.cumsum(masses)
    cells = len(slopes)
    rejected: dict[float, float] = {}
    for _ in range(PATIENCE):
        share = (1.0 - generator.random()) * cumulative[-1]
        piece = min(int(np.searchsorted(cumulative, share)), len(masses) - 1)
        rate, length = float(rates[piece]), float(lengths[piece])
        offset = _inverse(generator.random(), rate, length)
        point = min(max(float(starts[piece]) + offset, float(nodes[0])), float(nodes[-1]))
        bound = float(levels[piece]) + rate * offset
        clock = generator.standard_exponential()
        cell = piece % cells
        chord = float(values[cell]) + float(slopes[cell]) * (point - float(nodes[cell]))
        if clock >= chord - bound:
            return point, rejected
        value = exact(point)
        if clock >= value - bound:
            return point, rejected
        rejected[point] = value
    return None, rejected


def _log_masses(levels: FloatArray, rates: FloatArray, lengths: FloatArray) -> FloatArray:
    """The logarithm of the integral of exp(-level - rate v) over v in [0, length]."""
    bend = rates * lengths
    size = np.abs(bend)
    # (1 - e^{-b})/b = e^{-min(b, 0)} (1 - e^{-|b|})/|b|: no overflow on either side.
    share = np.where(size > 1e-12, -np.expm1(-size) / np.where(size > 1e-12, size, 1.0), 1.0)
    with np.errstate(divide="ignore"):  # pieces of length 0 have mass 0
        return np.asarray(np.log(lengths) - levels - np.minimum(bend, 0.0) + np.log(share))


def _inverse(share: float, rate: float, length: float) -> float:
    """The point of [0, length] below which the law proportional to exp(-rate v) has this share."""
    bend = rate * length
    if abs(bend) < 1e-12:
        return share * length
    if bend < 0:  # mirror: the density grows to the right
        return length - _inverse(share, -rate, length)
    return min(length, -log1p(share * expm1(-bend)) / rate)
