"""Private logistic regression, by objective perturbation or in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from tacit.estimators.classifier import PrivateLinearClassifier
from tacit.estimators.multiclass import MultinomialLoss
from tacit.estimators.weights import WeightedLogisticLoss
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinkLoss
from tacit.validation import FloatArray


@dataclass(eq=False, repr=False)
class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression whose coefficients are differentially private.

    Privacy contract: `guarantee_`, about one record. Enforced: rows are clipped to `data_norm`. Two classes are one
    release; several are one release each, composed ("objective"), or one multinomial pass ("one-pass"). Every
    choice is made from epsilon, delta, the number of rows and of features; what is read off the data instead
    (data_norm, classes) raises a `PrivacyWarning`.

    Args:
        epsilon: privacy budget of one fit.
        delta: failure probability; 0 for pure privacy.
        data_norm: public bound on the norm of a row; longer rows are scaled down.
        classes: all class labels.
        class_weight: a dictionary of public weights, or "balanced": in inverse proportion to noisy class counts, which
            take 5% of epsilon (a tenth if pure).
        weight_bound: public bound on `sample_weight`; larger weights are clipped, negative ones to 0.
        threshold: "matched": of two classes, move the intercept to where about as much weight is called positive as is
            positive; takes 5% of epsilon (a tenth if pure), and nothing where too few rows could tell or in one pass.
            "zero": leave it (probabilities are those of the model).
        algorithm: "objective" (one release of the final model), "one-pass" (streaming; every model on the way is
            private), or "auto" (the former unless the data are too large to be kept).
        fit_intercept: append a constant of 0.35 times `data_norm` to each row, before clipping.
        regularisation: lambda on the scale of the sum of the losses (None: a public rule).
        relation: "replace", or "zero-out" (what others call add or remove).
        horizon: number of records for `partial_fit`, which exists only if it is given.
        initial: public coefficients at which one pass begins, the intercept last (None: at 0).
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    >>> import numpy as np
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 200, axis=0)
    >>> y = np.repeat([0, 1], 200)
    >>> model = PrivateLogisticRegression(epsilon=2.0, data_norm=1.0, classes=[0, 1]).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> round(model.guarantee_.epsilon(1e-6), 2)
    2.0
    """

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities; of several classes, softmax (one pass) or one-vs-rest, normalised."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.algorithm_ == "one-pass":
            return np.asarray(softmax(scores, axis=1))
        chances = expit(scores)
        return np.asarray(chances / np.maximum(np.sum(chances, axis=1, keepdims=True), 1e-300))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of the class probabilities."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), 1e-300)))

    def _loss(self, norm: float) -> LinkLoss:
        return WeightedLogisticLoss(data_norm=norm)

    def _joint_loss(self, norm: float, classes: int) -> RowLoss:
        return MultinomialLoss(norm, classes)
