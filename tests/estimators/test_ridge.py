"""Ridge regression: its statistics, their noise, and targets of all sizes."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from attacks import rows
from estimators.records import SOURCE, two_classes, unit
from tacit.errors import PrivacyError
from tacit.estimators import (
    Ledger,
    PrivateRidge,
)
from tacit.estimators.ridge import integer_sums
from tacit.noise.lattice import cross_ratio, joint_shift
from tacit.noise.randomness import Randomness

pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here


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


@pytest.mark.attack(rows.NUMPY)
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
    from tacit.accounting.calibration import gaussian_mu

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


@pytest.mark.attack(rows.LAWS)
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
        first = integer_sums(v[None], np.array([1.0]), 1.0, units, alpha)
        other = integer_sums(w[None], np.array([-1.0]), 1.0, units, alpha)
        moves.append(np.linalg.norm(first - other if replace else first))
    limit = joint_shift(units, dimension=3, replace=replace)
    assert 0.97 * limit < max(moves) <= limit
