"""Rows of a table, dense or sparse (CSR): norms, clipping, the constant of the intercept, and dense parts of them.

Nothing here makes a sparse table dense, but for a part of bounded size at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from tacit.errors import InvalidInput
from tacit.losses.base import clip_rows, row_norms
from tacit.validation import FloatArray

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
        norms = norms_of(rows)
        found = scaled_rows(rows, np.where(norms > norm, norm * (1 - 1e-15) / np.maximum(norms, norm), 1.0))
    return found


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
