"""Private statistics: what one record moves, by enumeration; exact laws; what is spent; what they are good for."""

import warnings
from fractions import Fraction
from itertools import product
from math import sqrt

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss

from attacks import rows
from models.records import SOURCE, two_classes
from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.guarantee import Relation
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit_models import (
    Bounds,
    Categories,
    Ledger,
    PrivateCovariance,
    PrivateHistogram,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateQuantile,
    PrivateRidge,
    PrivateScore,
    PrivateStandardScaler,
    PublicTable,
    private_pipeline,
    statistics,
)
from tacit_models.budget import NoisyCounts, NoisyStatistics

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")
CELLS = (-1e308, -1.0, 0.0, 0.3, 1.0, 1e308)


class Fixed:
    """A public model: the class is whether the number is positive, with extreme probabilities and margins."""

    _estimator_type = "classifier"
    classes_ = np.array([0, 1])

    def __sklearn_tags__(self):
        return PrivateLogisticRegression().__sklearn_tags__()

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def predict_proba(self, X):
        chance = np.clip(np.asarray(X)[:, 0], 0.0, 1.0)
        return np.column_stack([1 - chance, chance])

    def decision_function(self, X):
        return np.asarray(X)[:, 0] * 10


def repr_short(value):
    return repr(value)[:9]


STATISTICS = {
    "mean": (PrivateMean(bounds=(-1, 1)), 2, None),
    "histogram": (PrivateHistogram(edges=[-1, 0, 0.5, 1]), 1, None),
    "categories": (PrivateHistogram(categories=[0, 1, 0.3]), 1, None),
    "quantile": (PrivateQuantile(quantiles=[0.25, 0.75], bounds=(-1, 1), steps=2), 1, None),
    "covariance": (PrivateCovariance(data_norm=1.0), 2, None),
    "accuracy": (PrivateScore(Fixed()), 1, (0, 1)),
    "log loss": (PrivateScore(Fixed(), scoring="neg_log_loss"), 1, (0, 1)),
}
CASES = [
    (name, relation, delta)
    for name in STATISTICS
    for relation in ("replace", "zero-out")
    for delta in (1e-6, 0.0)
    if not (name == "covariance" and delta == 0.0)
]


def released(model, X, y, monkeypatch):
    """The integers to which noise is added, each over its noise, and what they may move by: mu, or epsilon."""
    seen = []

    def counts(self, sums, source, name):
        scale = self._rate if self.pure else 1 / GAUSSIAN_SIGMA
        seen.append(np.ravel(sums) * scale)
        return np.full(np.shape(sums), 1e9)  # the search goes on in the same half, whatever was counted

    def moments(self, sums, source, name):
        seen.append(np.ravel(sums) / GAUSSIAN_SIGMA)
        return np.zeros(np.shape(sums))

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(NoisyCounts, "release", counts)
        patch.setattr(NoisyStatistics, "release", moments)
        (model.fit(X) if y is None else model.fit(X, y))
    return np.concatenate(seen)


@pytest.mark.attack(rows.STATISTICS)
@pytest.mark.parametrize(("name", "relation", "delta"), CASES)
def test_one_record_moves_what_is_released_by_what_is_charged(name, relation, delta, record_property, monkeypatch):
    """Every pair of records from extreme cells: the largest move over the noise is what the contract has."""
    kind, width, labels = STATISTICS[name]
    record_property("attacked", type(kind).__name__)
    model = clone(kind, safe=False) if name not in ("accuracy", "log loss") else kind
    model = model.set_params(relation=relation, delta=delta, epsilon=2.0, ledger=Ledger(), random_state=SOURCE)
    others, told = np.array([[0.3] * width, [-0.5] * width, [0.9] * width]), np.array([0, 1, 0])
    records = [(np.array(cells), label) for cells in product(CELLS, repeat=width) for label in (labels or (None,))]
    found = []
    for row, label in records:
        y = None if labels is None else np.append(told, label)
        found.append(released(model, np.vstack([others, row]), y, monkeypatch))
    found = np.array(found)
    if relation == "replace":
        moves = found[:, None] - found[None, :]
    else:  # the statistic without the record, which still counts in the public number of records
        alone = released(model, others, None if labels is None else told, monkeypatch)
        moves = found - alone
    size = np.abs(moves).sum(axis=-1) if delta == 0 else np.sqrt((moves**2).sum(axis=-1))
    allowed = 2.0 if delta == 0 else gaussian_mu(2.0, 1e-6)
    assert size.max() <= allowed * (1 + 1e-9)
    least = {"covariance": 0.9, "quantile": 0.7, "categories": 0.45}.get(name, 0.45)
    assert size.max() >= least * allowed  # and not far below


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", STATISTICS)
def test_what_is_spent(name, delta):
    kind, width, labels = STATISTICS[name]
    if name == "covariance" and delta == 0:
        with pytest.raises(PrivacyError, match="delta > 0"):
            PrivateCovariance(delta=0.0).fit([[1.0]])
        return
    ledger = Ledger()
    model = kind.set_params(epsilon=0.7, delta=delta, relation="replace", ledger=ledger, random_state=SOURCE)
    X = np.linspace(-1, 1, 30 * width).reshape(30, width)
    model.fit(X, None if labels is None else np.arange(30) % 2)
    ((label, guarantee),) = ledger
    assert label == f"{type(kind).__name__}.fit"
    assert 0.69 < guarantee.epsilon(delta) <= 0.7
    assert guarantee.curve == model.guarantee_.curve == model.public_guarantee(30, width).curve
    assert guarantee.numerics.startswith("exact")
    spent = Ledger(epsilon=0.5, delta=1e-6)
    with pytest.raises(PrivacyError, match="budget"):
        model.set_params(ledger=spent).fit(X, None if labels is None else np.arange(30) % 2)


