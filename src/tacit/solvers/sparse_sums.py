"""A sum of generalised linear losses over sparse rows: never a dense matrix, neither of rows nor of curvatures.

Errors are those of `LinkSum` and smaller. A coordinate of the gradient is added up one after the other over at most
`_block` = 128 sqrt(d) rows, with a relative error of as many units against the sum of absolute values; blocks are added
with compensation. The vector of these sums is no longer than the sum of |slope| |row|, so that no further sqrt(d)
enters, as it does in the bound for dense rows: what `attainable_accuracy` promises holds for sparse ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np

from tacit.losses.linear_models import LinkLoss
from tacit.solvers.loss_sums import UNIT, SmoothSum
from tacit.validation import FloatArray


class SparseLinkSum(SmoothSum):
    """A sum of f(<v, x>, y) over the rows v of a matrix in CSR format, which is kept in blocks.

    Args:
        loss: the loss, whose `data_norm` no row exceeds.
        features: a CSR matrix; not copied where it is one block.
        labels: one for each row.
    """

    def __init__(self, loss: LinkLoss, features: Any, labels: FloatArray) -> None:
        super().__init__(features.shape[1])
        self.count = features.shape[0]
        self._loss = loss
        self._block = 128 * max(1, isqrt(self.dimension))
        firsts = range(0, self.count, self._block)
        whole = len(firsts) <= 1
        self._parts = [features] if whole else [features[first : first + self._block] for first in firsts]
        self._labels = labels

    def with_labels(self, labels: FloatArray) -> SparseLinkSum:
        """The same rows with other labels."""
        other = object.__new__(SparseLinkSum)
        other.__dict__.update(self.__dict__, _labels=labels)
        return other

    @property
    def smoothness(self) -> float:
        """The largest curvature of a round, times their number."""
        return self.count * self._loss.data_norm**2 * self._loss.link_constants(float("inf"))[1]

    def value(self, x: FloatArray) -> float:
        """The sum of the losses."""
        return float(np.sum(self._loss.link(self._margins(x), self._labels)))

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The sum of f' v. Errors: of the sum, of each slope, and of each margin times the curvature."""
        slopes = self._loss.slope(self._margins(x), self._labels)
        norm, size = self._loss.data_norm, float(np.sum(np.abs(slopes)))
        reach = norm * float(np.sqrt(x @ x))
        curvature = self._loss.link_constants(reach)[1]
        error = (self._block + 64) * UNIT * size + self.count * curvature * (self.dimension + 4) * UNIT * reach
        return self._weighted_sum(slopes), norm * error

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        """The sum of f'' v v^T: dense, for few coordinates."""
        product = self.curvature_at(x)
        return np.column_stack([product(unit) for unit in np.eye(self.dimension)])

    def curvature_at(self, x: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """The Hessian at x as a function of the vector that it is multiplied with."""
        curvatures = self._loss.curvature(self._margins(x), self._labels)
        return lambda direction: self._weighted_sum(curvatures * self._margins(direction))

    def _margins(self, x: FloatArray) -> FloatArray:
        return np.concatenate([part @ x for part in self._parts])

    def _weighted_sum(self, weights: FloatArray) -> FloatArray:
        high, low = np.zeros(self.dimension), np.zeros(self.dimension)
        for number, part in enumerate(self._parts):
            term = part.T @ weights[number * self._block : (number + 1) * self._block]
            total = high + term
            moved = total - high
            low += (high - (total - moved)) + (term - moved)
            high = total
        return high + low
