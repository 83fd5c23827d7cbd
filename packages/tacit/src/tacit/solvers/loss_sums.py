"""The sum of the losses so far, as a minimiser sees it: gradient with a bound on its rounding error, Hessian, value.

Sums live in coordinates of the domain's affine hull, where 0 is the centre. Linear and quadratic losses are
kept by their sufficient statistics; generalised linear losses keep their rows, O(T d) memory.

A sum of generalised linear losses over sparse rows: never a dense matrix, neither of rows nor of curvatures.

Errors are those of `LinkSum` and smaller. A coordinate of the gradient is added up one after the other over at most
`_block` = 128 sqrt(d) rows, with a relative error of as many units against the sum of absolute values; blocks are added
with compensation. The vector of these sums is no longer than the sum of |slope| |row|, so that no further sqrt(d)
enters, as it does in the bound for dense rows: what `attainable_accuracy` promises holds for sparse ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np

from tacit.domains.convex_set import ConvexSet, FullDimensionalSet
from tacit.errors import PrivacyError
from tacit.losses.loss import LinearLoss, LinkLoss, Loss, QuadraticLoss, RowLoss
from tacit.validation import FloatArray

UNIT = 2.0**-53
"""Unit roundoff of float64."""

# Rows are summed in blocks of this length by one product each, then pairwise over blocks: the error is a
# multiple of the block length and not of the number of rounds. Products this small also stay on one core.
_BLOCK = 128
_CHUNK = 1 << 14  # rows that stay in cache between two passes
SUM_ERROR = (_BLOCK + 64) * UNIT
"""Relative error of such a sum, against the sum of absolute values."""


class SmoothSum(ABC):
    """A sum of convex smooth losses in hull coordinates, as a minimiser sees it. Its memory is private."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.count = 0

    @property
    def modulus(self) -> float:
        """A lower bound on the curvature of the sum: a public number."""
        return 0.0

    @property
    def smoothness(self) -> float:
        """An upper bound on the curvature of the sum: a public number."""
        return self.modulus

    @abstractmethod
    def value(self, x: FloatArray) -> float:
        """The sum at x."""

    @abstractmethod
    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The gradient at x, and a bound on the norm of its rounding error."""

    @abstractmethod
    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        """The Hessian at x of the losses after the first `since`."""


class ArrayState:
    """A memory whose state is made of arrays and counts."""

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on. PRIVATE."""
        return {name: np.copy(value) for name, value in vars(self).items() if isinstance(value, np.ndarray | int)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        for name, value in state.items():
            setattr(self, name, int(value) if np.ndim(value) == 0 else np.copy(value))


class LossSum(SmoothSum, ArrayState):
    """A sum of losses that grows round by round."""

    @abstractmethod
    def add(self, rows: FloatArray) -> None:
        """Add the losses of these hull rows (see `hull_rows`)."""


class CompensatedSum(LossSum):
    """A sum that is kept by a sum of vectors, exact to a few units in the last place (compensated summation)."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._high = np.zeros(dimension)
        self._low = np.zeros(dimension)
        self._size = np.zeros(1)

    def add(self, rows: FloatArray) -> None:
        for row in rows:
            total = self._high + row
            part = total - self._high
            self._low += (self._high - (total - part)) + (row - part)
            self._high = total
            self._size += np.add.reduce(np.abs(row))  # row by row: the same bits however the rows arrive
        self.count += len(rows)

    def _total(self) -> FloatArray:
        return self._high + self._low

    def _error(self) -> float:
        return 4 * UNIT * float(self._size[0])


class LinearSum(CompensatedSum):
    """A sum of <g, x>: the sum of the g."""

    def value(self, x: FloatArray) -> float:
        return float(self._total() @ x)

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        return self._total(), self._error()

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        return np.zeros((self.dimension, self.dimension))


class QuadraticSum(CompensatedSum):
    """A sum of (k/2)|x - z|^2: the number of rounds and the sum of the z."""

    def __init__(self, dimension: int, strength: float) -> None:
        super().__init__(dimension)
        self._strength = strength

    @property
    def modulus(self) -> float:
        return self._strength * self.count

    def value(self, x: FloatArray) -> float:
        """(k/2)(n|x|^2 - 2<sum z, x>), up to a constant."""
        return float(self._strength * (self.count * (x @ x) / 2 - self._total() @ x))

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        error = 4 * UNIT * self.count * float(np.sqrt(x @ x)) + self._error()
        return self._strength * (self.count * x - self._total()), self._strength * error

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        return np.asarray(self._strength * (self.count - since) * np.eye(self.dimension))


class LinkSum(LossSum):
    """A sum of f(<v, x> + o, y): rows of hull features v, offset o and label y."""

    def __init__(self, dimension: int, loss: LinkLoss) -> None:
        super().__init__(dimension)
        self._loss = loss
        self._rows = np.empty((0, dimension + 2))

    @property
    def smoothness(self) -> float:
        return self.count * self._loss.data_norm**2 * self._loss.link_constants(float("inf"))[1]

    def add(self, rows: FloatArray) -> None:
        needed = self.count + len(rows)
        if needed > len(self._rows):
            grown = np.empty((max(needed, 2 * len(self._rows), 256), self.dimension + 2))
            grown[: self.count] = self._rows[: self.count]
            self._rows = grown
        self._rows[self.count : needed] = rows
        self.count = needed

    def value(self, x: FloatArray) -> float:
        margins, labels, _ = self._at(x)
        return float(np.sum(self._loss.link(margins, labels)))

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The sum of f' v. Errors: of the sum, of each slope, and of each margin times the curvature."""
        margins, labels, features = self._at(x)
        slopes = self._loss.slope(margins, labels)
        norm, d = self._loss.data_norm, self.dimension
        total = _weighted_sum(slopes, features)
        offsets = np.abs(self._rows[: len(slopes), -2])
        reach = norm * float(np.sqrt(x @ x)) + float(np.max(offsets, initial=0.0))
        curvature = self._loss.link_constants(reach)[1]
        sizes, moved = norm * float(np.sum(np.abs(slopes))), norm * self.count * reach
        error = (SUM_ERROR + 8 * UNIT) * sizes + curvature * (d + 4) * UNIT * moved
        return total, error * np.sqrt(d)

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
        margins, labels, features = self._at(x, since)
        roots = np.sqrt(self._loss.curvature(margins, labels))
        total = np.zeros((self.dimension, self.dimension))
        for first in range(0, len(roots), _CHUNK):
            weighted = features[first : first + _CHUNK] * roots[first : first + _CHUNK, None]
            blocks, rest = _blocks(weighted)
            total += np.add.reduce(np.matmul(blocks.transpose(0, 2, 1), blocks), axis=0) + rest.T @ rest
        return total

    def _at(self, x: FloatArray, since: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
        rows = self._rows[since : self.count]
        features = rows[:, :-2]
        blocks, rest = _blocks(features)
        margins = np.concatenate([np.matmul(blocks, x).ravel(), rest @ x]) + rows[:, -2]
        return margins, rows[:, -1], features

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "_rows": self._rows[: self.count].copy()}


def loss_sum(loss: Loss, dimension: int) -> LossSum:
    """An empty sum of this loss in `dimension` hull coordinates."""
    if isinstance(loss, LinkLoss):
        return LinkSum(dimension, loss)
    if isinstance(loss, QuadraticLoss):
        return QuadraticSum(dimension, loss.strength)
    if isinstance(loss, LinearLoss):
        return LinearSum(dimension)
    raise PrivacyError(
        f"A minimiser needs losses that are convex and smooth by construction: {loss!r} is not one of tacit's own. "
        "Use PrivateFTRL, which clips gradients."
    )


def hull_rows(loss: RowLoss, domain: ConvexSet | None, rows: FloatArray) -> FloatArray:
    """Packed rows in hull coordinates: gradients, targets, or (features, offset, label)."""
    if isinstance(loss, LinkLoss):
        features = rows[:, :-1]
        centre = np.zeros(features.shape[1]) if domain is None else domain.centre
        offsets = np.add.reduce(features * centre, axis=1)
        return np.column_stack([_restricted(domain, features), offsets, rows[:, -1]])
    if isinstance(loss, QuadraticLoss) and domain is not None:
        rows = rows - domain.centre
    return _restricted(domain, rows)


def _restricted(domain: ConvexSet | None, rows: FloatArray) -> FloatArray:
    if domain is None or isinstance(domain, FullDimensionalSet):
        return rows
    # Row by row: a product of many rows at once may round differently.
    return np.array([domain.restrict(row) for row in rows]).reshape(len(rows), domain.hull_dimension)


def _weighted_sum(weights: FloatArray, rows: FloatArray) -> FloatArray:
    blocks, rest = _blocks(rows)
    whole = len(rows) - len(rest)
    sums = np.matmul(weights[:whole].reshape(-1, 1, _BLOCK), blocks)[:, 0]
    # Contiguous sums are pairwise.
    return np.asarray(weights[whole:] @ rest + np.add.reduce(np.ascontiguousarray(sums.T), axis=1))


def _blocks(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Views: whole blocks of shape (n, _BLOCK, d), and the rows that are left."""
    whole = len(rows) - len(rows) % _BLOCK
    return rows[:whole].reshape(-1, _BLOCK, rows.shape[1]), rows[whole:]


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
        return self.count * self._loss.data_norm**2 * self._loss.link_constants(float("inf"))[1]

    def value(self, x: FloatArray) -> float:
        return float(np.sum(self._loss.link(self._margins(x), self._labels)))

    def gradient(self, x: FloatArray) -> tuple[FloatArray, float]:
        slopes = self._loss.slope(self._margins(x), self._labels)
        norm, size = self._loss.data_norm, float(np.sum(np.abs(slopes)))
        reach = norm * float(np.sqrt(x @ x))
        curvature = self._loss.link_constants(reach)[1]
        error = (self._block + 64) * UNIT * size + self.count * curvature * (self.dimension + 4) * UNIT * reach
        return self._weighted_sum(slopes), norm * error

    def hessian(self, x: FloatArray, since: int = 0) -> FloatArray:
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
