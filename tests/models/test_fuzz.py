"""Estimators and ledgers: scikit-learn's ValueError, or tacit's error, and a ledger that an error does not charge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, nearly, odd_arrays, one_of, values
from tacit.accounting.curves import Gaussian, Pure
from tacit_models import (
    LEDGER,
    Bounds,
    Categories,
    Hashed,
    Ledger,
    ModelCard,
    PrivacyWarning,
    PrivateCovariance,
    PrivateGridSearch,
    PrivateHistogram,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMean,
    PrivatePipeline,
    PrivateQuantile,
    PrivateRidge,
    PrivateScore,
    PrivateStandardScaler,
    PublicTable,
    UsefulnessWarning,
    private_pipeline,
)

X = np.array([[0.1, 0.2, 0.3], [0.3, -0.2, 0.1], [-0.5, 0.1, 0.0], [0.2, 0.2, 0.2]] * 5)
Y = np.array([0, 1, 0, 1] * 5)
SHARED = {"epsilon": 1.0, "delta": 1e-6, "relation": one_of("replace", "zero-out"), "random_state": 0}
MODEL = {
    **SHARED, "data_norm": 1.0, "algorithm": one_of("auto", "objective", "one-pass"), "fit_intercept": True,
    "regularisation": None, "horizon": None, "weight_bound": None,
}  # fmt: skip
CLASSIFIER = {
    **MODEL, "class_weight": one_of(None, "balanced", {0: 1.0, 1: 2.0}), "threshold": one_of("matched", "zero"),
}  # fmt: skip
ESTIMATORS = {
    PrivateLogisticRegression: CLASSIFIER,
    PrivateLinearSVC: CLASSIFIER,
    PrivateRidge: {**MODEL, "label_bound": 1.0, "algorithm": one_of("auto", "objective")},
    PrivateStandardScaler: {**SHARED, "bounds": one_of((0.0, 1.0), ([0.0] * 3, [1.0] * 3))},
}
THEIRS = (ValueError, TypeError, NotFittedError)  # scikit-learn's conventions for data
WARNINGS = (PrivacyWarning, UsefulnessWarning, DataConversionWarning, FutureWarning)


def fit(estimator, *data):
    """Fit under the rules; a fit that raises has spent nothing."""
    before = len(estimator.ledger) if isinstance(estimator.ledger, Ledger) else 0
    fitted = attempt(lambda: estimator.fit(*data), also=THEIRS, expected=WARNINGS)
    if fitted is REFUSED and isinstance(estimator.ledger, Ledger):
        assert len(estimator.ledger) == before
    return fitted


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
@examples(8)
@given(data=st.data())
def test_parameters(kind, data):
    """Bad parameters raise tacit's own errors, in fit and not before."""
    arguments = data.draw(nearly(**ESTIMATORS[kind]))
    estimator = attempt(lambda: kind(ledger=Ledger(), **arguments))
    assert attempt(lambda: clone(estimator)) is not REFUSED
    fitted = attempt(lambda: estimator.fit(X, Y), expected=WARNINGS)
    if fitted is REFUSED:
        assert len(estimator.ledger) == 0
        return
    assert len(estimator.ledger) == 1
    assert estimator.guarantee_.epsilon(arguments["delta"]) <= arguments["epsilon"] * (1 + 1e-6)
    shown = estimator.transform(X) if kind is PrivateStandardScaler else estimator.predict(X)
    assert np.all(np.isfinite(shown))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
@examples(8)
@given(rows=odd_arrays(), labels=odd_arrays(columns=4, dimensions=(1,)))
def test_data(kind, rows, labels):
    bounds = {"bounds": (0.0, 1.0)} if kind is PrivateStandardScaler else {"data_norm": 1.0}
    estimator = kind(random_state=0, ledger=Ledger(), **bounds)
    predict = "transform" if kind is PrivateStandardScaler else "predict"
    assert attempt(lambda: getattr(estimator, predict)(rows), also=THEIRS, expected=WARNINGS) is REFUSED
    fit(estimator, rows, labels)
    fit(estimator, rows, Y)
    fit(estimator, X, labels)
    assert fit(estimator, X, Y) is not REFUSED
    attempt(lambda: getattr(estimator, predict)(rows), also=THEIRS, expected=WARNINGS)
    if hasattr(estimator, "partial_fit"):
        stream = clone(estimator).set_params(algorithm="one-pass", horizon=100)
        attempt(lambda: stream.partial_fit(rows, labels, classes=[0, 1]), also=THEIRS, expected=WARNINGS)
    assert np.all(np.isfinite(getattr(estimator, predict)(X)))


@examples(6)
@given(
    arguments=nearly(
        estimator=PrivateLogisticRegression(data_norm=1.0),
        param_grid=one_of({"regularisation": [0.1, 1.0]}, {"epsilon": [1.0]}, {}),
        epsilon=2.0,
        delta=1e-6,
        holdout=0.25,
        random_state=0,
    )
)
def test_grid_search(arguments):
    search = PrivateGridSearch(ledger=Ledger(), **arguments)
    if fit(search, X, Y) is not REFUSED:
        assert search.guarantee_.epsilon(arguments["delta"]) <= arguments["epsilon"] * (1 + 1e-6)
        assert len(search.predict(X)) == len(X)


