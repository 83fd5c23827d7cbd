"""The private linear models: guarantees, warnings, bounds, classes, passes in parts, accuracy."""

import traceback
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_blobs
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from tacit.errors import InvalidInput, PrivacyError, ProtocolError
from tacit.estimators import (
    Ledger,
    PrivacyWarning,
    PrivateGridSearch,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStandardScaler,
    UsefulnessWarning,
)
from tacit.estimators.multiclass import MultinomialLoss, OneVsRestLoss
from tacit.estimators.ridge import _integer_sums
from tacit.learners.stochastic import StronglyConvex, Subgradient
from tacit.losses import SmoothedHingeLoss
from tacit.numerics.lattice import cross_ratio, joint_shift
from tacit.randomness import Randomness

pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here
SOURCE = Randomness.replayable(1)


def unit(rows):
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]


def two_classes(count=600, seed=0):
    stream = Randomness.replayable(seed).stream("data")
    X = unit(stream.standard_normal((count, 4)))
    return X, (X @ [2.0, -1.0, 0.0, 0.5] > 0).astype(int)


def three_classes():
    X, y = make_blobs(1500, centers=[[1, 0], [-0.5, 0.9], [-0.5, -0.9]], cluster_std=0.2, random_state=0)
    return X / 2, np.array(["a", "b", "c"])[y]


CLASSIFIERS = (PrivateLogisticRegression, PrivateLinearSVC)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
@pytest.mark.parametrize(("delta", "relation"), [(1e-6, "replace"), (1e-6, "zero-out"), (0.0, "replace")])
def test_two_classes(kind, algorithm, delta, relation):
    X, y = two_classes(4000)
    model = kind(
        8.0,
        delta,
        data_norm=1.0,
        classes=[0, 1],
        algorithm=algorithm,
        relation=relation,
        random_state=SOURCE,
        ledger=Ledger(),
    )
    model.fit(X, y)
    # Pure noise on a lattice is independent in each coordinate: up to sqrt(2) of noise that is shaped for the norm.
    assert model.score(X, y) > (0.85 if (algorithm, delta) == ("one-pass", 0.0) else 0.9)
    assert model.algorithm_ == algorithm
    spent = model.guarantee_.epsilon(delta)
    assert 7.9 < spent <= 8.0 * (1 + 1e-9)
    assert str(model.guarantee_.relation) == relation
    assert not model.guarantee_.private  # a replayable source is stamped
    assert model.public_guarantee(4000, 4).epsilon(delta) == spent


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
def test_several_classes(kind, algorithm):
    X, y = three_classes()
    model = kind(4.0, data_norm=1.0, classes=["a", "b", "c"], algorithm=algorithm, random_state=SOURCE, ledger=Ledger())
    assert model.fit(X, y).score(X, y) > 0.85
    assert model.coef_.shape == (3, 2)
    assert model.guarantee_.epsilon(1e-6) <= 4.0 * (1 + 1e-9)
    assert model.public_guarantee(len(X), 2, 3).epsilon(1e-6) == pytest.approx(model.guarantee_.epsilon(1e-6))
    if kind is PrivateLogisticRegression:
        chances = model.predict_proba(X)
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(X)))
        assert np.array_equal(model.classes_[np.argmax(chances, axis=1)], model.predict(X))
        assert np.exp(model.predict_log_proba(X)) == pytest.approx(chances)


def test_nothing_is_read_off_declared_data_and_secrets_stay_secret():
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], ledger=Ledger()).fit(X, y)
        PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=Ledger()).fit(X, y)
        PrivateStandardScaler(bounds=(-1, 1), ledger=Ledger()).fit(X)
    assert model.guarantee_.private


