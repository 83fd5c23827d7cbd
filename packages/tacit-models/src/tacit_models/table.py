"""A public schema for private tables: bounds, categories and hashed words are declared, and nothing is learned.

Every cell is encoded by itself, from the declaration alone: no cell changes the row of another record, and none raises.

- A number is clipped to its bounds and mapped to [-1, 1].
- A category is one column with a 1; a category that was not declared is all zeros, or "other".
- A text is the counts of its words in hashed columns, scaled to length 1.
- A cell that is missing (None, NaN, NA, empty text), or that is no number where numbers are declared, is all zeros, or
  a declared constant.

Each column of the table so makes a vector of norm at most 1, and a row of k columns one of at most sqrt(k).

How a file is read must not matter: one word in a column of numbers makes pandas read all its cells as text, and one
missing cell makes floats of integers. So "7", 7, 7.0 and True's 1 are compared as numbers wherever both are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from math import isnan, sqrt
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer

from tacit.errors import InvalidInput
from tacit.validation import LARGEST, SMALLEST, FloatArray, check_integer, check_number, invalid
from tacit_models.records import is_sparse

LARGEST_HASH = 2**20


@dataclass(frozen=True)
class Bounds:
    """Numbers between public bounds; others are clipped.

    Args:
        low: the smallest.
        high: the largest.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = (check_number("Bounds", name, getattr(self, name)) for name in ("low", "high"))
        if not SMALLEST <= high - low <= LARGEST:
            raise InvalidInput(f"The bounds of a column must be {SMALLEST:g} to {LARGEST:g} apart, low before high.")

    @property
    def width(self) -> int:
        """How many numbers a cell becomes."""
        return 1

    def labels(self) -> list[str]:
        """Name the numbers of a cell, "" for the column's own name."""
        return [""]

    def encode(self, cells: Any, constant: Any) -> Any:
        """Give each cell's numbers, of norm at most 1; `constant` stands for cells that are missing."""
        values, middle, half = numbers_of(cells), (self.low + self.high) / 2, (self.high - self.low) / 2
        values = np.where(np.isnan(values), middle if constant is None else float(constant), values)
        # Clipped again: between bounds that are neighbouring floats the middle is one of them.
        return np.clip((np.clip(values, self.low, self.high) - middle) / half, -1.0, 1.0)[:, None]


@dataclass(frozen=True)
class Categories:
    """One of several public values, as one column each (one-hot).

    Args:
        values: all of them, numbers or texts.
        other: whether what is not among them has a column of its own (else it is all zeros).
    """

    values: tuple[Any, ...]
    other: bool = False

    def __init__(self, values: Iterable[Any], other: bool = False) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidInput("The values of Categories must be a list of numbers or texts.")
        object.__setattr__(self, "values", tuple(sorted(values, key=str) if isinstance(values, set) else values))
        object.__setattr__(self, "other", bool(other))
        known = [text_of(value) for value in self.values]
        if not known or None in known or len(set(known)) < len(known):
            raise InvalidInput(
                "The values of Categories must be one or more, none of them empty, no two of them the same; "
                "7, 7.0 and '7' are the same."
            )

    @property
    def width(self) -> int:
        return len(self.values) + self.other

    def labels(self) -> list[str]:
        return [f"={value}" for value in self.values] + ["=other"] * self.other

    def codes(self, cells: Any, constant: Any = None) -> Any:
        """Give the number of each cell's category: the count of categories if it is none of them, -1 if missing."""
        known: dict[str | None, int] = {text_of(value): place for place, value in enumerate(self.values)}
        known[None] = known[text_of(constant)] if constant is not None else -1
        return np.array([known.get(text, len(self.values)) for text in texts_of(cells)], dtype=np.int64)

    def encode(self, cells: Any, constant: Any) -> Any:
        return (self.codes(cells, constant)[:, None] == np.arange(self.width)[None, :]).astype(np.float64)


@dataclass(frozen=True)
class Hashed:
    """Texts as counts of their words, in columns that a public hash chooses, scaled to length 1.

    Args:
        columns: how many.
    """

    columns: int

    def __post_init__(self) -> None:
        check_integer("Hashed", "columns", self.columns, at_most=LARGEST_HASH)

    @property
    def width(self) -> int:
        return self.columns

    def labels(self) -> list[str]:
        return [f"#{place}" for place in range(self.columns)]

    def encode(self, cells: Any, constant: Any) -> Any:
        stand_in = "" if constant is None else str(constant)
        hashing = HashingVectorizer(n_features=self.columns, norm="l2")
        # A text may hold code points that have no bytes: they are replaced, not refused.
        texts = (stand_in if text is None else text for text in texts_of(cells))
        written = [text.encode("utf-8", "replace").decode() for text in texts]
        return sparse.csr_array(hashing.transform(written))


