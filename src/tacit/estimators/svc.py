"""A private linear support vector classifier: the hinge with its kink rounded off."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.estimators.classifier import PrivateLinearClassifier
from tacit.estimators.multiclass import OneVsRestLoss
from tacit.estimators.weights import WeightedHingeLoss
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinkLoss


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearSVC(PrivateLinearClassifier):
    """Linear classification by the smoothed hinge loss, differentially private.

    At small epsilon stronger than logistic regression: near the origin every record pulls with its full slope,
    which is what the noise is scaled to, instead of half of it. Privacy contract and arguments as in
    `PrivateLogisticRegression`.

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
        smoothing: the width over which the kink is rounded off.
        algorithm: "objective", "one-pass" or "auto".
        fit_intercept: append a constant of 0.35 times `data_norm` to each row, before clipping.
        regularisation: lambda on the scale of the sum of the losses (None: a public rule).
        relation: "replace" or "zero-out".
        horizon: number of records for `partial_fit`, which exists only if it is given.
        initial: public coefficients at which one pass begins, the intercept last (None: at 0).
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0, 0.0], [0.0, 1.0]], 200, axis=0), np.repeat(["a", "b"], 200)
    >>> PrivateLinearSVC(epsilon=2.0, data_norm=1.0, classes=["a", "b"]).fit(X, y).score(X, y)
    1.0
    """

    smoothing: float = 1.0

    def _loss(self, norm: float) -> LinkLoss:
        return WeightedHingeLoss(data_norm=norm, smoothing=self.smoothing)

    def _joint_loss(self, norm: float, classes: int) -> RowLoss:
        return OneVsRestLoss(norm, classes, self._loss(norm))