@examples(6)
@given(
    arguments=nearly(
        steps=[PrivateStandardScaler(bounds=(0, 1)), PrivateLinearSVC(data_norm=1.0, classes=[0, 1])],
        epsilon=2.0,
        delta=1e-6,
        relation=one_of("replace", "zero-out"),
        random_state=0,
    )
)
def test_pipelines(arguments):
    pipeline = attempt(lambda: private_pipeline(ledger=Ledger(), **arguments), also=THEIRS)
    assert pipeline is REFUSED or isinstance(pipeline, PrivatePipeline)
    if pipeline is not REFUSED and fit(pipeline, X, Y) is not REFUSED:
        assert pipeline.guarantee_.epsilon(arguments["delta"]) <= arguments["epsilon"] * (1 + 1e-6)
        assert len(pipeline.predict(X)) == len(X)


@examples(8)
@given(weights=odd_arrays(columns=4, dimensions=(1,)))
def test_weights(weights):
    model = PrivateLinearSVC(data_norm=1.0, classes=[0, 1], weight_bound=1.0, random_state=0, ledger=Ledger())
    fit(model, X, Y, weights)
    assert fit(model, X, Y, np.ones(len(Y))) is not REFUSED


STATISTICS = {
    PrivateMean: {"bounds": one_of((0.0, 1.0), ([0.0] * 3, [1.0] * 3))},
    PrivateHistogram: {"edges": one_of([0.0, 0.5, 1.0], None), "categories": one_of(None, ["a", 1])},
    PrivateQuantile: {"bounds": (0.0, 1.0), "quantiles": one_of([0.5], (0.1, 0.9)), "steps": 3},
    PrivateCovariance: {"data_norm": 1.0, "centre": one_of(None, [0.0] * 3)},
    PrivateScore: {"estimator": DummyClassifier(strategy="constant", constant=1).fit(X, Y), "scoring": one_of(None)},
}


@pytest.mark.parametrize("kind", STATISTICS, ids=lambda kind: kind.__name__)
@examples(6)
@given(data=st.data(), rows=odd_arrays())
def test_statistics(kind, data, rows):
    arguments = data.draw(nearly(**SHARED, **STATISTICS[kind]))
    made = attempt(lambda: kind(ledger=Ledger(), **arguments))
    for table in (rows, X, X[:, :1]):
        if fit(made, table, Y) is not REFUSED:
            assert made.guarantee_.epsilon(arguments["delta"]) <= arguments["epsilon"] * (1 + 1e-6)
            assert isinstance(made.card(), ModelCard)


@examples(10)
@given(
    bounds=nearly(low=0.0, high=1.0),
    others=nearly(values=["a", "b"], columns=8),
    cells=st.lists(values, min_size=3, max_size=3),
    missing=values | one_of(None),
)
def test_tables(bounds, others, cells, missing):
    """Declarations are refused or taken; a cell never is."""
    parts = (
        attempt(lambda: Bounds(**bounds)),
        attempt(lambda: Categories(others["values"])),
        attempt(lambda: Hashed(others["columns"])),
    )
    columns = dict(zip("abc", parts, strict=True))
    table = REFUSED if REFUSED in parts else attempt(lambda: PublicTable(columns, missing=missing))
    if table is not REFUSED:
        rows = np.empty((2, 3), dtype=object)
        rows[0], rows[1] = cells, [0.5, "a", "word"]
        encoded = attempt(lambda: table.fit_transform(rows), also=THEIRS)
        assert encoded is REFUSED or len(encoded) == 2 or encoded.shape[0] == 2


GUARANTEES = one_of(
    tacit.Guarantee(Pure(0.4), 0.0, "a", "b"),
    tacit.Guarantee(Gaussian(0.2), 1e-6, "a", "b"),
    tacit.Guarantee(Gaussian(0.2), 1e-6, "a", "b", relation="zero-out"),
)


@examples(30)
@given(
    arguments=nearly(epsilon=one_of(None, 1.0), delta=1e-6, renews=one_of(None, "monthly")),
    spent=st.lists(GUARANTEES | values, max_size=4),
    delta=values,
)
def test_ledgers(arguments, spent, delta):
    ledger = attempt(lambda: Ledger(**arguments))
    if ledger is REFUSED:
        return
    for guarantee in spent:
        before = len(ledger)
        recorded = attempt(lambda guarantee=guarantee: ledger.record("fit", guarantee))
        assert len(ledger) == before + (recorded is not REFUSED)
    found = attempt(lambda: ledger.epsilon(delta))
    assert found is REFUSED or found >= 0
    assert attempt(lambda: str(ledger))
    assert ledger.together().epsilon() >= 0 if len(ledger) else ledger.spent == 0.0
    assert "spent" in ledger.table()
    assert ledger.to_dict()["delta"] == ledger.budget.delta
    assert isinstance(LEDGER, Ledger)
