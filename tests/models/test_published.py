"""What is published of a model: its card, and an estimator of scikit-learn that predicts the same."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from models.records import SOURCE, three_classes, two_classes
from tacit.noise.randomness import Randomness
from tacit_models import (
    Bounds,
    Categories,
    Ledger,
    PrivateGridSearch,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateRidge,
    PrivateScore,
    PrivateStandardScaler,
    PublicTable,
    private_pipeline,
)

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")
X, Y = two_classes(1000)
FEW = (X[:, 0] > np.quantile(X[:, 0], 0.9)).astype(int)
OWN = {"random_state": SOURCE, "ledger": Ledger()}


def logistic(**options):
    return PrivateLogisticRegression(**{"data_norm": 1.0, "classes": [0, 1], **options})


def table():
    return PublicTable({"age": Bounds(0, 100), "who|<b>": Categories(["x", "<script>"])})


@pytest.mark.parametrize(
    "model",
    [
        logistic(epsilon=4.0, **OWN),
        logistic(epsilon=4.0, threshold="zero", **OWN),
        PrivateLinearSVC(4.0, data_norm=1.0, classes=[0, 1], **OWN),
        private_pipeline([PrivateStandardScaler(bounds=(-1, 1)), logistic(data_norm=3.0)], epsilon=4.0, **OWN),
        PrivateGridSearch(logistic(), {"regularisation": [1.0, 2.0]}, epsilon=4.0, **OWN),
        PrivateRidge(4.0, data_norm=1.0, label_bound=1.0, **OWN),
    ],
    ids=["logistic", "zero", "svc", "pipeline", "search", "ridge"],
)
def test_plain_estimators_predict_the_same(model):
    plain = model.fit(X, FEW).to_sklearn()
    assert not type(plain).__module__.startswith("tacit")
    assert np.array_equal(plain.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        assert plain.predict_proba(X) == pytest.approx(model.predict_proba(X), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"algorithm": "one-pass"}])
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC])
def test_plain_estimators_of_several_classes_predict_the_same(kind, options):
    rows, labels = three_classes()
    model = kind(4.0, data_norm=1.0, classes=["a", "b", "c"], **options, **OWN).fit(rows, labels)
    plain = model.to_sklearn()
    assert np.array_equal(plain.predict(rows), model.predict(rows))
    if kind is PrivateLogisticRegression:
        assert plain.predict_proba(rows) == pytest.approx(model.predict_proba(rows), rel=1e-9)


def test_a_card_has_what_was_declared_and_released():
    frame = pd.DataFrame({"age": 100 * np.abs(X[:, 0]), "who|<b>": np.where(X[:, 1] > 0, "x", "secret person")})
    model = private_pipeline([table(), logistic(data_norm=None)], epsilon=2.0, random_state=Randomness.secret())
    model.set_params(ledger=Ledger()).fit(frame, FEW)
    score = PrivateScore(model, 1.0, **OWN).fit(frame, FEW)
    card = model.card("Who comes again; visits of 2025.", scores=[score])
    for text in ("epsilon=2", "Bounds(low=0, high=100)", "Who comes again", "private score", "accuracy: "):
        assert text in card.markdown, text
    assert card.markdown == str(card)
    assert "who\\|&lt;b>" in card.markdown
    assert "<script" not in card.markdown
    assert "secret person" not in card.markdown
    assert card.warnings == ()  # the norm of rows is the table's


def test_a_card_says_what_is_not_covered():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateLogisticRegression(random_state=3, ledger=Ledger()).fit(7.7 * X, FEW)
        piped = private_pipeline([StandardScaler(), logistic()], **OWN).fit(X, FEW)
    told = " ".join(model.card().warnings)
    assert "data_norm was read off" in told
    assert "classes was read off" in told
    assert "NOT private" in told
    assert "7.7" not in model.card().markdown
    assert "standardscaler: fitted on the data" in " ".join(piped.card().warnings)
    with pytest.raises(NotFittedError):
        logistic().card()


def test_cards_of_searches_and_statistics():
    search = PrivateGridSearch(logistic(), {"regularisation": [1.0, 2.0]}, epsilon=4.0, **OWN).fit(X, FEW)
    assert "{'regularisation': " in search.card().markdown
    assert "certified excess risk" in logistic(algorithm="objective", **OWN).fit(X, FEW).card().markdown
    mean = PrivateMean(bounds=(-1, 1), **OWN).fit(X)
    assert str(np.round(mean.mean_[0], 6)) in mean.card().markdown
