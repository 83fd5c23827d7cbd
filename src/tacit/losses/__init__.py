"""Convex losses with public constants, and families of losses known by their constants alone."""

from tacit.losses.base import CONSTRUCTED, Constants, ConvexFamily, Loss, LossFamily, RowLoss
from tacit.losses.custom import CustomLoss
from tacit.losses.kinks import AbsoluteLoss, HingeLoss, QuantileLoss
from tacit.losses.linear_models import (
    HuberLoss,
    LinearLoss,
    LinkLoss,
    LogisticLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from tacit.losses.quadratic import QuadraticLoss
from tacit.losses.regularised import RegularisedLoss

__all__ = [
    "CONSTRUCTED",
    "AbsoluteLoss",
    "Constants",
    "ConvexFamily",
    "CustomLoss",
    "HingeLoss",
    "HuberLoss",
    "LinearLoss",
    "LinkLoss",
    "LogisticLoss",
    "Loss",
    "LossFamily",
    "QuadraticLoss",
    "QuantileLoss",
    "RegularisedLoss",
    "RowLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
]