Column = Bounds | Categories | Hashed
"""What is public of one column of a table."""


@dataclass(eq=False, repr=False)
class PublicTable(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, categories and texts by a public schema, as the first step of a private pipeline.

    Encoding learns nothing from data and costs no privacy: each row becomes numbers by itself. Any cell is encoded and
    never refused. `row_norm` bounds the norm of every row, and `private_pipeline` takes `row_norm` for the `data_norm`
    of a model that follows and declares none.

    Args:
        columns: what is public of each column that counts: `Bounds`, `Categories` or `Hashed`, by name, or by place.
        missing: constants for missing cells by column (others: the middle of the bounds, no category, no words).

    >>> table = PublicTable({"age": Bounds(0, 100), "country": Categories(["AT", "BE"])}, missing={"age": 40})
    >>> table.fit_transform([[75, "AT"], [None, "unknown"], ["1e9", None]]).tolist()
    [[0.5, 1.0, 0.0], [-0.2, 0.0, 0.0], [1.0, 0.0, 0.0]]
    >>> round(table.row_norm, 3)
    1.414
    """

    columns: Mapping[Any, Column]
    _: KW_ONLY
    missing: Mapping[Any, Any] | None = None

    def fit(self, X: Any, y: Any = None) -> PublicTable:
        """Check that the declared columns are there; nothing is learned."""
        self._constants()
        self._columns_of(X)
        self.n_features_in_ = len(X.columns) if hasattr(X, "columns") else _rectangle(X).shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Encode each row in numbers: a sparse matrix (CSR) if words are hashed, else an array."""
        constants = self._constants()
        columns = zip(self.columns.items(), self._columns_of(X), strict=True)
        blocks = [kind.encode(cells, constants.get(name)) for (name, kind), cells in columns]
        if any(is_sparse(block) for block in blocks):
            return sparse.csr_array(sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr"))
        return np.hstack(blocks)

    @property
    def row_norm(self) -> float:
        """A bound on the norm of every row: each column has at most 1."""
        self._constants()
        return sqrt(len(self.columns)) * (1 + 1e-12)

    @property
    def width(self) -> int:
        """How many numbers a row becomes."""
        self._constants()
        return sum(kind.width for kind in self.columns.values())

    @property
    def makes_sparse(self) -> bool:
        """Whether rows become a sparse matrix: if words are hashed."""
        return any(isinstance(kind, Hashed) for kind in self.columns.values())

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the numbers: column, column=category, column#place."""
        self._constants()
        names = [f"{name}{label}" for name, kind in self.columns.items() for label in kind.labels()]
        return np.array(names, dtype=object)

    def _constants(self) -> dict[Any, Any]:
        """The declared constants, after a look at the whole declaration: all of it is public."""
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise invalid("PublicTable", "columns", "a dictionary of at least one column", self.columns)
        for name, kind in self.columns.items():
            if type(kind) not in (Bounds, Categories, Hashed):  # a class of one's own might look at other rows
                raise invalid("PublicTable", f"columns[{name!r}]", "Bounds, Categories or Hashed", kind)
        if self.missing is None:
            return {}
        if not isinstance(self.missing, Mapping):
            raise invalid("PublicTable", "missing", "None or a dictionary of constants", self.missing)
        for name, constant in self.missing.items():
            if name not in self.columns:
                raise InvalidInput(f"The 'missing' of PublicTable names {name!r}, which is not among its columns.")
            kind = self.columns[name]
            if isinstance(kind, Bounds):
                check_number("PublicTable", f"missing[{name!r}]", constant)
            elif isinstance(kind, Categories) and text_of(constant) not in map(text_of, kind.values):
                raise invalid("PublicTable", f"missing[{name!r}]", "one of the column's categories", constant)
        return dict(self.missing)

    def _columns_of(self, X: Any) -> list[Any]:
        """The cells of each declared column; what is refused is the shape of the table, never a cell."""
        if is_sparse(X):
            raise InvalidInput("PublicTable takes a DataFrame, an array or rows, and no sparse matrix.")
        if hasattr(X, "columns"):
            known = list(X.columns)
            absent = [name for name in self.columns if known.count(name) != 1]
            if absent and not all(_is_place(name, len(known)) for name in self.columns):
                raise InvalidInput(f"The table of PublicTable must have column {absent[0]!r} exactly once.")
            by_place = bool(absent)
            return [_cells(X.iloc[:, name] if by_place else X[name]) for name in self.columns]
        table = _rectangle(X)
        if all(_is_place(name, table.shape[1]) for name in self.columns):
            return [_cells(table[:, name]) for name in self.columns]
        if table.shape[1] != len(self.columns):
            raise InvalidInput(
                f"A table without names must have the {len(self.columns)} columns of PublicTable, in their order. "
                f"Got {table.shape[1]} instead."
            )
        return [_cells(table[:, place]) for place in range(table.shape[1])]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit, tags.no_validation = False, True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


def _is_place(name: Any, width: int) -> bool:
    return isinstance(name, int) and not isinstance(name, bool) and 0 <= name < width


def column_of(owner: str, X: Any) -> Any:
    """The cells of a table of one column, of a Series, or of a plain list or array.

    Of a list each element is read by itself: a row of one cell is that cell, and anything else is a cell.
    """
    refused = InvalidInput(f"The data of {owner} must be one column of at least one row.")
    if is_sparse(X) or not isinstance(X, Iterable) or isinstance(X, str | bytes | Mapping):
        raise refused
    table: Any = X
    if hasattr(table, "columns"):
        table = table[table.columns[0]] if len(table.columns) == 1 else ()
    elif not hasattr(table, "dtype"):
        read = [_one_cell(row) for row in table]
        table = [cell for cell, _ in read] if any(one for _, one in read) else ()
    elif np.ndim(table) == 2:
        table = _rectangle(table)
        table = table[:, 0] if table.shape[1] == 1 else ()
    if not len(table) or (hasattr(table, "ndim") and table.ndim != 1):
        raise refused
    return _cells(table)


def _one_cell(row: Any) -> tuple[Any, bool]:
    """The cell of a row that has one, or the cell that this is; and whether it is not a row of several cells."""
    if not _is_row(row) or (hasattr(row, "dtype") and np.ndim(row) == 0):
        return row, True
    cells = list(row)
    return (cells[0], True) if len(cells) == 1 else (row, False)


def _is_row(row: Any) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping)


def _rectangle(X: Any) -> Any:
    """Rows as an array of two axes."""
    if isinstance(X, np.ndarray):
        table = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)  # of a matrix even a column has two axes
    else:
        given = list(X) if isinstance(X, Iterable) else []
        rows = [list(row) for row in given if _is_row(row)]
        widths = {len(row) for row in rows} if len(rows) == len(given) else set()
        if len(widths) != 1:
            raise InvalidInput("The rows of a PublicTable must be a table of two axes, all rows of one length.")
        # One by one: a cell may be a list itself.
        table = np.fromiter((cell for row in rows for cell in row), dtype=object).reshape(len(rows), widths.pop())
    if table.ndim != 2:
        raise InvalidInput("The rows of a PublicTable must be a table of two axes.")
    return table


