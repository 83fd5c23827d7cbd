"""The private linear models: guarantees, warnings, bounds, classes, passes in parts, accuracy."""

import traceback
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from estimators.records import CLASSIFIERS, SOURCE, two_classes, unit
from tacit.errors import InvalidInput
from tacit.estimators import (
    Ledger,
    PrivacyWarning,
    PrivateGridSearch,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStandardScaler,
)
from tacit.randomness import Randomness

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
        ledger=Ledger(),
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
        model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], ledger=Ledger()).fit(X, y)
        PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=Ledger()).fit(X, y)
        PrivateStandardScaler(bounds=(-1, 1), ledger=Ledger()).fit(X)
    assert model.guarantee_.private


def test_reading_off_the_data_warns():
    X, y = two_classes()
    with pytest.warns(PrivacyWarning, match="data_norm was read"):
        PrivateLogisticRegression(classes=[0, 1], ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="classes were read"):
        PrivateLogisticRegression(data_norm=1.0, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="replayable"):
        PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], random_state=3, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="label_bound was read"):
        PrivateRidge(data_norm=1.0, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="bounds were read"):
        PrivateStandardScaler(ledger=Ledger()).fit(X)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, PrivateRidge])
def test_long_rows_are_clipped(kind):
    """One enormous row changes nothing but its own direction: the same fit as with that row scaled down."""
    X, y = two_classes()
    declared = {"label_bound": 1.0} if kind is PrivateRidge else {"classes": [0, 1]}
    fits = []
    for size in (1.0, 1e9):
        changed = X.copy()
        changed[0] = size * X[0] / np.linalg.norm(X[0])
        model = kind(data_norm=1.0, fit_intercept=False, random_state=SOURCE, ledger=Ledger(), **declared)
        fits.append(model.fit(changed, y).coef_)
    assert fits[0] == pytest.approx(fits[1], abs=1e-9)


@pytest.mark.parametrize(("epsilon", "floor"), [(1.0, 0.93), (0.1, 0.85)])
def test_breast_cancer(epsilon, floor):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(6):
        train, test, train_labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler = StandardScaler().fit(train)
        model = PrivateLinearSVC(
            epsilon,
            data_norm=1.0,
            classes=[0, 1],
            relation="zero-out",
            random_state=Randomness.replayable(seed),
            ledger=Ledger(),
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
        PrivateLogisticRegression(**{"data_norm": 1.0, "classes": [0, 1], "ledger": Ledger(), **changed}).fit(X, y)


@pytest.mark.parametrize(
    "rows",
    [
        [["0.125", "alice"], ["1", "2"]],
        np.array([0.1251, 0.1252]),
        np.array(0.1251),
        np.array([[0.1251 + 1j, 0.0], [0.1252, 0.0]]),
        [[0.1251, 0.1252], [0.1253]],
        np.array([[{"alice": 0.1251}, 1.0], [0.0, 0.0]]),
        np.array([[np.nan, 0.1251], [0.1252, 0.0]]),
    ],
    ids=["text", "one axis", "no axis", "complex", "ragged", "objects", "missing"],
)
def test_errors_about_data_show_no_values(rows):
    declared = {"data_norm": 1.0, "classes": [0, 1], "ledger": Ledger()}
    model = PrivateLogisticRegression(**declared).fit(np.eye(2), [0, 1])
    ridge = PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=Ledger())
    calls = (
        lambda: PrivateLogisticRegression(**declared).fit(rows, [0, 1]),
        lambda: PrivateLogisticRegression(horizon=2, **declared).partial_fit(rows, [0, 1]),
        lambda: model.predict(rows),
        lambda: ridge.fit(rows, [0.0, 1.0]),
        lambda: ridge.fit(np.eye(2), np.array(["0.125", "alice"], dtype=object)),
        lambda: PrivateStandardScaler(bounds=(0, 1), ledger=Ledger()).fit(rows),
        lambda: PrivateGridSearch(model, {"regularisation": [1.0]}, ledger=Ledger()).fit(rows, [0, 1]),
    )
    for call in calls:
        with pytest.raises((InvalidInput, TypeError)) as caught:
            call()
        shown = "".join(traceback.format_exception_only(caught.value))
        assert "alice" not in shown
        assert "0.125" not in shown
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