def test_the_law_of_a_pure_count_by_enumeration():
    """Two neighbouring counts under geometric noise: the largest log-ratio over all outcomes, in high precision."""
    noise = PrivateHistogram(0.5, 0.0, edges=[0, 1, 2])._noise(sqrt(2), 2.0)
    rate = Fraction(noise._rate)
    with mpmath.workdps(50):
        a = mpmath.mpf(rate.numerator) / rate.denominator
        worst = max(
            sum(a * (abs(z - shift) - abs(z)) for shift in (noise.units, -noise.units))
            for z in (-3 * noise.units, 0, noise.units // 2, 3 * noise.units)
        )
        assert worst <= mpmath.mpf(1) / 2
        assert worst > 0.49999


def test_what_they_are_good_for():
    stream = Randomness.replayable(8).stream("data")
    X = stream.normal([1.0, -2.0], [0.5, 1.0], (20_000, 2))
    options = {"random_state": SOURCE, "ledger": Ledger()}
    mean = PrivateMean(1.0, bounds=(-10, 10), **options).fit(X)
    assert mean.mean_ == pytest.approx(X.mean(axis=0), abs=6 * mean.deviation_.max())
    assert mean.deviation_.max() < 0.01
    left_out = PrivateMean(1.0, bounds=(-10, 10), relation="zero-out", **options).fit(X)
    assert left_out.mean_ == pytest.approx(X.mean(axis=0), abs=6 * left_out.deviation_.max())
    assert left_out.deviation_ == pytest.approx(mean.deviation_ / 2, rel=1e-3)
    quantile = PrivateQuantile(1.0, quantiles=[0.1, 0.5, 0.9], bounds=(-10, 10), steps=12, **options).fit(X)
    assert quantile.quantiles_ == pytest.approx(np.quantile(X, [0.1, 0.5, 0.9], axis=0), abs=0.1)
    counts = PrivateHistogram(1.0, edges=np.linspace(-10, 10, 21), **options).fit(X[:, :1])
    expected = np.histogram(X[:, 0], np.linspace(-10, 10, 21))[0]
    assert np.abs(counts.counts_ - expected).max() < 6 * counts.deviation_
    covariance = PrivateCovariance(1.0, data_norm=5.0, centre=[1.0, -2.0], **options).fit(X)
    assert covariance.covariance_ == pytest.approx(np.cov(X.T), abs=0.1)
    assert covariance.location_ == pytest.approx([1.0, -2.0], abs=0.05)
    assert np.linalg.eigvalsh(PrivateCovariance(0.05, **options).fit(X[:20] / 9).covariance_).min() >= -1e-12


def test_scores_of_a_model():
    X, y = two_classes(4000)
    options = {"random_state": SOURCE, "ledger": Ledger()}
    model = PrivateLogisticRegression(4.0, data_norm=1.0, classes=[0, 1], **options).fit(X, y)
    told = PrivateScore(model, 1.0, **options).fit(X, y)
    assert told.score_ == pytest.approx(model.score(X, y), abs=6 * told.deviation_)
    loss = PrivateScore(model, 1.0, scoring="neg_log_loss", **options).fit(X, y)
    assert loss.score_ == pytest.approx(-log_loss(y, model.predict_proba(X)), abs=6 * loss.deviation_)
    ridge = PrivateRidge(4.0, data_norm=1.0, label_bound=1.0, **options).fit(X, y)
    assert -0.25 < PrivateScore(ridge, 1.0, label_bound=1.0, **options).fit(X, y).score_ < 0
    with pytest.raises(InvalidInput, match="needs label_bound"):
        PrivateScore(ridge, **options).fit(X, y)
    with pytest.raises(InvalidInput, match="must be a model that predicts"):
        PrivateScore(None, **options).fit(X, y)
    with pytest.raises(InvalidInput, match="one label for each row"):
        PrivateScore(model, **options).fit(X, y[:-1])
    with pytest.raises(InvalidInput, match="at least one record"):
        PrivateScore(model, **options).fit(X[:0], y[:0])


@pytest.mark.attack(rows.STATISTICS)
@pytest.mark.parametrize("label", ["a text", b"1", None, [1], 10**400, pd.NA, np.ones(2)], ids=repr_short)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "neg_brier_score"])
def test_a_label_of_another_kind_moves_a_score_by_one_record(scoring, label):
    """In an array of one kind a text made texts of all numbers: accuracy fell from .996 to .001."""
    X, y = two_classes(400)
    options = {"scoring": scoring, "random_state": SOURCE, "ledger": Ledger()}
    honest, other = (PrivateScore(Fixed(), 30.0, **options).fit(X, [first, *y[1:].tolist()]) for first in (y[0], label))
    most = {"neg_log_loss": np.log(100), "neg_brier_score": 2.0}.get(scoring, 1.0)
    assert abs(honest.score_ - other.score_) <= most / 400 + 1e-9


