"""Which losses may be perturbed over the whole space: one link a record, bounded slope and curvature everywhere."""

from __future__ import annotations

import numpy as np

from tacit.errors import PrivacyError
from tacit.losses.base import LossFamily
from tacit.losses.bent import QuadraticFormLoss
from tacit.losses.linear_models import LogisticLoss, SmoothedHingeLoss
from tacit.losses.trust import refuse_unchecked


def check_loss(loss: LossFamily) -> None:
    """Refuse losses without a bounded slope and curvature on the whole space, or with several links a record."""
    constants = loss.constants(None)
    if isinstance(loss, QuadraticFormLoss):
        raise PrivacyError(
            "ObjectivePerturbation minimises over the whole space, without a domain, and there the slope of a "
            "QuadraticFormLoss has no bound: use OnlineToBatch or AveragedFTRL on a bounded domain."
        )
    if loss.family != "glm" or not np.isfinite([constants.lipschitz, constants.smoothness]).all():
        raise PrivacyError(
            "ObjectivePerturbation needs a generalised linear loss of bounded slope and curvature by construction "
            f"(LogisticLoss, SmoothedHingeLoss, HuberLoss, TabulatedLoss). Got {loss!r} instead."
        )
    if loss.terms > 1:
        raise PrivacyError(
            f"ObjectivePerturbation is proved for one link a record, not for {loss.terms}: use OnlineToBatch or "
            "AveragedFTRL."
        )
    refuse_unchecked(loss, "ObjectivePerturbation")


def one_sided(loss: object) -> bool:
    """Whether the label fixes the sign of the slope."""
    return isinstance(loss, LogisticLoss | SmoothedHingeLoss)
