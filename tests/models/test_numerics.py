"""What estimators say about their arithmetic."""

import numpy as np

import tacit
from tacit.accounting.rounding import extra_epsilon
from tacit_models import PrivateLogisticRegression, PrivateRidge, PrivateStandardScaler

SAMPLERS = 1e-20
MODEL = 1e-4


def test_estimators_state_the_words_of_what_they_fit():
    stream = tacit.Randomness.replayable(1).stream("rows")
    X = stream.standard_normal((200, 2)) / 4
    y = np.where(X[:, 0] > 0, 1, 0)
    target = {"epsilon": 1.0, "delta": 1e-6, "random_state": tacit.Randomness.replayable(2)}
    scaler = PrivateStandardScaler(bounds=([-1, -1], [1, 1]), **target).fit(X)
    ridge = PrivateRidge(data_norm=1.0, label_bound=1.0, **target).fit(X, X[:, 0])
    assert 0 < extra_epsilon(scaler.guarantee_.numerics) < SAMPLERS
    assert 0 < extra_epsilon(ridge.guarantee_.numerics) < MODEL
    for algorithm, most in (("objective", MODEL), ("one-pass", SAMPLERS)):
        model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], algorithm=algorithm, **target).fit(X, y)
        assert 0 < extra_epsilon(model.guarantee_.numerics) < most
