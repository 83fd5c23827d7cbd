"""A few draws of bounded range together: the worst adaptive choice, computed step by step.

A draw has, at the worst, the losses t and t - r, and which t is the worst depends on the profile V of what comes after
(`smoothed_walk` has the words). Here V is kept on a grid of epsilons, linear in y = e^eps between its points: a chord
of a convex function, so nothing is rounded down. L V(y/L) is then linear in L between the points of the grid, the step
is concave in e^{t-r} on each of its cells, and its largest value is found in closed form. The work grows with the
square of the number of steps.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, expm1, sqrt

import numpy as np

from tacit.validation import FloatArray

# Cells in the range of a draw.
_CELLS = 20
# Rounding of one step, relative and absolute.
_RELATIVE, _ABSOLUTE = 1e-12, 1e-16


class WorstDraws:
    """The profile of `tosses` coins, each of which draws with probability at most `chance`.

    Args:
        width: the range of a draw.
        tosses: how many coins.
        chance: the largest probability of a draw.
        cells: how finely the range of a draw is divided.
    """

    def __init__(self, width: float, tosses: int, chance: float, cells: int = _CELLS) -> None:
        self._cells, self._step = cells, width / cells
        mean = tosses * chance
        # Beyond many standard deviations of the losses, the ends of the grid bound the profile.
        points = round(min(tosses + 1.0, mean * width / 4 + 5 * sqrt(mean) + 10) * cells)
        self._epsilons = np.arange(-points, points + 1) * self._step
        self._y = np.exp(self._epsilons)
        self._values = -np.expm1(np.minimum(self._epsilons, 0.0))
        for _ in range(tosses):
            self._values = self._rounded((1 - chance) * self._values + chance * self._drawn)

    def __call__(self, epsilon: FloatArray) -> FloatArray:
        """The profile at each of these epsilons."""
        return self._at(epsilon, self._values)

    def kept_and_drawn(self, kept: FloatArray, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The profile at the epsilons `kept`, and with one draw more at the epsilons `drawn`."""
        return self(kept), self._at(drawn, self._one_more)

    @cached_property
    def _one_more(self) -> FloatArray:
        return self._rounded(self._drawn)

    def _at(self, epsilon: FloatArray, values: FloatArray) -> FloatArray:
        """A profile off the grid: chords inside, slope -1 in y below, constant above."""
        epsilon = epsilon - 1e-14 * (1 + np.abs(epsilon))
        y = np.exp(np.minimum(epsilon, self._epsilons[-1]))
        return np.asarray(np.interp(y, self._y, values) + np.maximum(self._y[0] - y, 0.0))

    @property
    def _drawn(self) -> FloatArray:
        """The largest A_t V over t, at the points of the grid."""
        cells, size, ratio = self._cells, len(self._values), exp(self._cells * self._step)
        below = self._at(self._epsilons[0] - np.arange(cells, 0, -1) * self._step, self._values)
        above = np.full(cells, self._values[-1])
        padded = np.concatenate([below, self._values, above])
        # L V(y/L) at L = e^{jh}, for j from -cells to cells.
        scaled = [exp(j * self._step) * padded[cells - j : cells - j + size] for j in range(-cells, cells + 1)]
        slopes = [
            (scaled[k + 1] - scaled[k]) / exp((k - cells) * self._step) / expm1(self._step) for k in range(2 * cells)
        ]
        bases = [scaled[k] - slopes[k] * exp((k - cells) * self._step) for k in range(2 * cells)]
        worst: FloatArray = self._values
        for j in range(cells):
            low, high = exp((j - cells) * self._step), exp((j + 1 - cells) * self._step)
            (a, b), (c, d) = (slopes[cells + j], bases[cells + j]), (slopes[j], bases[j])
            with np.errstate(divide="ignore", invalid="ignore"):
                best = np.sqrt((d - b) / (ratio * (a - c)))
            lower = np.clip(np.where(best >= 0, best, low), low, high)  # also where it is no number
            for at in (lower, low, high):
                upper = ratio * at
                worst = np.maximum(worst, ((a * upper + b) * (1 - at) + (c * at + d) * (upper - 1)) / (upper - at))
        return np.asarray(worst)

    def _rounded(self, values: FloatArray) -> FloatArray:
        return np.minimum(values * (1 + _RELATIVE) + _ABSOLUTE, 1.0)
