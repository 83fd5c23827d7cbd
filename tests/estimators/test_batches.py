"""One pass over an iterator of batches: the model of the whole table; what is public is declared."""

from functools import partial

import numpy as np
import pytest

from estimators.records import private
from tacit.errors import InvalidInput, ProtocolError
from tacit.estimators import Ledger, PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge
from tacit.noise.randomness import Randomness
from tacit.progress import Progress

STREAM = Randomness.replayable(0).stream("data")
X = STREAM.uniform(-0.5, 0.5, (700, 3))
Y = (X[:, 0] > 0).astype(int)
WEIGHTS = STREAM.uniform(size=700)


model = partial(private, weight_bound=1.0)


def batches(size=150, *columns):
    for first in range(0, 700, size):
        yield tuple(column[first : first + size] for column in (X, Y, *columns))


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC, PrivateRidge])
def test_batches_are_one_pass(kind, monkeypatch):
    shown = []
    monkeypatch.setattr(Progress, "say", lambda self, text, *, last=False: shown.append((text, last)))
    whole = model(kind, algorithm="one-pass").fit(X, Y, sample_weight=WEIGHTS)
    found = model(kind, horizon=700).fit(batches(150, WEIGHTS))
    assert np.array_equal(found.coef_, whole.coef_)
    assert found.guarantee_.epsilon(1e-6) == whole.guarantee_.epsilon(1e-6)
    assert found.algorithm_ == "one-pass"
    assert len(found.ledger) == 1
    assert [last for _, last in shown] == [False] * 4 + [True]
    assert shown[0][0].startswith("150 of 700 records, ")
    again = found.set_params(ledger=Ledger()).fit(batches())  # a new pass, spent again
    assert len(again.ledger) == 1


def test_what_is_missing_is_named_before_anything_is_spent():
    for options, message in (
        ({"data_norm": None}, "data_norm"),
        ({"classes": None}, "classes"),
        ({"algorithm": "objective"}, "one pass"),
        ({"horizon": None}, "horizon"),
    ):
        one = model(PrivateLogisticRegression, **{"horizon": 700, **options})
        with pytest.raises(InvalidInput, match=message):
            one.fit(batches())
        assert len(one.ledger) == 0
    one = model(PrivateLogisticRegression, horizon=700)
    for bad, message in ((iter([]), "no batch"), (iter([X]), "pair"), (iter([(X, Y, Y, Y)]), "pair")):
        with pytest.raises(InvalidInput, match=message):
            one.fit(bad)
    assert len(one.ledger) == 0
    with pytest.raises(ProtocolError, match="are left"):
        model(PrivateRidge, horizon=200).fit(batches())
