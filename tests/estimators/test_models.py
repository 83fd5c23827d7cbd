"""The private linear models: guarantees, warnings, bounds, classes, passes in parts, accuracy."""

import traceback
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from attacks import rows
from attacks.targets import models
from estimators.records import CLASSIFIERS, SOURCE, two_classes, unit
from tacit import estimators
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness

RAGGED = [[0.1251, 0.1252], [0.1253]]
pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
@pytest.mark.parametrize(("delta", "relation"), [(1e-6, "replace"), (1e-6, "zero-out"), (0.0, "replace")])
def test_two_classes(kind, algorithm, delta, relation):
    X, y = two_classes(4000)
    model = kind(
        8.0,
        delta,
        data_norm=1.0,
        classes=[0, 1],
        algorithm=algorithm,
        relation=relation,
        random_state=SOURCE,
        ledger=estimators.Ledger(),
    )
    model.fit(X, y)
    # Pure noise on a lattice is independent in each coordinate: up to sqrt(2) of noise that is shaped for the norm.
    assert model.score(X, y) > (0.85 if (algorithm, delta) == ("one-pass", 0.0) else 0.9)
    assert model.algorithm_ == algorithm
    spent = model.guarantee_.epsilon(delta)
    assert 7.9 < spent <= 8.0 * (1 + 1e-9)
    assert str(model.guarantee_.relation) == relation
    assert not model.guarantee_.private  # a replayable source is stamped
    assert model.public_guarantee(4000, 4).epsilon(delta) == spent


def test_nothing_is_read_off_declared_data_and_secrets_stay_secret():
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimators.PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], ledger=estimators.Ledger()).fit(
            X, y
        )
        estimators.PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=estimators.Ledger()).fit(X, y)
        estimators.PrivateStandardScaler(bounds=(-1, 1), ledger=estimators.Ledger()).fit(X)
    assert model.guarantee_.private


def test_reading_off_the_data_warns():
    X, y = two_classes()
    with pytest.warns(estimators.PrivacyWarning, match="data_norm was read"):
        estimators.PrivateLogisticRegression(classes=[0, 1], ledger=estimators.Ledger()).fit(X, y)
    with pytest.warns(estimators.PrivacyWarning, match="classes were read"):
        estimators.PrivateLogisticRegression(data_norm=1.0, ledger=estimators.Ledger()).fit(X, y)
    with pytest.warns(estimators.PrivacyWarning, match="replayable"):
        estimators.PrivateLogisticRegression(
            data_norm=1.0, classes=[0, 1], random_state=3, ledger=estimators.Ledger()
        ).fit(X, y)
    with pytest.warns(estimators.PrivacyWarning, match="label_bound was read"):
        estimators.PrivateRidge(data_norm=1.0, ledger=estimators.Ledger()).fit(X, y)
    with pytest.warns(estimators.PrivacyWarning, match="bounds were read"):
        estimators.PrivateStandardScaler(ledger=estimators.Ledger()).fit(X)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, estimators.PrivateRidge])
def test_long_rows_are_clipped(kind):
    """One enormous row changes nothing but its own direction: the same fit as with that row scaled down."""
    X, y = two_classes()
    declared = {"label_bound": 1.0} if kind is estimators.PrivateRidge else {"classes": [0, 1]}
    fits = []
    for size in (1.0, 1e9):
        changed = X.copy()
        changed[0] = size * X[0] / np.linalg.norm(X[0])
        model = kind(data_norm=1.0, fit_intercept=False, random_state=SOURCE, ledger=estimators.Ledger(), **declared)
        fits.append(model.fit(changed, y).coef_)
    assert fits[0] == pytest.approx(fits[1], abs=1e-9)


@pytest.mark.parametrize(("epsilon", "floor"), [(1.0, 0.93), (0.1, 0.85)])
def test_breast_cancer(epsilon, floor):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(6):
        train, test, train_labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler = StandardScaler().fit(train)
        model = estimators.PrivateLinearSVC(
            epsilon,
            data_norm=1.0,
            classes=[0, 1],
            relation="zero-out",
            random_state=Randomness.replayable(seed),
            ledger=estimators.Ledger(),
        )
        model.fit(unit(scaler.transform(train)), train_labels)
        scores.append(model.score(unit(scaler.transform(test)), test_labels))
    assert np.mean(scores) > floor


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
    ],
)
@pytest.mark.filterwarnings("ignore::tacit.estimators.PrivacyWarning")
def test_bad_parameters_raise(changed, message):
    X, y = two_classes(50)
    with pytest.raises(InvalidInput, match=message):
        estimators.PrivateLogisticRegression(
            **{"data_norm": 1.0, "classes": [0, 1], "ledger": estimators.Ledger(), **changed}
        ).fit(X, y)


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
    declared = {"data_norm": 1.0, "classes": [0, 1], "ledger": estimators.Ledger()}
    model = estimators.PrivateLogisticRegression(**declared).fit(np.eye(2), [0, 1])
    ridge = estimators.PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=estimators.Ledger())
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
        lambda: estimators.PrivateStandardScaler(bounds=(0, 1), ledger=estimators.Ledger()).fit(table),
        lambda: estimators.PrivateGridSearch(model, {"regularisation": [1.0]}, ledger=estimators.Ledger()).fit(
            table, [0, 1]
        ),
        lambda: estimators.private_pipeline(steps, ledger=estimators.Ledger()).fit(table, [0.0, 1.0]),
        lambda: estimators.PrivateMean(bounds=(0, 1), ledger=estimators.Ledger()).fit(table),
        lambda: estimators.PrivateHistogram(edges=(0, 1), ledger=estimators.Ledger()).fit(table),
        lambda: estimators.PrivateQuantile(bounds=(0, 1), ledger=estimators.Ledger()).fit(table),
        lambda: estimators.PrivateCovariance(ledger=estimators.Ledger()).fit(table),
        lambda: estimators.PrivateScore(model, ledger=estimators.Ledger()).fit(table, [0, 1]),
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
