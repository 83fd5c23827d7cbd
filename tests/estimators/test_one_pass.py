"""Models of one pass: in parts, over large data, regularised."""

import numpy as np
import pytest

from estimators.records import CLASSIFIERS, SOURCE, two_classes
from tacit.algorithms.stochastic import StronglyConvex, Subgradient
from tacit.errors import ProtocolError
from tacit.estimators import Ledger, PrivacyWarning, PrivateLogisticRegression, PrivateRidge

pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_partial_fit_is_one_pass_in_parts(kind):
    X, y = two_classes(1000)
    make = {"data_norm": 1.0, "classes": [0, 1], "random_state": SOURCE, "ledger": Ledger(), "horizon": 1000}
    whole = kind(algorithm="one-pass", **make).fit(X, y)
    parts = kind(**make)
    for first in range(0, 1000, 130):
        parts.partial_fit(X[first : first + 130], y[first : first + 130])
    assert np.array_equal(whole.coef_, parts.coef_)
    assert parts.guarantee_.epsilon(1e-6) <= 1.0 * (1 + 1e-9)
    with pytest.raises(ProtocolError, match="0 are left"):
        parts.partial_fit(X[:1], y[:1])
    assert not hasattr(kind(), "partial_fit")  # only over a declared horizon
    with pytest.warns(PrivacyWarning):
        kind(classes=[0, 1], horizon=10, ledger=Ledger(), random_state=SOURCE).partial_fit(X[:5], y[:5])


def test_partial_fit_of_ridge():
    X, y = two_classes(1000)
    make = {"data_norm": 1.0, "label_bound": 1.0, "random_state": SOURCE, "ledger": Ledger(), "horizon": 1000}
    whole = PrivateRidge(algorithm="one-pass", **make).fit(X, y)
    parts = PrivateRidge(**make)
    parts.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert np.array_equal(whole.coef_, parts.coef_)
    with pytest.raises(ProtocolError, match="0 are left"):
        parts.partial_fit(X[:1], y[:1])


def test_auto_streams_over_large_data(monkeypatch):
    import tacit.estimators.linear_model as base

    X, y = two_classes(100)
    monkeypatch.setattr(base, "LARGEST_OBJECTIVE", 10)
    model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], random_state=SOURCE, ledger=Ledger())
    assert model.fit(X, y).algorithm_ == "one-pass"


def test_a_declared_regulariser_enters_the_pass():
    X, y = two_classes()
    make = {"data_norm": 1.0, "classes": [0, 1], "algorithm": "one-pass", "random_state": SOURCE, "ledger": Ledger()}
    model = PrivateLogisticRegression(regularisation=300.0, **make)
    many = PrivateLogisticRegression(regularisation=25_000.0, **make)
    plan = many._one_pass_plan(model._loss(1.0), 50_000, 5, 1.0, 1.0)
    assert plan.problem.constants.strong_convexity == 0.5
    assert isinstance(plan.learner, StronglyConvex)
    assert isinstance(
        PrivateLogisticRegression(**make)._one_pass_plan(model._loss(1.0), 600, 5, 1.0, 1.0).learner, Subgradient
    )
    assert model.fit(X, y).score(X, y) > 0.6
    heavy = PrivateLogisticRegression(regularisation=1e7, **make).fit(X, y)
    assert np.linalg.norm(heavy.coef_) < 0.1 * np.linalg.norm(PrivateLogisticRegression(**make).fit(X, y).coef_)
