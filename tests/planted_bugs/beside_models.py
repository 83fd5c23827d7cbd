"""Planted bugs in what estimators do around a model: weights, counts beside it, sparse rows, both statistics."""

from __future__ import annotations

from math import fsum, sqrt
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from attacks import rows
from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.tested import by_test
from tacit.accounting.calibration import gaussian_mu
from tacit.algorithms.stochastic.objective_perturbation.model_noise import SHRUNK
from tacit.auditing.report import Finding
from tacit.losses import loss as loss_base
from tacit.losses.loss import LinkLoss
from tacit.noise.randomness import Randomness
from tacit_models import Ledger, PrivateLogisticRegression, classifier, ridge, scoring, statistics
from tacit_models import linear_model as base
from tacit_models import pipeline as pipelines
from tacit_models import records as weights
from tacit_models.budget import NoisyCounts
from tacit_models.table import PublicTable

_ROWS = Randomness.replayable(4).stream("data").standard_normal((60, 3))
_LABELS = np.arange(60) % 2
_RIDGE = 5000.0


def _finding(method: str, observed: float, allowed: float) -> Finding:
    violation = bool(observed > allowed)
    return Finding(method, "neighbours", "largest", allowed, float(observed), violation=violation, check=True)


def _model(**options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        data_norm=1.0, classes=[0, 1], random_state=Randomness.replayable(1), ledger=Ledger(), **options
    )


def _moved(first: Any, second: Any) -> float:
    return float(np.linalg.norm(first.coef_ - second.coef_))


def heavy_record() -> Finding:
    """With the same noise, one record moves the minimiser by at most 2 G/lambda, whatever its weight."""
    fits = []
    for label in (0, 1):
        labels, heavy = _LABELS.copy(), np.ones(60)
        labels[7], heavy[7] = label, 50.0
        model = _model(regularisation=_RIDGE, weight_bound=1.0, threshold="zero")
        fits.append(model.fit(_ROWS, labels, sample_weight=heavy))
    return _finding("one heavy record", _moved(*fits), 2 / _RIDGE + 1e-5)


def long_sparse_record() -> Finding:
    """The same for a record of a sparse table: longer than the bound, or with entries that are there many times."""
    moves = []
    for entry, copies in ((1e3, 1), (0.9, 2000)):
        fits = []
        for label in (0, 1):
            labels, rows = _LABELS.copy(), sparse.csr_array(_ROWS)
            labels[59] = label
            data = np.append(rows.data[:-3], np.full(copies, entry))
            columns = np.append(rows.indices[:-3], np.zeros(copies, dtype=int))
            table = sparse.csr_array((data, columns, np.append(rows.indptr[:-1], len(data))), shape=(60, 3))
            table.has_canonical_format = True  # as whoever wants to mislead would say
            model = _model(regularisation=_RIDGE, threshold="zero", fit_intercept=False)
            fits.append(model.fit(table, labels))
        moves.append(_moved(*fits))
    return _finding("one long sparse record", max(moves), 2 / _RIDGE + 1e-5)


def wide_record() -> Finding:
    """The norm of a clipped row, sparse or in Fortran's order, of many entries whose squares are small beside one."""
    row = np.append(1.0, np.full(300_000, 1e-8))
    clipped = (
        weights.clipped_rows(weights.canonical(sparse.csr_array(row[None, :])), 1.0).data,
        loss_base.clip_rows(np.asfortranarray([row, row]), 1.0)[0],
    )
    return _finding("one wide record", max(sqrt(fsum((SHRUNK * entries) ** 2)) for entries in clipped), 1.0)


def repeated_entries() -> Finding:
    """The norm of a clipped sparse row of one place that is there many times."""
    table = sparse.csr_array((np.full(2000, 0.9), np.zeros(2000, dtype=int), np.array([0, 2000])), shape=(1, 3))
    table.has_canonical_format = True  # as whoever wants to mislead would say
    row = weights.clipped_rows(weights.canonical(table), 1.0).toarray()[0]
    return _finding("one record with repeated entries", float(np.linalg.norm(SHRUNK * row)), 1.0)


def counts_released() -> Finding:
    """What all counts of a fit cost, mu of each added up in squares, against what the contract has for them."""
    spent, honest = [], NoisyCounts.release

    def noted(self: NoisyCounts, *given: Any) -> Any:
        spent.append(self.privacy**2)
        return honest(self, *given)

    model = _model(algorithm="objective", class_weight="balanced", threshold="zero")
    plans, planned = [], type(model)._fit_plan

    def kept(self: Any, *given: Any) -> Any:
        plans.append(planned(self, *given))
        return plans[-1]

    with mock.patch.object(type(model), "_fit_plan", kept), mock.patch.object(NoisyCounts, "release", noted):
        model.fit(_ROWS, _LABELS)
    return _finding("counts of one fit", sum(spent), plans[-1].counts.privacy ** 2 * (1 + 1e-9))


def statistics_noise() -> Finding:
    """The largest move of both statistics over the noise, against mu."""
    units, mu = 2**20, gaussian_mu(1.0, 1e-6)
    v, w = np.array([[1.0, 0.0]]), np.array([[0.25, np.sqrt(1 - 0.25**2)]])
    alpha = statistics.cross_ratio(True)
    moved = np.linalg.norm(
        statistics.integer_sums(v, np.ones(1), 1.0, units, alpha)
        - statistics.integer_sums(w, -np.ones(1), 1.0, units, alpha)
    )
    charged = statistics.joint_shift(units, dimension=2, replace=True)
    return _finding("both statistics together", mu * moved / charged, mu * (1 + 1e-9))


