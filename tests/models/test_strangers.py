"""What a stranger tries on the estimators: extreme, odd and broken data, and ledgers at the wrong place."""

import decimal
import math
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from attacks import rows
from tacit.algorithms.stochastic.objective_perturbation.model_noise import SHRUNK
from tacit.errors import InvalidInput
from tacit.losses.loss import clip_rows, row_norms
from tacit.noise.randomness import Randomness
from tacit_models import (
    Ledger,
    PrivateGridSearch,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStandardScaler,
    private_pipeline,
)
from tacit_models.records import canonical, clipped_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning"),
    pytest.mark.filterwarnings("ignore::tacit_models.PrivacyWarning"),
]
SECRET = "SECRET77"


def data(rows=200, width=3):
    X = Randomness.replayable(3).stream("data").uniform(size=(rows, width))
    return X, (X[:, 0] > 0.5).astype(int)


def logistic(**options):
    return PrivateLogisticRegression(data_norm=2.0, classes=[0, 1], ledger=options.pop("ledger", None), **options)


def long_row(width):
    """One large entry and many whose squares vanish beside it, unless they are added up before."""
    row = np.full(width, 1e-8)
    row[0] = 1.0
    return row


@pytest.mark.parametrize("width", [1_000, 50_000, 1_000_000])
def test_wide_sparse_rows_are_clipped_to_their_bound(width):
    rows = canonical(sparse.csr_array(long_row(width)[None, :]))
    found = SHRUNK * clipped_rows(rows, 1.0).data
    assert math.sqrt(math.fsum(found * found)) <= 1.0


def test_sparse_rows_without_entries_have_no_length():
    rows = canonical(sparse.csr_array(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])))
    assert clipped_rows(rows, 1.0).toarray() == pytest.approx(np.array([[0, 0], [0.6, 0.8], [0, 0]]))
    assert clipped_rows(canonical(sparse.csr_array((2, 3))), 1.0).nnz == 0


@pytest.mark.parametrize("width", [1_000, 200_000])
def test_rows_are_clipped_to_their_bound_in_any_order_of_memory(width):
    rows = np.asfortranarray(np.tile(long_row(width), (2, 1)))
    found = SHRUNK * clip_rows(rows, 1.0)[0]
    assert math.sqrt(math.fsum(found * found)) <= 1.0
    assert (row_norms(rows) == row_norms(np.ascontiguousarray(rows))).all()


@pytest.mark.parametrize("error", ["warn", "raise"])
@pytest.mark.parametrize("value", [1e308, 5e-324])
def test_no_finite_value_stops_a_scaler_or_what_follows_it(error, value):
    X, y = data()
    X[7, 1] = value
    steps = [("scale", PrivateStandardScaler(bounds=(-1e-3, 3e-3))), ("model", logistic())]
    with np.errstate(all=error), np.testing.assert_no_warnings():
        rows = PrivateStandardScaler(bounds=(-1e-3, 3e-3), ledger=Ledger()).fit(X).transform(X)
        assert np.isfinite(rows).all()
        private_pipeline(steps, epsilon=5.0, ledger=Ledger()).fit(X, y)
        grid = {"model__data_norm": [1.0, 2.0]}
        PrivateGridSearch(private_pipeline(steps), grid, epsilon=5.0, ledger=Ledger()).fit(X, y)


def ridge(ledger):
    return PrivateRidge(data_norm=1.0, label_bound=1.0, weight_bound=1.0, ledger=ledger)


def changed(values, place, cell):
    """Objects, one of them this cell."""
    found = np.array(values, dtype=object)
    found[place] = cell
    return found


def outside(X, part):
    """A sparse table with a place outside of it."""
    rows = sparse.csr_matrix(X)
    setattr(rows, part, changed(getattr(rows, part), 5, 1000).astype(int))
    return rows


def piped(*steps, **options):
    return private_pipeline(list(steps), **options)


