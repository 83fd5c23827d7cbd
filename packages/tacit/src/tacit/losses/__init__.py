"""Convex losses with public constants, and families of losses known by their constants alone."""

from tacit.losses.custom import CustomLoss, RegularisedLoss
from tacit.losses.kinks import AbsoluteLoss, HingeLoss, QuantileLoss
from tacit.losses.loss import (
    ConvexFamily,
    HuberLoss,
    LinearLoss,
    LinkLoss,
    LogisticLoss,
    QuadraticLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)

__all__ = [
    "AbsoluteLoss",
    "ConvexFamily",
    "CustomLoss",
    "HingeLoss",
    "HuberLoss",
    "LinearLoss",
    "LinkLoss",
    "LogisticLoss",
    "QuadraticLoss",
    "QuantileLoss",
    "RegularisedLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
]
