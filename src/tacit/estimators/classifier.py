"""Private linear classifiers: labels, one model against the rest, and passes over a declared number of records."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tacit.errors import InvalidInput, ProtocolError
from tacit.estimators.base import PrivacyWarning, PrivateLinearModel
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinkLoss
from tacit.privacy.guarantee import Guarantee
from tacit.validation import FloatArray, IntArray, check_integer


def has_horizon(model: Any) -> bool:
    """Whether passes in parts were announced: `partial_fit` exists only then."""
    return model.horizon is not None


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """Shared parts of the classifiers; subclasses give the loss of two classes and of several in one pass."""

    classes: Any

    @abstractmethod
    def _loss(self, norm: float) -> LinkLoss:
        """The loss of two classes, for rows of at most this norm."""

    @abstractmethod
    def _joint_loss(self, norm: float, classes: int) -> RowLoss:
        """The loss of several classes at once, for one pass."""

    def fit(self, X: Any, y: Any) -> PrivateLinearClassifier:
        """Train privately; the spending is recorded before the data are used.

        Args:
            X: rows of features.
            y: class labels.
        """
        self._check_parameters()
        self.__dict__.pop("_pass", None)  # a pass in parts ends here
        features, labels = self._validated(X, y)
        codes = self._encode(labels, self.classes)
        norm = self._bound_of("data_norm", self.data_norm, self._largest_norm(features))
        self._set_norm(norm)
        rows = self._augmented(features, norm)
        count = len(self.classes_)
        self.algorithm_ = self._chosen_algorithm(rows.size)
        if self.algorithm_ == "objective":
            targets = [np.where(codes == k, 1.0, -1.0) for k in (range(count) if count > 2 else (1,))]
            models = self._minimisers(self._loss(norm), rows, targets)
        else:
            loss = self._pass_loss(norm, count)
            learner = self._begin_pass(self._one_pass_plan(loss, len(rows), self._size(rows.shape[1], count), norm))
            learner.run((rows, self._pass_labels(codes, count)))
            models = learner.model.reshape(-1, rows.shape[1])
        self._publish(models)
        return self

    @available_if(has_horizon)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> PrivateLinearClassifier:
        """Continue one private pass over the `horizon` records that were declared; every model on the way is private.

        Args:
            X: the next rows of features.
            y: their labels.
            classes: all class labels; needed at the first call unless the estimator declares them.
        """
        first = not hasattr(self, "_pass")
        self._check_parameters()
        features, labels = self._validated(X, y, reset=first)
        declared = self.classes if classes is None else classes
        if first and self.data_norm is None:
            self._set_norm(self._bound_of("data_norm", None, self._largest_norm(features)))
        elif first:
            self._set_norm(float(self.data_norm or 0))
        codes = self._encode(labels, declared if first else self.classes_)
        rows, count = self._augmented(features, self.data_norm_), len(self.classes_)
        if first:
            self.algorithm_ = "one-pass"
            loss = self._pass_loss(self.data_norm_, count)
            size = self._size(rows.shape[1], count)
            horizon = check_integer(type(self).__name__, "horizon", self.horizon)
            self._pass = self._begin_pass(self._one_pass_plan(loss, horizon, size, self.data_norm_))
        if self._pass.rounds + len(rows) > self._pass.plan.problem.records:
            raise ProtocolError(
                f"partial_fit was planned for {self._pass.plan.problem.records} records: "
                f"{self._pass.plan.problem.records - self._pass.rounds} are left, got {len(rows)}."
            )
        self._pass.run((rows, self._pass_labels(codes, count)))
        self._publish(self._pass.model.reshape(-1, rows.shape[1]))
        return self

    def public_guarantee(self, n_samples: int, n_features: int, n_classes: int = 2) -> Guarantee:
        """What a fit of this shape will spend: known before any data, and the same for all data."""
        self._check_parameters()
        norm = 1.0 if self.data_norm is None else float(self.data_norm)
        width = n_features + bool(self.fit_intercept)
        if self._chosen_algorithm(n_samples * width) == "objective":
            releases = n_classes if n_classes > 2 else 1
            return self._objective_plan(self._loss(norm), n_samples, width, releases).guarantee
        loss = self._pass_loss(norm, n_classes)
        return self._one_pass_plan(loss, n_samples, self._size(width, n_classes), norm).guarantee

    def decision_function(self, X: Any) -> FloatArray:
        """Signed margins: one number a row for two classes, one for each class otherwise."""
        check_is_fitted(self)
        scores = self._rows_to_predict(X) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[codes]

    def _encode(self, labels: Any, declared: Any) -> IntArray:
        with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers to see whether they are some
            check_classification_targets(labels)
        found = np.unique(labels)
        if declared is None:
            warnings.warn(
                "The classes were read off the data, which the guarantee does not cover: declare classes=.",
                PrivacyWarning,
                stacklevel=4,
            )
            declared = found
        classes = np.unique(np.asarray(declared))
        if len(classes) < 2:
            raise InvalidInput(f"{type(self).__name__} needs at least 2 classes; the data contain only one class.")
        unknown = found[~np.isin(found, classes)]
        if len(unknown):
            row = int(np.flatnonzero(~np.isin(labels, classes))[0])
            raise InvalidInput(
                f"Labels of {type(self).__name__} must be among its classes; the one of row {row} is not."
            )
        self.classes_ = classes
        return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)

    def _pass_loss(self, norm: float, count: int) -> RowLoss:
        return self._loss(norm) if count == 2 else self._joint_loss(norm, count)

    @staticmethod
    def _pass_labels(codes: IntArray, count: int) -> FloatArray:
        return np.where(codes == 1, 1.0, -1.0) if count == 2 else codes.astype(np.float64)

    @staticmethod
    def _size(width: int, count: int) -> int:
        return width if count == 2 else width * count

    def _set_norm(self, norm: float) -> None:
        self.data_norm_ = norm

    def _publish(self, models: FloatArray) -> None:
        self.coef_, self.intercept_ = self._split(models, self.data_norm_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags
