"""One budget for a pipeline, searches over pipelines, names of features, and the warning before a useless fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures, StandardScaler

import tacit_models as estimators
from tacit.accounting.composition import compose
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness

SOURCE = Randomness.replayable(1)
STREAM = Randomness.replayable(0).stream("data")
X = STREAM.uniform(-1, 1, (800, 3))
Y = (X[:, 0] > 0).astype(int)


def steps(model=estimators.PrivateLinearSVC, **options):
    return [
        estimators.PrivateStandardScaler(bounds=(-1, 1)),
        Normalizer(),
        model(data_norm=1.0, classes=[0, 1], **options),
    ]


def made(given=None, **options):
    return estimators.private_pipeline(
        given or steps(), **{"random_state": SOURCE, "ledger": estimators.Ledger(), **options}
    )


def test_one_number_one_entry():
    ledger = estimators.Ledger()
    model = made(epsilon=2.0, ledger=ledger).fit(X, Y)
    assert len(ledger) == 1
    assert 1.98 < model.guarantee_.epsilon(1e-6) <= 2.0
    assert ledger.epsilon(1e-6) == model.guarantee_.epsilon(1e-6)
    assert sum(model.epsilons_.values()) > 2.02  # composition is better than adding up
    parts = [model[0].guarantee_, model[-1].guarantee_]
    assert compose([part.curve for part in parts]).epsilon(1e-6) <= 2.0
    assert [part.at_delta for part in parts] == [5e-7, 5e-7]
    assert model.public_guarantee(800, 3).epsilon(1e-6) == model.guarantee_.epsilon(1e-6)
    assert "moments" in model.guarantee_.released
    assert "final model" in model.guarantee_.released
    assert model.score(X, Y) > 0.8
    assert (model[0].epsilon, model[-1].epsilon, model[-1].ledger) == (1.0, 1.0, None)  # a fit leaves parameters alone
    again = clone(model)
    assert again.epsilon == 2.0
    assert np.array_equal(again.fit_predict(X, Y), model.predict(X))


def test_shares_are_kept():
    names = ("privatestandardscaler", "privatelinearsvc")
    model = made().fit(X, Y)
    assert set(model.epsilons_) == set(names)
    assert model.epsilons_[names[0]] / sum(model.epsilons_.values()) == pytest.approx(0.3)
    pure = made([estimators.PrivateLinearSVC(data_norm=2.0, classes=[0, 1])], delta=0.0).fit(X, Y)
    assert pure.guarantee_.epsilon(0.0) <= 1.0


def test_budgets_are_kept_and_other_steps_are_named():
    model = made(ledger=estimators.Ledger(epsilon=0.5, delta=1e-6))
    with pytest.raises(PrivacyError, match="budget"):
        model.fit(X, Y)
    assert not hasattr(model[0], "mean_")  # before the data are used
    plain = [StandardScaler(), estimators.PrivateLinearSVC(data_norm=1.0, classes=[0, 1])]
    with pytest.warns(
        estimators.PrivacyWarning, match="'standardscaler' of this PrivatePipeline is fitted on the data"
    ):
        made(plain).fit(X, Y)
    with pytest.raises(InvalidInput, match="at least one private step"):
        made([StandardScaler(), Normalizer()]).fit(X, Y)
    with pytest.raises(InvalidInput, match="all steps, or all pairs"):
        estimators.private_pipeline([("scale", Normalizer()), estimators.PrivateLinearSVC()])
    with pytest.raises(InvalidInput, match="two axes"):
        made().fit(X[0], Y)


@pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")
def test_widths_are_those_of_public_rows():
    model = made([PolynomialFeatures(2), *steps(estimators.PrivateLogisticRegression)[1:]]).fit(X, Y)
    assert model.public_guarantee(800, 3).curve == model.guarantee_.curve
    assert model[-1].coef_.shape == (1, 10)

    more, less = (estimators.PrivateStandardScaler(epsilon).public_guarantee(10, 2) for epsilon in (1.0, 0.5))
    with pytest.raises(PrivacyError, match="do not release"):
        made()._check_spent([more], less)
    made()._check_spent([less], more)


def test_names_of_features_come_through():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    scaler = estimators.PrivateStandardScaler(
        bounds=(-1, 1), random_state=SOURCE, ledger=estimators.Ledger()
    ).set_output(transform="pandas")
    scaled = scaler.fit_transform(frame)
    assert list(scaled.columns) == list(scaler.get_feature_names_out()) == ["a", "b", "c"]
    assert np.array_equal(scaled.to_numpy(), scaler.set_output(transform="default").transform(frame))
    model = made().set_output(transform="pandas").fit(frame, Y)
    assert list(model[-1].feature_names_in_) == ["a", "b", "c"]
    assert list(model[:-1].transform(frame).columns) == ["a", "b", "c"]


def test_a_search_over_a_pipeline():
    grid = {"privatelinearsvc__smoothing": [0.5, 1.0]}
    plain, ledger = make_pipeline(*steps()), estimators.Ledger()
    search = estimators.PrivateGridSearch(plain, grid, epsilon=4.0, random_state=SOURCE, ledger=ledger).fit(X, Y)
    assert len(ledger) == 1
    threshold = search.best_estimator_[-1].threshold_
    assert np.array_equal(search.decision_function(X) > threshold, search.predict(X) == 1)
    assert search.score(X, Y) > 0.7
    models = [search._candidate({"privatelinearsvc__smoothing": s}, search.fit_epsilon_, 2) for s in (0.5, 1.0)]
    assert compose([m.public_guarantee(600, 3).curve for m in models]).epsilon(1e-6) <= 4.0
    logistic = estimators.PrivateLogisticRegression(delta=0.0, data_norm=2.0, classes=[0, 1])
    search = estimators.PrivateGridSearch(
        logistic, {"threshold": ["zero"]}, delta=0.0, random_state=SOURCE, ledger=estimators.Ledger()
    )
    assert hasattr(search, "predict_proba")
    chances = search.fit(X, Y).predict_proba(X)
    assert np.array_equal(search.classes_[np.argmax(chances, axis=1)], search.predict(X))
    assert not hasattr(estimators.PrivateGridSearch(estimators.PrivateLinearSVC(), {}), "predict_proba")
    for name in ("privatelinearsvc__classes", "privatestandardscaler__epsilon", "ledger"):
        with pytest.raises(InvalidInput, match="may not contain"):
            estimators.PrivateGridSearch(plain, {name: [1]}).fit(X, Y)
    ridge = make_pipeline(Normalizer(), estimators.PrivateRidge(data_norm=1.0, label_bound=1.0))
    found = estimators.PrivateGridSearch(
        ridge, {"privateridge__fit_intercept": [True]}, random_state=SOURCE, ledger=estimators.Ledger()
    )
    assert found.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.3


def test_a_useless_fit_is_announced():
    iris, kinds = load_iris(return_X_y=True)
    with pytest.warns(
        estimators.UsefulnessWarning, match="150 rows, 4 features, 3 classes and epsilon=1 little gain"
    ) as caught:
        estimators.PrivateLogisticRegression(data_norm=9.0, classes=[0, 1, 2], ledger=estimators.Ledger()).fit(
            iris, kinds
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(estimators.UsefulnessWarning, match="20 rows, 3 features and epsilon=0.1"):
        estimators.PrivateRidge(0.1, data_norm=1.0, label_bound=1.0, ledger=estimators.Ledger()).fit(X[:20], Y[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (estimators.PrivateLogisticRegression, estimators.PrivateLinearSVC):
            kind(data_norm=1.0, classes=[0, 1], ledger=estimators.Ledger()).fit(X, Y)
        estimators.PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=estimators.Ledger()).fit(X, Y)
    for other in (np.zeros_like(iris), 1e3 * iris):  # whatever the data
        with pytest.warns(estimators.UsefulnessWarning, match="little gain over deciding blindly is to be expected"):
            estimators.PrivateLogisticRegression(data_norm=9.0, classes=[0, 1, 2], ledger=estimators.Ledger()).fit(
                other, kinds
            )


def test_a_search_counts_the_classes_of_each_candidate():
    """A grid may hold whole steps, and nine classes cost more than the two of the step that they replace."""
    two, nine = (estimators.PrivateLogisticRegression(data_norm=1.0, classes=list(range(count))) for count in (2, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.UsefulnessWarning)
        search = estimators.PrivateGridSearch(
            estimators.private_pipeline([("model", two)]), {"model": [nine, two, nine]}, ledger=estimators.Ledger()
        )
        search.fit(X[:200], Y[:200])
    fits = [
        estimators.private_pipeline([("model", step)], epsilon=search.fit_epsilon_, delta=1e-6 / 3).public_guarantee(
            150, 3, count
        )
        for step, count in ((nine, 9), (two, 2), (nine, 9))
    ]
    assert 0.99 < compose([contract.curve for contract in fits]).epsilon(1e-6) <= 1.0


def test_parts_of_a_pipeline_keep_its_budget_and_its_ledger():
    ledger = estimators.Ledger()
    whole = made(epsilon=0.1, delta=1e-7, relation="zero-out", ledger=ledger)
    part = whole[:-1]
    assert whole[0] is whole.steps[0][1]
    part.fit(X)
    ((name, spent),) = ledger
    assert name == "PrivatePipeline.fit"
    assert str(spent.relation) == "zero-out"
    assert spent.epsilon(1e-7) <= 0.1


def test_a_private_step_stands_in_a_pipeline_once():
    """Each would have got the budget of the last."""
    scaler, ledger = estimators.PrivateStandardScaler(bounds=(-1, 1)), estimators.Ledger()
    twice = [
        ("first", scaler),
        ("second", scaler),
        ("model", estimators.PrivateLinearSVC(data_norm=1.0, classes=[0, 1])),
    ]
    with pytest.raises(InvalidInput, match="another object"):
        made(twice, ledger=ledger).fit(X, Y)
    assert not ledger.entries


def _centred(rows):
    return rows - rows.mean(axis=0)


def _from_the_last(rows):
    return rows - rows[-1]


@pytest.mark.parametrize("function", [_centred, _from_the_last, lambda rows: np.cumsum(rows, axis=0), np.flipud])
def test_steps_that_make_a_row_out_of_others_are_named(function):
    """Nothing is fitted, and yet one record moves every row that the private step sees."""
    steps = [FunctionTransformer(function), estimators.PrivateLinearSVC(data_norm=1.0, classes=[0, 1])]
    with pytest.warns(estimators.PrivacyWarning, match="'functiontransformer'.* to a row alone"):
        made(steps).fit(X, Y)
    honest = [FunctionTransformer(np.sqrt), Normalizer(), estimators.PrivateLinearSVC(data_norm=1.0, classes=[0, 1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error", estimators.PrivacyWarning)
        made(honest).fit(np.abs(X), Y)
