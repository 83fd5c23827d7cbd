"""Convex losses: public constants on a domain, values and gradients; linear and generalised linear losses.

A method that clips gradients may be given any loss. Methods that minimise or sample need losses whose
convexity, Lipschitz and smoothness constants hold by construction: those have the family "linear", "glm"
(one feature vector and a fixed link) or "general"; a loss made of callables has the family "custom".

The data of a `RowLoss` are rows of numbers, which are checked and clipped once. Those of a generalised linear loss
f(<v, x>, y) are one feature vector v and one label y; f is a fixed convex link. Feature vectors are clipped to a public
norm B and labels to a public range, so the constants hold for every data set: |gradient| <= B sup|f'| and
curvature <= B^2 sup f'', the suprema over |<v, x>| <= B max|x|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from sys import float_info
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from tacit import kernels
from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput, PrivacyError
from tacit.packages import OWN_PACKAGES
from tacit.validation import (
    LARGEST,
    FloatArray,
    check_choice,
    check_level,
    check_number,
    check_positive,
    real_array,
    without_caches,
)

CONSTRUCTED = ("linear", "glm", "general")
"""Families whose convexity and constants hold by construction."""


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
        """Give the constants on a domain (None: on the whole space, where constants may be infinite)."""

    def height(self, domain: ConvexSet) -> float:
        """Bound how far a loss on the domain lies above the loss's smallest value anywhere (infinite: unknown)."""
        return float("inf")


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
        return Constants(self.lipschitz, self.smoothness, self.strong_convexity)


class Loss(LossFamily):
    """A loss l(x, data) of a decision x and one round's data."""

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @abstractmethod
    def value(self, x: ArrayLike, data: Any) -> Any:
        """Compute the loss: a float for one round, an array for several rounds."""

    @abstractmethod
    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
        """Compute the gradient in x: one vector for one round, one row for each of several rounds."""


class RowLoss(Loss):
    """A loss whose round is a row of numbers, checked and clipped by `pack`.

    `x` may be one point, or one point for each round. Subclasses give `pack`, `values` and `gradients`.
    """

    @abstractmethod
    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Check and clip data into rows of shape (rounds, width); bad data raise."""

    @abstractmethod
    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the loss of each packed row."""

    @abstractmethod
    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """Compute the gradient of each packed row."""

    def neutral(self, dimension: int) -> FloatArray:
        """Give the packed row that stands for a round without data: all zeros, which are public."""
        return self.pack(np.zeros(dimension), dimension, many=False)

    def value(self, x: ArrayLike, data: Any) -> Any:
        point, rows, many = self._packed(x, data)
        values = self.values(point, rows)
        return values if many else float(values[0])

    def gradient(self, x: ArrayLike, data: Any) -> FloatArray:
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


def refuse_unchecked(loss: LossFamily, algorithm: str) -> None:
    """Refuse a loss that is not tacit's own, or is made of one that is not: nobody checked what it declares."""
    for part in vars(loss).values():
        if isinstance(part, LossFamily):
            refuse_unchecked(part, algorithm)
    if type(loss).__module__.partition(".")[0] not in OWN_PACKAGES:
        raise PrivacyError(
            f"{algorithm} promises nothing unless its losses are convex with the constants that they declare, and "
            f"nobody checked those of {loss!r}: use PrivateFTRL, which clips gradients."
        )


def playable(loss: LossFamily, algorithm: str) -> Loss:
    """The loss itself; constants alone are enough to plan but not to play."""
    if not isinstance(loss, Loss):
        raise InvalidInput(
            f"{algorithm} cannot start from {loss!r}: it has constants only. "
            "Give the problem a loss, for example tacit.losses.LogisticLoss()."
        )
    return loss


def finite_rows(owner: str, name: str, values: ArrayLike, width: int, *, many: bool) -> FloatArray:
    """A (rounds, width) array of finite numbers; one round may be given as a vector."""
    if not many and type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (width,):
        array = values.copy()  # what `real_array` does, without the call: this is the hot path
    else:
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
    """Rows scaled down to at most this norm; shorter rows are unchanged, and 0 is made of the longest floats."""
    norms = row_norms(rows)
    if not np.any(norms > norm):
        return rows
    return np.asarray(rows * clip_factors(norms, norm)[:, None])


def clip_factors(norms: FloatArray, norm: float) -> FloatArray:
    """The factors by which rows of these norms are scaled down to at most `norm`.

    Below the smallest normal float a factor has few digits left, or one, and the product might be too long: it is 0.
    """
    factors = norm * (1 - 1e-15) / np.maximum(norms, norm)
    return np.where(norms > norm, np.where(factors < float_info.min, 0.0, factors), 1.0)


