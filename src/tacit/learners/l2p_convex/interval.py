"""Exact draws from a log-concave law on an interval.

The potential is known at the nodes of a fixed public grid and can be evaluated anywhere. In each cell a convex
function lies above the continued chords of both neighbouring cells (at the ends: above a line as steep as it can be)
and below its own chord. The piecewise exponential law of the continued chords is drawn from by exact inversion of its
cumulative law and accepted with probability exp(bound - potential): a quadrature whose error is removed by
rejection, so nothing is left to charge. The chord itself decides almost every acceptance without a look at the
history (the squeeze of adaptive rejection sampling; Gilks and Wild, 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, log1p

import numpy as np

from tacit.validation import FloatArray


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
    width = float(nodes[1] - nodes[0])
    slopes = np.diff(values) / width
    before = np.append(-steepest, slopes[:-1])  # the chord on the left, continued into the cell
    after = np.append(slopes[1:], steepest)
    turn = after - before
    meet = np.clip(np.where(turn > 0, (after - slopes) / np.where(turn > 0, turn, 1.0), 0.5), 0.0, 1.0) * width
    # Two pieces a cell: from its left end with slope `before`, into its right end with slope `after`.
    lengths = np.concatenate([meet, width - meet])
    starts = np.concatenate([nodes[:-1], nodes[:-1] + meet])
    levels = np.concatenate([values[:-1], values[1:] - after * (width - meet)])
    rates = np.concatenate([before, after])
    logs = _log_masses(levels, rates, lengths)
    masses = np.exp(logs - logs.max())
    cumulative = np.cumsum(masses)
    cells = len(slopes)
    while True:
        share = (1.0 - generator.random()) * cumulative[-1]
        piece = min(int(np.searchsorted(cumulative, share)), len(masses) - 1)
        rate, length = float(rates[piece]), float(lengths[piece])
        offset = _inverse(generator.random(), rate, length)
        point = min(max(float(starts[piece]) + offset, float(nodes[0])), float(nodes[-1]))
        bound = float(levels[piece]) + rate * offset
        clock = generator.standard_exponential()
        cell = piece % cells
        chord = float(values[cell]) + float(slopes[cell]) * (point - float(nodes[cell]))
        if clock >= chord - bound or clock >= exact(point) - bound:
            return point


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