def test_reading_off_the_data_warns():
    X, y = two_classes()
    with pytest.warns(PrivacyWarning, match="data_norm was read"):
        PrivateLogisticRegression(classes=[0, 1], ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="classes were read"):
        PrivateLogisticRegression(data_norm=1.0, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="replayable"):
        PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], random_state=3, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="label_bound was read"):
        PrivateRidge(data_norm=1.0, ledger=Ledger()).fit(X, y)
    with pytest.warns(PrivacyWarning, match="bounds were read"):
        PrivateStandardScaler(ledger=Ledger()).fit(X)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, PrivateRidge])
def test_long_rows_are_clipped(kind):
    """One enormous row changes nothing but its own direction: the same fit as with that row scaled down."""
    X, y = two_classes()
    declared = {"label_bound": 1.0} if kind is PrivateRidge else {"classes": [0, 1]}
    fits = []
    for size in (1.0, 1e9):
        changed = X.copy()
        changed[0] = size * X[0] / np.linalg.norm(X[0])
        model = kind(data_norm=1.0, fit_intercept=False, random_state=SOURCE, ledger=Ledger(), **declared)
        fits.append(model.fit(changed, y).coef_)
    assert fits[0] == pytest.approx(fits[1], abs=1e-9)


@pytest.mark.parametrize("algorithm", ["statistics", "objective", "one-pass"])
def test_no_target_is_too_large_for_a_fit(algorithm):
    """Targets are clipped before they are divided by their bound: the quotient may be too large for a float."""
    X, y = two_classes()
    fits = []
    for largest in (0.01, 1.7e308):
        changed = np.where(y > 0, largest, -largest)
        model = PrivateRidge(
            data_norm=1.0, label_bound=0.01, algorithm=algorithm, horizon=600, random_state=SOURCE, ledger=Ledger()
        )
        with np.errstate(over="raise"):
            fits.append(model.fit(X, changed).coef_)
            model.partial_fit(X[:1], changed[:1]).partial_fit(X[1:2], changed[1:2])
    assert np.array_equal(*fits)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e308])
@pytest.mark.parametrize("algorithm", ["statistics", "one-pass"])
def test_settings_of_numpy_change_no_fit(algorithm, scale):
    """Sums of statistics raised at underflows where numpy was told to, and those depend on the data."""
    X, y = two_classes(60)
    rows, target = np.sign(X) * scale, np.where(y > 0, 1.0, -5e-324)
    fits = []
    for setting in ("ignore", "raise"):
        with np.errstate(all=setting):
            model = PrivateRidge(
                data_norm=1.0, label_bound=1.0, algorithm=algorithm, random_state=SOURCE, ledger=Ledger()
            )
            fits.append(model.fit(rows, target).coef_)
    assert np.array_equal(*fits)


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


@pytest.mark.parametrize("algorithm", ["statistics", "objective", "one-pass"])
def test_ridge_learns(algorithm):
    stream = Randomness.replayable(2).stream("data")
    X = unit(stream.standard_normal((8000, 5)) / 2)
    y = 50.0 * (X @ [0.8, -0.4, 0.0, 0.2, 0.1] + 0.05 * stream.standard_normal(8000))
    for relation in ("replace", "zero-out"):
        model = PrivateRidge(
            2.0,
            data_norm=1.0,
            label_bound=50.0,
            algorithm=algorithm,
            relation=relation,
            random_state=SOURCE,
            ledger=Ledger(),
        )
        assert model.fit(X, y).score(X, y) > 0.9
        assert model.guarantee_.epsilon(1e-6) <= 2.0 * (1 + 1e-9)
        assert model.public_guarantee(8000, 5).epsilon(1e-6) == pytest.approx(model.guarantee_.epsilon(1e-6))