class Column(Fixed):
    """A model that was fitted with labels of two axes: its predictions are a column."""

    def predict(self, X):
        return super().predict(X)[:, None]

    def predict_proba(self, X):
        return super().predict_proba(X)[..., None]


@pytest.mark.attack(rows.STATISTICS)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "neg_brier_score", "neg_mean_absolute_error"])
def test_predictions_that_are_a_column_are_refused(scoring):
    """Each was compared with all labels: one target in 500 moved a score by half its range, at epsilon .1."""
    X, y = two_classes(40)
    ledger = Ledger()
    number = LinearRegression().fit(X, y[:, None])
    model, bound = (number, 1.0) if scoring.endswith("_error") else (Column(), None)
    with pytest.raises(InvalidInput, match="must predict one number or class for each row"):
        PrivateScore(model, scoring=scoring, label_bound=bound, ledger=ledger).fit(X, y)
    assert len(ledger) == 0


def test_statistics_of_a_public_table():
    frame = pd.DataFrame({"age": [30, 50, None, "x", 70] * 200, "country": ["AT", "BE", None, "ZZ", "AT"] * 200})
    table = PublicTable({"age": Bounds(0, 100), "country": Categories(["AT", "BE"])})
    pipe = private_pipeline([table, PrivateMean(bounds=(-1, 1))], random_state=SOURCE, ledger=Ledger()).fit(frame)
    assert pipe[-1].mean_ == pytest.approx([0.0, 0.4, 0.2], abs=0.1)
    counts = PrivateHistogram(categories=["AT", "BE"], random_state=SOURCE, ledger=Ledger()).fit(frame[["country"]])
    assert counts.counts_ == pytest.approx([400, 200, 400], abs=40)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PrivateMean().fit([[1.0]]), "bounds"),
        (lambda: PrivateMean(bounds=(1, 0)).fit([[1.0]]), "low below high"),
        (lambda: PrivateHistogram().fit([[1.0]]), "'edges' or 'categories'"),
        (lambda: PrivateHistogram(edges=[0, 0]).fit([[1.0]]), "each above the last"),
        (lambda: PrivateHistogram(edges=[0, 1]).fit([[1.0, 2.0]]), "one column"),
        (lambda: PrivateHistogram(categories=[0, 1]).fit(np.ones((5, 2))), "one column"),
        (lambda: PrivateHistogram(categories=[0, 1]).fit(pd.DataFrame({"a": [0], "b": [1]})), "one column"),
        (lambda: PrivateHistogram(categories=[0, 1]).fit(sparse.csr_array(np.eye(2))), "one column"),
        (lambda: PrivateHistogram(categories=[0, 1]).fit([]), "at least one row"),
        (lambda: PrivateStandardScaler(delta=0.0, bounds=(0, 1)).fit([[1.0]]), "needs delta > 0"),
        (lambda: PrivateQuantile(bounds=(0, 1), quantiles=[1.5]).fit([[1.0]]), "quantiles"),
        (lambda: PrivateQuantile(bounds=(0, 1), quantiles=0.5).fit([[1.0]]), "a list of numbers"),
        (lambda: PrivateQuantile(bounds=(0, 1), steps=0).fit([[1.0]]), "steps"),
        (lambda: PrivateCovariance(data_norm=0).fit([[1.0]]), "data_norm"),
        (lambda: PrivateCovariance(centre=[1, 2]).fit([[1.0]]), "centre"),
        (lambda: PrivateScore(Fixed(), label_bound=-1).fit([[1.0]], [1]), "label_bound"),
        (lambda: PrivateMean(bounds=(0, 1), relation="add").fit([[1.0]]), "relation"),
        (lambda: PrivateMean(bounds=(0, 1)).fit([[np.nan]]), "NaN"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises((InvalidInput, PrivacyError), match=message):
        make()


def test_one_column_in_many_forms():
    cells, told = ["a", "b", ["a", "a"], None], []
    for given in (cells, pd.Series(cells), pd.DataFrame({"c": cells}), [[cell] for cell in cells],
                  np.array(cells, dtype=object)):  # fmt: skip
        told.append(PrivateHistogram(categories=["a", "b"], random_state=SOURCE, ledger=Ledger()).fit(given).counts_)
    assert all(np.array_equal(told[0], other) for other in told)


@pytest.mark.attack(rows.STATISTICS)
@pytest.mark.parametrize("last", [None, "b", float("nan"), ("b",), ["b", "c"], [], np.array("b"), {"a": 1}])
def test_an_element_of_another_shape_changes_no_other_cell(last):
    """One element that is no row made cells of everybody's rows, none of them a declared category."""
    for others in ([["a"]] * 9, ["a"] * 9):
        codes, _ = PrivateHistogram(categories=["a", "b"])._codes([*others, last])
        assert codes[:-1].tolist() == [0] * 9


def test_every_search_step_has_noise_of_its_own():
    names = []
    model = PrivateQuantile(quantiles=[0.2, 0.8], bounds=(0, 1), steps=3, random_state=SOURCE, ledger=Ledger())
    honest = NoisyCounts.release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            NoisyCounts,
            "release",
            lambda self, sums, source, name: names.append(name) or honest(self, sums, source, name),
        )
        model.fit(np.random.default_rng(0).random((20, 2)))
    assert len(set(names)) == len(names) == model._draws(2) == 12
    assert {Relation(model.relation)} == {Relation.REPLACE}
    assert statistics.PrivateScore(Fixed())._draws(1) == 2


