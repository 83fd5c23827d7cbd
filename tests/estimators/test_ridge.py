"""Ridge regression: what it learns, and targets of all sizes."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from attacks import rows
from estimators.records import SOURCE, two_classes, unit
from tacit.estimators import (
    Ledger,
    PrivateRidge,
)
from tacit.noise.randomness import Randomness

pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
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


@pytest.mark.attack(rows.NUMPY)
@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e308])
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
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


@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
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


def test_ridge_on_real_data():
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
    for delta in (0.0, 1e-6):
        auto = PrivateRidge(delta=delta, data_norm=1.0, label_bound=200.0, ledger=Ledger(), random_state=SOURCE)
        assert auto.fit(X, y).algorithm_ == "objective"
