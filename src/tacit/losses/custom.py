"""Any loss given by two callables: only for methods that clip gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import Constants, Loss, clip_rows, finite_rows
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
        return float(self.value_of(self._point(x), data))

    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
        """Compute the clipped gradient of one round; a gradient that is not finite raises."""
        point = self._point(x)
        try:
            rows = finite_rows("CustomLoss", "gradient", self.gradient_of(point, data), point.size, many=False)
            return np.asarray(clip_rows(rows, self.lipschitz)[0])
        except (TypeError, ArithmeticError) as error:
            name = type(error).__name__
        # Not inside of the handler: an error keeps the one that it was raised in, which may quote the data.
        raise InvalidInput(f"The gradient of this CustomLoss cannot be taken at these data ({name}).")

    def _point(self, x: ArrayLike) -> FloatArray:
        return real_array("CustomLoss", "x", x, (None,))

    def __repr__(self) -> str:
        names = (getattr(f, "__qualname__", type(f).__name__) for f in (self.value_of, self.gradient_of))
        return f"CustomLoss({', '.join(names)}, lipschitz={self.lipschitz!r})"
