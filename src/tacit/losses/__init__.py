"""Convex losses with public constants, and families of losses known by their constants alone."""

from tacit.losses.base import CONSTRUCTED, Constants, ConvexFamily, Loss, LossFamily, RowLoss
from tacit.losses.bent import BentLoss, DeclaredLoss, QuadraticFormLoss
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
from tacit.losses.several import SeveralLinks
from tacit.losses.tabulated import TabulatedLoss

__all__ = [
    "CONSTRUCTED",
    "AbsoluteLoss",
    "BentLoss",
    "Constants",
    "ConvexFamily",
    "CustomLoss",
    "DeclaredLoss",
    "HingeLoss",
    "HuberLoss",
    "LinearLoss",
    "LinkLoss",
    "LogisticLoss",
    "Loss",
    "LossFamily",
    "QuadraticFormLoss",
    "QuadraticLoss",
    "QuantileLoss",
    "RegularisedLoss",
    "RowLoss",
    "SeveralLinks",
    "SmoothedHingeLoss",
    "SquaredLoss",
    "TabulatedLoss",
]
