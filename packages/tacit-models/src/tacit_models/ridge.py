"""Private linear regression: a Huberised objective, or one pass.

The Huber loss is linear beyond residuals of half the bound on targets, so that its slope is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.losses.loss import HuberLoss
from tacit.validation import FloatArray, check_positive
from tacit_models.budget import warn_if_useless
from tacit_models.ledger import charged
from tacit_models.linear_model import PrivateLinearModel
from tacit_models.records import clipped_rows, relative_weights, scaled_rows

SHORTER = 4.0
"""Times the regularisation of a classifier: the best of 1, 2, 4 and 8 on synthetic rows and diabetes."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRidge(RegressorMixin, PrivateLinearModel):
    """Linear least squares with private coefficients.

    Privacy contract: `guarantee_`, about one record. Enforced: rows are clipped to `data_norm`, targets to
    `label_bound`. Targets are best centred publicly: with `fit_intercept` the constant is regularised too. All other
    arguments as in `PrivateLogisticRegression`.

    Args:
        label_bound: public bound on the absolute target.
        algorithm: "objective" (Huber loss, slopes clipped at half the label bound), "one-pass" (the same loss,
            streaming), or "auto" (objective).

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 500)[:, None]
    >>> model = PrivateRidge(epsilon=2.0, data_norm=1.0, label_bound=1.0).fit(X, 0.8 * X[:, 0])
    >>> bool(abs(model.coef_[0] - 0.8) < 0.4)
    True
    """

    label_bound: float | None = None
    # Predictions of targets within [-1, 1] need no larger margins.
    _largest_margin: ClassVar[float] = 2.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PrivateRidge:
        """Train privately; the spending is recorded before the data are used.

        Args:
            X: rows of features, dense or sparse (CSR).
            y: targets.
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        self._begin()
        features, target = self._validated(X, y, numeric=True)
        weights = relative_weights("PrivateRidge", sample_weight, self.weight_bound, features.shape[0])
        self._set_bounds(features, target)
        rows, target = self._weighted(features, target, weights)
        huber, plan = _huber(self.data_norm_), self._model_plan(self.data_norm_, *rows.shape)
        self.algorithm_, self.excess_risk_ = "one-pass", None
        if isinstance(plan, ObjectivePerturbation):
            facts = f"{rows.shape[0]} rows, {features.shape[1]} features"
            warn_if_useless(plan, huber, facts, self.epsilon, level=2)
            self.algorithm_, self.excess_risk_ = "objective", float(plan.regret_bound)
            model = self._minimisers(plan, huber, rows, [target], charged(self, plan.guarantee))[0]
        else:
            model = self._passed(self._begun(plan), rows, target)
        self._publish(model)
        return self

    @available_if(lambda self: self.horizon is not None)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> PrivateRidge:
        """Continue one private pass (Huber loss) over the declared number of records.

        Args:
            X: the next rows of features, dense or sparse (CSR).
            y: their targets.
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        first = not hasattr(self, "_pass")
        self._check_parameters()
        features, target = self._validated(X, y, reset=first, numeric=True)
        weights = relative_weights("PrivateRidge", sample_weight, self.weight_bound, features.shape[0])
        if first:
            self._set_bounds(features, target)
        rows, target = self._weighted(features, target, weights)
        learner = self._continued(
            lambda horizon: self._huber_pass(self.data_norm_, horizon, rows.shape[1]), len(target)
        )
        self._publish(self._passed(learner, rows, target))
        return self

    def _huber_pass(self, norm: float, records: int, width: int) -> OnlineToBatch:
        return self._one_pass_plan(_huber(norm), records, width, norm, self.epsilon)

    def predict(self, X: Any) -> FloatArray:
        """Predict the value of each row."""
        check_is_fitted(self)
        return np.asarray(self._rows_to_predict(X) @ self.coef_ + self.intercept_)

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 1, *, sparse: bool = False
    ) -> Guarantee:
        """Give the guarantee of a fit of this shape: known before any data, and the same for all data."""
        norm, width = self._public_shape(n_features)
        return self._model_plan(norm, n_samples, width).guarantee

    def _model_plan(self, norm: float, records: int, width: int) -> ObjectivePerturbation | OnlineToBatch:
        """One pass, or an objective, regularised more than classifiers are: targets of at most 1 need short models."""
        if self.algorithm == "one-pass":
            return self._huber_pass(norm, records, width)
        plan = self._objective_plan(_huber(norm), records, width, 1, self.epsilon)
        if self.regularisation is not None:
            return plan
        return self._objective_plan(_huber(norm), records, width, 1, self.epsilon, SHORTER * plan.regularisation)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.label_bound is not None:
            check_positive("PrivateRidge", "label_bound", self.label_bound)

    def _set_bounds(self, features: Any, target: FloatArray) -> None:
        self.data_norm_ = self._bound_of("data_norm", self.data_norm, self._largest_norm(features))
        self.label_bound_ = self._bound_of("label_bound", self.label_bound, float(np.max(np.abs(target))))

    @np.errstate(all="ignore")  # whether something underflows depends on the data
    def _weighted(self, features: Any, target: FloatArray, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Rows and targets times the root of the weight: a weighted square is the square of what is scaled.

        Rows are clipped before: a long row of small weight must not count as a full one. All rows are, whatever the
        weights: one record's weight must not decide how the others are rounded and clipped.
        """
        rows, roots = clipped_rows(self._augmented(features, self.data_norm_), self.data_norm_), np.sqrt(weights)
        return scaled_rows(rows, roots), self._in_units(target) * roots

    def _in_units(self, target: FloatArray) -> FloatArray:
        """Targets over their bound, clipped first: a quotient that is too large for a float would be refused."""
        return np.asarray(np.clip(target, -self.label_bound_, self.label_bound_) / self.label_bound_)

    def _publish(self, model: FloatArray) -> None:
        coefficients, intercepts = self._split(model[None, :] * self.label_bound_, self.data_norm_)
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _huber(norm: float) -> HuberLoss:
    """The loss for targets in units of their bound: linear beyond residuals of half of it."""
    return HuberLoss(data_norm=norm, label_bound=1.0, transition=0.5)
