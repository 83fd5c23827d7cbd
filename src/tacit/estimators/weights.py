"""Weights of records: public for classes, bounded by a public number for records.

A weight w in [0, w_max] multiplies a record's loss. Weights are divided by w_max, so that they lie in [0, 1], where the
losses keep their constants: |f'| <= G and f'' <= beta for every weight, and the label still fixes the sign of the
slope. Where slope and curvature are linked (the logistic loss) a weight is covered as a shorter row is: with b = w a
the curvature 4 b (1 - a) c is largest at a = b, that is at w = 1. So weights cost no privacy; what is small is the
signal of the records that weigh little.

Losses of two classes take the weight as the size of the label: y in [-1, 1] is the class sign(y) with weight |y|.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from tacit.errors import InvalidInput
from tacit.estimators.ledger import PrivacyWarning
from tacit.losses.linear_models import LogisticLoss, SmoothedHingeLoss
from tacit.validation import FloatArray, check_number, check_positive, invalid


@dataclass(frozen=True)
class WeightedLogisticLoss(LogisticLoss):
    """|y| ln(1 + exp(-sign(y) <v, x>)): the label's sign is the class, its size the weight.

    >>> round(WeightedLogisticLoss().value([0.0, 0.0], ([0.6, 0.8], -0.5)), 4)
    0.3466
    """

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """|y| ln(1 + e^{-sign(y) s})."""
        return np.asarray(np.abs(labels) * np.logaddexp(0.0, -np.sign(labels) * margins))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """-y/(1 + e^{sign(y) s})."""
        return np.asarray(-labels * expit(-np.sign(labels) * margins))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """|y| p (1 - p)."""
        probability = expit(-np.sign(labels) * margins)
        return np.asarray(np.abs(labels) * probability * (1 - probability))


@dataclass(frozen=True)
class WeightedHingeLoss(SmoothedHingeLoss):
    """|y| times the smoothed hinge of sign(y) <v, x>: the label's sign is the class, its size the weight.

    >>> WeightedHingeLoss(smoothing=0.5).value([0.0], ([1.0], -0.5))
    0.375
    """

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """|y| times the hinge with its kink rounded off."""
        return np.asarray(np.abs(labels) * super().link(margins, np.sign(labels)))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """|y| times the slope."""
        return np.asarray(np.abs(labels) * super().slope(margins, np.sign(labels)))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        """|y| times the curvature."""
        return np.asarray(np.abs(labels) * super().curvature(margins, np.sign(labels)))


def relative_weights(owner: str, given: Any, bound: float | None, records: int) -> FloatArray:
    """Weights over their public bound, clipped to [0, 1]; ones if there are none.

    Args:
        owner: whose weights they are.
        given: one number for each record, one for all, or None.
        bound: the public w_max (None: the largest weight, with a warning).
        records: how many there are.
    """
    if given is None:
        return np.ones(records)
    try:
        weights = np.asarray(given, dtype=np.float64)
        weights = np.full(records, float(weights)) if weights.ndim == 0 else weights
        fine = weights.shape == (records,) and bool(np.isfinite(weights).all())
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise InvalidInput(f"The sample_weight of {owner} must be one finite number for each of the {records} rows.")
    if bound is None:
        warnings.warn(
            "weight_bound was read off the data, which the guarantee does not cover: declare it.",
            PrivacyWarning,
            stacklevel=4,
        )
        bound = max(float(np.max(weights, initial=0.0)), 1e-300)
    return clipped_weights(weights, bound)


@np.errstate(all="ignore")  # whether something underflows depends on the data
def clipped_weights(weights: FloatArray, bound: float) -> FloatArray:
    """Weights clipped to [0, bound], over the bound: no record counts for more than 1."""
    return np.asarray(np.clip(np.clip(weights, 0.0, bound) / bound, 0.0, 1.0))


def check_class_weight(owner: str, given: Any) -> None:
    """Refuse what is neither None, "balanced" nor a dictionary of positive numbers."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping) or not given:
        raise invalid(owner, "class_weight", "None, 'balanced' or a dictionary of public weights", given)
    for weight in given.values():
        check_number(owner, "class_weight", weight, above=0.0)


def public_class_weights(owner: str, given: Mapping[Any, float], classes: Any) -> FloatArray:
    """The declared weight of each class over the largest of them; classes that are not named weigh 1."""
    known = set(classes.tolist())
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InvalidInput(f"The 'class_weight' of {owner} names {unknown[0]!r}, which is not among its classes.")
    weights = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])
    return np.asarray(weights / weights.max())


def balanced_class_weights(counts: FloatArray, deviation: float) -> FloatArray:
    """Weights in inverse proportion to noisy counts, over the largest of them.

    A count below twice its noise cannot be told from the noise.
    """
    known = np.maximum(counts, max(1.0, 2 * check_positive("balanced_class_weights", "deviation", deviation)))
    return np.asarray(known.min() / known)
