"""Private linear models in the manner of scikit-learn (extra: tacit[sklearn])."""

from tacit.validation import require

require("sklearn", "sklearn")

from tacit_models.budget import UsefulnessWarning  # noqa: E402
from tacit_models.classifier import PrivateLinearSVC, PrivateLogisticRegression  # noqa: E402
from tacit_models.grid_search import PrivateGridSearch  # noqa: E402
from tacit_models.ledger import LEDGER, Ledger, PrivacyWarning  # noqa: E402
from tacit_models.pipeline import PrivatePipeline, private_pipeline  # noqa: E402
from tacit_models.published import ModelCard  # noqa: E402
from tacit_models.ridge import PrivateRidge  # noqa: E402
from tacit_models.statistics import (  # noqa: E402
    PrivateCovariance,
    PrivateHistogram,
    PrivateMean,
    PrivateQuantile,
    PrivateScore,
    PrivateStandardScaler,
)
from tacit_models.table import Bounds, Categories, Hashed, PublicTable  # noqa: E402

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
