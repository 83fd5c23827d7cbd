"""Quadratic losses, and smooth losses with whole Hessians that somebody declares.

Neither gradients nor eigenvalues of a declared loss may be clipped point by point (what is left is no gradient of
anything), and nobody can check its constants: it is taken on trust, and contracts that rest on that trust say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import ConvexSet
from tacit.errors import PrivacyError
from tacit.losses.loss import (
    DECLARED,
    Constants,
    LossFamily,
    RowLoss,
    clip_rows,
    finite_rows,
    largest_norm,
)
from tacit.validation import FloatArray, check_integer, check_level, check_positive, invalid


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
        """Give the Lipschitz constant k (max|x| + data_norm), and k for both curvatures."""
        return Constants(self.strength * (largest_norm(domain) + self.data_norm), self.strength, self.strength)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Clip the targets."""
        return clip_rows(finite_rows("QuadraticLoss", "targets", data, dimension, many=many), self.data_norm)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute (k/2)|x - z|^2 for each row."""
        return np.asarray(self.strength / 2 * np.add.reduce((x - rows) ** 2, axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the gradient k (x - z) of each row."""
        return np.asarray(self.strength * (x - rows))


@dataclass(frozen=True, repr=False)
class DeclaredLoss(RowLoss):
    """A smooth convex loss of your own by three functions, whose constants nobody can check.

    Methods that minimise or sample are private only if it is convex and has these constants for *every* row of numbers
    that a round may hold, the hostile ones included. So it takes `trust=True`, and their contracts then say
    "assumed". Where you can, use a `LinkLoss` or `CustomLoss` of your own with private FTRL, which clips gradients
    and needs no trust.

    Attributes:
        value_of: (x, row) -> loss.
        gradient_of: (x, row) -> gradient.
        hessian_of: (x, row) -> Hessian, a symmetric matrix.
        width: how many numbers a round's row has.
        lipschitz: G, which no gradient exceeds.
        smoothness: beta, which no eigenvalue of a Hessian exceeds.
        trust: must be True.

    >>> loss = DeclaredLoss(
    ...     lambda x, z: np.log(np.cosh(x[0] - z[0])), lambda x, z: [np.tanh(x[0] - z[0])],
    ...     lambda x, z: [[1 / np.cosh(x[0] - z[0]) ** 2]], width=1, lipschitz=1.0, smoothness=1.0, trust=True)
    >>> round(loss.value([1.0], [0.0]), 4)
    0.4338
    """

    value_of: Callable[[FloatArray, FloatArray], float]
    gradient_of: Callable[[FloatArray, FloatArray], ArrayLike]
    hessian_of: Callable[[FloatArray, FloatArray], ArrayLike]
    width: int
    lipschitz: float
    smoothness: float
    trust: bool = False
    family: ClassVar[str] = "general"
    bend: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        for name in ("value_of", "gradient_of", "hessian_of"):
            if not callable(getattr(self, name)):
                raise invalid("DeclaredLoss", name, "a callable (x, row)", getattr(self, name))
        check_integer("DeclaredLoss", "width", self.width)
        check_positive("DeclaredLoss", "lipschitz", self.lipschitz)
        check_level("DeclaredLoss", "smoothness", self.smoothness, at_least=0.0)
        if self.trust is not True:
            raise PrivacyError(
                "A DeclaredLoss rests privacy on constants that nobody can check: say trust=True if it is convex with "
                "these constants for every row of numbers, or use CustomLoss with PrivateFTRL, which clips gradients."
            )

    @property
    def assumed(self) -> str:
        """Everything that was declared."""
        return DECLARED

    @property
    def asks(self) -> bool:
        return True

    def constants(self, domain: ConvexSet | None) -> Constants:
        """Give the declared constants."""
        return Constants(self.lipschitz, self.smoothness)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Check that the rows are finite, and put a 1 before each: the mark of a round with data."""
        rows = finite_rows("DeclaredLoss", "rows", data, self.width, many=many)
        return np.column_stack([np.ones(len(rows)), rows])

    def neutral(self, dimension: int) -> FloatArray:
        """Give a row of zeros, whose loss is 0."""
        return np.zeros((1, self.width + 1))

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the declared value of each row."""
        return self._each(self.value_of, x, rows, ())

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the declared gradient of each row."""
        return self._each(self.gradient_of, x, rows, (x.shape[-1],))

    def hessians(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the symmetrised Hessian of each row at one point x, of shape (rounds, dimension, dimension)."""
        found = self._each(self.hessian_of, x, rows, (x.shape[-1], x.shape[-1]))
        return np.asarray((found + found.transpose(0, 2, 1)) / 2)

    def _each(self, ask: Callable[..., Any], x: FloatArray, rows: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """The answers; where there is none of this shape the answer is 0, because some data must not raise."""
        points = np.broadcast_to(x, (len(rows), x.shape[-1]))
        found = np.zeros((len(rows), *shape))
        for index, row in enumerate(rows):
            if row[0]:
                found[index] = _answer(ask, points[index].copy(), row[1:].copy(), shape)
        return found

    def __repr__(self) -> str:
        asked = (self.value_of, self.gradient_of, self.hessian_of)
        names = ", ".join(getattr(f, "__qualname__", type(f).__name__) for f in asked)
        constants = f"lipschitz={self.lipschitz!r}, smoothness={self.smoothness!r}, trust=True"
        return f"DeclaredLoss({names}, width={self.width}, {constants})"


def _answer(ask: Callable[..., Any], x: FloatArray, row: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    try:
        with np.errstate(all="ignore"):
            found = np.array(ask(x, row), dtype=np.float64)
    except Exception:  # whatever it is: to raise for some rows and not for others would show something about them
        return np.zeros(shape)
    return found if found.shape == shape and np.isfinite(found).all() else np.zeros(shape)


def refuse_unchecked(loss: LossFamily, algorithm: str) -> None:
    """Refuse a class from outside of tacit unless its constants were declared on trust."""
    if type(loss) is not DeclaredLoss and not _is_own(loss):
        raise PrivacyError(
            f"{algorithm} promises nothing unless its losses are convex with the constants that they declare, and "
            f"nobody checked those of {loss!r}: say trust=True in a DeclaredLoss, or use PrivateFTRL, which clips "
            "gradients."
        )


def _is_own(loss: LossFamily) -> bool:
    """Whether tacit wrote all of it: asked of the classes, since `assumed` may be overridden like everything else."""
    return type(loss).__module__.startswith("tacit.") and not loss.assumed