def _cells(column: Any) -> Any:
    """A copy of one column: floats where it has nothing but numbers, else objects; masked cells are None."""
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(object), None)
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind in "biuf" and isinstance(column.dtype, np.dtype):
        return np.array(column, dtype=np.float64)
    return np.fromiter(column, dtype=object, count=len(column))


def numbers_of(cells: Any) -> FloatArray:
    """Each cell as a number; NaN where it is none."""
    return cells if cells.dtype.kind == "f" else np.array([number_of(cell) for cell in cells], dtype=np.float64)


def texts_of(cells: Any) -> list[str | None]:
    """Each cell as a text, numbers in one way of writing; None where it is missing."""
    if cells.dtype.kind == "f":
        found, places = np.unique(cells, return_inverse=True)
        texts = [_written(float(value)) for value in found]
        return [texts[place] for place in places.tolist()]
    return [text_of(cell) for cell in cells]


def number_of(cell: Any) -> float:
    """A cell as a number; NaN if it is missing or no number.

    >>> [number_of(cell) for cell in ("7", 7, True, 10**400)]
    [7.0, 7.0, 1.0, inf]
    """
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    try:
        if isinstance(cell, str):
            word = cell.strip().lower()
            if word in ("true", "false"):
                return float(word == "true")
            return float("nan") if "_" in word else float(word)
        return float(cell)
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")
    except Exception:  # whatever an object does when it is asked for a number
        return float("nan")


def text_of(cell: Any) -> str | None:
    """A cell as a text, a number always in the same way of writing; None if it is missing.

    >>> [text_of(cell) for cell in ("7.0", 7, " a ", "", None, float("nan"))]
    ['7', '7', 'a', None, None, None]
    """
    number = number_of(cell)
    if not isnan(number):
        return _written(number)
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    try:
        if cell is None or (not isinstance(cell, str) and bool(cell != cell)):
            return None
        word = str(cell).strip()
    except Exception:  # NA of pandas cannot say whether it is itself
        return None
    return None if word.lower() in ("", "nan", "nat", "<na>") else word


def _written(number: float) -> str | None:
    if isnan(number):
        return None
    return str(int(number)) if abs(number) < 2.0**53 and number == int(number) else repr(number)
