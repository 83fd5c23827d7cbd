"""Scores of models whose sensitivity is proved: what one record can change, whatever the record and the model.

Sums of errors. An error of each record in [0, 1], from its own row and label: one record moves their sum by at most 1,
replaced or left out. Errors are integers in steps of 2^-24 before they are added up, so that sums are exact.

| score | error of a record | scale |
|---|---|---|
| accuracy | 1 if the class is wrong | 1 |
| neg_log_loss | -ln p of its class, p at least .01 | ln 100 |
| neg_brier_score | half the squared distance of the probabilities from the class | 2 |
| neg_mean_squared_error | the squared error, of targets and predictions within their bound b | 4 b^2 |
| neg_mean_absolute_error | the absolute error, of the same | 2 b |

An error that is not a number counts as 1.

Scores that divide by numbers of the data (F1, precision, balanced accuracy, areas, R^2) have no such bound: one record
can move them by everything.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tacit.errors import InvalidInput
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.validation import FloatArray

LEAST_PROBABILITY = 0.01
CLASSIFIER_SCORES = ("accuracy", "neg_log_loss", "neg_brier_score")
REGRESSOR_SCORES = ("neg_mean_squared_error", "neg_mean_absolute_error")


def check_scoring(owner: str, scoring: Any, model: Any) -> str:
    """The name of a score that this model has and whose sensitivity is proved; None is the first of its kind."""
    if not hasattr(model, "predict"):
        raise InvalidInput(f"The 'estimator' parameter of {owner} must be a model that predicts.")
    allowed = CLASSIFIER_SCORES if is_classifier(model) else REGRESSOR_SCORES
    name = allowed[0] if scoring is None else scoring
    if not isinstance(name, str) or name not in allowed:
        raise InvalidInput(
            f"The 'scoring' parameter of {owner} must be one of {', '.join(allowed)}, by which one record moves a sum "
            f"by at most 1. Got {scoring!r} instead, for which no such bound is proved."
        )
    if name in ("neg_log_loss", "neg_brier_score") and not hasattr(model, "predict_proba"):
        raise InvalidInput(f"The score {name} of {owner} needs a model with predict_proba.")
    return name


def error_sum(name: str, model: Any, X: Any, y: Any, bound: float | None = None) -> float:
    """The sum of the errors of all records, which one record moves by at most 1.

    The model was released, or has nothing to do with these records; `bound` on absolute targets is public.
    """
    with np.errstate(all="ignore"):  # rows may be as long as floats allow: they are not clipped here
        return float(np.sum(whole_errors(record_errors(name, model, X, y, bound)))) / LOSS_UNITS


def whole_errors(errors: FloatArray) -> Any:
    """Errors as integers in steps of 2^-24, 1 where an error is not a number."""
    return quantise_losses(np.where(errors < 1.0, np.maximum(errors, 0.0), 1.0))


def error_scale(name: str, bound: float | None = None) -> float:
    """What an error of 1 stands for in the units of the score."""
    reach = 1.0 if bound is None else bound
    return {
        "neg_log_loss": -log(LEAST_PROBABILITY),
        "neg_brier_score": 2.0,
        "neg_mean_squared_error": 4 * reach**2,
        "neg_mean_absolute_error": 2 * reach,
    }.get(name, 1.0)


def record_errors(name: str, model: Any, X: Any, y: Any, bound: float | None) -> FloatArray:
    """The error of each record over its scale."""
    truth = np.asarray(y)
    if name == "accuracy":
        return np.asarray(_shaped(model.predict(X), truth.shape) != truth, dtype=np.float64)
    if name in REGRESSOR_SCORES:
        if bound is None:
            raise InvalidInput(f"The score {name} needs a public bound on absolute targets.")
        both = _shaped(model.predict(X), truth.shape), truth
        found, wanted = (np.clip(np.asarray(part, dtype=np.float64), -bound, bound) for part in both)
        apart = np.abs(found / bound - wanted / bound) / 2
        return np.asarray(apart**2 if name == "neg_mean_squared_error" else apart)
    own = truth[:, None] == np.asarray(model.classes_)[None, :]
    chances = np.asarray(_shaped(model.predict_proba(X), own.shape), dtype=np.float64)
    if name == "neg_log_loss":
        return np.asarray(
            np.log(np.clip(np.sum(chances * own, axis=1), LEAST_PROBABILITY, 1.0)) / log(LEAST_PROBABILITY)
        )
    return np.asarray(np.sum((chances - own) ** 2, axis=1) / 2)


def _shaped(found: Any, shape: tuple[int, ...]) -> Any:
    """What a model predicts, one row for each record: a column would be compared with the labels of all records."""
    predicted = np.asarray(found)
    if predicted.shape != shape:
        raise InvalidInput(
            "A model that is scored must predict one number or class for each row, or one probability for each of its "
            f"classes: an array of shape {shape}. Fit it with labels of one axis."
        )
    return predicted