def test_ridge_on_real_data_and_its_noise():
    X, y = load_diabetes(return_X_y=True)
    X, y = unit(X / np.linalg.norm(X, axis=1).max()), y - 150.0
    scores = [
        PrivateRidge(
            3.0,
            data_norm=1.0,
            label_bound=200.0,
            relation="zero-out",
            fit_intercept=False,
            random_state=Randomness.replayable(s),
            ledger=Ledger(),
        )
        .fit(X, y)
        .score(X, y)
        for s in range(5)
    ]
    assert np.mean(scores) > 0.2  # not private: about 0.5
    # The noise of the statistics has the stated scale: no data, so the cross term is noise alone.
    from tacit.privacy.calibration import gaussian_mu

    model = PrivateRidge(
        data_norm=1.0,
        label_bound=1.0,
        algorithm="statistics",
        fit_intercept=False,
        regularisation=1e9,
        random_state=SOURCE,
        ledger=Ledger(),
    )
    model.fit(np.zeros((10, 400)), np.zeros(10))
    cross = model.coef_ * 1e9
    assert np.std(cross) == pytest.approx(2.5 / gaussian_mu(1.0, 1e-6), rel=0.15)  # separate releases: 2 sqrt(2)
    with pytest.raises(PrivacyError, match="delta"):
        PrivateRidge(delta=0.0, data_norm=1.0, label_bound=1.0, algorithm="statistics").fit(X, y)
    for delta in (0.0, 1e-6):
        auto = PrivateRidge(delta=delta, data_norm=1.0, label_bound=200.0, ledger=Ledger(), random_state=SOURCE)
        assert auto.fit(X, y).algorithm_ == "objective"


@pytest.mark.parametrize("replace", [True, False])
def test_one_record_moves_both_statistics_together_by_what_is_charged(replace):
    """By brute force over pairs of records of all lengths, angles and targets; the bound is reached."""
    alpha = cross_ratio(replace)
    p, q = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    most = 0.0
    for c in np.linspace(-1, 1, 201):
        for y, z in ((1, 1), (1, -1), (1, 0), (0.5, -1)):
            if replace:
                squares = p**4 + q**4 - 2 * (p * q * c) ** 2
                most = max(most, np.max(squares + alpha**2 * ((p * y) ** 2 + (q * z) ** 2 - 2 * p * q * c * y * z)))
            else:
                most = max(most, np.max(p**4 + (alpha * p * y) ** 2))
    bound = joint_shift(10**6, dimension=3, replace=replace) / 10**6
    assert bound == pytest.approx(np.sqrt(most), rel=1e-4)
    assert bound**2 >= most
    stream = Randomness.replayable(8).stream("data")
    units, moves = 1000, []
    for _ in range(300):
        v, w = unit(stream.standard_normal((2, 3)) * 3)
        first = _integer_sums(v[None], np.array([1.0]), 1.0, units, alpha)
        other = _integer_sums(w[None], np.array([-1.0]), 1.0, units, alpha)
        moves.append(np.linalg.norm(first - other if replace else first))
    limit = joint_shift(units, dimension=3, replace=replace)
    assert 0.97 * limit < max(moves) <= limit


def test_the_scaler():
    stream = Randomness.replayable(4).stream("data")
    X = stream.standard_normal((20_000, 3)) * [1.0, 2.0, 0.5] + [5.0, -3.0, 0.0]
    scaler = PrivateStandardScaler(1.0, bounds=(-20, 20), random_state=SOURCE, ledger=Ledger()).fit(X)
    assert scaler.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    assert scaler.scale_[1] == pytest.approx(2.0, abs=0.5)
    assert scaler.guarantee_.epsilon(1e-6) <= 1.0 * (1 + 1e-9)
    assert np.abs(scaler.transform(X).mean(axis=0)).max() < 0.2
    zero = PrivateStandardScaler(
        1.0, bounds=([-20] * 3, [20] * 3), relation="zero-out", random_state=SOURCE, ledger=Ledger()
    ).fit(X)
    assert zero.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    for bad in ((1, 0), (0, np.inf), 3, ([0, 0], [1, 1])):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bad).fit(X)


