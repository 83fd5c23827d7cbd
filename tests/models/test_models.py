"""The private linear models: guarantees, warnings, bounds, and errors without values."""

import traceback
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import tacit_models as estimators
from attacks import rows
from attacks.targets import models
from models.records import CLASSIFIERS, private, two_classes
from tacit.errors import InvalidInput

LEDGER = estimators.Ledger()
RAGGED = [[0.1251, 0.1252], [0.1253]]
pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
@pytest.mark.parametrize(("delta", "relation"), [(1e-6, "replace"), (1e-6, "zero-out"), (0.0, "replace")])
def test_two_classes(kind, algorithm, delta, relation):
    X, y = two_classes(4000)
    model = private(kind, 8.0, delta=delta, algorithm=algorithm, relation=relation).fit(X, y)
    # Pure noise on a lattice is independent in each coordinate: up to sqrt(2) of noise that is shaped for the norm.
    assert model.score(X, y) > (0.85 if (algorithm, delta) == ("one-pass", 0.0) else 0.9)
    assert model.algorithm_ == algorithm
    spent = model.guarantee_.epsilon(delta)
    assert 7.9 < spent <= 8.0 * (1 + 1e-9)
    assert str(model.guarantee_.relation) == relation
    assert not model.guarantee_.private  # a replayable source is stamped
    assert model.public_guarantee(4000, 4).epsilon(delta) == spent


def test_what_is_not_declared_is_read_off_with_a_warning():
    X, y = two_classes()
    logistic, ridge = (private(kind, random_state=None) for kind in (CLASSIFIERS[0], estimators.PrivateRidge))
    scaler = estimators.PrivateStandardScaler(bounds=(-1, 1), ledger=LEDGER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(model.fit(X, y).guarantee_.private for model in (logistic, ridge, scaler))
    for model, changed, message in (
        (logistic, {"data_norm": None}, "data_norm was read"),
        (logistic, {"classes": None}, "classes were read"),
        (logistic, {"random_state": 3}, "replayable"),
        (ridge, {"label_bound": None}, "label_bound was read"),
        (scaler, {"bounds": None}, "bounds were read"),
    ):
        with pytest.warns(estimators.PrivacyWarning, match=message):
            clone(model).set_params(**changed).fit(X, y)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, estimators.PrivateRidge])
def test_long_rows_are_clipped(kind):
    """One enormous row changes nothing but its own direction: the same fit as with that row scaled down."""
    X, y = two_classes()
    fits = []
    for size in (1.0, 1e9):
        changed = X.copy()
        changed[0] = size * X[0] / np.linalg.norm(X[0])
        fits.append(private(kind, fit_intercept=False).fit(changed, y).coef_)
    assert fits[0] == pytest.approx(fits[1], abs=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"algorithm": "newton"}, "algorithm"),
        ({"relation": "add"}, "relation"),
        ({"data_norm": 0.0}, "data_norm"),
        ({"regularisation": -2.0}, "regularisation"),
        ({"horizon": 0}, "horizon"),
        ({"random_state": -5}, "seed"),
        ({"classes": [0]}, "2 classes"),
        ({"classes": [0, 2]}, "among"),
        ({"threshold": "best"}, "threshold"),
        ({"weight_bound": 0.0}, "weight_bound"),
        *(({"class_weight": bad}, "class_weight") for bad in ("equal", 3, {}, {0: 0.0}, {0: -1.0}, {2: 1.0})),
    ],
)
@pytest.mark.filterwarnings("ignore::tacit_models.PrivacyWarning")
def test_bad_parameters_raise(changed, message):
    with pytest.raises(InvalidInput, match=message):
        private(CLASSIFIERS[0]).set_params(**changed).fit(*two_classes(50))


@pytest.mark.attack(rows.NAMED)
@pytest.mark.parametrize(
    "table",
    [
        [["0.125", "alice"], ["1", "2"]],
        np.array([0.1251, 0.1252]),
        np.array(0.1251),
        np.array([[0.1251 + 1j, 0.0], [0.1252, 0.0]]),
        RAGGED,
        np.array([[{"alice": 0.1251}, 1.0], [0.0, 0.0]]),
        np.array([[np.nan, 0.1251], [0.1252, 0.0]]),
    ],
    ids=["text", "one axis", "no axis", "complex", "ragged", "objects", "missing"],
)
def test_errors_about_data_show_no_values(table, record_property):
    declared = {"data_norm": 1.0, "classes": [0, 1], "ledger": LEDGER}
    model = estimators.PrivateLogisticRegression(**declared).fit(np.eye(2), [0, 1])
    ridge = estimators.PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=LEDGER)
    steps = [
        estimators.PrivateStandardScaler(bounds=(0, 1)),
        estimators.PrivateRidge(data_norm=1.0, label_bound=1.0),
    ]
    calls = (
        lambda: estimators.PrivateLogisticRegression(**declared).fit(table, [0, 1]),
        lambda: estimators.PrivateLogisticRegression(horizon=2, **declared).partial_fit(table, [0, 1]),
        lambda: estimators.PrivateLinearSVC(**declared).fit(table, [0, 1]),
        lambda: model.predict(table),
        lambda: ridge.fit(table, [0.0, 1.0]),
        lambda: ridge.fit(np.eye(2), np.array(["0.125", "alice"], dtype=object)),
        lambda: estimators.PrivateStandardScaler(bounds=(0, 1), ledger=LEDGER).fit(table),
        lambda: estimators.PrivateGridSearch(model, {"regularisation": [1.0]}, ledger=LEDGER).fit(table, [0, 1]),
        lambda: estimators.private_pipeline(steps, ledger=LEDGER).fit(table, [0.0, 1.0]),
        lambda: estimators.PrivateMean(bounds=(0, 1), ledger=LEDGER).fit(table),
        lambda: estimators.PrivateHistogram(edges=(0, 1), ledger=LEDGER).fit(table),
        lambda: estimators.PrivateQuantile(bounds=(0, 1), ledger=LEDGER).fit(table),
        lambda: estimators.PrivateCovariance(ledger=LEDGER).fit(table),
        lambda: estimators.PrivateScore(model, ledger=LEDGER).fit(table, [0, 1]),
    )
    for name in models():
        record_property("attacked", name)
    for call in calls:
        with pytest.raises((InvalidInput, TypeError)) as caught:
            call()
        shown = "".join(traceback.format_exception_only(caught.value))
        assert "alice" not in shown
        assert "0.125" not in shown
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
