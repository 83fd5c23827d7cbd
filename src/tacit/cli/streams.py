"""Streams of numbers in and decisions out: CSV, from a file or standard input.

Rows are read one at a time, after the decision of their round was written, so another program can sit at
the other end of the pipe. Rows are private: an error names the row, the column and what is allowed, never a value.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TextIO

from tacit.errors import InvalidInput
from tacit.validation import check_dimension

NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
"""A number as programs write it; Python's float also takes 1_0, nan, and the digits of other scripts."""
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Stream:
    """Named columns and an iterator of rows, empty where there is no feedback; `length` is None for standard input."""

    name: str
    columns: list[str]
    rows: Iterator[list[float]]
    length: int | None

    @property
    def waits(self) -> bool:
        """Whether someone at the other end may need a decision before the feedback exists."""
        return self.length is None


def open_stream(source: str, columns: int | None = None) -> Stream:
    """Open a stream of numeric rows: a path, or '-' for standard input.

    With a number of columns nothing is read from standard input before the first row is asked for: its rows have
    no names.
    """
    if columns is not None:
        check_dimension("a stream", "columns", columns)
    name = "standard input" if source == "-" else source
    if source != "-" and not Path(source).is_file():
        raise InvalidInput(f"There is no file {source!r}.")
    if source == "-" and columns is not None:
        names = _numbered(columns)
        return Stream(name, names, _rows(_lines(source, name), name, names), None)
    length = None if source == "-" else sum(1 for _ in _lines(source, name))
    stream = _with_names(_lines(source, name), name, length)
    if columns is not None and len(stream.columns) != columns:
        raise InvalidInput(f"{name} has {len(stream.columns)} columns; the options say {columns}.")
    return stream


def _with_names(lines: Iterator[str], name: str, length: int | None) -> Stream:
    first = next(lines, None)
    if first is None:
        raise InvalidInput(f"{name} is empty: expected one row of numbers per round.")
    cells = _cells(first, f"Row 1 of {name}")
    if any(_looks_numeric(cell) for cell in cells):
        columns = _numbered(len(cells))
        return Stream(name, columns, _rows(chain([first], lines), name, columns), length)
    columns = _checked_names([cell.strip() for cell in cells], name)
    return Stream(name, columns, _rows(lines, name, columns), None if length is None else length - 1)


def _rows(lines: Iterator[str], name: str, columns: Sequence[str]) -> Iterator[list[float]]:
    for number, line in enumerate(lines, start=1):
        yield [] if _silent(line) else _row(line, f"Row {number} of {name}", columns)


def _row(line: str, row: str, columns: Sequence[str]) -> list[float]:
    cells = _cells(line, row)
    if len(cells) != len(columns):
        raise InvalidInput(f"{row} has {len(cells)} values; expected {len(columns)}.")
    for column, cell in zip(columns, cells, strict=True):
        if not NUMBER.fullmatch(cell) or not isfinite(float(cell)):
            raise InvalidInput(f"{row} has no finite number in column {column!r}: numbers such as 0.25 are allowed.")
    return [float(cell) for cell in cells]


def _silent(line: str) -> bool:
    """Whether a line says that its round has no feedback: null, or a row of empty cells."""
    text = line.strip()
    return text == "null" or ("," in text and not text.replace(",", "").strip())


def _cells(line: str, row: str) -> list[str]:
    # One line at a time: a quote that is never closed must not swallow the rows after it.
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InvalidInput(f"{row} is not CSV ({error}).") from None


def _lines(source: str, name: str) -> Iterator[str]:
    """The lines, without blank ones; a byte order mark before the first is no part of it."""
    first = True
    try:
        with _opened(source) as handle:
            for line in handle:
                text = line.removeprefix(BYTE_ORDER_MARK) if first else line
                first = False
                if text.strip():
                    yield text
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text.") from None


def _opened(source: str) -> AbstractContextManager[TextIO]:
    if source != "-":
        return Path(source).open(encoding="utf-8")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    return nullcontext(sys.stdin)


def _checked_names(names: list[str], name: str) -> list[str]:
    """The names of the columns: there, readable, and each of them once."""
    seen = set()
    for place, column in enumerate(names, start=1):
        if not column or not column.isprintable():
            raise InvalidInput(f"Column {place} of {name} must have a name of printable characters.")
        if column in seen:
            raise InvalidInput(f"{name} has the column {column!r} twice: every column needs a name of its own.")
        seen.add(column)
    return names


def _numbered(count: int) -> list[str]:
    return [str(index) for index in range(count)]


def _looks_numeric(cell: str) -> bool:
    """Whether a cell of the first row is meant as a number, if not always a good one: then the row is no header.

    Errors name columns, so a row of numbers that is not well written ("0.2;0.7") must not be taken for their names.
    """
    text = cell.strip()
    try:
        float(text)
    except ValueError:
        return text[:1] in tuple("+-.0123456789") or (text != "" and not any(letter.isalpha() for letter in text))
    return True
