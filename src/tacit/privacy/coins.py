"""Coins that keep a decision: which pairs of keep probabilities neighbours may have, and what a toss of one tells.

A keep probability q is given by its hazard h = -ln q, because a coin that nearly always keeps has 1 - q of the size of
its hazard, which the float q next to 1 has lost. Neighbours' coins have hazards in [least, least + spread], at most
`shift` apart. What a toss leaks is jointly convex in (q, q'), so the vertices of that polygon are the worst.
"""

from __future__ import annotations

from math import exp, expm1, inf, isinf, log, log1p
from typing import NamedTuple

import numpy as np

from tacit.validation import FloatArray

_FAR = 700.0  # e to this power is a float


class Pair(NamedTuple):
    """The hazards of a coin and of its neighbour, and their difference, which the floats may have lost."""

    hazard: float
    other: float
    gap: float

    @property
    def certain(self) -> bool:
        """Whether one neighbour may do what the other never does."""
        return self.other == 0 or isinf(self.other)

    @property
    def losses(self) -> tuple[float, float]:
        """The privacy loss of keeping, ln q/q', and of redrawing, ln (1-q)/(1-q')."""
        return -self.gap, log_redraws(self.hazard, self.other, self.gap)


def moved_pairs(least: float, spread: float, shift: float) -> list[Pair]:
    """The vertices at which the coins differ: at the lowest hazards and at the highest, both ways round."""
    move = min(shift, spread)
    if move <= 0:
        return []
    pairs = [(least, least + move)]
    if not isinf(least + spread):
        pairs.append((least + (spread - move), least + spread))
    return [pair for low, high in pairs for pair in (Pair(low, high, -move), Pair(high, low, move))]


def log_redraws(hazard: float, other: float, gap: float) -> float:
    """ln( (1-q)/(1-q') ) for q = e^-hazard and q' = e^-other, where hazard - other = gap > -other."""
    if abs(gap) < other / 2:
        if gap < -_FAR:  # both redraw for certain, but for less than a float can tell
            return 0.0
        return log1p(-expm1(-gap) / expm1(min(other, _FAR)))
    return log(expm1(-hazard) / expm1(-other)) if hazard > 0 else -inf


def toss_atoms(least: float, spread: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Losses and probabilities of one pair of laws that dominates every such toss.

    Its profile is the upper envelope of the vertices' profiles, piecewise linear in y = e^eps: its atoms are the edges
    of the concave hull of the points (P'[A], P[A]), A an outcome of one of the tosses.
    """
    points = {(0.0, 0.0), (1.0, 1.0)}
    for hazard, other, _ in moved_pairs(least, spread, shift):
        points |= {(exp(-other), exp(-hazard)), (-expm1(-other), -expm1(-hazard))}
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    steps = np.diff(np.array(hull), axis=0)
    with np.errstate(divide="ignore"):
        return np.log(steps[:, 1] / steps[:, 0]), steps[:, 1]


def _turns_up(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    (x, y), (u, v), (s, t) = first, middle, last
    return (v - y) * (s - x) <= (t - y) * (u - x)
