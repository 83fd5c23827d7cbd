"""Several links a round: the sum of f(<v_i, x>, y_i) over a few feature vectors, such as all rows of one person.

The feature vectors of a round are scaled down together, to sum |v_i|^2 <= B^2. Then |gradient| <= sqrt(j) B sup|f'| for
j links, and the Hessian has rank at most j and trace at most beta = B^2 sup f''. That trace, and not j times the
curvature of one link, is what a round costs in methods that minimise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.geometry.base import ConvexSet
from tacit.losses.base import Constants, RowLoss, clip_rows, depth
from tacit.losses.linear_models import LinkLoss
from tacit.validation import FloatArray, check_integer, invalid, real_array


@dataclass(frozen=True)
class SeveralLinks(RowLoss):
    """A sum of up to `count` generalised linear losses a round: data are pairs (rows of features, labels).

    Attributes:
        link: the loss of one row; its `data_norm` bounds the root of the summed squared norms of a round's rows.
        count: j, the most rows that a round may have; shorter rounds are filled up with rows of zeros.

    >>> from tacit.losses.linear_models import LogisticLoss
    >>> loss = SeveralLinks(LogisticLoss(), count=2)
    >>> round(loss.value([0.0, 0.0], ([[0.6, 0.0], [0.0, 0.8]], [1.0, -1.0])), 4)
    1.3863
    """

    link: LinkLoss
    count: int = 2
    family: ClassVar[str] = "glm"

    def __post_init__(self) -> None:
        if not isinstance(self.link, LinkLoss):
            raise invalid("SeveralLinks", "link", "a generalised linear loss such as LogisticLoss()", self.link)
        check_integer("SeveralLinks", "count", self.count)
        object.__setattr__(self, "bend", self.link.bend)

    @property
    def terms(self) -> int:
        """How many links a round sums."""
        return self.count

    @property
    def assumed(self) -> str:
        """What is assumed of the link."""
        return self.link.assumed or super().assumed

    @property
    def data_norm(self) -> float:
        """B: public bound on the root of the summed squared norms of a round's rows."""
        return self.link.data_norm

    def constants(self, domain: ConvexSet | None) -> Constants:
        """sqrt(j) B sup|f'| by Cauchy and Schwarz, and the trace B^2 sup f''."""
        one = self.link.constants(domain)
        return Constants(sqrt(self.count) * one.lipschitz * (1 + 1e-15), one.smoothness)

    def gradient_rounding(self, dimension: int) -> float:
        """That of every link together."""
        return sqrt(self.count) * self.link.gradient_rounding(dimension)

    def height(self, domain: ConvexSet) -> float:
        """That of every link together."""
        return self.count * self.link.height(domain)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows (features, label, features, label, ...), features clipped together, labels one by one."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise InvalidInput("The data of SeveralLinks must be a pair (rows of features, labels).")
        features = real_array("SeveralLinks", "features", data[0], (None, None, dimension)[not many :])
        labels = real_array("SeveralLinks", "labels", data[1], (None, None)[not many :])
        features, labels = (features, labels) if many else (features[None], labels[None])
        rounds, rows = labels.shape
        if features.shape[:2] != (rounds, rows) or rows > self.count:
            raise InvalidInput(
                f"The data of SeveralLinks must have a label for each row of features, and at most {self.count} rows a "
                f"round. Got {labels.shape[-1]} labels for {features.shape[1]} rows instead."
            )
        if not (np.isfinite(features).all() and np.isfinite(labels).all()):
            raise InvalidInput("The features and labels of SeveralLinks must be finite numbers.")
        packed = np.zeros((rounds, self.count, dimension + 1))
        packed[:, :rows, :-1] = clip_rows(features.reshape(rounds, rows * dimension), self.data_norm).reshape(
            features.shape
        )
        packed[:, :rows, -1] = labels
        packed[:, :, -1] = self.link.clip_labels(packed[:, :, -1])
        return packed.reshape(rounds, self.count * (dimension + 1))

    def neutral(self, dimension: int) -> FloatArray:
        """No features: the same loss everywhere."""
        return self.pack((np.zeros((1, dimension)), np.zeros(1)), dimension, many=False)

    def single(self, rows: FloatArray) -> FloatArray:
        """One row (features, label) for each link, of shape (rounds * count, dimension + 1)."""
        return rows.reshape(len(rows) * self.count, rows.shape[1] // self.count)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The sum of f(<v, x>, y) for each round."""
        margins, labels, _ = self._margins(x, rows)
        return np.asarray(np.add.reduce(self.link.link(margins, labels), axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The sum of f'(<v, x>, y) v for each round."""
        margins, labels, features = self._margins(x, rows)
        return np.asarray(np.add.reduce(self.link.slope(margins, labels)[:, :, None] * features, axis=1))

    def _margins(self, x: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        split = rows.reshape(len(rows), self.count, rows.shape[1] // self.count)
        features = split[:, :, :-1]
        return np.add.reduce(features * x[..., None, :], axis=2), split[:, :, -1], features

    def _holds_many(self, data: Any) -> bool:
        return isinstance(data, tuple | list) and len(data) == 2 and depth(data[0]) == 3