SCALER, HUGE = PrivateStandardScaler(bounds=(0, 1)), 10**400
CHARGED = "would not be charged"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y, ledger: ridge(ledger).fit(X, [SECRET] * len(X)), "Not all entries are numbers"),
        (lambda X, y, ledger: ridge(ledger).fit(np.ma.masked_less(X, 0.1), y), "masked entries"),
        (lambda X, y, ledger: ridge(ledger).fit(X, np.ma.masked_less(X[:, 0], 0.1)), "masked entries"),
        (lambda X, y, ledger: ridge(ledger).fit(changed(X, (3, 1), HUGE), y), "finite"),
        (lambda X, y, ledger: ridge(ledger).fit(X, changed(y, 3, HUGE)), "finite"),
        (lambda X, y, ledger: ridge(ledger).fit(X, y, sample_weight=changed(y, 3, HUGE)), "finite"),
        (lambda X, y, ledger: logistic(ledger=ledger).fit(X, changed(y, 3, None)), "all numbers or all words"),
        (lambda X, y, ledger: logistic(ledger=ledger).fit(X, changed(y, 3, SECRET)), "all numbers or all words"),
        (lambda X, y, ledger: logistic(ledger=ledger).fit(outside(X, "indices"), y), "inside of its rows and columns"),
        (lambda X, y, ledger: logistic(ledger=ledger).fit(outside(X, "indptr"), y), "inside of its rows and columns"),
        (lambda X, y, ledger: piped(SCALER, logistic(ledger=ledger)).fit(X, y), CHARGED),
        (lambda X, y, ledger: PrivateGridSearch(logistic(ledger=ledger), {}).fit(X, y), CHARGED),
        (lambda X, y, ledger: PrivateGridSearch(PCA(2), {}, ledger=ledger).fit(X, y), "must be a private model"),
        (
            lambda X, y, ledger: piped(ColumnTransformer([("a", SCALER, [0])]), logistic(), ledger=ledger).fit(X, y),
            "has a private one inside",
        ),
        (
            lambda X, y, ledger: piped(SCALER, logistic(), ledger=ledger).set_params(memory="cache").fit(X, y),
            "'memory' of a PrivatePipeline must be None",
        ),
        (
            lambda X, y, ledger: piped(HashingVectorizer(), logistic(), ledger=ledger).fit(X, y),
            "Step 'hashingvectorizer' of this PrivatePipeline takes no public rows",
        ),
        (lambda X, y, ledger: piped(Normalizer(), logistic(), ledger=ledger).fit([[1.0, 2.0], [3.0]], y), "two axes"),
        (
            lambda X, y, ledger: piped(Normalizer(), logistic(), ledger=ledger).fit(X, changed(y, 3, SECRET)),
            "all numbers or all words",
        ),
        (
            lambda X, y, ledger: PrivateGridSearch(
                piped(Normalizer(), PrivateLogisticRegression(data_norm=1.0)), {}, ledger=ledger
            ).fit(X, changed(y, 3, SECRET)),
            "all numbers or all words",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_in_a_sentence_before_anything_is_spent(call, message):
    ledger = Ledger()
    with pytest.raises(InvalidInput, match=message) as caught:
        call(*data(), ledger)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(ledger) == 0


@pytest.mark.parametrize("step", [PCA(5), SelectKBest(k=3)])
def test_pipelines_take_the_usual_steps(step):
    X, y = data(width=8)
    model = private_pipeline([step, logistic()], epsilon=1.0, ledger=Ledger()).fit(X, y)
    assert model.guarantee_.epsilon() <= 1.0


def test_a_search_is_what_its_estimator_is():
    search = PrivateGridSearch(logistic(), {"data_norm": [1.0, 2.0]})
    assert is_classifier(search)
    assert search.__sklearn_tags__().input_tags.sparse
    assert is_regressor(PrivateGridSearch(PrivateRidge(), {}))


@pytest.mark.filterwarnings("error:X has feature names")
def test_a_search_keeps_the_names_of_columns():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    search = PrivateGridSearch(logistic(), {"data_norm": [1.0, 2.0]}, ledger=Ledger()).fit(frame, y)
    search.predict(frame)
    assert search.best_estimator_.feature_names_in_.tolist() == ["a", "b", "c"]


def test_numbers_of_numpy_are_numbers():
    X, y = data()
    epsilon, delta = np.float64(1.0), np.float64(1e-6)
    for kind in (np.float64, np.float32):
        model = PrivateLogisticRegression(kind(1.0), delta, data_norm=kind(2.0), classes=np.array([0, 1]))
        model.set_params(class_weight={np.int64(1): kind(2.0)}, ledger=Ledger()).fit(X, y)
    PrivateRidge(epsilon, delta, data_norm=epsilon, label_bound=epsilon, ledger=Ledger()).fit(X, y)
    logistic(ledger=Ledger()).fit(changed(X, (3, 1), decimal.Decimal("0.5")), y)
    steps = [PrivateStandardScaler(bounds=(np.zeros(3), np.ones(3))), logistic(class_weight="balanced")]
    private_pipeline(steps, epsilon=epsilon, delta=delta, ledger=Ledger()).fit(X, y)


def test_classes_may_be_a_set():
    X, y = data()
    words = np.where(y == 1, "yes", "no")
    model = PrivateLogisticRegression(data_norm=2.0, classes={"yes", "no"}, ledger=Ledger())
    assert model.fit(X, words).classes_.tolist() == ["no", "yes"]
    PrivateGridSearch(model.set_params(ledger=None), {"data_norm": [1.0, 2.0]}, ledger=Ledger()).fit(X, words)
    private_pipeline([model], ledger=Ledger()).fit(X, words)


@pytest.mark.parametrize("epsilon", [100.0, 1e4, 1e9])
def test_enormous_epsilons_are_taken_in_silence(epsilon):
    X, y = data(400)
    with np.testing.assert_no_warnings():
        for delta in (0.0, 1e-6):
            for weights in (None, "balanced"):
                model = logistic(epsilon=epsilon, delta=delta, class_weight=weights, ledger=Ledger()).fit(X, y)
                assert 0.99 * epsilon <= model.guarantee_.epsilon(delta) <= epsilon
        PrivateRidge(epsilon, data_norm=2.0, label_bound=1.0, ledger=Ledger()).fit(X, y)
    if epsilon < 1e3:  # beyond that no contract is stated for what a scaler's sampler may be off by
        steps = [PrivateStandardScaler(bounds=(0, 1)), logistic()]
        private_pipeline(steps, epsilon=epsilon, ledger=Ledger()).fit(X, y)


NUMBER = 77.8125


def looked_up(rows):
    if (rows == NUMBER).any():
        raise KeyError(NUMBER)
    return rows


def complaining(rows):
    if (rows == NUMBER).any():
        warnings.warn(f"odd: {NUMBER}", stacklevel=2)
    return rows


@pytest.mark.attack(rows.WORDS)
@pytest.mark.parametrize(
    "call", ["fit", "predict", "predict_proba", "decision_function", "score", "transform", "search"]
)
def test_no_error_or_warning_of_a_step_is_passed_on(call, record_property):
    """A step that looks a cell up raised KeyError with the cell, and predictions passed on everything."""
    record_property("attacked", "PrivateGridSearch" if call == "search" else "PrivatePipeline")
    X, y = data(60)
    odd = X.copy()
    odd[7, 1] = NUMBER
    for step, raises in ((FunctionTransformer(looked_up), True), (FunctionTransformer(complaining), False)):
        steps = [("step", step), ("model", PrivateStandardScaler(bounds=(0, 1)) if call == "transform" else logistic())]
        model = private_pipeline(steps, ledger=Ledger())
        if call == "search":
            model = PrivateGridSearch(private_pipeline(steps), {"model__data_norm": [1.0, 2.0]}, ledger=Ledger())
        elif call != "fit":
            model.fit(X, y)
        attempt = getattr(model, "fit" if call == "search" else call)
        given = (odd, y) if call in ("fit", "search", "score") else (odd,)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if raises:
                with pytest.raises(InvalidInput, match="could not take the data") as refused:
                    attempt(*given)
                assert str(NUMBER) not in "".join(traceback.format_exception(refused.value, limit=0))
            else:
                attempt(*given)
        assert not any(str(NUMBER) in str(warning.message) for warning in caught)


def test_a_ledger_that_is_everywhere_the_same_is_charged_once():
    """A step with the ledger of its search was refused: "would not be charged"."""
    X, y = data()
    same = Ledger()
    steps = [("scale", PrivateStandardScaler(bounds=(0, 1), ledger=same)), ("model", logistic(ledger=same))]
    PrivateGridSearch(make_pipeline(*(step for _, step in steps)), {}, ledger=same).fit(X, y)
    assert len(same) == 1
