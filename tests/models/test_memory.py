"""Arrays that somebody writes to while a model is fitted: what is used is what was checked."""

from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tacit_models as estimators
from attacks import rows
from runtime.contract import numbers
from tacit.auditing.script import swapped
from tacit_models import grid_search, linear_model, statistics

SCALER = estimators.PrivateStandardScaler(bounds=(0, 1))
RIDGE = estimators.PrivateRidge(data_norm=1.0, label_bound=1.0)
CLASSES = {"data_norm": 1.0, "classes": [0, 1]}
MODELS = {
    "logistic": estimators.PrivateLogisticRegression(**CLASSES),
    "pass": estimators.PrivateLogisticRegression(horizon=40, **CLASSES),
    "svc": estimators.PrivateLinearSVC(**CLASSES),
    "ridge": RIDGE,
    "scaler": SCALER,
    "pipeline": estimators.PrivatePipeline([("scale", SCALER), ("model", RIDGE)]),
    "search": estimators.PrivateGridSearch(RIDGE, {"fit_intercept": [True]}),
    "mean": estimators.PrivateMean(bounds=(0, 1)),
    "histogram": estimators.PrivateHistogram(edges=[0, 0.5, 1]),
    "quantile": estimators.PrivateQuantile(bounds=(0, 1)),
    "covariance": estimators.PrivateCovariance(),
    "score": estimators.PrivateScore(LogisticRegression().fit([[0, 0], [1, 1]], [0, 1])),
}
RELEASED = {"scaler": "mean_", "mean": "mean_", "histogram": "counts_", "quantile": "quantiles_"}
RELEASED |= {"covariance": "covariance_", "score": "score_"}


@pytest.mark.attack(rows.BUFFER)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_estimators(name, record_property):
    """Whatever is written to the caller's arrays once they are checked, the model is the same."""
    record_property("attacked", type(MODELS[name]).__name__)
    X, y = numbers(40, 2), (numbers(40) > 0.5).astype(float)

    def predicted(after=lambda *_: None):
        model = clone(MODELS[name]).set_params(ledger=estimators.Ledger(), random_state=3)
        mine, target = X.copy(), y.copy()

        def checking(honest):
            return lambda *data, **options: (honest(*data, **options), after(mine), after(target))[0]

        with ExitStack() as stack:
            for module in (linear_model, grid_search, statistics):
                stack.enter_context(swapped((module, "checked_data", checking(module.checked_data))))
            if name == "score":  # its model looks at the rows, and then they are no longer the caller's
                honest = statistics.record_errors
                stack.enter_context(swapped((statistics, "record_errors", checking(honest))))
            given = (mine[:, :1] if name == "histogram" else mine, target)
            (model.partial_fit if name == "pass" else model.fit)(*given)
        return np.asarray(getattr(model, RELEASED[name]) if name in RELEASED else model.predict(X)).tolist()

    if name == "pipeline":  # every step takes a copy of its own
        with pytest.raises(ValueError, match="infinity"):
            predicted(lambda array: array.fill(np.inf))
    else:
        assert predicted(lambda array: array.fill(np.inf)) == predicted()
