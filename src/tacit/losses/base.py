"""What every convex loss offers: its public constants on a domain, values and gradients.

A method that clips gradients may be given any loss. Methods that minimise or sample need losses whose
convexity, Lipschitz and smoothness constants hold by construction: those have the family "linear", "glm"
(one feature vector and a fixed link) or "general"; a loss made of callables has the family "custom".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.geometry.base import ConvexSet
from tacit.validation import LARGEST, FloatArray, check_choice, check_level, check_number, check_positive, real_array

CONSTRUCTED = ("linear", "glm", "general")
"""Families whose convexity and constants hold by construction."""

DECLARED = "convex, G, beta as declared by you"
"""What is assumed of a loss whose constants nobody can check."""


@dataclass(frozen=True)
class Constants:
    """Bounds that hold for every admissible round on the whole domain.

    Attributes:
        lipschitz: largest norm of a gradient.
        smoothness: largest curvature (infinite if the loss has kinks).
        strong_convexity: smallest curvature.
    """

    lipschitz: float
    smoothness: float
    strong_convexity: float = 0.0


class LossFamily(ABC):
    """A set of losses known by its constants: enough to plan.

    Attributes:
        bend: how fast curvature changes: c with |f'''| <= c f'' along the margin (None: it may jump, or nobody knows).
    """

    bend: ClassVar[float | None] = None

    @property
    @abstractmethod
    def family(self) -> str:
        """One of "linear", "glm", "general" and "custom"."""

    @abstractmethod
    def constants(self, domain: ConvexSet | None) -> Constants:
        """The constants on a domain (None: on the whole space, where they may be infinite)."""

    def height(self, domain: ConvexSet) -> float:
        """How far a loss on the domain may lie above its smallest value anywhere (infinite: nobody knows)."""
        return float("inf")

    def gradient_rounding(self, dimension: int) -> float:
        """By how much a computed gradient may be off beyond 8 units in its own last place and in that of its margin."""
        return 0.0

    @property
    def terms(self) -> int:
        """How many links one round of a generalised linear loss sums."""
        return 1

    @property
    def assumed(self) -> str:
        """What a method that minimises or samples must believe of this loss (empty: all of it holds by construction).

        Nobody checked a class from outside of tacit, nor what it overrides.
        """
        return "" if type(self).__module__.startswith("tacit.") else DECLARED


@dataclass(frozen=True)
class ConvexFamily(LossFamily):
    """All convex losses with these constants: for planning before the loss is chosen.

    Attributes:
        lipschitz: largest norm of a gradient.
        smoothness: largest curvature (infinite if the losses may have kinks).
        family: "general", "glm" (generalised linear) or "linear".
        strong_convexity: smallest curvature.

    >>> ConvexFamily(lipschitz=1.0, smoothness=1.0, family="glm").constants(None).lipschitz
    1.0
    """

    lipschitz: float
    smoothness: float = float("inf")
    family: str = "general"
    strong_convexity: float = 0.0

    def __post_init__(self) -> None:
        check_positive("ConvexFamily", "lipschitz", self.lipschitz)
        check_choice("ConvexFamily", "family", self.family, CONSTRUCTED)
        if self.smoothness != float("inf"):
            check_level("ConvexFamily", "smoothness", self.smoothness, at_least=0.0)
        check_number(
            "ConvexFamily",
            "strong_convexity",
            self.strong_convexity,
            above=0.0,
            closed_low=True,
            below=self.smoothness,
            closed_high=True,
        )

    def constants(self, domain: ConvexSet | None) -> Constants:
        """The constants as they were given."""
        return Constants(self.lipschitz, self.smoothness, self.strong_convexity)


class Loss(LossFamily):
    """A loss l(x, data) of a decision x and one round's data."""

    @abstractmethod
    def value(self, x: ArrayLike, data: Any) -> Any:
        """The loss: a float for one round, an array for several rounds."""

    @abstractmethod
    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
        """The gradient in x: one vector for one round, one row for each of several rounds."""


class RowLoss(Loss):
    """A loss whose round is a row of numbers, checked and clipped by `pack`.

    `x` may be one point, or one point for each round. Subclasses give `pack`, `values` and `gradients`.
    """

    @property
    def asks(self) -> bool:
        """Whether functions of the user's are asked about points."""
        return False

    @abstractmethod
    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows of checked and clipped data, of shape (rounds, width); bad data raise."""

    @abstractmethod
    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The loss of each packed row."""

    @abstractmethod
    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The gradient of each packed row."""

    def neutral(self, dimension: int) -> FloatArray:
        """One packed row of public data that stands for a round without any: all zeros."""
        return self.pack(np.zeros(dimension), dimension, many=False)

    def value(self, x: ArrayLike, data: Any) -> Any:
        """The loss of one round as a float, or of several rounds as an array."""
        point, rows, many = self._packed(x, data)
        values = self.values(point, rows)
        return values if many else float(values[0])

    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
        """The gradient of one round, or one row for each of several rounds."""
        point, rows, many = self._packed(x, data)
        gradients = self.gradients(point, rows)
        return gradients if many else gradients[0]

    def _packed(self, x: ArrayLike, data: Any) -> tuple[FloatArray, FloatArray, bool]:
        owner = type(self).__name__
        point = real_array(owner, "x", x, None)
        if point.ndim not in (1, 2) or not point.shape[-1] or not np.abs(point).max(initial=0.0) <= LARGEST:
            raise InvalidInput(
                f"The 'x' of {owner} must be a point, or one for each round, with coordinates of at most {LARGEST:g}. "
                f"Got {'an array of shape ' + str(point.shape) if point.size != 1 else point.tolist()} instead."
            )
        many = self._holds_many(data)
        rows = self.pack(data, point.shape[-1], many=many)
        if point.ndim == 2 and not (many and len(point) == len(rows)):
            raise InvalidInput(f"The 'x' of {owner} has {len(point)} points for {len(rows)} rounds: give one for each.")
        return point, rows, many

    def _holds_many(self, data: Any) -> bool:
        return depth(data) == 2


def asks_user(loss: object) -> bool:
    """Whether functions of the user's see the points at which this loss is taken."""
    return not isinstance(loss, RowLoss) or loss.asks


def finite_rows(owner: str, name: str, values: ArrayLike, width: int, *, many: bool) -> FloatArray:
    """A (rounds, width) array of finite numbers; one round may be given as a vector."""
    array = real_array(owner, name, values, (None, width) if many else (width,))
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(array, axis=None)
    if not np.isfinite(total):  # one sum decides, unless it overflows
        bad = np.argwhere(~np.isfinite(array))
        if bad.size:
            where = f"; those of round {bad[0][0]} are not" if many else ""
            raise InvalidInput(f"The '{name}' of {owner} must be finite numbers{where}.")
    return array if many else array[None, :]


def depth(data: Any) -> int:
    """The number of axes of array data; 0 for what is no array, which `pack` then refuses in a sentence."""
    try:
        return np.ndim(data)
    except ValueError:
        return 0


def row_norms(rows: FloatArray) -> FloatArray:
    """The l2 norm of each row, the same bits however many rows there are."""
    # Scaled by the largest entry, so that no square overflows; a norm may, and is infinite then. No warnings: whoever
    # turned them into errors would see them raised by some rows and not by others.
    with np.errstate(all="ignore"):
        size = np.maximum.reduce(np.abs(rows), axis=1, initial=1e-150)
        # In the order of rows: where columns lie one after the other in memory, they are not added up in pairs.
        squares = np.ascontiguousarray((rows / size[:, None]) ** 2)
        return np.asarray(np.sqrt(np.add.reduce(squares, axis=1)) * size)


@np.errstate(all="ignore")  # whether something underflows depends on the data
def clip_rows(rows: FloatArray, norm: float) -> FloatArray:
    """Rows scaled down to at most this norm; shorter rows are unchanged."""
    norms = row_norms(rows)
    if not np.any(norms > norm):
        return rows
    factors = np.minimum(1.0, norm * (1 - 1e-15) / np.maximum(norms, norm * 1e-300))
    return np.asarray(rows * np.where(norms > norm, factors, 1.0)[:, None])


def largest_norm(domain: ConvexSet | None) -> float:
    """A bound on |x| over the domain (infinite without one)."""
    return float("inf") if domain is None else float(np.linalg.norm(domain.centre)) + domain.radius
