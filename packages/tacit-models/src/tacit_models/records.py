"""Records as models take them: checked, weighted, and rows of a table, dense or sparse (CSR).

A weight w in [0, w_max] multiplies a record's loss. Weights are divided by w_max, so that they lie in [0, 1], where the
losses keep their constants, and the label still fixes the sign of the slope. Where slope and curvature are linked (the
logistic loss) a weight is covered as a shorter row is: with b = w a the curvature 4 b (1 - a) c is largest at w = 1. So
weights cost no privacy. Losses of two classes take y in [-1, 1]: the class sign(y) with weight |y|.

Nothing here makes a sparse table dense, but for a part of bounded size at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import assert_all_finite, validate_data

from tacit.errors import InvalidInput
from tacit.losses.loss import LogisticLoss, SmoothedHingeLoss, clip_factors, clip_rows, row_norms
from tacit.validation import FloatArray, check_number, check_positive, invalid
from tacit_models.ledger import warn_of_reading

# Errors that name shapes, types and features. Others quote a cell, or print the whole array.
_WITHOUT_VALUES = (
    "Input ", "X has ", "Found array with ", "Found input variables ", "The feature names ", "Feature names ",
    "Sparse data ", "Expected a 2-dimensional container ", "y should be a 1d array", "This ",
    "float() argument must be",
)  # fmt: skip
_SHORTENED = {
    "Expected 2D array": "The rows must be a table of two axes. Reshape your data: array.reshape(-1, 1) if it is one "
    "feature, array.reshape(1, -1) if it is one row.",
    "Complex data not supported": "Complex data not supported.",
    "could not convert string to float": "Not all entries are numbers: a text could not be converted to a float.",
    "int too large to convert to float": "Not all entries are finite: a whole number is too large for a float.",
}


def checked_data(estimator: Any, *data: Any, **options: Any) -> Any:
    """Copy and check data as `validate_data` does, in float64; what it refuses is refused in words without values."""
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in data):
        raise InvalidInput(
            f"The data of {type(estimator).__name__} must be numbers. Got an array with masked entries instead, whose "
            "values would count: leave these rows out."
        )
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn adds everything up before it looks for infinities
            checked = validate_data(estimator, *data, dtype=np.float64, copy=True, **options)
            rows = checked[0] if len(data) == 2 else checked
            # scikit-learn looks at the caller's memory and copies it afterwards: what counts is what the copy holds.
            assert_all_finite(rows, estimator_name=type(estimator).__name__, input_name="X")
            if len(data) == 1:
                return rows
            # Text as a target passes scikit-learn's check, and numpy would name it.
            target = np.array(checked[1], dtype=np.float64 if options.get("y_numeric") else None)
            if target.dtype.kind == "f":
                assert_all_finite(target, estimator_name=type(estimator).__name__, input_name="y")
            return rows, target
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else InvalidInput
        text = _without_values(type(estimator).__name__, error)
    raise kind(text)  # not inside of the handler: an error keeps the one that it was raised in


def class_labels(declared: Any) -> Any:
    """The classes that were declared, or found, sorted and each once; a set is as good as a list.

    >>> class_labels({"b", "a"}).tolist()
    ['a', 'b']
    """
    try:
        return np.unique(np.asarray(list(declared) if isinstance(declared, set | frozenset) else declared))
    except TypeError:
        pass
    raise InvalidInput("Labels must be all numbers or all words.")  # not inside of the handler, which quotes them


def _without_values(owner: str, error: Exception) -> str:
    text = str(error)
    if text.startswith(_WITHOUT_VALUES):
        return text if text.rstrip().endswith((".", ")")) else f"{text}."
    known = (told for begin, told in _SHORTENED.items() if text.startswith(begin))
    return next(known, f"The data of {owner} must be finite numbers, a table of rows ({type(error).__name__}).")


# Numbers of a dense part: 32 MB.
_PART_ENTRIES = 1 << 22


def is_sparse(rows: Any) -> bool:
    """Whether these rows are a sparse matrix."""
    return bool(sparse.issparse(rows))


def canonical(rows: Any) -> Any:
    """Sparse rows without an entry that is there twice, whatever the matrix says of itself; dense ones as they are.

    Entries of one place count as their sum, so that a norm of the entries alone would be too short. Finite entries may
    have a sum that is not, which is refused as it is in a dense table: before anything is spent.
    """
    if not is_sparse(rows):
        return rows
    try:
        own = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
        own.check_format(full_check=True)  # places outside of the table would be read and written all the same
        whole = True
    except ValueError:
        whole = False
    if not whole:  # not inside of the handler: an error keeps the one that it was raised in
        raise InvalidInput("A sparse table must have its entries inside of its rows and columns, row after row.")
    if not own.has_canonical_format:
        own = own.copy()
        with np.errstate(all="ignore"):
            own.sum_duplicates()
        if not np.isfinite(own.data).all():
            raise InvalidInput("Entries of a sparse table that share a place must add up to a finite number.")
    return own


def norms_of(rows: Any) -> FloatArray:
    """The l2 norm of each row; sparse ones are `canonical`."""
    if not is_sparse(rows):
        return row_norms(rows)
    with np.errstate(all="ignore"):  # whether something underflows depends on the data
        size = np.maximum(abs(rows).max(axis=1).toarray().ravel(), 1e-150)
        scaled = rows.data / np.repeat(size, np.diff(rows.indptr))
        squares, filled = np.zeros(rows.shape[0]), np.diff(rows.indptr) > 0
        if filled.any():  # added up in pairs: one after the other, what is small beside the sum would be lost
            squares[filled] = np.add.reduceat(scaled * scaled, rows.indptr[:-1][filled])
        return np.asarray(np.sqrt(squares) * size)


def scaled_rows(rows: Any, factors: FloatArray) -> Any:
    """Each row times its factor."""
    if not is_sparse(rows):
        return rows * factors[:, None]
    data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def clipped_rows(rows: Any, norm: float) -> Any:
    """Rows scaled down to at most this norm; sparse ones are `canonical`."""
    if not is_sparse(rows):
        return clip_rows(rows, norm)
    with np.errstate(all="ignore"):
        return scaled_rows(rows, clip_factors(norms_of(rows), norm))


def with_constant(rows: Any, constant: float) -> Any:
    """The rows with one more column, the same number everywhere."""
    column = np.full((rows.shape[0], 1), constant)
    if is_sparse(rows):
        return sparse.hstack([rows, sparse.csr_array(column)], format="csr")
    return np.hstack([rows, column])


def dense_parts(rows: Any, entries: int = _PART_ENTRIES) -> Iterator[tuple[slice, FloatArray]]:
    """The rows in dense parts of bounded size, each with its place."""
    size = max(1, entries // max(1, rows.shape[1]))
    for first in range(0, rows.shape[0], size):
        place = slice(first, min(first + size, rows.shape[0]))
        part = rows[place]
        yield place, part.toarray() if is_sparse(part) else part


@dataclass(frozen=True)
class WeightedLogisticLoss(LogisticLoss):
    """|y| ln(1 + exp(-sign(y) <v, x>)): the label's sign is the class, its size the weight."""

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.abs(labels) * np.logaddexp(0.0, -np.sign(labels) * margins))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(-labels * expit(-np.sign(labels) * margins))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        probability = expit(-np.sign(labels) * margins)
        return np.asarray(np.abs(labels) * probability * (1 - probability))