def largest_norm(domain: ConvexSet | None) -> float:
    """A bound on |x| over the domain (infinite without one)."""
    return float("inf") if domain is None else float(np.linalg.norm(domain.centre)) + domain.radius


@dataclass(frozen=True)
class LinearLoss(RowLoss):
    """<g, x>: a round's data is the gradient g itself, clipped to the norm `lipschitz`.

    >>> round(LinearLoss(lipschitz=1.0).value([0.5, 0.0], [3.0, 4.0]), 9)
    0.3
    """

    lipschitz: float = 1.0
    family: ClassVar[str] = "linear"
    bend: ClassVar[float | None] = 0.0

    def __post_init__(self) -> None:
        check_positive("LinearLoss", "lipschitz", self.lipschitz)

    def constants(self, domain: ConvexSet | None) -> Constants:
        return Constants(self.lipschitz, 0.0)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        return clip_rows(finite_rows("LinearLoss", "gradients", data, dimension, many=many), self.lipschitz)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduce(rows * x, axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return rows


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
        return Constants(self.strength * (largest_norm(domain) + self.data_norm), self.strength, self.strength)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        return clip_rows(finite_rows("QuadraticLoss", "targets", data, dimension, many=many), self.data_norm)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return np.asarray(self.strength / 2 * np.add.reduce((x - rows) ** 2, axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return np.asarray(self.strength * (x - rows))


@dataclass(frozen=True)
class LinkLoss(RowLoss):
    """A generalised linear loss: data are pairs (features, label), or arrays of both.

    For a link of your own give `link`, `slope`, `curvature`, `link_constants` and a `label_range`. Methods that clip
    gradients take it as it is, a slope that is no finite number as 0; those that minimise or sample refuse it, since
    nobody checked it.

    Attributes:
        data_norm: public bound on the norm of a feature vector; longer ones are scaled down.
    """

    data_norm: float = 1.0
    family: ClassVar[str] = "glm"
    label_range: ClassVar[tuple[float, float]]
    never_negative: ClassVar[bool] = False
    """Whether f is never negative, and convex in the label as well."""

    def __post_init__(self) -> None:
        check_positive(type(self).__name__, "data_norm", self.data_norm)

    @abstractmethod
    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """Compute f(s, y)."""

    @abstractmethod
    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """Compute f'(s, y)."""

    @abstractmethod
    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """Compute f''(s, y)."""

    @abstractmethod
    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """Compute (sup|f'|, sup f'') over margins up to `largest_margin` and all labels."""

    def clip_labels(self, labels: FloatArray) -> FloatArray:
        """Clip labels to the public range."""
        low, high = self.label_range
        return np.minimum(np.maximum(labels, low), high)

    def constants(self, domain: ConvexSet | None) -> Constants:
        slope, curvature = self.link_constants(self.data_norm * largest_norm(domain))
        return Constants(self.data_norm * slope, self.data_norm**2 * curvature)

    def height(self, domain: ConvexSet) -> float:
        """Compute the largest value at the ends of margins and labels, if values are never negative."""
        if not self.never_negative:
            return super().height(domain)
        margin = self.data_norm * largest_norm(domain)
        margins, labels = np.meshgrid([-margin, margin], self.clip_labels(np.array([-1e300, 1e300])))
        return float(self.link(margins, labels).max()) * (1 + 1e-12)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Clip features and labels into rows (features, label)."""
        owner = type(self).__name__
        if not isinstance(data, tuple | list) or len(data) != 2:
            got = f"an array of shape {np.shape(data)}" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
            raise InvalidInput(f"The data of {owner} must be a pair (features, label). Got {got} instead.")
        rows = None if many else self._packed_in_c(data[0], data[1], dimension)
        if rows is not None:
            return rows
        features = finite_rows(owner, "features", data[0], dimension, many=many)
        labels = finite_rows(owner, "labels", np.reshape(data[1], (-1, 1) if many else -1), 1, many=many)[:, 0]
        if len(labels) != len(features):
            raise InvalidInput(
                f"The data of {owner} must have a label for each row of features. Got {len(labels)} for "
                f"{len(features)} instead."
            )
        rows = np.empty((len(features), dimension + 1))
        rows[:, :-1] = clip_rows(features, self.data_norm)
        rows[:, -1] = self.clip_labels(labels)
        return rows

    def _packed_in_c(self, features: Any, label: Any, dimension: int) -> FloatArray | None:
        """Pack one round as numpy does below, bit for bit, or give None: numpy does it, or says what is wrong."""
        plain = type(features) is np.ndarray and features.shape == (dimension,) and type(label) is float
        if kernels.compiled is None or not (plain and isfinite(label)):
            return None
        rows = np.empty((1, dimension + 1))
        if kernels.compiled.clip_vector(features, self.data_norm, rows) != dimension:
            return None
        rows[:, -1] = label
        rows[:, -1] = self.clip_labels(rows[:, -1])
        return rows

    def neutral(self, dimension: int) -> FloatArray:
        """Give a row without features: the same loss everywhere."""
        return self.pack((np.zeros(dimension), 0.0), dimension, many=False)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        return self.link(np.add.reduce(rows[:, :-1] * x, axis=1), rows[:, -1])

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        features = rows[:, :-1]
        return np.asarray(self.slope(np.add.reduce(features * x, axis=1), rows[:, -1])[:, None] * features)

    def _holds_many(self, data: Any) -> bool:
        return isinstance(data, tuple | list) and len(data) == 2 and depth(data[0]) == 2


class NumberLoss(LinkLoss):
    """A loss whose labels are numbers, pulled into [-label_bound, label_bound]."""

    label_bound: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(type(self).__name__, "label_bound", self.label_bound)

    def clip_labels(self, labels: FloatArray) -> FloatArray:
        return np.clip(labels, -self.label_bound, self.label_bound)


@dataclass(frozen=True)
class SquaredLoss(NumberLoss):
    """(<v, x> - y)^2/2 with labels clipped to [-label_bound, label_bound].

    >>> from tacit.domains import Ball
    >>> SquaredLoss().constants(Ball(2))
    Constants(lipschitz=2.0, smoothness=1.0, strong_convexity=0.0)
    """

    label_bound: float = 1.0
    never_negative: ClassVar[bool] = True
    bend: ClassVar[float | None] = 0.0

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray((margins - labels) ** 2 / 2)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return margins - labels

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.ones_like(margins)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return largest_margin + self.label_bound, 1.0


@dataclass(frozen=True)
class HuberLoss(SquaredLoss):
    """The squared loss up to residuals of `transition`, linear beyond.

    >>> HuberLoss(transition=0.5).value([0.0], ([1.0], 1.0))
    0.375
    """

    transition: float = 1.0
    bend: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("HuberLoss", "transition", self.transition)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """Compute r^2/2 up to the transition h, h(|r| - h/2) beyond, r = s - y."""
        size = np.abs(margins - labels)
        inner = np.minimum(size, self.transition)
        return np.asarray(inner * (size - inner / 2))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.clip(margins - labels, -self.transition, self.transition)

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.abs(margins - labels) <= self.transition, dtype=np.float64)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return min(self.transition, largest_margin + self.label_bound), 1.0


@dataclass(frozen=True)
class LogisticLoss(LinkLoss):
    """ln(1 + exp(-y <v, x>)) with labels -1 and 1 (numbers between them interpolate).

    >>> round(LogisticLoss().value([0.0, 0.0], ([0.6, 0.8], 1.0)), 4)
    0.6931
    """

    bend: ClassVar[float | None] = 1.0
    never_negative: ClassVar[bool] = True
    label_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, -labels * margins)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(-labels * expit(-labels * margins))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        probability = expit(-labels * margins)
        return np.asarray(labels**2 * probability * (1 - probability))

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """Bound the slope at the most wrong margin, the curvature at 0."""
        return float(expit(min(largest_margin, 700.0))), 0.25


@dataclass(frozen=True)
class SmoothedHingeLoss(LinkLoss):
    """The hinge (1 - y <v, x>)_+ with its kink rounded off over a width `smoothing`.

    >>> SmoothedHingeLoss(smoothing=0.5).value([0.0], ([1.0], 1.0))
    0.75
    """

    smoothing: float = 1.0
    never_negative: ClassVar[bool] = True
    label_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("SmoothedHingeLoss", "smoothing", self.smoothing)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """Compute z^2/(2 w) for z = 1 - y s in [0, w], z - w/2 beyond, 0 before."""
        inner = np.clip(1 - labels * margins, 0.0, self.smoothing)
        return np.asarray(inner**2 / (2 * self.smoothing) + np.maximum(1 - labels * margins - self.smoothing, 0.0))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(-labels * np.clip((1 - labels * margins) / self.smoothing, 0.0, 1.0))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        gap = 1 - labels * margins
        return np.asarray(labels**2 / self.smoothing * ((gap >= 0) & (gap <= self.smoothing)))

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """Bound the slope by the hinge's, reached if margins go far enough."""
        return min(1.0, (1 + largest_margin) / self.smoothing), 1 / self.smoothing
