"""The squared distance to a point: the strongly convex loss whose constants hold by construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.geometry.base import ConvexSet
from tacit.losses.base import Constants, RowLoss, clip_rows, finite_rows, largest_norm
from tacit.validation import FloatArray, check_positive


@dataclass(frozen=True)
class QuadraticLoss(RowLoss):
    """(k/2)|x - z|^2: a round's data is the target z, clipped to the norm `data_norm`.

    Attributes:
        strength: the curvature k, the same in every direction.
        data_norm: public bound on the norm of a target.

    >>> QuadraticLoss(strength=2.0).value([1.0, 0.0], [0.0, 1.0])
    2.0
    """

    strength: float = 1.0
    data_norm: float = 1.0
    family: ClassVar[str] = "general"
    bend: ClassVar[float | None] = 0.0

    def __post_init__(self) -> None:
        check_positive("QuadraticLoss", "strength", self.strength)
        check_positive("QuadraticLoss", "data_norm", self.data_norm)

    def constants(self, domain: ConvexSet | None) -> Constants:
        """Lipschitz k (max|x| + data_norm); both curvatures are k."""
        return Constants(self.strength * (largest_norm(domain) + self.data_norm), self.strength, self.strength)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Targets, clipped."""
        return clip_rows(finite_rows("QuadraticLoss", "targets", data, dimension, many=many), self.data_norm)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """(k/2)|x - z|^2 for each row."""
        return np.asarray(self.strength / 2 * np.add.reduce((x - rows) ** 2, axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The gradient k (x - z) of each row."""
        return np.asarray(self.strength * (x - rows))
