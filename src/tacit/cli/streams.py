"""Streams of numbers in and decisions out: CSV and NDJSON, from a file or standard input.

Rows are read one at a time, after the decision of their round was written, so another program can sit at
the other end of the pipe. Rows are private: an error names the row, the column and what is allowed, never a value.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from math import isfinite, nan
from pathlib import Path
from typing import TextIO

from tacit.errors import InvalidInput
from tacit.validation import check_dimension

FORMATS = ("csv", "ndjson")
NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
"""A number as programs write it; Python's float also takes 1_0, nan, and the digits of other scripts."""
BYTE_ORDER_MARK = "\ufeff"
MISSING = ("", "null")
"""How a reply that never came is written, where one may be missing."""


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


def open_stream(source: str, format: str | None, columns: int | None = None) -> Stream:
    """Open a stream of numeric rows: a path, or '-' for standard input (CSV unless a format is named).

    With a number of columns nothing is read from standard input before the first row is asked for: its rows have
    no names, and are lists of that many numbers.
    """
    if columns is not None:
        check_dimension("a stream", "columns", columns)
    kind = format or ("ndjson" if Path(source).suffix in (".ndjson", ".jsonl") else "csv")
    _check_format(kind)
    name = "standard input" if source == "-" else source
    if source != "-" and not Path(source).is_file():
        raise InvalidInput(f"There is no file {source!r}.")
    if source == "-" and columns is not None:
        parse, names = _csv_values if kind == "csv" else _json_values, _numbered(columns)
        return Stream(name, names, _rows(_lines(source, name), name, names, parse), None)
    length = None if source == "-" else sum(1 for _ in _lines(source, name))
    stream = (_csv if kind == "csv" else _ndjson)(_lines(source, name), name, length)
    if columns is not None and len(stream.columns) != columns:
        raise InvalidInput(f"{name} has {len(stream.columns)} columns; the options say {columns}.")
    return stream


def open_replies(format: str | None, context: int = 0) -> Stream:
    """Standard input with one number a line, or in NDJSON a list or object of one.

    An empty line, or null, is a reply that never came; it becomes NaN, which cannot be written otherwise. With a
    context of so many numbers their line comes first, then that of the reply, in turns.
    """
    _check_format(format or "csv")
    name, columns = "standard input", ["loss"]
    lines = _lines("-", name, blank=True)
    parse = _json_reply if format == "ndjson" else _csv_reply
    if not context:
        return Stream(name, columns, _rows(lines, name, columns, parse, missing=True), None)
    before = _numbered(context), _json_values if format == "ndjson" else _csv_values
    return Stream(name, columns, _turns(lines, name, before, (columns, parse)), None)


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise InvalidInput(f"--format must be {' or '.join(FORMATS)}. Got {format!r} instead.")


Parse = Callable[[str, str, Sequence[str]], Sequence[object]]
"""The values of a line in the order of the columns; errors call the line by the second argument."""


def _csv(lines: Iterator[str], name: str, length: int | None) -> Stream:
    first = next(lines, None)
    if first is None:
        raise InvalidInput(f"{name} is empty: expected one row of numbers per round.")
    cells = _cells(first, f"Row 1 of {name}")
    if any(_looks_numeric(cell) for cell in cells):
        columns = _numbered(len(cells))
        return Stream(name, columns, _rows(chain([first], lines), name, columns, _csv_values), length)
    columns = _checked_names([cell.strip() for cell in cells], name)
    return Stream(name, columns, _rows(lines, name, columns, _csv_values), None if length is None else length - 1)


def _ndjson(lines: Iterator[str], name: str, length: int | None) -> Stream:
    first = next(lines, None)
    if first is None:
        raise InvalidInput(f"{name} is empty: expected one JSON list or object of numbers per round.")
    values = _json(first, f"Row 1 of {name}")
    columns = _checked_names(list(values), name) if isinstance(values, dict) else _numbered(len(values))
    return Stream(name, columns, _rows(chain([first], lines), name, columns, _json_values), length)


