"""Generalised linear losses with a kink: hinge, absolute and quantile loss.

Convex and Lipschitz, not smooth: at the kink one subgradient is taken. Private FTRL and L2P take them as they are.
CTRL and objective perturbation need curvature and refuse them: rounding the kink off over a width w
(`SmoothedHingeLoss`) costs w/2 a round and loses more than it gains there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.losses.loss import LinkLoss, NumberLoss
from tacit.validation import FloatArray, check_number


@dataclass(frozen=True)
class KinkedLoss(LinkLoss):
    """A link of straight pieces: no curvature beside the kink, an infinite one at it."""

    never_negative: ClassVar[bool] = True

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

    def link_constants(self, largest_margin: float) -> tuple[float, float]:
        return 1.0, float("inf")
