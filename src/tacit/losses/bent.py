"""Quadratic losses, and losses whose Hessian is a whole matrix: quadratic forms, and what somebody declares.

A quadratic form has the same Hessian everywhere, so its eigenvalues may be clipped: what is left is the gradient of a
convex function. Of any other loss neither gradients nor eigenvalues may be clipped point by point (what is left is no
gradient of anything), and nobody can check its constants: it is taken on trust, and every contract that rests on
that trust says so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.loss import (
    DECLARED,
    Constants,
    LossFamily,
    RowLoss,
    clip_rows,
    depth,
    finite_rows,
    largest_norm,
)
from tacit.validation import FloatArray, check_integer, check_level, check_positive, invalid, real_array


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


# Matrices are put together again from clipped eigenvalues: this much of the largest one is left to rounding.
_ROUNDING = 1e-12


class BentLoss(RowLoss):
    """A loss of rows with a Hessian for each."""

    family: ClassVar[str] = "general"

    @abstractmethod
    def hessians(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The Hessian of each packed row at one point x, of shape (rounds, dimension, dimension)."""


@dataclass(frozen=True)
class QuadraticFormLoss(BentLoss):
    """(x - z)'A(x - z)/2: a round's data is the pair (A, z).

    A is made symmetric and its eigenvalues are clipped to [0, largest_curvature]; z is clipped to the norm `data_norm`.
    The slope has a bound on bounded sets only.

    Attributes:
        largest_curvature: beta, the largest eigenvalue that is kept.
        data_norm: public bound on the norm of z.

    >>> loss = QuadraticFormLoss(largest_curvature=2.0)
    >>> round(loss.value([1.0, 0.0], ([[9.0, 0.0], [0.0, -1.0]], [0.0, 0.0])), 9)
    1.0
    """

    largest_curvature: float = 1.0
    data_norm: float = 1.0
    bend: ClassVar[float | None] = 0.0

    def __post_init__(self) -> None:
        check_positive("QuadraticFormLoss", "largest_curvature", self.largest_curvature)
        check_positive("QuadraticFormLoss", "data_norm", self.data_norm)

    def constants(self, domain: ConvexSet | None) -> Constants:
        """Lipschitz beta (max|x| + data_norm), smoothness beta."""
        beta = self.largest_curvature
        return Constants(beta * (largest_norm(domain) + self.data_norm), beta)

    def gradient_rounding(self, dimension: int) -> float:
        """A product of d terms with the target's part of x - z, in each coordinate."""
        return 2.0**-53 * (dimension + 4) * float(np.sqrt(dimension)) * self.largest_curvature * self.data_norm

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows (A, z), A with its eigenvalues clipped, z with its norm."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise InvalidInput("The data of QuadraticFormLoss must be a pair (matrix, target).")
        shape = (None, dimension, dimension)
        matrices = real_array("QuadraticFormLoss", "matrices", data[0], shape if many else shape[1:])
        matrices = matrices.reshape(-1, dimension, dimension)
        if not np.isfinite(matrices).all():
            raise InvalidInput("The 'matrices' of QuadraticFormLoss must be finite numbers.")
        targets = finite_rows("QuadraticFormLoss", "targets", data[1], dimension, many=many)
        if len(matrices) != len(targets):
            raise InvalidInput("The data of QuadraticFormLoss must have a target for each matrix.")
        rows = np.empty((len(targets), dimension**2 + dimension))
        rows[:, : dimension**2] = _clipped_forms(matrices, self.largest_curvature).reshape(len(targets), dimension**2)
        rows[:, dimension**2 :] = clip_rows(targets, self.data_norm)
        return rows

    def neutral(self, dimension: int) -> FloatArray:
        """No matrix: the loss 0."""
        return np.zeros((1, dimension**2 + dimension))

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """(x - z)'A(x - z)/2 for each row."""
        away = x - self._targets(x, rows)
        return np.asarray(np.add.reduce(away * self.gradients(x, rows), axis=1) / 2)

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """A(x - z) for each row."""
        away = x - self._targets(x, rows)
        return np.asarray(np.add.reduce(self.hessians(x, rows) * away[:, None, :], axis=2))

    def hessians(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The matrices, the same everywhere."""
        d = x.shape[-1]
        return rows[:, : d * d].reshape(len(rows), d, d)

    def _targets(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return rows[:, x.shape[-1] ** 2 :]

    def _holds_many(self, data: Any) -> bool:
        return isinstance(data, tuple | list) and len(data) == 2 and depth(data[1]) == 2


@dataclass(frozen=True, repr=False)
class DeclaredLoss(BentLoss):
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
        """As declared."""
        return Constants(self.lipschitz, self.smoothness)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows of finite numbers, after a 1 that says that there is one."""
        rows = finite_rows("DeclaredLoss", "rows", data, self.width, many=many)
        return np.column_stack([np.ones(len(rows)), rows])

    def neutral(self, dimension: int) -> FloatArray:
        """No row: the loss 0."""
        return np.zeros((1, self.width + 1))

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The declared value of each row."""
        return self._each(self.value_of, x, rows, ())

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The declared gradient of each row."""
        return self._each(self.gradient_of, x, rows, (x.shape[-1],))

    def hessians(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The declared Hessian of each row, made symmetric."""
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


@np.errstate(all="ignore")  # whether something under- or overflows depends on the data
def _clipped_forms(matrices: FloatArray, largest: float) -> FloatArray:
    """The symmetric parts with eigenvalues pulled into [0, largest]."""
    size = np.maximum(np.abs(matrices).max(axis=(1, 2), initial=0.0), 1e-300)[:, None, None]
    scaled = matrices / size  # no entry overflows when it is squared
    values, vectors = np.linalg.eigh((scaled + scaled.transpose(0, 2, 1)) / 2)
    kept = np.clip(values * size[:, :, 0], 0.0, largest * (1 - _ROUNDING))
    return np.asarray(np.matmul(vectors * kept[:, None, :], vectors.transpose(0, 2, 1)))


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