def test_the_scaler():
    stream = Randomness.replayable(4).stream("data")
    X = stream.standard_normal((20_000, 3)) * [1.0, 2.0, 0.5] + [5.0, -3.0, 0.0]
    scaler = PrivateStandardScaler(1.0, bounds=(-20, 20), random_state=SOURCE, ledger=Ledger()).fit(X)
    assert scaler.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    assert scaler.scale_[1] == pytest.approx(2.0, abs=0.5)
    assert scaler.guarantee_.epsilon(1e-6) <= 1.0 * (1 + 1e-9)
    assert np.abs(scaler.transform(X).mean(axis=0)).max() < 0.2
    zero = PrivateStandardScaler(
        1.0, bounds=([-20] * 3, [20] * 3), relation="zero-out", random_state=SOURCE, ledger=Ledger()
    ).fit(X)
    assert zero.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    for bad in ((1, 0), (0, np.inf), 3, ([0, 0], [1, 1])):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bad).fit(X)


def test_no_bounds_of_the_scaler_let_a_record_count_for_more():
    """Between 1 and the next float the middle is 1, and a record at the other end counted for (2, 3.5)."""
    high = np.nextafter(1.0, 2.0)
    scaler = PrivateStandardScaler(30.0, 0.5, bounds=(1.0, high), random_state=SOURCE, ledger=Ledger())
    scaler.fit(np.repeat([[1.0], [high]], 5_000, axis=0))
    assert scaler.scale_[0] / ((high - 1.0) / 2) == pytest.approx(0.5, abs=0.01)  # z is 0 or 1
    for bounds in ((0.0, 5e-324), (-1.7e308, 1.7e308), (1.0, 1.0), (0.0, np.nan)):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bounds, ledger=Ledger()).fit(np.zeros((3, 1)))
