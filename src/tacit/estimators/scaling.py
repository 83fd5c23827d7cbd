"""A private standardiser: means and variances from one release of noisy moments.

Features are clipped to public bounds and mapped to z in [-1, 1]; a record contributes (z, z^2 - 1/2) for each
feature, of squared norm z^4 + 1/4 <= 5/4, and two records differ by at most (a-b)^2 (1 + (a+b)^2) <= 4.
So the l2 sensitivity over d features is sqrt(5 d/4) (zero-out) or 2 sqrt(d) (replacement). Both moments of every record
are integers on a public lattice before they are added up, and so is the noise: what is released is exact.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from sys import float_info
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.guarantee import ZERO_OUT, Guarantee, Relation
from tacit.errors import InvalidInput
from tacit.estimators.budget import statistics_guarantee
from tacit.estimators.ledger import Ledger, PrivacyWarning, spend
from tacit.estimators.linear_model import randomness_of
from tacit.estimators.noisy_statistics import NoisyStatistics
from tacit.estimators.published import Exported
from tacit.estimators.records import checked_data
from tacit.noise.lattice import moments_shift, quantise_moments
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_choice, check_privacy


@dataclass(eq=False, repr=False)
class PrivateStandardScaler(Exported, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Centre and scale each feature by private estimates of its mean and standard deviation.

    Args:
        epsilon: privacy budget of one fit.
        delta: failure probability, above 0.
        bounds: public (low, high), numbers or one for each feature; values outside are clipped.
        relation: "replace" or "zero-out".
        random_state: only for tests: makes the noise replayable, with a warning.
        ledger: where the spending is recorded (None: the process's own `LEDGER`).

    >>> import numpy as np
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> scaler = PrivateStandardScaler(epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> bool(abs(scaler.mean_[0] - 5) < 0.5)
    True
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    bounds: Any = None
    relation: str = "replace"
    random_state: Any = None
    ledger: Ledger | None = None

    def fit(self, X: Any, y: Any = None) -> PrivateStandardScaler:
        """Estimate means and deviations privately.

        Args:
            X: rows of features.
            y: ignored.
        """
        self._check_parameters()
        rows = checked_data(self, X)
        low, high = self._limits(rows)
        width = rows.shape[1]
        guarantee = self.public_guarantee(len(rows), width)
        replace = Relation(self.relation) is not ZERO_OUT
        mu = gaussian_mu(self.epsilon, self.delta)
        lattice = NoisyStatistics.finest(mu, partial(moments_shift, features=width, replace=replace))
        source = randomness_of(self.random_state)
        stamped = guarantee.with_randomness(source.label)
        spend(self.ledger, f"{type(self).__name__}.fit", stamped)
        self.guarantee_ = stamped
        middle, half = (low + high) / 2, (high - low) / 2
        with np.errstate(all="ignore"):  # whether something underflows depends on the data
            # Clipped again: between bounds that are neighbouring floats the middle is one of them.
            z = np.clip((np.clip(rows, low, high) - middle) / half, -1.0, 1.0)
        moments = np.array([np.sum(part, axis=0) for part in quantise_moments(z, lattice.units)])
        first, second = lattice.release(moments, source, "moments") / len(z)
        first, second = np.clip(first, -1.0, 1.0), second + 0.5
        # A deviation below the noise cannot be told from it.
        least = max(lattice.deviation / len(z), 1e-6)
        self.mean_ = middle + half * first
        self.scale_ = half * np.sqrt(np.clip(second - first**2, min(least, 1.0), 1.0))
        return self

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 1, *, sparse: bool = False
    ) -> Guarantee:
        """What a fit of this shape will spend: known before any data, and the same for all data."""
        self._check_parameters()
        return statistics_guarantee(
            self.epsilon,
            self.delta,
            self.relation,
            2 * n_features,
            released="noisy first and second moments, hence means and deviations",
            theorem="Gaussian mechanism",
        )

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_privacy(owner, self.epsilon, self.delta)
        check_choice(owner, "relation", str(self.relation), ("replace", "zero-out"))

    def transform(self, X: Any) -> FloatArray:
        """Rows minus the means, over the deviations; what is too large for a float is the largest one.

        The next step of a pipeline would refuse an infinity, for some people's rows and not for others'.
        """
        check_is_fitted(self)
        with np.errstate(all="ignore"):
            scaled = (checked_data(self, X, reset=False) - self.mean_) / self.scale_
        return np.asarray(np.clip(scaled, -float_info.max, float_info.max))

    def _limits(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.bounds is None:
            warnings.warn(
                "bounds were read off the data, which the guarantee does not cover: declare them.",
                PrivacyWarning,
                stacklevel=3,
            )
            low, high = np.min(rows, axis=0), np.max(rows, axis=0)
            return low, np.where(high > low, high, low + 1.0)
        return public_limits("PrivateStandardScaler", self.bounds, rows.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def public_limits(owner: str, bounds: Any, width: int) -> tuple[FloatArray, FloatArray]:
    """Declared bounds (low, high) of each column, checked."""
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (width,)) for end in bounds)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"The 'bounds' parameter of {owner} must be a pair (low, high). Got {bounds!r} instead."
        ) from None
    with np.errstate(over="ignore", invalid="ignore"):
        apart = high - low
    if not ((apart >= SMALLEST) & (apart <= LARGEST)).all():  # written so that NaN fails
        raise InvalidInput(
            f"The 'bounds' of {owner} must be finite with low below high, {SMALLEST:g} to {LARGEST:g} apart."
        )
    return low, high
