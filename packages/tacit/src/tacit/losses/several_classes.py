"""Losses of several classes at once: the model is one row of coefficients a class, flattened.

Neither is a generalised linear loss of one feature vector, so objective perturbation does not take them; methods that
clip gradients do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import Constants, LinkLoss, RowLoss, clip_rows, finite_rows
from tacit.validation import FloatArray, IntArray, check_integer, check_positive


@dataclass(frozen=True)
class SeveralClasses(RowLoss):
    """What both losses share: (features, class number, weight), features clipped to `data_norm`, weights to [0, 1].

    Without weights all are 1.
    """

    data_norm: float
    count: int
    family: ClassVar[str] = "general"

    def __post_init__(self) -> None:
        check_positive(type(self).__name__, "data_norm", self.data_norm)
        check_integer(type(self).__name__, "count", self.count, at_least=2)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows (features, class number, weight)."""
        owner, width = type(self).__name__, dimension // self.count
        if not isinstance(data, tuple | list) or len(data) not in (2, 3):
            raise InvalidInput(f"The data of {owner} must be (features, class number), or with a weight.")
        features = finite_rows(owner, "features", data[0], width, many=many)
        codes = finite_rows(owner, "class number", np.reshape(data[1], (1, -1)), len(features), many=True)[0]
        if not np.isin(codes, np.arange(self.count)).all():
            raise InvalidInput(f"Class numbers of {owner} must be whole numbers from 0 to {self.count - 1}.")
        given = data[2] if len(data) == 3 else np.ones(len(features))
        weights = finite_rows(owner, "weight", np.reshape(given, (1, -1)), len(features), many=True)[0]
        return np.column_stack([clip_rows(features, self.data_norm), codes, np.clip(weights, 0.0, 1.0)])

    def neutral(self, dimension: int) -> FloatArray:
        return np.zeros((1, dimension // self.count + 2))

    def _scores(self, x: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Margins of all classes, and 1 where the class is the row's own."""
        features, codes = rows[:, :-2], rows[:, -2].astype(int)
        return features @ x.reshape(self.count, -1).T, np.eye(self.count)[codes]

    @staticmethod
    def _spread(slopes: FloatArray, rows: FloatArray) -> FloatArray:
        """Gradients: each class's slope times the weighted features."""
        return np.asarray((slopes[:, :, None] * (rows[:, -1:] * rows[:, :-2])[:, None]).reshape(len(rows), -1))


@dataclass(frozen=True)
class MultinomialLoss(SeveralClasses):
    """Minus the logarithm of the softmax probability of the row's class."""

    def constants(self, domain: ConvexSet | None) -> Constants:
        """|p - e_y| <= sqrt(2), and diag(p) - p p^T has norm at most 1/2."""
        return Constants(np.sqrt(2.0) * self.data_norm, self.data_norm**2 / 2)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        scores, own = self._scores(x, rows)
        return np.asarray(-np.sum(log_softmax(scores, axis=1) * own, axis=1) * rows[:, -1])

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        scores, own = self._scores(x, rows)
        return self._spread(softmax(scores, axis=1) - own, rows)

    @staticmethod
    def slopes(scores: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        """The weighted p - e_y of each row, whose scores and class number are given."""
        slopes = softmax(scores, axis=1)
        slopes[np.arange(len(codes)), codes] -= 1.0
        return np.asarray(slopes * weights[:, None])


@dataclass(frozen=True)
class OneVsRestLoss(SeveralClasses):
    """The mean over the classes of a two-class loss, own class against the rest."""

    link: LinkLoss

    def constants(self, domain: ConvexSet | None) -> Constants:
        """The link's constants over sqrt(count) and count: the classes have coordinates of their own."""
        one = self.link.constants(None)
        return Constants(one.lipschitz / np.sqrt(self.count), one.smoothness / self.count)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        scores, own = self._scores(x, rows)
        return np.asarray(np.mean(self.link.link(scores, 2 * own - 1), axis=1) * rows[:, -1])

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        scores, own = self._scores(x, rows)
        return self._spread(self.link.slope(scores, 2 * own - 1) / self.count, rows)
