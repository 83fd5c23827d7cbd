"""Private models in the manner of scikit-learn, private statistics, and training with PyTorch."""

from tacit_models.budget import UsefulnessWarning
from tacit_models.classifier import PrivateLinearSVC, PrivateLogisticRegression
from tacit_models.grid_search import PrivateGridSearch
from tacit_models.ledger import LEDGER, Ledger, PrivacyWarning
from tacit_models.pipeline import PrivatePipeline, private_pipeline
from tacit_models.published import ModelCard
from tacit_models.ridge import PrivateRidge
from tacit_models.statistics import (
    PrivateCovariance,
    PrivateHistogram,
    PrivateMean,
    PrivateQuantile,
    PrivateScore,
    PrivateStandardScaler,
)
from tacit_models.table import Bounds, Categories, Hashed, PublicTable

__all__ = [
    "LEDGER",
    "Bounds",
    "Categories",
    "Hashed",
    "Ledger",
    "ModelCard",
    "PrivacyWarning",
    "PrivateCovariance",
    "PrivateGridSearch",
    "PrivateHistogram",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMean",
    "PrivatePipeline",
    "PrivateQuantile",
    "PrivateRidge",
    "PrivateScore",
    "PrivateStandardScaler",
    "PublicTable",
    "UsefulnessWarning",
    "private_pipeline",
]
