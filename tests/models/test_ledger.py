"""Spending cannot be hidden: clones share a ledger, processes are refused, budgets are kept."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from models.records import private
from tacit.accounting.composition import compose
from tacit.accounting.curves import Approximate, Pure
from tacit.accounting.guarantee import REPLACE, ZERO_OUT, Guarantee
from tacit.errors import InvalidInput, PrivacyError, TacitError
from tacit.noise.randomness import Randomness
from tacit_models import (
    LEDGER,
    Ledger,
    PrivateGridSearch,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStandardScaler,
    private_pipeline,
)
from tacit_models.ledger import spend

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here
STREAM = Randomness.replayable(0).stream("data")
X = STREAM.standard_normal((400, 3))
X /= np.linalg.norm(X, axis=1)[:, None]
Y = (X[:, 0] > 0).astype(int)
model = partial(private, PrivateLogisticRegression, ledger=None)


def test_a_grid_search_of_scikit_learn_is_recorded():
    ledger = Ledger()
    search = GridSearchCV(model(ledger=ledger), {"regularisation": [5.0, 20.0]}, cv=3)
    search.fit(X, Y)
    assert len(ledger) == 2 * 3 + 1  # every fold of every candidate, and the refit
    one = model().fit(X, Y).guarantee_.epsilon(1e-6)
    assert ledger.epsilon(1e-6) > 2 * one
    assert "7 entries" in str(ledger)
    assert "together: epsilon=" in str(ledger)


def test_clones_share_and_processes_are_refused():
    ledger = Ledger()
    assert clone(model(ledger=ledger)).ledger is ledger
    assert copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    saved = pickle.loads(pickle.dumps(model(ledger=ledger).fit(X, Y)))
    assert np.isfinite(saved.predict(X)).all()
    for ask in (lambda: saved.fit(X, Y), lambda: len(saved.ledger), lambda: saved.ledger.epsilon(1e-6)):
        with pytest.raises(PrivacyError, match="stayed in the process that made it"):
            ask()
    assert len(ledger) == 1
    assert saved.set_params(ledger=ledger).fit(X, Y).ledger is ledger
    assert len(ledger) == 2


def test_without_a_ledger_the_process_records():
    before = len(LEDGER)
    model().fit(X, Y)
    assert len(LEDGER) == before + 1
    assert next(reversed(list(LEDGER)))[0] == "PrivateLogisticRegression.fit"


def test_a_budget_stops_before_the_data_are_used():
    ledger = Ledger(epsilon=1.2, delta=1e-6)
    fitted = model(ledger=ledger).fit(X, Y)
    coefficients = fitted.coef_.copy()
    with pytest.raises(PrivacyError, match="budget"):
        fitted.fit(X, Y)
    assert len(ledger) == 1
    assert np.array_equal(fitted.coef_, coefficients)


@pytest.mark.parametrize(
    "refused",
    [
        lambda own: model(class_weight={5: 2.0}, **own).fit(X, Y),
        lambda own: model(class_weight={5: 2.0}, horizon=400, **own).partial_fit(X, Y),
        lambda own: model(horizon=10, **own).partial_fit(X, Y),
        lambda own: PrivateRidge(data_norm=1.0, label_bound=1.0, horizon=10, **own).partial_fit(X, Y),
        lambda own: private_pipeline([model(class_weight={5: 2.0})], **own).fit(X, Y),
        lambda own: private_pipeline([PrivateRidge(data_norm=1.0, label_bound=-1.0)], **own).fit(X, Y),
        lambda own: private_pipeline([PrivateStandardScaler(bounds=(1, 0)), model()], **own).fit(X, Y),
    ],
)
def test_what_is_refused_is_not_charged(refused):
    """Weights of no class, records beyond the horizon and bounds of steps were looked at after they were paid for."""
    ledger = Ledger()
    with pytest.raises(TacitError):
        refused({"ledger": ledger})
    assert len(ledger) == 0


def spent(curve, at_delta=0.0, **fields):
    return Guarantee(curve, at_delta, "x", "y", **{"unit": "one record", **fields})


def test_the_sum_is_under_the_strictest_relation():
    """Zeroing out is one step, replacing two: a budget used to add the two kinds of epsilon as if they were one."""
    ledger = Ledger(epsilon=2.5, delta=1e-6)
    ledger.record("zeroed", spent(Pure(1.0), relation=ZERO_OUT))
    assert ledger.epsilon(0.0) == 1.0
    assert ledger.together().relation is ZERO_OUT
    with pytest.raises(PrivacyError, match=r"would bring the ledger to epsilon=3"):
        ledger.record("replaced", spent(Pure(1.0)))
    ledger.record("replaced", spent(Pure(0.5)))
    assert ledger.together().relation is REPLACE
    assert ledger.epsilon(0.0) == 2.5
    assert "2 entries" in str(ledger)
    assert "together: epsilon=2.5 at delta=0, replace" in str(ledger)


@pytest.mark.parametrize("fields", [{"unit": "one round's feedback"}, {"rounds_per_person": 2}])
def test_what_does_not_compose_is_refused_and_not_written(fields):
    ledger = Ledger()
    ledger.record("first", spent(Pure(0.1)))
    with pytest.raises(PrivacyError, match=f"only under one {next(iter(fields))}"):
        ledger.record("second", spent(Pure(0.1), **fields))
    assert len(ledger) == 1


def test_a_replayable_fit_stamps_the_ledger():
    ledger = Ledger()
    ledger.record("secret", spent(Pure(0.1)))
    assert ledger.private
    assert "not private" not in str(ledger)
    ledger.record("replayed", spent(Pure(0.1), randomness=Randomness.replayable(1).label))
    assert not ledger.private
    assert not ledger.together().private
    assert str(ledger).count("replayable: not private") == 2


def test_unknown_horizons_and_searches_add_up():
    """Contracts known at one point used to compose to infinity."""
    ledger = Ledger()
    for _ in range(2):
        ledger.record("search", spent(Approximate(1.0, 1e-6), 1e-6))
    assert 2 - 1e-9 <= ledger.together().epsilon() <= 2.0
    assert ledger.together().at_delta == 2e-6
    assert ledger.epsilon(1e-6) == np.inf
    with pytest.raises(PrivacyError, match="empty"):
        Ledger().together()


@pytest.mark.slow  # it starts processes
@pytest.mark.parametrize(
    ("ledger", "words"), [(None, "runs in a worker process"), (Ledger(), "stayed in the process that made it")]
)
def test_a_grid_search_in_other_processes_spends_nothing(ledger, words):
    """Of 11 fits in two processes one was recorded; with a ledger of one's own there was a PicklingError."""
    search = GridSearchCV(model(ledger=ledger), {"regularisation": [5.0, 20.0]}, cv=2, n_jobs=2, error_score="raise")
    account = LEDGER if ledger is None else ledger
    before = len(account)
    with pytest.raises(PrivacyError, match=words):
        search.fit(X, Y)
    assert len(account) == before


