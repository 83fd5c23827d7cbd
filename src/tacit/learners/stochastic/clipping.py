"""Each record's gradient difference, clipped to its public norm: what makes the conversion private for any loss."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.learners.stochastic.norms import Norm
from tacit.losses.base import Loss, RowLoss, clip_rows
from tacit.losses.custom import CustomLoss
from tacit.losses.linear_models import LinkLoss
from tacit.validation import FloatArray

Each = Callable[[FloatArray], FloatArray]
BLOCK_ENTRIES = 1 << 18


class ClippedDifferences:
    """Sums over a batch of clip(beta_t grad l(x_t, z) - beta_{t-1} grad l(x_{t-1}, z), C_t) in the dual norm.

    Generalised linear losses never form a gradient per record: the difference is a number times the features.
    Records of other losses than tacit's own are kept as they are and asked one by one.
    """

    def __init__(self, loss: Loss, dimension: int, norm: Norm) -> None:
        self._loss = loss
        self._dimension = dimension
        self._norm = norm

    def pack(self, record: Any) -> Any:
        """One checked record (None: a missing one, whose gradient is 0, or the row that says the same)."""
        if record is None and isinstance(self._loss, RowLoss):
            neutral = self._loss.neutral(self._dimension)[0]
            # Without features there is no gradient. Other losses have one whatever the row says: mark it absent.
            return neutral if isinstance(self._loss, LinkLoss) else np.full_like(neutral, np.nan)
        if record is None:
            return None
        if isinstance(self._loss, RowLoss):
            return self._loss.pack(record, self._dimension, many=False)[0]
        # Whether there is a gradient at all is found out before anything changes.
        gradient = self._raw(np.zeros(self._dimension), record)
        if gradient.shape != (self._dimension,):
            raise InvalidInput(
                f"A gradient of {self._loss!r} must be {self._dimension} numbers. "
                f"Got an array of shape {gradient.shape} instead."
            )
        return copy.deepcopy(record)  # it waits for its batch, and the caller may write over it

    def pack_many(self, records: Any) -> Any:
        """Many checked records: an array of rows, or a list."""
        if isinstance(self._loss, RowLoss):
            return self._loss.pack(records, self._dimension, many=True)
        return [self.pack(record) for record in records]

    @staticmethod
    def rows_of(part: Any) -> list[Any]:
        """The records of a part, copied so that they outlive the caller's array."""
        return [np.array(row) if isinstance(row, np.ndarray) else row for row in part]

    def stack(self, records: list[Any]) -> Any:
        """A batch as `total` wants it."""
        return np.array(records) if isinstance(self._loss, RowLoss) else records

    def total(
        self,
        records: Any,
        x: FloatArray,
        previous: FloatArray,
        weight: float,
        before: float,
        clip: float,
        each: Each | None = None,
    ) -> FloatArray:
        """The sum of the clipped differences; `each` makes every row of them whole numbers before they are added."""
        if isinstance(self._loss, LinkLoss):
            return self._link_total(self._loss, records, x, previous, weight, before, clip, each)
        with np.errstate(over="ignore", invalid="ignore"):  # differences too large to be squared have share 0
            known, absent = self._known(records)
            differences = weight * self._gradients(x, known)
            if before:
                differences -= before * self._gradients(previous, known)
            differences[absent | ~np.isfinite(differences).all(axis=1)] = 0.0
            sizes = self._norm.dual_sizes(differences)
        return _weighted(_shares(sizes, clip), differences, each)

    def _link_total(
        self,
        loss: LinkLoss,
        rows: FloatArray,
        x: FloatArray,
        previous: FloatArray,
        weight: float,
        before: float,
        clip: float,
        each: Each | None,
    ) -> FloatArray:
        features, labels = rows[:, :-1], rows[:, -1]
        # Both points in one product and one call of the link: small batches pay per call.
        slopes = loss.slope(features @ np.column_stack([x, previous]), labels[:, None]) @ (weight, -before)
        sizes = np.abs(slopes) * self._norm.dual_sizes(features)
        return _weighted(slopes * _shares(sizes, clip), features, each)

    def _known(self, records: Any) -> tuple[Any, Any]:
        """Records with public rows in place of absent ones, and which those are."""
        if not isinstance(self._loss, RowLoss):
            return records, False
        absent = np.isnan(records[:, 0])  # whole rows are marked, and others are finite
        if not absent.any():
            return records, False
        return np.where(absent[:, None], self._loss.neutral(self._dimension), records), absent

    def _gradients(self, x: FloatArray, records: Any) -> FloatArray:
        if isinstance(self._loss, RowLoss):
            return np.asarray(self._loss.gradients(x, records))
        return np.array([self._gradient(x, record) for record in records])

    def _gradient(self, x: FloatArray, record: Any) -> FloatArray:
        """The user's gradient; what is no vector of finite numbers counts as 0, a public constant."""
        if record is None:
            return np.zeros(self._dimension)
        gradient = self._raw(x, record)
        if gradient.shape != (self._dimension,) or not np.isfinite(gradient).all():
            return np.zeros(self._dimension)
        clip = self._loss.lipschitz if isinstance(self._loss, CustomLoss) else None
        return gradient if clip is None else clip_rows(gradient[None], clip)[0]

    def _raw(self, x: FloatArray, record: Any) -> FloatArray:
        ask = self._loss.gradient_of if isinstance(self._loss, CustomLoss) else self._loss.gradient
        try:
            with np.errstate(all="ignore"):
                return np.asarray(ask(x.copy(), record), dtype=np.float64)
        except ArithmeticError:
            return np.full(self._dimension, np.nan)
        except (TypeError, ValueError) as error:
            name = type(error).__name__
        # Not inside of the handler: an error keeps the one that it was raised in, which may quote the record.
        raise InvalidInput(f"The gradient of {self._loss!r} cannot be taken at this record ({name}).")


def _weighted(factors: FloatArray, rows: FloatArray, each: Each | None) -> FloatArray:
    """The sum of factors times rows, each product made whole first if there is a lattice; a cache's worth at a time."""
    if each is None:
        return np.asarray(factors @ rows)
    total = np.zeros(rows.shape[1])
    size = max(1, BLOCK_ENTRIES // rows.shape[1])
    for first in range(0, len(rows), size):
        part = slice(first, first + size)
        total += np.add.reduce(each(factors[part, None] * rows[part]), axis=0)  # whole numbers: exact in any order
    return total


def _shares(sizes: FloatArray, clip: float) -> FloatArray:
    """What to multiply vectors of these norms with so that none exceeds `clip`."""
    return np.asarray(np.minimum(1.0, clip / np.maximum(sizes, 1e-300)))
