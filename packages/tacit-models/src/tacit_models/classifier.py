"""Private linear classifiers: labels, one model against the rest, and passes over a declared number of records.

Logistic regression is by accelerated descent, by objective perturbation or in one pass; the support vector classifier
is a hinge with its kink rounded off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.guarantee import Guarantee, Relation
from tacit.algorithms.stochastic import ObjectivePerturbation, OnlineToBatch, PrivateDescent
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatchLearner
from tacit.algorithms.stochastic.private_descent import descend, whole_rows
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, RowLoss
from tacit.losses.several_classes import MultinomialLoss, OneVsRestLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray, IntArray, check_choice
from tacit_models.budget import (
    FitPlan,
    ModelPlan,
    class_counts,
    divided,
    line_is_audible,
    matched_line,
    warn_if_useless,
)
from tacit_models.ledger import charged, warn_of_reading
from tacit_models.linear_model import PrivateLinearModel
from tacit_models.records import (
    WeightedHingeLoss,
    WeightedLogisticLoss,
    balanced_class_weights,
    check_class_weight,
    class_labels,
    clipped_rows,
    is_sparse,
    public_class_weights,
    relative_weights,
)

LARGEST_DESCENT = 10**9
"""Numbers of a table, times the classes but one, above which "auto" makes no passes over it."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """Shared parts of the classifiers; subclasses give the loss of two classes and of several in one pass."""

    classes: Any = None
    class_weight: Any = None
    threshold: str = "matched"

    threshold_ = 0.0  # not a parameter; models of older versions have it inside of their intercept

    @abstractmethod
    def _loss(self, norm: float) -> LinkLoss:
        """The loss of two classes, for rows of at most this norm and labels that carry the weight."""

    @abstractmethod
    def _joint_loss(self, norm: float, classes: int) -> RowLoss:
        """The loss of several classes at once, for one pass."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        check_class_weight(owner, self.class_weight)
        if self.classes is not None and not isinstance(self.class_weight, str | None):
            public_class_weights(owner, self.class_weight, class_labels(self.classes))
        check_choice(owner, "threshold", self.threshold, ("matched", "zero"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PrivateLinearClassifier:
        """Train privately; the spending is recorded before the data are used.

        Args:
            X: rows of features, dense or sparse (CSR).
            y: class labels.
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        self._begin()
        features, labels = self._validated(X, y)
        codes = self._encode(labels, self.classes)
        weights = relative_weights(type(self).__name__, sample_weight, self.weight_bound, len(codes))
        self.data_norm_ = self._bound_of("data_norm", self.data_norm, self._largest_norm(features))
        rows, count = self._augmented(features, self.data_norm_), len(self.classes_)
        self.algorithm_ = self._chosen_algorithm(rows.shape[0] * rows.shape[1], is_sparse(rows), count)
        plan = self._fit_plan(self.algorithm_, self.data_norm_, rows.shape[0], rows.shape[1], count)
        self.excess_risk_ = None
        if not isinstance(plan.model, OnlineToBatch):
            facts = f"{rows.shape[0]} rows, {features.shape[1]} features, {count} classes"
            warn_if_useless(plan.model, self._loss(self.data_norm_), facts, self.epsilon, level=2)
        if isinstance(plan.model, ObjectivePerturbation):
            self.excess_risk_ = float(plan.model.regret_bound)
        source = charged(self, plan.guarantee)
        self._fit_within(plan, features, rows, codes, weights, source)
        return self

    @np.errstate(all="ignore")  # whether something underflows depends on the data
    def _fit_within(
        self, plan: FitPlan, features: Any, rows: Any, codes: IntArray, weights: FloatArray, source: Randomness
    ) -> None:
        """All that looks at the data, after it was paid for."""
        count = len(self.classes_)
        weights = weights * self._class_weights(plan, codes, source)[codes]
        if isinstance(plan.model, ObjectivePerturbation):
            targets = [np.where(codes == k, weights, -weights) for k in (range(count) if count > 2 else (1,))]
            models = self._minimisers(plan.model, self._loss(self.data_norm_), rows, targets, source)
        elif isinstance(plan.model, PrivateDescent):
            columns = np.column_stack(self._pass_columns(codes, weights, count))
            whole = whole_rows(plan.model, clipped_rows(rows, self.data_norm_))
            models = descend(plan.model, whole, columns, DiscreteGaussian.from_streams(source, "descent"))
        else:
            learner = cast(OnlineToBatchLearner, plan.model.start(source.child("pass")))
            models = self._passed(learner, rows, *self._pass_columns(codes, weights, count))
        self._publish(models.reshape(-1, rows.shape[1]))
        if plan.line is not None:
            scores = self._scores(features)[:, 0]
            self.threshold_ = matched_line(plan.line, scores, codes == 1, weights, float(self.intercept_[0]), source)

    @available_if(lambda self: self.horizon is not None)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> PrivateLinearClassifier:
        """Continue one private pass over the `horizon` records that were declared; every model on the way is private.

        Args:
            X: the next rows of features, dense or sparse (CSR).
            y: their labels.
            classes: all class labels; needed at the first call unless the estimator declares them.
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        first = not hasattr(self, "_pass")
        self._check_parameters()
        if isinstance(self.class_weight, str):
            raise InvalidInput("partial_fit takes class_weight as a dictionary: it cannot count classes beforehand.")
        features, labels = self._validated(X, y, reset=first)
        declared = self.classes if classes is None else classes
        weights = relative_weights(type(self).__name__, sample_weight, self.weight_bound, features.shape[0])
        if first:
            self.data_norm_ = self._bound_of("data_norm", self.data_norm, self._largest_norm(features))
        codes = self._encode(labels, declared if first else self.classes_)
        rows, count = self._augmented(features, self.data_norm_), len(self.classes_)
        learner = self._continued(
            lambda horizon: self._one_pass(self.data_norm_, horizon, rows.shape[1], count, self.epsilon), len(codes)
        )
        with np.errstate(all="ignore"):  # whether something underflows depends on the data
            columns = self._pass_columns(codes, weights * self._declared_weights()[codes], count)
            self._publish(self._passed(learner, rows, *columns).reshape(-1, rows.shape[1]))
        return self

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 2, *, sparse: bool = False
    ) -> Guarantee:
        """Give the guarantee of a fit of this shape: known before any data, and the same for all data."""
        norm, width = self._public_shape(n_features)
        algorithm = self._chosen_algorithm(n_samples * width, sparse, n_classes)
        return self._fit_plan(algorithm, norm, n_samples, width, n_classes).guarantee

    def _fit_plan(self, algorithm: str, norm: float, records: int, width: int, count: int) -> FitPlan:
        """The model and what is released beside it, within one budget."""

        def model_at(epsilon: float) -> ModelPlan:
            if algorithm == "objective":
                return self._objective_plan(self._loss(norm), records, width, count if count > 2 else 1, epsilon)
            if algorithm == "descent":
                loss = self._loss(norm) if count == 2 else self._joint_loss(norm, count)
                plan: PrivateDescent = self._calibrated(
                    PrivateDescent, loss, records, width * (count if count > 2 else 1), epsilon
                )
                return plan
            return self._one_pass(norm, records, width, count, epsilon)

        relation = Relation(self.relation)
        # A pass looks at every record once: its line stays.
        line = self.threshold == "matched" and count == 2 and bool(self.fit_intercept) and algorithm != "one-pass"
        return divided(
            self.epsilon,
            self.delta,
            relation,
            model_at,
            classes=count,
            counts=isinstance(self.class_weight, str),
            line=line and line_is_audible(self.epsilon, self.delta, relation, records),
        )

    def _one_pass(self, norm: float, records: int, width: int, count: int, epsilon: float) -> OnlineToBatch:
        loss = self._loss(norm) if count == 2 else self._joint_loss(norm, count)
        return self._one_pass_plan(loss, records, width if count == 2 else width * count, norm, epsilon)

    def _class_weights(self, plan: FitPlan, codes: IntArray, source: Randomness) -> FloatArray:
        """The weight of each class over the largest of them: declared, or from noisy counts."""
        if plan.counts is None:
            return self._declared_weights()
        counts = class_counts(plan.counts, codes, len(self.classes_), source)
        return balanced_class_weights(counts, plan.counts.deviation)

    def _declared_weights(self) -> FloatArray:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        return public_class_weights(type(self).__name__, self.class_weight, self.classes_)

    def decision_function(self, X: Any) -> FloatArray:
        """Compute signed margins, before `threshold_`: one number a row for two classes, else one for each class."""
        check_is_fitted(self)
        scores = self._scores(self._rows_to_predict(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, rows: Any) -> FloatArray:
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> Any:
        """Predict the class of each row: of two, the second where the margin is above `threshold_`."""
        scores = self.decision_function(X)
        codes = (scores > self.threshold_).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[codes]

    def _encode(self, labels: Any, declared: Any) -> IntArray:
        found = class_labels(labels)
        if declared is None:
            with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers to see whether they are some
                check_classification_targets(labels)
            warn_of_reading("The classes were", "classes=", level=4)
            declared = found
        classes = class_labels(declared)
        # Of the declared classes and not of the labels: some of them must not be refused, or warned of, and others not.
        if classes.dtype.kind == "f" and not (classes == np.floor(classes)).all():
            raise InvalidInput(f"The 'classes' of {type(self).__name__} must be whole numbers, or words.")
        if len(classes) < 2:
            raise InvalidInput(f"{type(self).__name__} needs at least 2 classes; the data contain only one class.")
        unknown = found[~np.isin(found, classes)]
        if len(unknown):
            row = int(np.flatnonzero(~np.isin(labels, classes))[0])
            raise InvalidInput(
                f"Labels of {type(self).__name__} must be among its classes; the one of row {row} is not."
            )
        self.classes_ = classes
        if not isinstance(self.class_weight, str):
            self._declared_weights()  # names that are no classes are refused before anything is spent
        return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)

    @staticmethod
    def _pass_columns(codes: IntArray, weights: FloatArray, count: int) -> tuple[FloatArray, ...]:
        """What a pass takes beside the rows: weights with the sign of the class, or class numbers and weights."""
        return (np.where(codes == 1, weights, -weights),) if count == 2 else (codes.astype(np.float64), weights)

    def _publish(self, models: FloatArray) -> None:
        self.coef_, self.intercept_ = self._split(models, self.data_norm_)
        self.threshold_ = 0.0


@dataclass(eq=False, repr=False)
class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression whose coefficients are differentially private.

    Privacy contract: `guarantee_`, about one record. Enforced: rows are clipped to `data_norm`. Two classes are one
    release; several are one softmax ("descent", "one-pass"), or one release each, composed ("objective"). Every
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
        threshold: "matched": of two classes, `predict` uses the margin `threshold_` at which predicted positives match
            actual positives. Matching takes 5% of epsilon (a tenth if pure), and nothing in one pass or with too few
            rows. "zero": `threshold_` is 0. Probabilities and margins are those of the model either way.
        algorithm: "descent" (full passes, several classes by one softmax), "objective" (one release of the final model,
            for each of several classes), "one-pass" (streaming, every model on the way is private), or "auto". By a
            public rule "auto" is descent for more than two classes, and for two where descent is better.
        fit_intercept: append a constant of 0.35 times `data_norm` to each row, before clipping.
        regularisation: lambda on the scale of the sum of the losses (None: a public rule).
        relation: "replace", or "zero-out" (what others call add or remove).
        horizon: number of records for `partial_fit`, which exists only if it is given.
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

    _algorithms: ClassVar[tuple[str, ...]] = ("auto", "objective", "descent", "one-pass")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.algorithm == "descent" and (self.delta == 0 or self.regularisation is not None):
            raise InvalidInput(
                "The algorithm 'descent' of PrivateLogisticRegression needs delta > 0 and takes no regularisation: "
                "take 'objective' for either."
            )

    def _chosen_algorithm(self, size: int, sparse: bool, classes: int = 2) -> str:
        """Descent, unless something is asked for that it does not have, or the table is too large for many passes."""
        found = super()._chosen_algorithm(size, sparse, classes)
        plain = self.algorithm == "auto" and found == "objective" and self.delta > 0 and self.regularisation is None
        return "descent" if plain and size * max(1, classes - 1) <= LARGEST_DESCENT else found

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict class probabilities; of several classes, softmax (descent, one pass) or one-vs-rest, normalised."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.algorithm_ != "objective":
            return np.asarray(softmax(scores, axis=1))
        chances = expit(scores)
        return np.asarray(chances / np.maximum(np.sum(chances, axis=1, keepdims=True), 1e-300))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict logarithms of the class probabilities."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), 1e-300)))

    def _loss(self, norm: float) -> LinkLoss:
        return WeightedLogisticLoss(data_norm=norm)

    def _joint_loss(self, norm: float, classes: int) -> RowLoss:
        return MultinomialLoss(norm, classes)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearSVC(PrivateLinearClassifier):
    """Linear classification by the smoothed hinge loss, differentially private.

    At small epsilon stronger than logistic regression: near the origin every record pulls with its full slope,
    which is what the noise is scaled to, instead of half of it. Privacy contract and all other arguments as in
    `PrivateLogisticRegression`.

    Args:
        smoothing: the width over which the kink is rounded off.
        algorithm: "objective", "one-pass" or "auto".

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
