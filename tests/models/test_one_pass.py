"""Models of one pass: in parts, over large data, regularised."""

import numpy as np
import pytest

from models.records import CLASSIFIERS, private, two_classes
from tacit.algorithms.stochastic import StronglyConvex, Subgradient
from tacit.errors import ProtocolError
from tacit_models import PrivacyWarning, PrivateLogisticRegression, PrivateRidge, linear_model

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("kind", [*CLASSIFIERS, PrivateRidge])
def test_partial_fit_is_one_pass_in_parts(kind):
    X, y = two_classes(1000)
    whole = private(kind, algorithm="one-pass", horizon=1000).fit(X, y)
    parts = private(kind, horizon=1000)
    for first in range(0, 1000, 130):
        parts.partial_fit(X[first : first + 130], y[first : first + 130])
    assert np.array_equal(whole.coef_, parts.coef_)
    assert parts.guarantee_.epsilon(1e-6) <= 1.0 * (1 + 1e-9)
    with pytest.raises(ProtocolError, match="0 are left"):
        parts.partial_fit(X[:1], y[:1])
    assert not hasattr(kind(), "partial_fit")  # only over a declared horizon
    with pytest.warns(PrivacyWarning):
        private(kind, data_norm=None, horizon=10).partial_fit(X[:5], y[:5])


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateRidge])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_the_warning_of_replayable_noise_names_the_caller(kind, method):
    # Python shows a warning once for each place: one in this package would hide those of other models.
    model = private(kind, algorithm="one-pass", horizon=100, random_state=3)
    with pytest.warns(PrivacyWarning, match="replayable") as caught:
        getattr(model, method)(*two_classes(100))
    assert [warning.filename for warning in caught] == [__file__]


def test_auto_streams_over_large_data(monkeypatch):
    monkeypatch.setattr(linear_model, "LARGEST_OBJECTIVE", 10)
    assert private(PrivateLogisticRegression).fit(*two_classes(100)).algorithm_ == "one-pass"


def test_a_declared_regulariser_enters_the_pass():
    X, y = two_classes()
    model, many, plain = (
        private(PrivateLogisticRegression, algorithm="one-pass", regularisation=given)
        for given in (300.0, 25_000.0, None)
    )
    plan = many._one_pass_plan(model._loss(1.0), 50_000, 5, 1.0, 1.0)
    assert plan.problem.constants.strong_convexity == 0.5
    assert isinstance(plan.learner, StronglyConvex)
    assert isinstance(plain._one_pass_plan(model._loss(1.0), 600, 5, 1.0, 1.0).learner, Subgradient)
    assert model.fit(X, y).score(X, y) > 0.6
    heavy = model.set_params(regularisation=1e7).fit(X, y)
    assert np.linalg.norm(heavy.coef_) < 0.1 * np.linalg.norm(plain.fit(X, y).coef_)
