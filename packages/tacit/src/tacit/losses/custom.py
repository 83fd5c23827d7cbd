"""Losses for methods that clip gradients: any loss given by two callables, and a loss with a declared regulariser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import Constants, Loss, LossFamily, RowLoss, clip_rows, finite_rows, largest_norm
from tacit.validation import FloatArray, check_positive, invalid, real_array


@dataclass(frozen=True, repr=False)
class CustomLoss(Loss):
    """A loss of your own. Gradients are clipped to `lipschitz`; convexity is yours to know.

    Privacy never depends on the callables. The regret bound is for the clipped linear losses where clipping
    binds, and assumes that `value` is convex with gradient `gradient`.

    Attributes:
        value_of: (x, data) -> loss.
        gradient_of: (x, data) -> gradient vector.
        lipschitz: the norm to which gradients are clipped.

    >>> absolute = CustomLoss(lambda x, z: abs(x[0] - z), lambda x, z: [1.0 if x[0] > z else -1.0], lipschitz=1.0)
    >>> absolute.gradient([0.5], 0.2)
    array([1.])
    """

    value_of: Callable[[FloatArray, Any], float]
    gradient_of: Callable[[FloatArray, Any], ArrayLike]
    lipschitz: float
    family: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        check_positive("CustomLoss", "lipschitz", self.lipschitz)
        for name in ("value_of", "gradient_of"):
            if not callable(getattr(self, name)):
                raise invalid("CustomLoss", name, "a callable (x, data)", getattr(self, name))

    def constants(self, domain: ConvexSet | None) -> Constants:
        return Constants(self.lipschitz, float("inf"))

    def value(self, x: ArrayLike, data: Any) -> float:
        return float(self.value_of(real_array("CustomLoss", "x", x, (None,)), data))

    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
        """Compute the clipped gradient of one round; a gradient that is not finite raises."""
        point = real_array("CustomLoss", "x", x, (None,))
        try:
            rows = finite_rows("CustomLoss", "gradient", self.gradient_of(point, data), point.size, many=False)
            return np.asarray(clip_rows(rows, self.lipschitz)[0])
        except (TypeError, ArithmeticError) as error:
            name = type(error).__name__
        # Not inside of the handler: an error keeps the one that it was raised in, which may quote the data.
        raise InvalidInput(f"The gradient of this CustomLoss cannot be taken at these data ({name}).")

    def __repr__(self) -> str:
        names = (getattr(f, "__qualname__", type(f).__name__) for f in (self.value_of, self.gradient_of))
        return f"CustomLoss({', '.join(names)}, lipschitz={self.lipschitz!r})"


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
