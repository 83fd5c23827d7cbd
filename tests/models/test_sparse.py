"""Sparse rows: the models of dense ones, clipped as dense ones are, and never dense."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from losses.longest import longest_rows
from models.records import private
from tacit.errors import InvalidInput
from tacit.losses.loss import row_norms
from tacit.noise.randomness import Randomness
from tacit.solvers.loss_sums import LinkSum, SparseLinkSum
from tacit.solvers.minimum import perturbed_minimum
from tacit_models import Ledger, PrivateGridSearch, PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge
from tacit_models.records import WeightedLogisticLoss, canonical, clipped_rows, dense_parts, norms_of, with_constant

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here


def table(rows=600, width=40, density=0.1, seed=0):
    stream = Randomness.replayable(seed).stream("data")
    X = stream.standard_normal((rows, width)) * (stream.uniform(size=(rows, width)) < density)
    return X, (X[:, 0] + 0.1 * stream.standard_normal(rows) > 0).astype(int)


model = partial(private, epsilon=2.0)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC, PrivateRidge])
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_sparse_and_dense_rows_give_the_same_model(kind, algorithm, make):
    if algorithm == "one-pass" and make is not sparse.csr_array:
        pytest.skip("one format is enough")
    X, y = table(200)
    weights = np.linspace(0, 1, 200)
    dense = model(kind, algorithm=algorithm, weight_bound=1.0).fit(X, y, sample_weight=weights)
    found = model(kind, algorithm=algorithm, weight_bound=1.0).fit(make(X), y, sample_weight=weights)
    assert found.coef_ == pytest.approx(dense.coef_, abs=1e-6)
    assert found.predict(make(X)) == pytest.approx(dense.predict(X), abs=1e-6)
    shape = {"n_samples": 200, "n_features": 40, "sparse": True}
    assert found.public_guarantee(**shape).epsilon(1e-6) == found.guarantee_.epsilon(1e-6)


def test_partial_fit_takes_sparse_rows():
    X, y = table(200)
    for kind in (PrivateLogisticRegression, PrivateRidge):
        dense, found = model(kind, horizon=200), model(kind, horizon=200)
        for first in (0, 100):
            part = slice(first, first + 100)
            dense.partial_fit(X[part], y[part])
            found.partial_fit(sparse.csr_array(X[part]), y[part])
        assert found.coef_ == pytest.approx(dense.coef_, abs=1e-9)


def test_norms_and_clipping():
    X, _ = table(50)
    X[3], X[4], X[5] = 0.0, 1e200, 5e-324
    rows = canonical(sparse.csr_array(X))
    assert norms_of(rows) == pytest.approx([np.linalg.norm(row) if row.max() < 1e100 else 1e200 * 40**0.5 for row in X])
    clipped = clipped_rows(rows, 0.5)
    assert np.linalg.norm(clipped.toarray(), axis=1).max() <= 0.5 * (1 + 1e-15)
    assert clipped.toarray() == pytest.approx(clipped_rows(X, 0.5), rel=1e-12)
    X[6, 7] = 1.7e308
    X[6, 8] = 1.7e308
    assert np.isfinite(clipped_rows(canonical(sparse.csr_array(X)), 0.5).toarray()).all()
    assert with_constant(rows, 0.35).toarray()[:, -1].tolist() == [0.35] * 50
    assert sum(len(part) for _, part in dense_parts(rows, 100)) == 50


def test_entries_that_are_there_twice_are_one():
    """Three entries of 0.9 in one place are one of 2.7: norms of the entries alone would leave the row unclipped."""
    doubled = sparse.csr_array((np.full(3, 0.9), np.zeros(3, dtype=int), np.array([0, 3, 3])), shape=(2, 2))
    doubled.has_canonical_format = True  # what a matrix says of itself is not believed
    assert norms_of(canonical(doubled)).tolist() == pytest.approx([2.7, 0.0])
    one = sparse.csr_array(np.array([[2.7, 0.0], [0.0, 0.0]]))
    fits = [model(PrivateLogisticRegression).fit(rows, [0, 1]).coef_ for rows in (doubled, one)]
    assert np.array_equal(*fits)
    assert doubled.nnz == 3  # the caller's own


@pytest.mark.parametrize("algorithm", ["objective", "one-pass", "search"])
def test_entries_whose_sum_is_infinite_are_refused_before_anything_is_spent(algorithm):
    """Each is finite: the sum was found out after the spending, or by a solver that met something that is no number."""
    doubled = sparse.csr_array((np.full(3, 1e308), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    ledger = Ledger()
    estimator = PrivateLogisticRegression(data_norm=1.0, ledger=ledger, classes=[0, 1])
    if algorithm == "search":
        estimator = PrivateGridSearch(estimator, {"fit_intercept": [True, False]}, ledger=ledger)
    else:
        estimator.set_params(algorithm=algorithm)
    with pytest.raises(InvalidInput, match="share a place"):
        estimator.fit(doubled, [0, 1])
    assert not ledger.entries


def test_sums_over_sparse_rows_are_those_over_dense_ones():
    X, y = table(1500, 30)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    loss, labels = WeightedLogisticLoss(), np.where(y > 0, 1.0, -0.5)
    dense, found = LinkSum(30, loss), SparseLinkSum(loss, sparse.csr_array(X), labels)
    assert len(found._parts) == 3
    dense.add(np.column_stack([X, np.zeros(1500), labels]))
    x, exact = np.linspace(-1, 1, 30), X.astype(np.longdouble)
    slopes = loss.slope(exact @ x, labels)
    gradient, error = found.gradient(x)
    assert float(np.linalg.norm((slopes @ exact) - gradient)) <= error <= dense.gradient(x)[1]
    assert found.value(x) == pytest.approx(dense.value(x))
    assert found.hessian(x) == pytest.approx(dense.hessian(x))
    assert found.smoothness == dense.smoothness
    noise = np.linspace(3, -3, 30)
    minima = [perturbed_minimum(s, ridge=2.0, noise=noise, accuracy=1e-9) for s in (dense, found)]
    assert np.linalg.norm(minima[0].point - minima[1].point) <= 2e-9
    assert not minima[1].substitute
    other = found.with_labels(-labels)
    assert other.value(x) == pytest.approx(found.value(-x))


def test_a_wide_table_is_never_dense():
    stream = Randomness.replayable(7).stream("data")
    rows, width, each = 4000, 20_000, 20
    columns = stream.integers(0, width, rows * each)
    X = sparse.csr_array(
        (np.full(rows * each, each**-0.5), columns, np.arange(0, rows * each + 1, each)), (rows, width)
    )
    y = stream.integers(0, 2, rows)
    tracemalloc.start()
    fitted = model(PrivateLogisticRegression, threshold="zero").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fitted.algorithm_ == "descent"
    assert peak < rows * width * 8 / 10  # a dense table has 640 MB
    assert model(PrivateRidge).fit(X, y).algorithm_ == "objective"


@pytest.mark.parametrize("norm", [1.0, 1e-6, 1e-12, 1e-15, 1e-60])
def test_the_longest_sparse_rows_are_clipped_to_the_norm(norm):
    clipped = clipped_rows(sparse.csr_array(longest_rows()), norm).toarray()
    assert row_norms(clipped).max() <= norm
