"""Laws of small selections: who wins a race of exponential variables, and what the answers tell of a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Protocol

import numpy as np

from tacit.validation import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# A hidden threshold is integrated out on cells of this share of its scale, over this many scales each way.
CELLS_PER_SCALE, SCALES = 32, 40
# A threshold on a lattice is summed out over all integers, if they are no more than this each way.
MOST_INTEGERS = 4_000
_PAIR, _PAIR_WEIGHTS = np.polynomial.legendre.leggauss(2)


def softmax(scores: FloatArray) -> FloatArray:
    """Probabilities proportional to exp(score)."""
    weights = np.exp(scores - np.max(scores))
    return np.asarray(weights / weights.sum())


def race_law(shift: FloatArray, factor: FloatArray) -> FloatArray:
    """P[j is the smallest] for the variables shift_j + factor_j E_j, E_j independent unit exponentials.

    In closed form if all start together and run upwards (rates 1/factor_j); otherwise by Gauss-Legendre between
    the kinks of the integrand f_j(x) prod_k P[X_k > x], which is smooth there.
    """
    if np.all(shift == shift[0]) and np.all(factor > 0):
        rates = 1 / factor
        return np.asarray(rates / rates.sum())
    up = factor > 0
    size = np.abs(factor)
    edges = np.unique(np.concatenate([shift, (shift[:, None] + np.outer(factor, np.arange(1.0, 41.0))).ravel()]))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    x = (middle[:, None] + half[:, None] * _NODES).ravel()
    w = (half[:, None] * _WEIGHTS).ravel()
    gap = (x - shift[:, None]) / size[:, None]
    reached = np.where(up[:, None], gap > 0, gap < 0)
    tail = np.exp(-np.abs(np.where(reached, gap, 0.0)))
    density = np.where(reached, tail, 0.0) / size[:, None]
    survival = np.where(up[:, None], tail, np.where(reached, 1 - tail, 0.0))
    law = np.empty(len(shift))
    for j in range(len(shift)):
        others = np.prod(np.delete(survival, j, axis=0), axis=0)
        law[j] = np.sum(w * density[j] * others)
    return np.asarray(law / law.sum())


class NoiseLaw(Protocol):
    """A symmetric law of noise around 0."""

    def above(self, x: FloatArray) -> FloatArray:
        """P[noise > x]."""

    def support(self) -> tuple[FloatArray, FloatArray]:
        """Points, and weights that integrate what varies on the noise's scale; they add up to 1."""


@dataclass(frozen=True)
class LaplaceLaw:
    """Laplace noise in float64."""

    scale: float

    def above(self, x: FloatArray) -> FloatArray:
        """P[Lap(scale) > x]."""
        tail = 0.5 * np.exp(-np.abs(x) / self.scale)
        return np.where(x > 0, tail, 1 - tail)

    def support(self) -> tuple[FloatArray, FloatArray]:
        """Gauss-Legendre on cells of a share of the scale."""
        edges = np.linspace(-SCALES, SCALES, 2 * SCALES * CELLS_PER_SCALE + 1)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        unit = (middle[:, None] + half[:, None] * _PAIR).ravel()
        weights = (half[:, None] * _PAIR_WEIGHTS).ravel() * 0.5 * np.exp(-np.abs(unit))
        return self.scale * unit, weights / weights.sum()


@dataclass(frozen=True)
class GeometricLaw:
    """Two-sided geometric noise: P[z] proportional to e^{-rate |z|} on the integers."""

    rate: float

    def above(self, x: FloatArray) -> FloatArray:
        """P[z > x] for whole x."""
        tail: FloatArray = np.exp(-self.rate * np.where(x >= 0, x + 1, -x)) / (1 + np.exp(-self.rate))
        return np.where(x >= 0, tail, 1 - tail)

    def support(self) -> tuple[FloatArray, FloatArray]:
        """All integers that matter; if they are too many, the points that a Laplace law of this scale has."""
        last = ceil(SCALES / self.rate)
        if last > MOST_INTEGERS:
            points, weights = LaplaceLaw(1 / self.rate).support()
            return np.rint(points), weights
        integers = np.arange(-last, last + 1.0)
        weights = np.exp(-self.rate * np.abs(integers))
        return integers, weights / weights.sum()


class Threshold:
    """A hidden noisy threshold: points, and the weights that the answers so far leave them."""

    def __init__(self, shift: float, law: NoiseLaw) -> None:
        points, self._weights = law.support()
        self.nodes: FloatArray = shift + points

    def mean(self, likelihood: FloatArray) -> float:
        """The probability of an answer with this likelihood at each node."""
        return min(1.0, max(0.0, float(self._weights @ likelihood)))

    def update(self, likelihood: FloatArray) -> None:
        """Bayes."""
        weights = self._weights * likelihood
        self._weights = weights / weights.sum()
