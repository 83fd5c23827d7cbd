"""Private linear regression: perturbed sufficient statistics, a Huberised objective, or one pass.

Perturbed statistics (the standard strong method; Vu and Slavkovic 2009, Wang 2018): X^T X and X^T y are released with
Gaussian noise, everything after is post-processing. With rows v of norm at most B and |y| <= Y, one record moves
X^T X by at most B^2 in Frobenius norm (zero-out) or sqrt(2) B^2 (replacement: <v v^T, w w^T> >= 0), and X^T y by B Y
or 2 B Y (targets are in units of Y). Every record's products are integers on a public lattice before they are added
up, and so is the noise. Symmetric noise has variance sigma^2 on the diagonal and sigma^2/2 off it, which
is isotropic for the Frobenius norm. The noise matrix has norm about sqrt(2 d) sigma: that much is added to the
spectrum, after negative eigenvalues are lifted to 0.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.errors import PrivacyError, ProtocolError
from tacit.estimators.base import PrivateLinearModel
from tacit.estimators.classifier import has_horizon
from tacit.estimators.ledger import Ledger
from tacit.losses.linear_models import HuberLoss
from tacit.mechanisms.noisy_statistics import NoisyStatistics, statistics_curve
from tacit.numerics.lattice import (
    outer_product_shift,
    quantise_outer_products,
    quantise_vectors,
    symmetric_matrix,
)
from tacit.privacy.calibration import gaussian_mu
from tacit.privacy.curves import ROUND_UP
from tacit.privacy.guarantee import ZERO_OUT, Guarantee, Relation
from tacit.validation import FloatArray, IntArray, check_integer, check_positive

BLOCK_ENTRIES = 1 << 18


class PrivateRidge(RegressorMixin, PrivateLinearModel):
    """Linear least squares with private coefficients.

    Privacy contract: `guarantee_`, about one record. Enforced: rows are clipped to `data_norm`, targets to
    `label_bound`. Targets are best centred publicly: with `fit_intercept` the constant is regularised too.

    Args:
        epsilon: privacy budget of one fit.
        delta: failure probability; 0 (pure) needs the algorithm "objective" or "one-pass".
        data_norm: public bound on the norm of a row.
        label_bound: public bound on the absolute target.
        algorithm: "statistics" (perturbed X^T X and X^T y), "objective" (Huber loss, slopes clipped at half the
            label bound), "one-pass" (Huber loss, streaming), or "auto" (statistics; pure: objective).
        fit_intercept: append a constant of 0.35 times `data_norm` to each row, before clipping.
        regularisation: what is added to the spectrum of X^T X (None: the norm of the noise).
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

    _algorithms: ClassVar[tuple[str, ...]] = ("auto", "statistics", "objective", "one-pass")
    # Predictions of targets within [-1, 1] need no larger margins.
    _largest_margin: ClassVar[float] = 2.0

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        data_norm: float | None = None,
        label_bound: float | None = None,
        algorithm: str = "auto",
        fit_intercept: bool = True,
        regularisation: float | None = None,
        relation: str = "replace",
        horizon: int | None = None,
        initial: Any = None,
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.label_bound = label_bound
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.regularisation = regularisation
        self.relation = relation
        self.horizon = horizon
        self.initial = initial
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> PrivateRidge:
        """Train privately; the spending is recorded before the data are used.

        Args:
            X: rows of features.
            y: targets.
        """
        self._check_parameters()
        self.__dict__.pop("_pass", None)  # a pass in parts ends here
        features, target = self._validated(X, y, numeric=True)
        rows, target = self._bounded(features, np.asarray(target, dtype=np.float64))
        self.algorithm_ = self._method()
        if self.algorithm_ == "statistics":
            model = self._from_statistics(rows, target)
        elif self.algorithm_ == "objective":
            model = self._minimisers(_huber(self.data_norm_), rows, [target])[0]
        else:
            learner = self._begin_pass(
                self._one_pass_plan(_huber(self.data_norm_), len(rows), rows.shape[1], self.data_norm_)
            )
            learner.run((rows, target))
            model = learner.model
        self._publish(model)
        return self

    @available_if(has_horizon)
    def partial_fit(self, X: Any, y: Any) -> PrivateRidge:
        """Continue one private pass (Huber loss) over the declared number of records.

        Args:
            X: the next rows of features.
            y: their targets.
        """
        first = not hasattr(self, "_pass")
        self._check_parameters()
        features, target = self._validated(X, y, reset=first, numeric=True)
        target = np.asarray(target, dtype=np.float64)
        if first:
            rows, target = self._bounded(features, target)
            horizon = check_integer("PrivateRidge", "horizon", self.horizon)
            self.algorithm_ = "one-pass"
            self._pass = self._begin_pass(
                self._one_pass_plan(_huber(self.data_norm_), horizon, rows.shape[1], self.data_norm_)
            )
        else:
            rows, target = self._augmented(features, self.data_norm_), self._in_units(target)
        left = self._pass.plan.problem.records - self._pass.rounds
        if len(rows) > left:
            raise ProtocolError(f"partial_fit was planned for fewer records: {left} are left, got {len(rows)}.")
        self._pass.run((rows, target))
        self._publish(self._pass.model)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The value of each row."""
        check_is_fitted(self)
        return np.asarray(self._rows_to_predict(X) @ self.coef_ + self.intercept_)

    def public_guarantee(self, n_samples: int, n_features: int, n_classes: int = 1) -> Guarantee:
        """What a fit of this shape will spend: known before any data, and the same for all data."""
        self._check_parameters()
        norm = 1.0 if self.data_norm is None else float(self.data_norm)
        width = n_features + bool(self.fit_intercept)
        if self._method() == "statistics":
            return self._statistics_guarantee(width)
        if self._method() == "objective":
            return self._objective_plan(_huber(norm), n_samples, width, 1).guarantee
        return self._one_pass_plan(_huber(norm), n_samples, width, norm).guarantee

    @property
    def _unit(self) -> float:
        """Targets are in units of their bound."""
        return float(getattr(self, "label_bound_", None) or self.label_bound or 1.0)

    def _method(self) -> str:
        if self.algorithm != "auto":
            return self.algorithm
        return "statistics" if self.delta > 0 else "objective"

    def _bounded(self, features: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.label_bound is not None:
            check_positive("PrivateRidge", "label_bound", self.label_bound)
        self.data_norm_ = self._bound_of("data_norm", self.data_norm, self._largest_norm(features))
        self.label_bound_ = self._bound_of("label_bound", self.label_bound, float(np.max(np.abs(target))))
        return self._augmented(features, self.data_norm_), self._in_units(target)

    def _in_units(self, target: FloatArray) -> FloatArray:
        """Targets over their bound, clipped first: a quotient that is too large for a float would be refused."""
        return np.asarray(np.clip(target, -self.label_bound_, self.label_bound_) / self.label_bound_)

    def _statistics_guarantee(self, width: int) -> Guarantee:
        if self.delta == 0:
            raise PrivacyError("Perturbed statistics use Gaussian noise, which needs delta > 0.")
        mu = gaussian_mu(self.epsilon, self.delta)
        curve, numerics = statistics_curve(mu, width * (width + 3) // 2)
        return Guarantee(
            curve=curve,
            at_delta=self.delta,
            released="noisy X^T X and X^T y, hence the coefficients",
            theorem="Gaussian mechanism on sufficient statistics",
            relation=Relation(self.relation),
            unit="one record",
            numerics=numerics,
        )

    def _from_statistics(self, rows: FloatArray, target: FloatArray) -> FloatArray:
        """Solve the noisy normal equations."""
        norm, width = self.data_norm_, rows.shape[1]
        guarantee = self._statistics_guarantee(width)
        replace = Relation(self.relation) is not ZERO_OUT
        # Half of mu^2 to each statistic.
        share = gaussian_mu(self.epsilon, self.delta) / np.sqrt(2.0) * (2 - ROUND_UP)
        squares = NoisyStatistics.finest(share, partial(outer_product_shift, dimension=width, replace=replace))
        crosses = NoisyStatistics.finest(share, lambda units: (1.0 + replace) * units)
        source = self._randomness()
        self._spend(guarantee.with_randomness(source.label))
        square_sums, cross_sums = _integer_sums(rows, target, norm, squares.units, crosses.units)
        square = norm**2 * symmetric_matrix(squares.release(square_sums, source, "squares"), width)
        cross = norm * crosses.release(cross_sums, source, "crosses")
        values, vectors = np.linalg.eigh(square)
        noise = np.sqrt(2.0 * width) * squares.deviation * norm**2
        ridge = noise if self.regularisation is None else self.regularisation
        return np.asarray(vectors @ ((vectors.T @ cross) / (np.maximum(values, 0.0) + ridge)))

    def _publish(self, model: FloatArray) -> None:
        coefficients, intercepts = self._split(model[None, :] * self.label_bound_, self.data_norm_)
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.regressor_tags.poor_score = True
        return tags


@np.errstate(all="ignore")  # whether something underflows depends on the data
def _integer_sums(
    rows: FloatArray, target: FloatArray, norm: float, squares: int, crosses: int
) -> tuple[IntArray, IntArray]:
    """The sums of v v^T and of v y in integers, each record quantised by itself; a cache's worth of them at a time."""
    width = rows.shape[1]
    square, cross = np.zeros(width * (width + 1) // 2, dtype=np.int64), np.zeros(width, dtype=np.int64)
    size = max(1, BLOCK_ENTRIES // square.size)
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        square += quantise_outer_products(part, norm, squares).sum(axis=0)
        cross += quantise_vectors(part * target[first : first + size, None], norm, crosses).sum(axis=0)
    return square, cross


def _huber(norm: float) -> HuberLoss:
    """The loss for targets in units of their bound: linear beyond residuals of half of it."""
    return HuberLoss(data_norm=norm, label_bound=1.0, transition=0.5)