def _rows(
    lines: Iterator[str], name: str, columns: Sequence[str], parse: Parse, missing: bool = False
) -> Iterator[list[float]]:
    for number, line in enumerate(lines, start=1):
        row = f"Row {number} of {name}"
        if _silent(line):
            yield []
            continue
        yield _row(line, row, columns, parse, missing)


def _turns(
    lines: Iterator[str], name: str, context: tuple[Sequence[str], Parse], reply: tuple[Sequence[str], Parse]
) -> Iterator[list[float]]:
    """Lines of a context, all of which must be numbers, and of a reply, which may be missing, in turns."""
    for number, line in enumerate(lines, start=1):
        columns, parse = context if number % 2 else reply
        yield _row(line, f"Row {number} of {name}", columns, parse, missing=number % 2 == 0)


def _row(line: str, row: str, columns: Sequence[str], parse: Parse, missing: bool) -> list[float]:
    values = parse(line, row, columns)
    if len(values) != len(columns):
        raise InvalidInput(f"{row} has {len(values)} values; expected {len(columns)}.")
    return _finite(values, row, columns, missing)


def _silent(line: str) -> bool:
    """Whether a line says that its round has no feedback: null, or a row of empty cells."""
    text = line.strip()
    return text == "null" or ("," in text and not text.replace(",", "").strip())


def _finite(values: Sequence[object], row: str, columns: Sequence[str], missing: bool = False) -> list[float]:
    """The values, all of which must be finite numbers; None becomes NaN where one may be missing."""
    for column, value in zip(columns, values, strict=True):
        if missing and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise InvalidInput(f"{row} has no finite number in column {column!r}: numbers such as 0.25 are allowed.")
    return [float(value) if isinstance(value, int | float) else nan for value in values]


def _csv_values(line: str, row: str, columns: Sequence[str]) -> list[object]:
    return [float(cell) if NUMBER.fullmatch(cell) else None for cell in _cells(line, row)]


def _csv_reply(line: str, row: str, columns: Sequence[str]) -> list[object]:
    cells = _cells(line, row) or [""]
    return [None if cell.strip() in MISSING else float(cell) if NUMBER.fullmatch(cell) else cell for cell in cells]


def _json_reply(line: str, row: str, columns: Sequence[str]) -> Sequence[object]:
    text = line.strip()
    if text in MISSING:
        return [None]
    return _json_values(text if text[0] in "[{" else f"[{text}]", row, columns)


def _json_values(line: str, row: str, columns: Sequence[str]) -> Sequence[object]:
    values = _json(line, row)
    if not isinstance(values, dict):
        return values
    if set(values) != set(columns):
        raise InvalidInput(f"{row} must have the keys {', '.join(columns)}, or be a list.")
    return [values[column] for column in columns]


def _cells(line: str, row: str) -> list[str]:
    # One line at a time: a quote that is never closed must not swallow the rows after it.
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InvalidInput(f"{row} is not CSV ({error}).") from None


def _json(line: str, row: str) -> list[object] | dict[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise InvalidInput(f"{row} has a key twice.")
        return dict(pairs)

    try:
        # Whole numbers become floats at once: Python refuses to read those of thousands of digits.
        values: object = json.loads(line, object_pairs_hook=once, parse_int=float)
    except InvalidInput:
        raise
    except RecursionError:
        raise InvalidInput(f"{row} is nested too deeply: expected a JSON list or object of numbers.") from None
    except ValueError:
        raise InvalidInput(f"{row} is not JSON.") from None
    if not isinstance(values, list | dict) or not values:
        raise InvalidInput(f"{row} must be a JSON list or object of numbers.")
    return values


def _lines(source: str, name: str, blank: bool = False) -> Iterator[str]:
    """The lines, without blank ones unless they are asked for; a byte order mark before the first is no part of it."""
    first = True
    try:
        with _opened(source) as handle:
            for line in handle:
                text = line.removeprefix(BYTE_ORDER_MARK) if first else line
                first = False
                if blank or text.strip():
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
