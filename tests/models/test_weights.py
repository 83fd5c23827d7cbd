"""Weights, class counts and the line between two classes: what one record can move, what is spent, what it is for."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import balanced_accuracy_score

from models.records import CLASSIFIERS, SOURCE, private
from tacit.accounting.composition import joint
from tacit.accounting.curves import Gaussian
from tacit.accounting.guarantee import Relation
from tacit.accounting.objective_perturbation import LinkedReleases
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, SmoothedHingeLoss
from tacit.noise.randomness import Randomness
from tacit_models import (
    Ledger,
    PrivacyWarning,
    PrivateLogisticRegression,
    PrivateRidge,
)
from tacit_models.budget import (
    STEPS,
    NoisyCounts,
    class_counts,
    divided,
    line_is_audible,
    matched_line,
)
from tacit_models.records import WeightedHingeLoss, WeightedLogisticLoss, clipped_weights, relative_weights

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here


def few_positives(count=10_000, features=10):
    """One record in twenty is positive: the top of a noisy linear score."""
    stream = Randomness.replayable(3).stream("data")
    X = stream.standard_normal((count, features))
    score = X[:, 0] + 0.5 * stream.standard_normal(count)
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], (score > np.quantile(score, 0.95)).astype(int)


model = partial(private, PrivateLogisticRegression)


@pytest.mark.parametrize(
    ("weighted", "plain"),
    [(WeightedLogisticLoss(), LogisticLoss()), (WeightedHingeLoss(smoothing=0.5), SmoothedHingeLoss(smoothing=0.5))],
)
def test_a_weight_scales_the_loss_and_keeps_its_constants(weighted, plain):
    stream = Randomness.replayable(2).stream("data")
    margins, weights = 4 * stream.standard_normal(2000), stream.uniform(size=2000)
    signs = np.where(stream.uniform(size=2000) < 0.5, -1.0, 1.0)
    for name in ("link", "slope", "curvature"):
        found = getattr(weighted, name)(margins, weights * signs)
        assert found == pytest.approx(weights * getattr(plain, name)(margins, signs), abs=1e-15)
    slope, curvature = weighted.link_constants(np.inf)
    assert np.abs(weighted.slope(margins, weights * signs)).max() <= slope
    assert weighted.curvature(margins, weights * signs).max() <= curvature
    assert (weighted.slope(margins, weights * signs) * signs <= 0).all()  # the label fixes the sign
    step = 1e-6
    change = (weighted.link(margins + step, weights * signs) - weighted.link(margins - step, weights * signs)) / 2e-6
    assert change == pytest.approx(weighted.slope(margins, weights * signs), abs=1e-6)
    assert not weighted.link(margins, np.zeros(2000)).any()


def test_linked_accounting_covers_every_weight():
    """ln(1 + 4 w a (1-a) c) + (w a)^2 s^2/2 + w a s n, weight w in [0, 1], is largest at w = 1 once a is free."""
    s, c = 0.3, 0.4
    curve = LinkedReleases(s, c, replacement=False, protection=0.0)
    a = np.linspace(0, 1, 401)
    for n in (-3.0, -0.5, 0.0, 1.0, 4.0):
        most = curve._linked(np.array([n]))[0]
        for w in np.linspace(0, 1, 41):
            assert np.max(np.log1p(4 * w * a * (1 - a) * c) + (w * a * s) ** 2 / 2 + w * a * s * n) <= most


@pytest.mark.parametrize("kind", [*CLASSIFIERS, PrivateRidge])
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_no_weight_moves_the_model_by_more_than_the_bound(kind, relation):
    """With the same noise, minimisers of neighbours are at most G/lambda, or twice that, apart: strong convexity."""
    stream = Randomness.replayable(4).stream("data")
    X, y = stream.standard_normal((60, 3)), stream.integers(0, 2, 60)
    weights = 5 * stream.uniform(size=60)
    ridge, steep = 5.0, 0.5 if kind is PrivateRidge else 1.0
    options = {"algorithm": "objective", "regularisation": ridge, "weight_bound": 2.0, "relation": relation}
    options |= {"label_bound": 1.0} if kind is PrivateRidge else {"threshold": "zero", "classes": [0, 1]}

    def fitted(row, label, weight):
        rows, labels, heavy = X.copy(), y.copy(), weights.copy()
        rows[7], labels[7], heavy[7] = row, label, weight
        found = kind(1.0, data_norm=1.0, random_state=SOURCE, ledger=Ledger(), **options)
        found.fit(rows, labels, sample_weight=heavy)
        return np.append(np.ravel(found.coef_), np.ravel(found.intercept_) / 0.35)

    nothing = fitted(X[7], y[7], 0.0)
    others = [fitted(1e3 * X[7], 1, 1e9), fitted(1e3 * X[7], 0, 1e9), fitted(X[8], 1, -4.0)]
    assert max(np.linalg.norm(other - nothing) for other in others) <= steep / ridge + 1e-3
    apart = np.linalg.norm(others[0] - others[1])
    assert 0.3 * steep / ridge < apart <= 2 * steep / ridge + 1e-3


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_a_weight_changes_nothing_about_other_records(make):
    """Long rows with small targets, which one record of another weight had let be clipped before the products."""
    rows = make(10 * Randomness.replayable(5).stream("data").standard_normal((300, 3)))
    found = []
    for last in (1.0, 0.0, 1 - 1e-9):
        fitted = PrivateRidge(data_norm=1.0, label_bound=1.0, weight_bound=1.0, ledger=Ledger())
        fitted._set_bounds(rows, np.full(300, 0.1))
        found.append(fitted._weighted(rows, np.full(300, 0.1), np.append(np.ones(299), last)))
    table, targets = ([part[place] for part in found] for place in (0, 1))
    for other, target in zip(table[1:], targets[1:], strict=True):
        assert abs(other - table[0])[:-1].max() == 0
        assert np.array_equal(target[:-1], targets[0][:-1])


def test_weights_are_clipped_and_read_off_with_a_warning():
    assert clipped_weights(np.array([-1.0, 0.5, 3.0, 1e300]), 2.0).tolist() == [0.0, 0.25, 1.0, 1.0]
    assert clipped_weights(np.array([5e-324]), 1e300).max() <= 1.0
    X, y = few_positives(400, 3)
    heavy = np.where(np.arange(400) == 5, 1e9, 2.0)
    fits = [
        model(weight_bound=2.0).fit(X, y, sample_weight=given).coef_ for given in (heavy, np.full(400, 2.0), 2.0, None)
    ]
    assert all(np.array_equal(fits[0], other) for other in fits[1:])
    with pytest.warns(PrivacyWarning, match="weight_bound was read"):
        model().fit(X, y, sample_weight=heavy)
    for bad in (np.ones(3), np.full(400, np.nan), np.ones((400, 2)), ["x"] * 400):
        with pytest.raises(InvalidInput, match="one finite number") as caught:
            model(weight_bound=1.0).fit(X, y, sample_weight=bad)
        assert caught.value.__cause__ is None
    assert relative_weights("x", None, None, 2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e308])
@pytest.mark.parametrize("kind", [*CLASSIFIERS, PrivateRidge])
@pytest.mark.parametrize(("make", "algorithm"), [(np.asarray, "auto"), (csr_array, "auto"), (np.asarray, "one-pass")])
def test_settings_of_numpy_change_no_weighted_fit(kind, scale, make, algorithm):
    """Whether something under- or overflows depends on the data, and no error may tell."""
    X, y = few_positives(400, 3)
    rows, weights = make(np.sign(X) * scale), np.where(y > 0, 1e300, 5e-324)
    declared = {} if kind is PrivateRidge else {"class_weight": {0: 1e-9, 1: 1.0}}
    fits = []
    for setting in ("ignore", "raise"):
        with np.errstate(all=setting):
            fitted = private(kind, 3.0, algorithm=algorithm, weight_bound=1e50, **declared)
            fits.append(fitted.fit(rows, y, sample_weight=weights).coef_)
    assert np.array_equal(*fits)


def test_passes_in_parts_count_no_classes():
    with pytest.raises(InvalidInput, match="dictionary"):
        model(class_weight="balanced", horizon=400).partial_fit(*few_positives(400, 3))


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_few_positives_are_found(kind, delta):
    X, y = few_positives()
    scores = {}
    for name, options in {
        "zero": {"threshold": "zero"},
        "matched": {},
        "declared": {"class_weight": {0: 1, 1: 19}},
        "balanced": {"class_weight": "balanced"},
    }.items():
        fitted = private(kind, delta=delta, **options).fit(X, y)
        scores[name] = balanced_accuracy_score(y, fitted.predict(X))
        assert fitted.guarantee_.epsilon(delta) <= 1.0
        assert fitted.public_guarantee(len(X), 10).epsilon(delta) == fitted.guarantee_.epsilon(delta)
        assert ("threshold between the classes" in fitted.guarantee_.released) == (name != "zero")
        assert ("noisy class counts" in fitted.guarantee_.released) == (name == "balanced")
    assert scores["zero"] < 0.65
    assert scores["matched"] > 0.7
    assert min(scores["declared"], scores["balanced"]) > 0.8


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_threshold_moves_predictions_and_nothing_else(kind):
    """Probabilities moved with it once: those of the positives, one record in twenty, were twice too large."""
    X, y = few_positives()
    fitted = private(kind).fit(X, y)
    margins = X @ fitted.coef_[0] + fitted.intercept_[0]
    assert fitted.intercept_[0] < fitted.threshold_ < -0.3
    assert np.array_equal(fitted.decision_function(X), margins)
    assert np.array_equal(fitted.predict(X), (margins > fitted.threshold_).astype(int))
    if kind is PrivateLogisticRegression:
        assert fitted.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.4)
    assert private(kind, threshold="zero").fit(X, y).threshold_ == 0.0
    assert fitted.set_params(threshold="zero").fit(X, y).threshold_ == 0.0  # a second fit forgets the first


def test_several_classes_take_weights():
    stream = Randomness.replayable(5).stream("data")
    y = stream.choice(3, size=3000, p=[0.9, 0.05, 0.05])
    X = 0.4 * stream.standard_normal((3000, 2)) + np.array([[0, 1], [1, -0.5], [-1, -0.5]])[y]
    for algorithm in ("objective", "one-pass"):
        made = {"classes": [0, 1, 2], "algorithm": algorithm, "epsilon": 8.0, "data_norm": 2.0}
        plain = balanced_accuracy_score(y, model(**made).fit(X, y).predict(X))
        fitted = model(class_weight={1: 18, 2: 18}, **made).fit(X, y)
        assert balanced_accuracy_score(y, fitted.predict(X)) > max(0.7, plain)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("relation", list(Relation))
def test_one_record_moves_counts_by_what_is_charged(pure, relation, monkeypatch):
    """By brute force over neighbours; the largest move is reached."""
    between = relation.sides if pure else np.sqrt(relation.sides)
    noise, seen = NoisyCounts(0.5, between, pure), []
    monkeypatch.setattr(NoisyCounts, "release", lambda self, sums, *_: seen.append(sums) or sums / self.units)
    norm = 1 if pure else 2
    absent = np.zeros(3, dtype=int)
    counted = [class_counts(noise, np.array([code]), 3, SOURCE) for code in range(3)] + [absent]
    whole = [*seen, absent]
    moves = [
        np.linalg.norm(a - b, norm)
        for i, a in enumerate(whole)
        for j, b in enumerate(whole)
        if relation is Relation.REPLACE or 3 in (i, j)
    ]
    assert max(moves) == pytest.approx(between * noise.units)
    assert counted[1].tolist() == [0.0, 1.0, 0.0]
    line = NoisyCounts(0.1, relation.sides, pure)
    seen.clear()
    for score in (-5.0, 5.0):
        for positive in (0, 1):
            for weight in (0.0, 0.3, 1.0, 1.0 + 1e-9):
                matched_line(line, np.array([score]), np.array([positive]), np.array([weight]), -1.0, SOURCE)
    numbers = np.array(seen)[::STEPS, 0]
    assert np.abs(numbers).max() == line.units
    assert np.ptp(numbers) == 2 * line.units


def test_the_line_stays_between_zero_and_the_intercept():
    stream = Randomness.replayable(6).stream("data")
    scores, noise = 0.3 * stream.standard_normal(5000) - 2.0, NoisyCounts(5.0, 2, pure=False)
    positive = (scores > np.quantile(scores, 0.9)).astype(float)
    line = matched_line(noise, scores, positive, np.ones(5000), -2.0, SOURCE)
    assert np.mean(scores > line) == pytest.approx(0.1, abs=0.04)
    loud = NoisyCounts(1e-4, 2, pure=False)
    for intercept in (-2.0, 1e-9, 3.0):
        found = [matched_line(loud, scores, positive, np.ones(5000), intercept, SOURCE.child(k)) for k in range(4)]
        assert min(0.0, intercept) <= min(found) <= max(found) <= max(0.0, intercept)


def test_what_is_beside_the_model_is_paid_for():
    made = model()
    for counts, line in ((True, False), (False, True), (True, True)):
        for delta in (1e-6, 0.0):
            made.delta = delta
            plan = divided(
                1.0, delta, Relation.REPLACE, lambda e: made._objective_plan(made._loss(1.0), 5000, 4, 1, e),
                classes=2, counts=counts, line=line,
            )  # fmt: skip
            assert 0.99 < plan.guarantee.epsilon(delta) <= 1.0
            sides = [part.privacy * (times if delta == 0 else np.sqrt(times)) for part, times in
                     ((plan.counts, 1), (plan.line, STEPS)) if part is not None]  # fmt: skip
            if delta == 0:
                assert plan.model.curve.pure() + sum(sides) <= 1.0
            else:
                whole = joint([plan.model.curve, Gaussian(float(np.hypot.reduce(sides)))])
                assert whole.epsilon(delta) <= plan.guarantee.epsilon(delta) * (1 + 1e-9)
    assert line_is_audible(1.0, 1e-6, Relation.REPLACE, 5000)
    assert not line_is_audible(1.0, 1e-6, Relation.REPLACE, 200)
    assert not line_is_audible(0.1, 0.0, Relation.REPLACE, 10_000)
    assert line_is_audible(0.1, 0.0, Relation.REPLACE, 14_000)


def test_a_gaussian_beside_logistic_releases_is_convolved():
    for count in (1, 3):
        release = LinkedReleases(0.2, 0.3, replacement=True, protection=0.01, releases=count)
        both = joint([release, Gaussian(0.1)])
        apart = joint([release.apart, Gaussian(0.1)])
        assert release.epsilon(1e-6) < both.epsilon(1e-6) < apart.epsilon(1e-6)
        assert isinstance(both, LinkedReleases)
        assert both.protection * np.sqrt(count) == pytest.approx(np.hypot(0.01 * np.sqrt(count), 0.1))
