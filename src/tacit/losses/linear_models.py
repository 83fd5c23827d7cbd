"""Generalised linear losses f(<v, x>, y): one feature vector v, one label y, a fixed convex link f.

Feature vectors are clipped to a public norm B and labels to a public range, so the constants hold for
every data set: |gradient| <= B sup|f'| and curvature <= B^2 sup f'', the suprema over |<v, x>| <= B max|x|.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from tacit.errors import InvalidInput
from tacit.geometry.base import ConvexSet
from tacit.losses.base import Constants, RowLoss, clip_rows, depth, finite_rows, largest_norm
from tacit.validation import FloatArray, check_positive


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
        """The clipping norm; no curvature."""
        return Constants(self.lipschitz, 0.0)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Gradients, clipped."""
        return clip_rows(finite_rows("LinearLoss", "gradients", data, dimension, many=many), self.lipschitz)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """<g, x> for each row."""
        return np.asarray(np.add.reduce(rows * x, axis=1))

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """The rows themselves."""
        return rows


@dataclass(frozen=True)
class LinkLoss(RowLoss):
    """A generalised linear loss: data are pairs (features, label), or arrays of both.

    For a link of your own give `link`, `slope`, `curvature`, `link_constants` and a `label_range`. Methods that clip
    gradients take it as it is; for those that minimise or sample make a `TabulatedLoss` of it, which is checked.

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
        """f(s, y)."""

    @abstractmethod
    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """f'(s, y)."""

    @abstractmethod
    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """f''(s, y)."""

    @abstractmethod
    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """(sup|f'|, sup f'') over margins up to `largest_margin` and all labels."""

    @property
    def slope_rounding(self) -> float:
        """By how much a computed slope may be off beyond 8 units in its own last place."""
        return 0.0

    def gradient_rounding(self, dimension: int) -> float:
        """That of the slope, times the features."""
        return self.data_norm * self.slope_rounding

    def clip_labels(self, labels: FloatArray) -> FloatArray:
        """Labels pulled into their public range."""
        return np.clip(labels, *self.label_range)

    def constants(self, domain: ConvexSet | None) -> Constants:
        """B sup|f'| and B^2 sup f''."""
        slope, curvature = self.link_constants(self.data_norm * largest_norm(domain))
        return Constants(self.data_norm * slope, self.data_norm**2 * curvature)

    def height(self, domain: ConvexSet) -> float:
        """The largest value at the ends of margins and labels, if values are never negative."""
        if not self.never_negative:
            return super().height(domain)
        margin = self.data_norm * largest_norm(domain)
        margins, labels = np.meshgrid([-margin, margin], self.clip_labels(np.array([-1e300, 1e300])))
        return float(self.link(margins, labels).max()) * (1 + 1e-12)

    def pack(self, data: Any, dimension: int, *, many: bool) -> FloatArray:
        """Rows (features, label), both clipped."""
        owner = type(self).__name__
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise InvalidInput(f"The data of {owner} must be a pair (features, label). Got {_short(data)} instead.")
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

    def neutral(self, dimension: int) -> FloatArray:
        """No features: the same loss everywhere."""
        return self.pack((np.zeros(dimension), 0.0), dimension, many=False)

    def values(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """f(<v, x>, y) for each row."""
        return self.link(np.add.reduce(rows[:, :-1] * x, axis=1), rows[:, -1])

    def gradients(self, x: FloatArray, rows: FloatArray) -> FloatArray:
        """f'(<v, x>, y) v for each row."""
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
        """Labels pulled into [-label_bound, label_bound]."""
        return np.clip(labels, -self.label_bound, self.label_bound)


@dataclass(frozen=True)
class SquaredLoss(NumberLoss):
    """(<v, x> - y)^2/2 with labels clipped to [-label_bound, label_bound].

    >>> from tacit.geometry import Ball
    >>> SquaredLoss().constants(Ball(2))
    Constants(lipschitz=2.0, smoothness=1.0, strong_convexity=0.0)
    """

    label_bound: float = 1.0
    never_negative: ClassVar[bool] = True
    bend: ClassVar[float | None] = 0.0

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """(s - y)^2/2."""
        return np.asarray((margins - labels) ** 2 / 2)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """The residual s - y."""
        return margins - labels

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """1."""
        return np.ones_like(margins)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """The residual is at most the largest margin plus the largest label."""
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
        """r^2/2 up to the transition h, h(|r| - h/2) beyond, r = s - y."""
        size = np.abs(margins - labels)
        inner = np.minimum(size, self.transition)
        return np.asarray(inner * (size - inner / 2))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """The residual, clipped at the transition."""
        return np.clip(margins - labels, -self.transition, self.transition)

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """1 inside the transition, 0 outside."""
        return np.asarray(np.abs(margins - labels) <= self.transition, dtype=np.float64)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """The slope never exceeds the transition."""
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
        """ln(1 + e^{-y s})."""
        return np.logaddexp(0.0, -labels * margins)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """-y/(1 + e^{y s})."""
        return np.asarray(-labels * expit(-labels * margins))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """y^2 p (1 - p)."""
        probability = expit(-labels * margins)
        return np.asarray(labels**2 * probability * (1 - probability))

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """The slope is largest at the most wrong margin, the curvature at 0."""
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
        """z^2/(2 w) for z = 1 - y s in [0, w], z - w/2 beyond, 0 before."""
        inner = np.clip(1 - labels * margins, 0.0, self.smoothing)
        return np.asarray(inner**2 / (2 * self.smoothing) + np.maximum(1 - labels * margins - self.smoothing, 0.0))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """-y min(1, z_+/w)."""
        return np.asarray(-labels * np.clip((1 - labels * margins) / self.smoothing, 0.0, 1.0))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """y^2/w inside the rounded part."""
        gap = 1 - labels * margins
        return np.asarray(labels**2 / self.smoothing * ((gap >= 0) & (gap <= self.smoothing)))

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        """The hinge's slope, reached if margins go far enough."""
        return min(1.0, (1 + largest_margin) / self.smoothing), 1 / self.smoothing


def _short(data: Any) -> str:
    return f"an array of shape {np.shape(data)}" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