def weight_of_one() -> Finding:
    """How far the rows of others move if one record of sixty long ones weighs a little less."""
    found, target = [], np.full(60, 0.1)
    for last in (1.0, 0.99):
        model = ridge.PrivateRidge(data_norm=1.0, label_bound=1.0, weight_bound=1.0, ledger=Ledger())
        model._set_bounds(100 * _ROWS, target)
        found.append(model._weighted(100 * _ROWS, target, np.append(np.ones(59), last))[0][:-1])
    return _finding("one lighter record", float(np.linalg.norm(found[1] - found[0])), 0.02)


@around
def _unclipped_if_all_weigh_one(honest: Any, self: Any, features: Any, target: Any, given: Any) -> Any:
    if (given == 1.0).all():
        return self._augmented(features, self.data_norm_), self._in_units(target)
    return honest(self, features, target, given)


@around
def _one_after_the_other(honest: Any, rows: Any) -> Any:
    table = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.sqrt(np.cumsum(table**2, axis=1)[:, -1])


@around
def _twice(honest: Any, noise: Any, codes: Any, classes: int, source: Any) -> Any:
    return (honest(noise, codes, classes, source) + honest(noise, codes, classes, source.child("again"))) / 2


def _moved_by(name: str, delta: float = 1e-6, relation: str = "replace") -> Any:
    return by_test(
        "models.test_statistics", "test_one_record_moves_what_is_released_by_what_is_charged",
        name, relation, delta,
    )  # fmt: skip


def _as_one_column(honest: Any) -> Any:
    return lambda self, l2, l1, releases=1: honest(self, 1.0, 1.0, releases)


def _each_in_full(honest: Any) -> Any:
    return lambda self, l2, l1, releases=1: honest(self, l2, l1)


def _rows_if_all_are(honest: Any) -> Any:
    """Whether anybody's element is a row depends on everybody's."""
    return lambda owner, X: honest(owner, X if all(isinstance(row, list) for row in X) else [[row] for row in X])


in_estimators = planting("estimators")
CONTROLS = (
    in_estimators("means of many columns are charged as one", statistics.PrivateStatistic, "_noise", _as_one_column,
                  _moved_by("mean", 0.0), row=rows.STATISTICS),
    in_estimators("a histogram pays for one bin where a record leaves another", statistics.PrivateStatistic, "_noise",
                  _as_one_column, _moved_by("histogram"), row=rows.STATISTICS),
    in_estimators("every step of a quantile spends the whole budget", statistics.PrivateStatistic, "_noise",
                  _each_in_full, _moved_by("quantile"), row=rows.STATISTICS),
    Control(
        "rows of a covariance are not clipped", "estimators",
        both(
            swap(statistics, "clip_rows", lambda honest: lambda given, norm: given),
            swap(statistics, "integer_sums", lambda honest: lambda given, target, norm, units, ratio:
                 np.rint(np.append(given.T @ given, ratio * given.sum(axis=0)) * units).astype(object)),
        ),
        _moved_by("covariance"), row=rows.STATISTICS,
    ),
    in_estimators("heirs of a public table are covered", pipelines, "learns_nothing",
                  lambda honest: lambda step: isinstance(step, PublicTable) or honest(step),
                  by_test("models.test_table", "test_heirs_of_a_table_are_not_covered")),
    in_estimators("a list is a table if all its elements are rows, and else a column", statistics, "column_of",
                  _rows_if_all_are,
                  by_test("models.test_statistics", "test_an_element_of_another_shape_changes_no_other_cell", None),
                  row=rows.STATISTICS),
    in_estimators("labels of a score become an array of one kind", statistics, "_labels_of", lambda honest: np.array,
                  by_test("models.test_statistics",
                          "test_a_label_of_another_kind_moves_a_score_by_one_record", "accuracy", "a text"),
                  row=rows.STATISTICS),
    in_estimators("predictions that are a column are compared with all labels", scoring, "_shaped",
                  lambda honest: lambda found, shape: np.asarray(found),
                  by_test("models.test_statistics",
                          "test_predictions_that_are_a_column_are_refused", "neg_mean_absolute_error"),
                  row=rows.STATISTICS),
    in_estimators("a label that cannot be compared has all labels refused", statistics, "_can_be_compared",
                  lambda honest: lambda label: True,
                  by_test("models.test_statistics",
                          "test_a_label_of_another_kind_moves_a_score_by_one_record", "accuracy", np.ones(2)),
                  row=rows.STATISTICS),
    Control(
        "weights above their bound are not clipped", "estimators",
        both(
            swap(weights, "clipped_weights", lambda honest: lambda given, bound: given / bound),
            swap(LinkLoss, "clip_labels", lambda honest: lambda self, labels: labels),  # which would clip them as well
        ),
        heavy_record,
    ),
    in_estimators("rows are clipped before their products only if some weight is not 1", ridge.PrivateRidge,
                  "_weighted", _unclipped_if_all_weigh_one, weight_of_one),
    in_estimators("class counts are released twice and paid for once", classifier, "class_counts", _twice,
                  counts_released),
    in_estimators("sparse rows are not clipped", base, "clipped_rows", lambda honest: lambda rows, norm: rows,
                  long_sparse_record),
    in_estimators("entries that a sparse row has twice count as two", weights, "canonical",
                  lambda honest: lambda rows: rows, repeated_entries),
    in_estimators("squares of sparse rows are added up one after the other", weights, "norms_of",
                  _one_after_the_other, wide_record),
    in_estimators("squares of dense rows are added up one after the other", loss_base, "row_norms",
                  _one_after_the_other, wide_record),
    in_estimators("both statistics are charged as if one were free", statistics, "joint_shift",
                  lambda honest: lambda units, **_: np.sqrt(2) * units, statistics_noise),
)  # fmt: skip