def test_no_bounds_of_the_scaler_let_a_record_count_for_more():
    """Between 1 and the next float the middle is 1, and a record at the other end counted for (2, 3.5)."""
    high = np.nextafter(1.0, 2.0)
    scaler = PrivateStandardScaler(1e8, 0.5, bounds=(1.0, high), random_state=SOURCE, ledger=Ledger())
    scaler.fit(np.repeat([[1.0], [high]], 50, axis=0))
    assert scaler.scale_[0] / ((high - 1.0) / 2) == pytest.approx(0.5, abs=0.01)  # z is 0 or 1
    for bounds in ((0.0, 5e-324), (-1.7e308, 1.7e308), (1.0, 1.0), (0.0, np.nan)):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bounds, ledger=Ledger()).fit(np.zeros((3, 1)))


def test_scaler_sensitivities():
    a, b = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401))
    moved = (a - b) ** 2 + (a**2 - b**2) ** 2
    assert moved.max() == pytest.approx(4.0)
    assert (a**2 + (a**2 - 0.5) ** 2).max() == pytest.approx(1.25)


@pytest.mark.parametrize(("epsilon", "floor"), [(1.0, 0.93), (0.1, 0.85)])
def test_breast_cancer(epsilon, floor):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(6):
        train, test, train_labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler = StandardScaler().fit(train)
        model = PrivateLinearSVC(
            epsilon,
            data_norm=1.0,
            classes=[0, 1],
            relation="zero-out",
            random_state=Randomness.replayable(seed),
            ledger=Ledger(),
        )
        model.fit(unit(scaler.transform(train)), train_labels)
        scores.append(model.score(unit(scaler.transform(test)), test_labels))
    assert np.mean(scores) > floor


def test_joint_losses_have_the_gradients_and_constants_they_say():
    stream = Randomness.replayable(5).stream("data")
    for loss in (MultinomialLoss(1.0, 3), OneVsRestLoss(1.0, 3, SmoothedHingeLoss())):
        rows = loss.pack((3 * stream.standard_normal((50, 4)), stream.integers(0, 3, 50)), 12, many=True)
        x, other = stream.standard_normal((2, 12))
        step = 1e-6 * stream.standard_normal(12)
        change = (loss.values(x + step, rows) - loss.values(x - step, rows)) / 2
        assert change == pytest.approx(loss.gradients(x, rows) @ step, abs=1e-11)
        constants = loss.constants(None)
        sizes = np.linalg.norm(loss.gradients(5 * x, rows), axis=1)
        assert sizes.max() <= constants.lipschitz * (1 + 1e-9)
        moves = np.linalg.norm(loss.gradients(x, rows) - loss.gradients(other, rows), axis=1)
        assert moves.max() <= constants.smoothness * np.linalg.norm(x - other)
        for bad in (3, (np.zeros((2, 4)), [0, 7]), (np.zeros((2, 4)), [0.5, 1])):
            with pytest.raises(InvalidInput):
                loss.pack(bad, 12, many=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"algorithm": "newton"}, "algorithm"),
        ({"relation": "add"}, "relation"),
        ({"data_norm": 0.0}, "data_norm"),
        ({"regularisation": -2.0}, "regularisation"),
        ({"horizon": 0}, "horizon"),
        ({"random_state": -5}, "seed"),
        ({"classes": [0]}, "2 classes"),
        ({"classes": [0, 2]}, "among"),
    ],
)
@pytest.mark.filterwarnings("ignore::tacit.estimators.PrivacyWarning")
def test_bad_parameters_raise(changed, message):
    X, y = two_classes(50)
    with pytest.raises(InvalidInput, match=message):
        PrivateLogisticRegression(**{"data_norm": 1.0, "classes": [0, 1], "ledger": Ledger(), **changed}).fit(X, y)


