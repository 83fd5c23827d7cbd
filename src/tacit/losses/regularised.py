"""A loss with a declared regulariser: curvature of one's own choice, for methods that clip gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.domains.convex_set import ConvexSet
from tacit.losses.loss import Constants, LossFamily, RowLoss, largest_norm
from tacit.validation import FloatArray, check_positive, invalid


@dataclass(frozen=True)
class RegularisedLoss(RowLoss):
    """l(x, data) + (s/2)|x|^2: strongly convex wherever l is convex.

    What is certified is the regularised loss. `OnlineToBatch` adds the regulariser's gradient without noise, since it
    knows no data. Its family is "custom": methods that minimise or sample have regularisers
    of their own and do not take it.

    Attributes:
        loss: the loss of a round.
        strength: the curvature s that is added.

    >>> from tacit.domains import Ball
    >>> from tacit.losses.loss import LogisticLoss
    >>> RegularisedLoss(LogisticLoss(), 0.5).constants(Ball(2)).strong_convexity
    0.5
    """

    loss: RowLoss
    strength: float
    family: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        if not isinstance(self.loss, RowLoss):
            raise invalid("RegularisedLoss", "loss", "a loss of rows such as LogisticLoss()", self.loss)
        check_positive("RegularisedLoss", "strength", self.strength)

    def constants(self, domain: ConvexSet | None) -> Constants:
        known, added = self.loss.constants(domain), self.strength
        steepest = known.lipschitz + added * largest_norm(domain)
        return Constants(steepest, known.smoothness + added, known.strong_convexity + added)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        return self.loss.pack(data, dimension, many=many)

    def neutral(self, dimension: int) -> FloatArray:
        return self.loss.neutral(dimension)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return np.asarray(self.loss.values(x, rows) + self.strength / 2 * np.add.reduce(x * x, axis=-1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return np.asarray(self.loss.gradients(x, rows) + self.strength * x)

    def _holds_many(self, data: Any) -> bool:
        return self.loss._holds_many(data)


def parted(loss: LossFamily) -> tuple[LossFamily, float]:
    """What of a loss knows the data, and the curvature of what does not: a regulariser's gradient needs no noise."""
    return (loss.loss, loss.strength) if isinstance(loss, RegularisedLoss) else (loss, 0.0)
