"""Self-concordant barriers: functions that are finite exactly in the interior of a set."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.validation import FloatArray, real_array


class Barrier(ABC):
    """A barrier that is at least 0: `value` is infinite outside the interior, the derivatives raise there.

    Attributes:
        parameter: the barrier parameter nu: the squared Newton decrement is at most nu everywhere.
    """

    parameter: float

    @abstractmethod
    def value(self, point: ArrayLike) -> float:
        """The barrier at the point, infinite outside the interior."""

    @abstractmethod
    def gradient(self, point: ArrayLike) -> FloatArray:
        """The gradient at an interior point."""

    @abstractmethod
    def hessian(self, point: ArrayLike) -> FloatArray:
        """The matrix of second derivatives at an interior point."""

    def derivatives(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return gradient and matrix of second derivatives at an interior point."""
        return self.gradient(point), self.hessian(point)


# Nearer to the boundary than this, derivatives would not be finite.
EDGE = 1e-150


def barrier_point(owner: str, point: ArrayLike, dimension: int) -> FloatArray:
    """The point where a barrier is asked for; far outside, where it is infinite anyhow, it is drawn nearer."""
    checked = real_array(owner, "point", point, (dimension,))
    return np.minimum(np.maximum(checked, -1e120), 1e120)  # faster than clip, which solvers would notice


def outside(owner: str) -> InvalidInput:
    """The error of a derivative that is asked for where the barrier is infinite."""
    return InvalidInput(f"The derivatives of the barrier of {owner} exist only in the interior of the set.")
