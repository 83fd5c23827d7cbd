"""Private linear regression: perturbed sufficient statistics, a Huberised objective, or one pass.

Perturbed statistics (the standard strong method; Vu and Slavkovic 2009, Wang 2018): X^T X and X^T y are released with
Gaussian noise, everything after is post-processing. Both are one vector, (v v^T, alpha v y) summed, rows in units of
their bound and targets of theirs. Zeroing out a record moves it by at most sqrt(1 + alpha^2). Replacing (v, y) by
(w, -y), with c = <v, w>, moves it by the root of 2 - 2 c^2 + alpha^2 (2 + 2 c), largest at c = alpha^2/2:
(alpha^2 + 2)/sqrt(2), since the record that moves X^T y most moves X^T X least; alpha^2 = 1/2 has an eighth less noise
in both than separate releases. Shorter rows move it by less (a test looks everywhere). Every record's products are
integers on a public lattice before they are added up, and so is the noise. Symmetric noise has variance sigma^2 on the
diagonal and sigma^2/2 off it, which is isotropic for the Frobenius norm. The noise matrix has norm about sqrt(2 d)
sigma: that much is added to the spectrum, after negative eigenvalues are lifted to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP
from tacit.accounting.guarantee import ZERO_OUT, Guarantee, Relation
from tacit.algorithms.stochastic import ObjectivePerturbation
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import OnlineToBatchLearner
from tacit.errors import PrivacyError, ProtocolError
from tacit.estimators.budget import statistics_guarantee, warn_if_useless
from tacit.estimators.classifier import has_horizon
from tacit.estimators.linear_model import PrivateLinearModel, objective_plan
from tacit.estimators.noisy_statistics import NoisyStatistics
from tacit.estimators.records import clipped_rows, dense_parts, relative_weights, scaled_rows
from tacit.losses.loss import HuberLoss
from tacit.noise.lattice import (
    cross_ratio,
    joint_shift,
    quantise_outer_products,
    quantise_vectors,
    symmetric_matrix,
)
from tacit.validation import FloatArray, IntArray, check_integer, check_positive

BLOCK_ENTRIES = 1 << 18
SHORTER = 4.0
"""Times the regularisation of a classifier: the best of 1, 2, 4 and 8 on synthetic rows and diabetes."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRidge(RegressorMixin, PrivateLinearModel):
    """Linear least squares with private coefficients.

    Privacy contract: `guarantee_`, about one record. Enforced: rows are clipped to `data_norm`, targets to
    `label_bound`. Targets are best centred publicly: with `fit_intercept` the constant is regularised too.

    Args:
        epsilon: privacy budget of one fit.
        delta: failure probability; 0 (pure) needs the algorithm "objective" or "one-pass".
        data_norm: public bound on the norm of a row.
        label_bound: public bound on the absolute target.
        weight_bound: public bound on `sample_weight`; larger weights are clipped, negative ones to 0.
        algorithm: "objective" (Huber loss, slopes clipped at half the label bound), "statistics" (perturbed X^T X and
            X^T y: least squares proper), "one-pass" (Huber loss, streaming), or "auto" (objective).
        fit_intercept: append a constant of 0.35 times `data_norm` to each row, before clipping.
        regularisation: lambda on the scale of the sum of the losses, or what is added to the spectrum of X^T X (None: a
            public rule).
        relation: "replace" or "zero-out".
        horizon: number of records for `partial_fit`, which exists only if it is given.
        initial: public coefficients at which one pass begins, the intercept last (None: at 0).
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 500)[:, None]
    >>> model = PrivateRidge(epsilon=2.0, data_norm=1.0, label_bound=1.0).fit(X, 0.8 * X[:, 0])
    >>> bool(abs(model.coef_[0] - 0.8) < 0.4)
    True
    """

    label_bound: float | None = None
    _algorithms: ClassVar[tuple[str, ...]] = ("auto", "statistics", "objective", "one-pass")
    # Predictions of targets within [-1, 1] need no larger margins.
    _largest_margin: ClassVar[float] = 2.0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PrivateRidge:
        """Train privately; the spending is recorded before the data are used.

        Args:
            X: rows of features, dense or sparse (CSR); or batches (features, targets) of one pass, from an iterator
                (over `horizon` records) or `ParquetBatches`.
            y: targets (None: the batches have them).
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        if self._fitted_batches(X, y):
            return self
        features, target = self._validated(X, y, numeric=True)
        weights = relative_weights("PrivateRidge", sample_weight, self.weight_bound, features.shape[0])
        self._set_bounds(features, target)
        rows, target = self._weighted(features, target, weights)
        huber, (records, width) = _huber(self.data_norm_), rows.shape
        self.algorithm_, self.excess_risk_ = self._method(), None
        if self.algorithm_ == "statistics":
            model = self._from_statistics(rows, target)
        elif self.algorithm_ == "objective":
            plan = self._huber_plan(self.data_norm_, records, width)
            facts = f"{records} rows, {features.shape[1]} features"
            warn_if_useless(plan, huber, facts, self.epsilon, level=2)
            self.excess_risk_ = float(plan.regret_bound)
            model = self._minimisers(plan, huber, rows, [target], self._spend(plan.guarantee))[0]
        else:
            model = self._passed(self._begun(records, width), rows, target)
        self._publish(model)
        return self

    @available_if(has_horizon)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> PrivateRidge:
        """Continue one private pass (Huber loss) over the declared number of records.

        Args:
            X: the next rows of features, dense or sparse (CSR).
            y: their targets.
            sample_weight: one number for each row, clipped to [0, weight_bound].
        """
        self._continue(X, y, sample_weight, check_integer("PrivateRidge", "horizon", self.horizon))
        return self

    def _continue(self, X: Any, y: Any, sample_weight: Any, horizon: int) -> None:
        first = not hasattr(self, "_pass")
        self._check_parameters()
        features, target = self._validated(X, y, reset=first, numeric=True)
        weights = relative_weights("PrivateRidge", sample_weight, self.weight_bound, features.shape[0])
        if first:
            self._set_bounds(features, target)
        rows, target = self._weighted(features, target, weights)
        if first:
            self.algorithm_ = "one-pass"
            self._pass = self._begun(horizon, rows.shape[1])
        left = self._pass.plan.problem.records - self._pass.rounds
        if len(target) > left:
            raise ProtocolError(f"partial_fit was planned for fewer records: {left} are left, got {len(target)}.")
        self._publish(self._passed(self._pass, rows, target))

    def _begun(self, records: int, width: int) -> OnlineToBatchLearner:
        """A pass that was paid for and has seen nothing yet."""
        plan = self._one_pass_plan(_huber(self.data_norm_), records, width, self.data_norm_, self.epsilon)
        return cast(OnlineToBatchLearner, plan.start(self._spend(plan.guarantee).child("pass")))

    def predict(self, X: Any) -> FloatArray:
        """Predict the value of each row."""
        check_is_fitted(self)
        return np.asarray(self._rows_to_predict(X) @ self.coef_ + self.intercept_)

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 1, *, sparse: bool = False
    ) -> Guarantee:
        """Give the guarantee of a fit of this shape: known before any data, and the same for all data."""
        norm, width = self._public_shape(n_features)
        if self._method() == "statistics":
            return self._statistics_guarantee(width)
        if self._method() == "objective":
            return self._huber_plan(norm, n_samples, width).guarantee
        return self._one_pass_plan(_huber(norm), n_samples, width, norm, self.epsilon).guarantee

    @property
    def _unit(self) -> float:
        """Targets are in units of their bound."""
        return float(getattr(self, "label_bound_", None) or self.label_bound or 1.0)

    def _method(self) -> str:
        """A measured rule: on rows and targets of many kinds "objective" was never behind "statistics"."""
        return "objective" if self.algorithm == "auto" else self.algorithm

    def _huber_plan(self, norm: float, records: int, width: int) -> ObjectivePerturbation:
        """Objective perturbation, regularised more than classifiers are: targets of at most 1 need short models."""
        plan = self._objective_plan(_huber(norm), records, width, 1, self.epsilon)
        if self.regularisation is not None:
            return plan
        ridge = SHORTER * plan.regularisation
        return objective_plan(_huber(norm), records, width, 1, self.epsilon, self.delta, str(self.relation), ridge)

    def _set_bounds(self, features: Any, target: FloatArray) -> None:
        if self.label_bound is not None:
            check_positive("PrivateRidge", "label_bound", self.label_bound)
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

    def _statistics_guarantee(self, width: int) -> Guarantee:
        if self.delta == 0:
            raise PrivacyError("Perturbed statistics use Gaussian noise, which needs delta > 0.")
        return statistics_guarantee(
            self.epsilon,
            self.delta,
            self.relation,
            width * (width + 3) // 2,
            released="noisy X^T X and X^T y, hence the coefficients",
            theorem="Gaussian mechanism on sufficient statistics",
        )

    def _from_statistics(self, rows: Any, target: FloatArray) -> FloatArray:
        """Solve the noisy normal equations."""
        norm, width = self.data_norm_, rows.shape[1]
        guarantee = self._statistics_guarantee(width)
        replace = Relation(self.relation) is not ZERO_OUT
        lattice = NoisyStatistics.finest(
            gaussian_mu(self.epsilon, self.delta) * (2 - ROUND_UP),
            partial(joint_shift, dimension=width, replace=replace),
        )
        ratio = cross_ratio(replace)
        source = self._spend(guarantee)
        sums = integer_sums(rows, target, norm, lattice.units, ratio)
        released = lattice.release(sums, source, "statistics")
        square, cross = norm**2 * symmetric_matrix(released[:-width], width), norm * released[-width:] / ratio
        values, vectors = np.linalg.eigh(square)
        noise = np.sqrt(2.0 * width) * lattice.deviation * norm**2
        ridge = noise if self.regularisation is None else self.regularisation
        return np.asarray(vectors @ ((vectors.T @ cross) / (np.maximum(values, 0.0) + ridge)))

    def _publish(self, model: FloatArray) -> None:
        coefficients, intercepts = self._split(model[None, :] * self.label_bound_, self.data_norm_)
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.regressor_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags


@np.errstate(all="ignore")  # whether something underflows depends on the data
def integer_sums(rows: Any, target: FloatArray, norm: float, units: int, ratio: float) -> IntArray:
    """The sums of v v^T and of alpha v y in integers, each record quantised by itself; a cache's worth at a time."""
    width = rows.shape[1]
    size = width * (width + 1) // 2
    sums = np.zeros(size + width, dtype=np.int64)
    for place, part in dense_parts(rows, BLOCK_ENTRIES // size * width):
        sums[:size] += quantise_outer_products(part, norm, units).sum(axis=0)
        crosses = quantise_vectors(part * target[place, None], norm, max(1, floor(ratio * units)))
        sums[size:] += crosses.sum(axis=0)
    return sums


def _huber(norm: float) -> HuberLoss:
    """The loss for targets in units of their bound: linear beyond residuals of half of it."""
    return HuberLoss(data_norm=norm, label_bound=1.0, transition=0.5)