@pytest.mark.parametrize(
    "rows",
    [
        [["0.125", "alice"], ["1", "2"]],
        np.array([0.1251, 0.1252]),
        np.array(0.1251),
        np.array([[0.1251 + 1j, 0.0], [0.1252, 0.0]]),
        [[0.1251, 0.1252], [0.1253]],
        np.array([[{"alice": 0.1251}, 1.0], [0.0, 0.0]]),
        np.array([[np.nan, 0.1251], [0.1252, 0.0]]),
    ],
    ids=["text", "one axis", "no axis", "complex", "ragged", "objects", "missing"],
)
def test_errors_about_data_show_no_values(rows):
    declared = {"data_norm": 1.0, "classes": [0, 1], "ledger": Ledger()}
    model = PrivateLogisticRegression(**declared).fit(np.eye(2), [0, 1])
    ridge = PrivateRidge(data_norm=1.0, label_bound=1.0, ledger=Ledger())
    calls = (
        lambda: PrivateLogisticRegression(**declared).fit(rows, [0, 1]),
        lambda: PrivateLogisticRegression(horizon=2, **declared).partial_fit(rows, [0, 1]),
        lambda: model.predict(rows),
        lambda: ridge.fit(rows, [0.0, 1.0]),
        lambda: ridge.fit(np.eye(2), np.array(["0.125", "alice"], dtype=object)),
        lambda: PrivateStandardScaler(bounds=(0, 1), ledger=Ledger()).fit(rows),
        lambda: PrivateGridSearch(model, {"regularisation": [1.0]}, ledger=Ledger()).fit(rows, [0, 1]),
    )
    for call in calls:
        with pytest.raises((InvalidInput, TypeError)) as caught:
            call()
        shown = "".join(traceback.format_exception_only(caught.value))
        assert "alice" not in shown
        assert "0.125" not in shown
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_auto_streams_over_large_data(monkeypatch):
    import tacit.estimators.base as base

    X, y = two_classes(100)
    monkeypatch.setattr(base, "LARGEST_OBJECTIVE", 10)
    model = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1], random_state=SOURCE, ledger=Ledger())
    assert model.fit(X, y).algorithm_ == "one-pass"


def test_a_pass_begins_at_public_coefficients():
    X, y = two_classes()
    start = [0.3, -0.2, 0.0, 0.1, 0.07]
    model = PrivateLogisticRegression(
        data_norm=1.0, classes=[0, 1], algorithm="one-pass", initial=start, random_state=SOURCE, ledger=Ledger()
    )
    plan = model._one_pass_plan(model._loss(1.0), 600, 5, 1.0, 1.0)
    assert plan.start(Randomness.replayable(0)).play() == pytest.approx([0.3, -0.2, 0.0, 0.1, 0.07 / 0.35])
    assert model.fit(X, y).coef_.shape == (1, 4)
    far = PrivateLogisticRegression(initial=[1e6, 0.0, 0.0, 0.0, 0.0], data_norm=1.0)
    plan = far._one_pass_plan(far._loss(1.0), 600, 5, 1.0, 1.0)
    assert plan.problem.initial == pytest.approx((plan.problem.domain.radius, 0, 0, 0, 0))
    ridge = PrivateRidge(initial=[2.0], data_norm=1.0, label_bound=4.0, fit_intercept=False)
    assert ridge._one_pass_plan(SmoothedHingeLoss(), 600, 1, 1.0, 1.0).problem.initial == (0.5,)
    with pytest.raises(InvalidInput, match="initial"):
        PrivateLogisticRegression(
            initial=[1.0], data_norm=1.0, classes=[0, 1], algorithm="one-pass", ledger=Ledger()
        ).fit(X, y)


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


def test_declared_classes_are_judged_and_not_the_labels():
    """scikit-learn warns of many classes among few labels, and refuses 0.5 among them: whoever is warned learns it."""
    X = two_classes(30)[0]
    for labels in (np.arange(30) % 20, np.arange(30) % 2):
        model = PrivateLogisticRegression(data_norm=1.0, classes=list(range(20)), ledger=Ledger())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UsefulnessWarning)
            model.fit(X, labels)
    for labels in (np.zeros(30), np.append(np.zeros(29), 0.5)):
        model = PrivateLogisticRegression(data_norm=1.0, classes=[0.0, 0.5], ledger=Ledger())
        with pytest.raises(InvalidInput, match="whole numbers, or words"):
            model.fit(X, labels)