@pytest.mark.parametrize(
    ("what", "value"),
    [("multiprocessing.parent_process", lambda: object()), ("tacit_models.ledger._HOME", 99)],
    ids=["worker", "forked"],
)
def test_a_worker_process_has_no_ledger_of_its_own(monkeypatch, what, value):
    monkeypatch.setattr(what, value)
    with pytest.raises(PrivacyError, match="runs in a worker process"):
        spend(None, "fit", spent(Pure(1.0)))


def test_the_private_search_keeps_one_budget():
    ledger = Ledger()
    grid = {"regularisation": [2.0, 10.0, 1e5]}
    search = PrivateGridSearch(model(), grid, epsilon=3.0, random_state=Randomness.replayable(2), ledger=ledger)
    search.fit(X, Y)
    assert len(ledger) == 1
    assert search.guarantee_.epsilon() == 3.0
    assert 1.0 < search.fit_epsilon_ < 3.0  # composition is better than division by three
    parts = [search._candidate({"regularisation": r}, search.fit_epsilon_, 3) for r in grid["regularisation"]]
    together = compose([p.public_guarantee(300, 3).curve for p in parts])
    assert together.epsilon(1e-6) <= 3.0
    assert search.best_estimator_.guarantee_.epsilon(1e-6 / 3) <= search.fit_epsilon_ * (1 + 1e-6)
    assert search.best_params_["regularisation"] in grid["regularisation"]
    assert search.score(X, Y) > 0.8
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_the_private_search_handles_regression_and_purity():
    ridge = PrivateRidge(data_norm=1.0, label_bound=1.0, random_state=Randomness.replayable(3))
    grid = {"fit_intercept": [True, False]}
    search = PrivateGridSearch(ridge, grid, epsilon=2.0, random_state=Randomness.replayable(4), ledger=Ledger())
    assert search.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.2
    pure = PrivateGridSearch(
        model(), {"fit_intercept": [True, False]}, delta=0.0, ledger=Ledger(), random_state=Randomness.replayable(5)
    )
    assert pure.fit(X, Y).guarantee_.epsilon(0.0) == 1.0


def test_bad_arguments_raise():
    with pytest.raises(InvalidInput, match="epsilon"):
        Ledger(epsilon=-1.0)
    with pytest.raises(InvalidInput, match="ledger"):
        model(ledger=3).fit(X, Y)
    with pytest.raises(InvalidInput, match="may not contain"):
        PrivateGridSearch(model(), {"epsilon": [1.0]}).fit(X, Y)
    with pytest.raises(InvalidInput, match="holdout"):
        PrivateGridSearch(model(), {"regularisation": [1.0]}, holdout=1.5).fit(X, Y)
    with pytest.raises(InvalidInput, match="two rows"):
        PrivateGridSearch(model(), {"regularisation": [1.0]}).fit(X[:1], Y[:1])


def scaler(ledger):
    return PrivateStandardScaler(epsilon=1.0, delta=1e-6, bounds=(-1.0, 1.0), ledger=ledger)


def search(ledger):
    return PrivateGridSearch(model(), {"regularisation": [5.0, 20.0]}, epsilon=1.0, delta=1e-6, ledger=ledger)


@pytest.mark.parametrize("make", [scaler, search])
def test_what_is_no_ledger_and_what_it_refuses_leave_nothing_behind(make):
    wrong, refused = make("people"), make(Ledger(epsilon=0.5))
    with pytest.raises(InvalidInput, match=r"'ledger' parameter of .* must be a Ledger"):
        wrong.fit(X, Y)
    with pytest.raises(PrivacyError, match="Nothing was spent"):
        refused.fit(X, Y)
    assert not hasattr(wrong, "guarantee_")
    assert not hasattr(refused, "guarantee_")
