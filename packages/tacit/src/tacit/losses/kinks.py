"""Generalised linear losses with a kink: hinge, absolute and quantile loss.

Convex and Lipschitz, not smooth: at the kink one subgradient is taken. Private FTRL and L2P take them as they are.
CTRL and objective perturbation need curvature and refuse them: rounding the kink off over a width w
(`SmoothedHingeLoss`) costs w/2 a round and loses more than it gains there.

`RoundedKink` is what `L2PConvex` draws by in two and more dimensions, where a sampler needs curvature. With slopes
a < b beside the kink k, its slope is (s - k)/w cut to [a, b]. That is the Moreau envelope of f, min over u of
f(u) + (s - u)^2/(2w): convex, no steeper than f, of curvature 1/w, never above f, at most w max(a^2, b^2)/2 below it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.losses.loss import LinkLoss, NumberLoss
from tacit.validation import FloatArray, check_number, check_positive, invalid


@dataclass(frozen=True)
class KinkedLoss(LinkLoss):
    """A link of straight pieces: no curvature beside the kink, an infinite one at it."""

    never_negative: ClassVar[bool] = True

    @abstractmethod
    def pieces(self, labels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Give the slopes left and right of the kink, and the kink's place."""

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.zeros_like(margins)


@dataclass(frozen=True)
class HingeLoss(KinkedLoss):
    """(1 - y <v, x>)_+ with labels -1 and 1 (numbers between them interpolate).

    >>> HingeLoss().value([0.5, 0.0], ([1.0, 0.0], 1.0))
    0.5
    """

    label_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(1 - labels * margins, 0.0))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.where(labels * margins < 1, -labels, 0.0)

    def pieces(self, labels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            return np.minimum(-labels, 0.0), np.maximum(-labels, 0.0), np.asarray(1 / labels)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return 1.0, float("inf")


@dataclass(frozen=True)
class QuantileLoss(NumberLoss, KinkedLoss):
    """The pinball loss of a quantile: level (y - <v, x>)_+ + (1 - level) (<v, x> - y)_+, labels clipped.

    Its minimiser is the `level`-quantile of the label given the features.

    Attributes:
        data_norm: public bound on the norm of a feature vector; longer ones are scaled down.
        level: which quantile.
        label_bound: labels are pulled into [-label_bound, label_bound].

    >>> QuantileLoss(level=0.9).value([0.0], ([1.0], 0.5))
    0.45
    """

    level: float = 0.5
    label_bound: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(type(self).__name__, "level", self.level, above=0.0, below=1.0)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        residuals = labels - margins
        return np.asarray(np.maximum(self.level * residuals, (self.level - 1) * residuals))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        below, above = margins < labels, margins > labels
        return np.asarray(np.where(below, -self.level, 0.0) + np.where(above, 1 - self.level, 0.0))

    def pieces(self, labels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.full_like(labels, -self.level), np.full_like(labels, 1 - self.level), labels

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return max(self.level, 1 - self.level), float("inf")


@dataclass(frozen=True)
class AbsoluteLoss(NumberLoss, KinkedLoss):
    """|<v, x> - y| with labels clipped to [-label_bound, label_bound]; its minimiser is the median.

    >>> AbsoluteLoss().value([0.25], ([1.0], 1.0))
    0.75
    """

    label_bound: float = 1.0

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.abs(margins - labels)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.sign(margins - labels)

    def pieces(self, labels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.full_like(labels, -1.0), np.ones_like(labels), labels

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return 1.0, float("inf")


@dataclass(frozen=True)
class RoundedKink(LinkLoss):
    """A loss with its kink rounded off over a width: smooth, and at most `price` below it.

    Attributes:
        data_norm: that of the kinked loss.
        kinked: the loss with a kink.
        width: w, on the scale of margins.

    >>> loss = RoundedKink(1.0, AbsoluteLoss(), width=0.5)
    >>> loss.value([0.25], ([1.0], 0.0)), loss.value([1.0], ([1.0], 0.0)), loss.price
    (0.0625, 0.75, 0.25)
    """

    kinked: KinkedLoss = HingeLoss()
    width: float = 1.0
    never_negative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kinked, KinkedLoss):
            raise invalid("RoundedKink", "kinked", "a loss with a kink, such as HingeLoss()", self.kinked)
        check_positive("RoundedKink", "width", self.width)

    @property
    def price(self) -> float:
        """The most by which the kinked loss exceeds this one."""
        return self.width * self.kinked.link_constants(0.0)[0] ** 2 / 2

    def clip_labels(self, labels: FloatArray) -> FloatArray:
        return self.kinked.clip_labels(labels)

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """f(s - w g) + w g^2/2, g the slope here."""
        slope = self.slope(margins, labels)
        return np.asarray(self.kinked.link(margins - self.width * slope, labels) + self.width * slope**2 / 2)

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """(s - k)/w, cut to the slopes of both sides."""
        left, right, kink = self.kinked.pieces(labels)
        return np.asarray(np.minimum(np.maximum((margins - kink) / self.width, left), right))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        left, right, kink = self.kinked.pieces(labels)
        rising = (margins - kink) / self.width
        return np.where((rising > left) & (rising < right), 1 / self.width, 0.0)

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return self.kinked.link_constants(largest_margin)[0], 1 / self.width
