"""Scores with a proved sensitivity, the search that uses them, and candidates that cannot meet their share."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, mean_squared_error

from attacks import rows
from models.records import SOURCE, two_classes
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit_models import (
    Ledger,
    PrivateGridSearch,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    UsefulnessWarning,
)
from tacit_models.scoring import (
    CLASSIFIER_SCORES,
    REGRESSOR_SCORES,
    error_scale,
    error_sum,
)

HUGE = (1.7e308 * np.ones(16), 1.7e308 * np.tile([1.0, -1.0], 8), 1.7e308 * np.repeat([1.0, -1.0], 8))


def fixed(kind, **options):
    """A model whose coefficients are extreme."""
    model = kind(data_norm=1.0, random_state=SOURCE, ledger=Ledger(), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsefulnessWarning)
        model.fit(np.zeros((4, 16)), np.array([0, 1, 0, 1]))
    model.coef_ = np.tile([5.0, -5.0], 8).reshape(np.shape(model.coef_))
    return model


@pytest.mark.attack(rows.SCORES)
def test_no_row_moves_a_sum_of_errors_by_more_than_one(record_property):
    """A row so long that a prediction is inf - inf made its error NaN, and NaN always won the selection."""
    record_property("attacked", "PrivateGridSearch")
    classifier, ridge = fixed(PrivateLogisticRegression, classes=[0, 1]), fixed(PrivateRidge, label_bound=1.0)
    stream = Randomness.replayable(2).stream("rows")
    usual = 0.3 * stream.standard_normal((5, 16))
    labels, targets = np.array([0, 1, 0, 1, 1]), np.linspace(-1, 1, 5)
    for name in (*CLASSIFIER_SCORES, *REGRESSOR_SCORES):
        model, truth, bound = (ridge, targets, 1.0) if name in REGRESSOR_SCORES else (classifier, labels, None)
        found = []
        for row in (*HUGE, np.zeros(16), np.ones(16), 100 * usual[0]):
            for label in (-1e308, 1e308, 0.0, 1.0) if model is ridge else (0, 1, 7):
                changed, told = usual.copy(), truth.copy()
                changed[2], told[2] = row, label
                with np.errstate(all="raise"):
                    found.append(error_sum(name, model, changed, told, bound))
        assert np.ptp(found) <= 1.0  # and NaN fails
        assert min(found) >= 0.0


def test_scores_are_those_of_scikit_learn():
    X, y = two_classes()
    model = PrivateLogisticRegression(4.0, data_norm=1.0, classes=[0, 1], random_state=SOURCE, ledger=Ledger())
    chances = model.fit(X, y).predict_proba(X)
    expected = {
        "accuracy": 1 - model.score(X, y),
        "neg_log_loss": log_loss(y, chances),
        "neg_brier_score": 2 * brier_score_loss(y, chances[:, 1]),
    }
    for name, value in expected.items():
        assert error_sum(name, model, X, y) * error_scale(name) / len(y) == pytest.approx(value, abs=1e-6)
    ridge = PrivateRidge(4.0, data_norm=1.0, label_bound=2.0, random_state=SOURCE, ledger=Ledger()).fit(X, y)
    for name, score in zip(REGRESSOR_SCORES, (mean_squared_error, mean_absolute_error), strict=True):
        found = error_sum(name, ridge, X, y, 2.0) * error_scale(name, 2.0) / len(y)
        assert found == pytest.approx(score(y, ridge.predict(X)), abs=1e-5)


@pytest.mark.parametrize("score", [None, *CLASSIFIER_SCORES])
def test_a_search_takes_scores_with_a_proof(score):
    X, y = two_classes()
    model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1])
    search = PrivateGridSearch(
        model, {"regularisation": [1.0, 1e6]}, epsilon=8.0, scoring=score, random_state=SOURCE, ledger=Ledger()
    )
    search.fit(X, y)
    assert search.best_params_ == {"regularisation": 1.0}
    assert search.guarantee_.epsilon(1e-6) <= 8.0


@pytest.mark.parametrize(
    ("score", "kind", "message"),
    [
        ("roc_auc", PrivateLogisticRegression, "no such bound is proved"),
        ("f1", PrivateLogisticRegression, "must be one of accuracy, neg_log_loss"),
        ("balanced_accuracy", PrivateLogisticRegression, "no such bound is proved"),
        (log_loss, PrivateLogisticRegression, "no such bound is proved"),
        ("r2", PrivateRidge, "must be one of neg_mean_squared_error"),
        ("neg_log_loss", PrivateLinearSVC, "needs a model with predict_proba"),
    ],
)
def test_scores_without_a_proof_are_refused(score, kind, message):
    X, y = two_classes(40)
    ledger = Ledger()
    with pytest.raises(InvalidInput, match=message):
        PrivateGridSearch(kind(data_norm=1.0), {}, scoring=score, ledger=ledger).fit(X, y)
    assert len(ledger) == 0


def test_targets_need_a_public_bound():
    with pytest.raises(InvalidInput, match="public bound"):
        error_sum("neg_mean_squared_error", fixed(PrivateRidge, label_bound=1.0), np.zeros((1, 16)), [0.0])


def test_candidates_that_cannot_meet_their_share_are_refused():
    ledger = Ledger()
    grid = {"regularisation": [1e-6, 50.0]}
    search = PrivateGridSearch(PrivateRidge(data_norm=1.0, label_bound=1.0), grid, random_state=SOURCE, ledger=ledger)
    with pytest.raises(PrivacyError, match="regularisation=1e-06 is too small for epsilon"):
        search.fit(*two_classes())
    assert len(ledger) == 0


def test_regressors_are_compared_in_one_unit():
    """With a unit of its own the candidate whose bound is largest had the smallest errors."""
    X = np.linspace(-1, 1, 2000)[:, None]
    ridge = PrivateRidge(data_norm=1.0)
    search = PrivateGridSearch(
        ridge,
        {"label_bound": [1.0, 50.0]},
        epsilon=2.0,
        random_state=SOURCE,
        ledger=Ledger(),
        scoring=REGRESSOR_SCORES[1],
    )
    assert search.fit(X, 0.8 * X[:, 0]).best_params_ == {"label_bound": 1.0}
