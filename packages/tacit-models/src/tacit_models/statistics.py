"""Private statistics of a table, and the private score of a model: one release each, exact integers, one contract.

Every record becomes integers by itself, on a public lattice of M units; the integers are added up, and noise of the
same lattice is added once: discrete Gaussian, or two-sided geometric if delta = 0. What one record moves:

| statistic | of one record | replaced | left out |
|---|---|---|---|
| mean of d columns | floor(z M), z in [0, 1] | sqrt(d) M in l2, d M in l1 | half of the first, as z - 1/2; d M |
| histogram | M in one bin | sqrt(2) M, 2 M | M, M |
| quantile: K counts "at most m" | M or 0 | M in each count | M in each count |
| covariance | (v v', alpha v), |v| <= 1 | `joint_shift` | `joint_shift` |
| scaler of d features | (z, z^2 - 1/2), z in [-1, 1] | 2 sqrt(d) M | sqrt(5 d/4) M |
| score | an error in [0, 1] (`scoring`) | M | M |

A quantile is a binary search between its bounds: each step counts the records at or below the middle, with fresh noise,
and goes on in the half that holds the quantile by the noisy count. Its K counts share the budget: mu/sqrt(K) each, or
epsilon/K. The number of records is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import floor, sqrt
from sys import float_info
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.curves import ROUND_UP
from tacit.accounting.guarantee import ZERO_OUT, Guarantee, Relation
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses.loss import clip_rows
from tacit.noise.lattice import (
    cross_ratio,
    joint_shift,
    moments_shift,
    quantise_moments,
    quantise_outer_products,
    quantise_vectors,
    symmetric_matrix,
)
from tacit.validation import (
    LARGEST,
    SMALLEST,
    FloatArray,
    IntArray,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_privacy,
)
from tacit_models.budget import ROUNDED, NoisyCounts, NoisyStatistics, class_counts, statistics_guarantee
from tacit_models.ledger import Ledger, charged, warn_of_reading
from tacit_models.pipeline import without_words
from tacit_models.published import Exported, Published
from tacit_models.records import checked_data, dense_parts
from tacit_models.scoring import check_scoring, error_scale, record_errors
from tacit_models.table import Categories, column_of

BLOCK_ENTRIES = 1 << 18


@dataclass(eq=False, repr=False)
class PrivateStatistic(Published, BaseEstimator, ABC):
    """What the statistics share: a budget, a relation, the record of the spending."""

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    relation: str = "replace"
    random_state: Any = None
    ledger: Ledger | None = None

    _released: ClassVar[str]
    _pure: ClassVar[bool] = True

    @abstractmethod
    def _draws(self, n_features: int) -> int:
        """How many noisy numbers are released."""

    def public_guarantee(
        self, n_samples: int, n_features: int, n_classes: int = 1, *, sparse: bool = False
    ) -> Guarantee:
        """Give the guarantee of a fit of this shape: known before any data, and the same for all data."""
        self._check_parameters()
        if getattr(self, "bounds", None) is not None:
            public_limits(type(self).__name__, self.bounds, n_features)
        draws = self._draws(n_features) if self.delta > 0 else 0
        return statistics_guarantee(self.epsilon, self.delta, self.relation, draws, self._released)

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_privacy(owner, self.epsilon, self.delta)
        check_choice(owner, "relation", str(self.relation), ("replace", "zero-out"))
        if self.delta == 0 and not self._pure:
            raise PrivacyError(f"{owner} uses Gaussian noise, which needs delta > 0.")

    @property
    def _replaced(self) -> bool:
        return Relation(self.relation) is not ZERO_OUT

    def _noise(self, l2: float, l1: float, releases: int = 1) -> NoisyCounts:
        """Noise for each of several releases that a record moves by so much, all within the budget."""
        if self.delta == 0:
            return NoisyCounts(self.epsilon / releases * (1.0 if releases == 1 else ROUNDED), l1, pure=True)
        mu = gaussian_mu(self.epsilon, self.delta)
        return NoisyCounts(mu / sqrt(releases) * (1.0 if releases == 1 else ROUNDED), l2, pure=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateMean(PrivateStatistic):
    """The mean of each column.

    Privacy contract: `guarantee_`, about one record. Enforced: values are clipped to `bounds`.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        bounds: public (low, high), numbers or one for each column.

    Attributes after fit: `mean_`, `deviation_` (of its noise, a public number), `guarantee_`.

    >>> import numpy as np
    >>> found = PrivateMean(epsilon=1.0, bounds=(0, 10)).fit(np.linspace(0, 10, 5000)[:, None])
    >>> bool(abs(found.mean_[0] - 5) < 0.1)
    True
    """

    bounds: Any = None

    _released: ClassVar[str] = "noisy means"

    def fit(self, X: Any, y: Any = None) -> PrivateMean:
        """Release the means."""
        self._check_parameters()
        rows = checked_data(self, X)
        low, high = public_limits("PrivateMean", self.bounds, rows.shape[1])
        count, width = rows.shape
        centred = self.delta > 0 and not self._replaced
        noise = self._noise(sqrt(width) / (2 if centred else 1), width)
        source = charged(self, self.public_guarantee(count, width))
        with np.errstate(all="ignore"):  # whether something underflows depends on the data
            whole = noise.whole((np.clip(rows, low, high) - low) / (high - low))
        sums = np.sum(whole - noise.units // 2 * centred, axis=0)
        share = noise.release(sums, source, "means") / count + centred / 2
        self.mean_ = np.clip(low + (high - low) * share, low, high)
        self.deviation_ = (high - low) * noise.deviation / count
        return self

    def _draws(self, n_features: int) -> int:
        return n_features


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateHistogram(PrivateStatistic):
    """How many records of one column are in each public bin, or have each public category.

    Privacy contract: `guarantee_`, about one record, which is in one bin. What lies outside of the edges counts in the
    first or the last bin; what is no declared category, or missing, in one bin more.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        edges: rising numbers between which bins lie; a bin has its lower edge, the last one its upper too.
        categories: in the place of edges.

    Attributes after fit: `counts_` (noisy, hence no whole numbers and perhaps negative), `deviation_`, `guarantee_`.

    >>> found = PrivateHistogram(epsilon=1.0, delta=0.0, categories=["a", "b"]).fit([["a"]] * 900 + [["b"]] * 100)
    >>> bool(abs(found.counts_ - [900, 100, 0]).max() < 60)
    True
    """

    edges: Any = None
    categories: Any = None

    _released: ClassVar[str] = "noisy counts of bins"

    def fit(self, X: Any, y: Any = None) -> PrivateHistogram:
        """Release the counts."""
        self._check_parameters()
        codes, bins = self._codes(X)
        noise = self._noise(sqrt(2) if self._replaced else 1.0, 2.0 if self._replaced else 1.0)
        source = charged(self, self.public_guarantee(len(codes), 1))
        self.counts_ = class_counts(noise, codes, bins, source)
        self.deviation_ = noise.deviation
        return self

    def _codes(self, X: Any) -> tuple[Any, int]:
        if (self.edges is None) == (self.categories is None):
            raise InvalidInput("PrivateHistogram needs 'edges' or 'categories', and not both.")
        if self.categories is not None:
            known = Categories(self.categories)
            codes = known.codes(column_of("PrivateHistogram", X))
            return np.where(codes < 0, len(known.values), codes), len(known.values) + 1
        edges = self._edges()
        values = checked_data(self, X)
        if values.shape[1] != 1:
            raise InvalidInput(f"PrivateHistogram takes one column. Got {values.shape[1]} instead.")
        places = np.searchsorted(edges, values[:, 0], side="right") - 1
        return np.clip(places, 0, len(edges) - 2).astype(np.int64), len(edges) - 1

    def _edges(self) -> FloatArray:
        edges = np.asarray(self.edges, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
            raise InvalidInput(
                "The 'edges' of PrivateHistogram must be two or more finite numbers, each above the last."
            )
        return edges

    def _draws(self, n_features: int) -> int:
        return len(self._edges()) - 1 if self.edges is not None else len(Categories(self.categories).values) + 1


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateQuantile(PrivateStatistic):
    """Quantiles of each column, such as the median.

    Privacy contract: `guarantee_`, about one record. The answer is one of 2^steps public numbers between the bounds,
    and a quantile of the records up to a rank of about the noise of a count, `deviation_`.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        quantiles: numbers between 0 and 1.
        bounds: public (low, high), numbers or one for each column.
        steps: of the binary search; each costs privacy.

    Attributes after fit: `quantiles_` (a row for each quantile), `deviation_` (of the noise of a count, in records),
    `guarantee_`.

    >>> import numpy as np
    >>> found = PrivateQuantile(epsilon=1.0, quantiles=[0.5], bounds=(0, 100)).fit(np.linspace(0, 50, 5000)[:, None])
    >>> bool(abs(found.quantiles_[0, 0] - 25) < 2)
    True
    """

    quantiles: Any = (0.5,)
    bounds: Any = None
    steps: int = 10

    _released: ClassVar[str] = "noisy counts below points of a binary search, hence quantiles"

    def fit(self, X: Any, y: Any = None) -> PrivateQuantile:
        """Release the quantiles."""
        self._check_parameters()
        rows = checked_data(self, X)
        count, width = rows.shape
        low, high = public_limits("PrivateQuantile", self.bounds, width)
        shares = np.array([float(share) for share in self.quantiles])
        noise = self._noise(1.0, 1.0, self._draws(width))
        source = charged(self, self.public_guarantee(count, width))
        found = np.empty((len(shares), width))
        for place, share in enumerate(shares):
            for column in range(width):
                bottom, top = float(low[column]), float(high[column])
                for step in range(self.steps):
                    middle = bottom + (top - bottom) / 2
                    below = np.array([np.count_nonzero(rows[:, column] <= middle)]) * noise.units
                    told = noise.release(below, source, f"quantile {place} of column {column}, step {step}")[0]
                    bottom, top = (bottom, middle) if told >= share * count else (middle, top)
                found[place, column] = bottom + (top - bottom) / 2
        self.quantiles_, self.deviation_ = found, noise.deviation
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("PrivateQuantile", "steps", self.steps, at_most=60)
        if np.ndim(self.quantiles) != 1 or not len(self.quantiles):
            raise InvalidInput("The 'quantiles' of PrivateQuantile must be a list of numbers between 0 and 1.")
        for share in self.quantiles:
            check_number("PrivateQuantile", "quantiles", share, above=0.0, below=1.0)

    def _draws(self, n_features: int) -> int:
        return n_features * len(self.quantiles) * self.steps


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateCovariance(PrivateStatistic):
    """The mean and the covariance of rows of bounded length.

    Privacy contract: `guarantee_`, about one record. Enforced: rows minus `centre` are clipped to `data_norm`. Both
    moments are one release; a covariance with negative eigenvalues, which noise makes, is replaced by the nearest one
    without.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        data_norm: public bound on the norm of a row minus the centre.
        centre: a public point near the rows (None: 0).

    Attributes after fit: `location_`, `covariance_`, `deviation_` (of the noise of a diagonal entry), `guarantee_`.

    >>> import numpy as np
    >>> rows = np.repeat([[0.6, 0.0], [-0.6, 0.0], [0.0, 0.2], [0.0, -0.2]], 2000, axis=0)
    >>> found = PrivateCovariance(epsilon=2.0, data_norm=1.0).fit(rows)
    >>> bool(abs(found.covariance_ - [[0.18, 0.0], [0.0, 0.02]]).max() < 0.02)
    True
    """

    data_norm: float = 1.0
    centre: Any = None

    _released: ClassVar[str] = "noisy first and second moments, hence mean and covariance"
    _pure: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> PrivateCovariance:
        """Release both moments."""
        self._check_parameters()
        norm, rows = float(self.data_norm), checked_data(self, X)
        count, width = rows.shape
        centre = self._centre(width)
        lattice = NoisyStatistics.finest(
            gaussian_mu(self.epsilon, self.delta) * (2 - ROUND_UP),
            partial(joint_shift, dimension=width, replace=self._replaced),
        )
        ratio = cross_ratio(self._replaced)
        source = charged(self, self.public_guarantee(count, width))
        with np.errstate(all="ignore"):  # whether something underflows depends on the data
            moved = clip_rows(np.clip(rows - centre, -1e300, 1e300), norm)
            sums = integer_sums(moved, np.ones(count), norm, lattice.units, ratio)
        told = lattice.release(sums, source, "moments") / count
        mean = norm * told[-width:] / ratio
        values, vectors = np.linalg.eigh(norm**2 * symmetric_matrix(told[:-width], width) - np.outer(mean, mean))
        self.location_ = centre + mean
        self.covariance_ = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
        self.deviation_ = norm**2 * lattice.deviation / count
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("PrivateCovariance", "data_norm", self.data_norm)

    def _centre(self, width: int) -> FloatArray:
        centre = np.zeros(width) if self.centre is None else np.asarray(self.centre, dtype=np.float64)
        if centre.shape != (width,) or not np.isfinite(centre).all():
            raise InvalidInput(f"The 'centre' of PrivateCovariance must be {width} finite numbers.")
        return centre

    def _draws(self, n_features: int) -> int:
        return n_features * (n_features + 3) // 2


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateStandardScaler(Exported, OneToOneFeatureMixin, TransformerMixin, PrivateStatistic):
    """Centre and scale each feature by private estimates of its mean and standard deviation.

    Features are clipped to `bounds` and mapped to z in [-1, 1]. A record contributes (z, z^2 - 1/2) for each feature,
    of squared norm z^4 + 1/4 <= 5/4. Two records differ by at most (a-b)^2 (1 + (a+b)^2) <= 4.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        bounds: public (low, high), numbers or one for each feature; values outside are clipped.

    >>> import numpy as np
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> scaler = PrivateStandardScaler(epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> bool(abs(scaler.mean_[0] - 5) < 0.5)
    True
    """

    bounds: Any = None

    _released: ClassVar[str] = "noisy first and second moments, hence means and deviations"
    _pure: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> PrivateStandardScaler:
        """Estimate means and deviations privately."""
        self._check_parameters()
        rows = checked_data(self, X)
        low, high = self._limits(rows)
        mu, width = gaussian_mu(self.epsilon, self.delta), rows.shape[1]
        lattice = NoisyStatistics.finest(mu, partial(moments_shift, features=width, replace=self._replaced))
        source = charged(self, self.public_guarantee(len(rows), width))
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

    def _draws(self, n_features: int) -> int:
        return 2 * n_features

    def transform(self, X: Any) -> FloatArray:
        """Subtract the means and divide by the deviations; clip what is too large for a float.

        The next step of a pipeline would refuse an infinity, for some people's rows and not for others'.
        """
        check_is_fitted(self)
        with np.errstate(all="ignore"):
            scaled = (checked_data(self, X, reset=False) - self.mean_) / self.scale_
        return np.asarray(np.clip(scaled, -float_info.max, float_info.max))

    def _limits(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.bounds is None:
            warn_of_reading("bounds were", "them", level=3)
            low, high = np.min(rows, axis=0), np.max(rows, axis=0)
            return low, np.where(high > low, high, low + 1.0)
        return public_limits("PrivateStandardScaler", self.bounds, rows.shape[1])


class PrivateScore(PrivateStatistic):
    """The score of a public model on private records.

    Privacy contract: `guarantee_`, about one record of those that are scored. Assumed: the model is public (released
    privately before, or trained on other data), and predicts each row by itself.

    `epsilon`, `delta`, `relation`, `random_state` and `ledger` are as in `PrivateLogisticRegression`.

    Args:
        estimator: a fitted model, or pipeline.
        scoring: "accuracy" (None), "neg_log_loss", or "neg_brier_score" of classifiers,
            "neg_mean_squared_error" (None) or "neg_mean_absolute_error" of regressors.
        label_bound: public bound on absolute targets, for regressors; targets and predictions are clipped to it.

    Attributes after fit: `score_`, `deviation_` (of its noise), `guarantee_`.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    >>> bool(abs(PrivateScore(model, epsilon=1.0).fit([[0]] * 2000, [1, 1, 1, 0] * 500).score_ - 0.75) < 0.02)
    True
    """

    def __init__(
        self,
        estimator: Any,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        scoring: str | None = None,
        label_bound: float | None = None,
        relation: str = "replace",
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(epsilon, delta, relation=relation, random_state=random_state, ledger=ledger)
        self.estimator, self.scoring, self.label_bound = estimator, scoring, label_bound

    _released: ClassVar[str] = "a noisy score of a public model"

    def fit(self, X: Any, y: Any) -> PrivateScore:
        """Release the score."""
        self._check_parameters()
        name = check_scoring("PrivateScore", self.scoring, self.estimator)
        if name.endswith("_error") and self.label_bound is None:
            raise InvalidInput(f"The score {name} of PrivateScore needs label_bound, a public bound on targets.")
        rows, labels = X.copy() if hasattr(X, "copy") else X, _labels_of(y)
        count = labels.size
        if not count:
            raise InvalidInput("PrivateScore needs at least one record.")
        if labels.ndim != 1 or count != ((rows.shape or (0,))[0] if hasattr(rows, "shape") else len(rows)):
            raise InvalidInput("PrivateScore needs one label for each row.")
        noise = self._noise(1.0, 1.0)
        errors = without_words(record_errors, name, self.estimator, rows, labels, self.label_bound)
        source = charged(self, self.public_guarantee(count, 1))
        whole = noise.whole(np.where(errors < 1.0, np.maximum(errors, 0.0), 1.0))  # 1 where it is not a number
        share = float(np.clip(noise.release(np.array([np.sum(whole)]), source, "errors")[0] / count, 0.0, 1.0))
        scale = error_scale(name, self.label_bound)
        self.score_ = 1.0 - share if name == "accuracy" else -scale * share
        self.deviation_ = scale * noise.deviation / count
        return self

    def __sklearn_clone__(self) -> PrivateScore:
        """A copy that scores the same fitted model."""
        return PrivateScore(**self.get_params(deep=False))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.label_bound is not None:
            check_positive("PrivateScore", "label_bound", self.label_bound)

    def _draws(self, n_features: int) -> int:
        return 2  # at most


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


def _labels_of(y: Any) -> Any:
    """Labels one by one: as an array of its own kind, one text would make texts of everybody's numbers."""
    labels = np.array(y) if hasattr(y, "dtype") else np.fromiter(y, dtype=object)
    if labels.dtype == object and labels.ndim == 1:
        labels[:] = [label if _can_be_compared(label) else None for label in labels]
    return labels


def _can_be_compared(label: Any) -> bool:
    """Whether a label says that it is itself: NA of pandas and arrays do not, and would have everybody refused."""
    try:
        return bool(label == label)
    except Exception:  # whatever an object does when it is compared
        return False