@dataclass(frozen=True)
class WeightedHingeLoss(SmoothedHingeLoss):
    """|y| times the smoothed hinge of sign(y) <v, x>: the label's sign is the class, its size the weight."""

    def link(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.abs(labels) * super().link(margins, np.sign(labels)))

    def slope(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.abs(labels) * super().slope(margins, np.sign(labels)))

    def curvature(self, margins: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(np.abs(labels) * super().curvature(margins, np.sign(labels)))


def relative_weights(owner: str, given: Any, bound: float | None, records: int) -> FloatArray:
    """Weights over their public bound (None: the largest weight, with a warning), clipped to [0, 1]; or ones."""
    if given is None:
        return np.ones(records)
    try:
        weights = np.array(given, dtype=np.float64)
        weights = np.full(records, float(weights)) if weights.ndim == 0 else weights
        fine = weights.shape == (records,) and bool(np.isfinite(weights).all())
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise InvalidInput(f"The sample_weight of {owner} must be one finite number for each of the {records} rows.")
    if bound is None:
        warn_of_reading("weight_bound was", "it", level=4)
        bound = max(float(np.max(weights, initial=0.0)), 1e-300)
    return clipped_weights(weights, bound)


@np.errstate(all="ignore")  # whether something underflows depends on the data
def clipped_weights(weights: FloatArray, bound: float) -> FloatArray:
    """Weights clipped to [0, bound], over the bound: no record counts for more than 1."""
    return np.asarray(np.clip(np.clip(weights, 0.0, bound) / bound, 0.0, 1.0))


def check_class_weight(owner: str, given: Any) -> None:
    """Refuse what is neither None, "balanced" nor a dictionary of positive numbers."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping) or not given:
        raise invalid(owner, "class_weight", "None, 'balanced' or a dictionary of public weights", given)
    for weight in given.values():
        check_number(owner, "class_weight", weight, above=0.0)


def public_class_weights(owner: str, given: Mapping[Any, float], classes: Any) -> FloatArray:
    """The declared weight of each class over the largest of them; classes that are not named weigh 1."""
    known = set(classes.tolist())
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InvalidInput(f"The 'class_weight' of {owner} names {unknown[0]!r}, which is not among its classes.")
    weights = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])
    return np.asarray(weights / weights.max())


def balanced_class_weights(counts: FloatArray, deviation: float) -> FloatArray:
    """Weights in inverse proportion to noisy counts, over the largest of them.

    A count below twice its noise cannot be told from the noise.
    """
    known = np.maximum(counts, max(1.0, 2 * check_positive("balanced_class_weights", "deviation", deviation)))
    return np.asarray(known.min() / known)
