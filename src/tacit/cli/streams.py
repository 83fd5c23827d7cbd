"""Streams of numbers in and decisions out: CSV, NDJSON and Parquet, from a file or standard input.

Rows are read one at a time, after the decision of their round was written, so another program can sit at
the other end of the pipe.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.validation import require

FORMATS = ("csv", "ndjson", "parquet")


@dataclass
class Stream:
    """Named columns and an iterator of rows; `length` is None for standard input."""

    name: str
    columns: list[str]
    rows: Iterator[list[float]]
    length: int | None


def open_stream(source: str, format: str | None) -> Stream:
    """Open a stream of numeric rows: a path, or '-' for standard input (CSV unless a format is named)."""
    kind = format or ({".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}.get(Path(source).suffix, "csv"))
    if kind not in FORMATS:
        raise InvalidInput(f"--format must be one of {', '.join(FORMATS)}. Got {kind!r} instead.")
    name = "standard input" if source == "-" else source
    if source != "-" and not Path(source).is_file():
        raise InvalidInput(f"There is no file {source!r}.")
    if kind == "parquet":
        return _parquet(source, name)
    length = None
    if source != "-":
        with Path(source).open("rb") as counted:
            length = sum(1 for line in counted if line.strip())
    text = _text(source, name)
    return _csv(text, name, length) if kind == "csv" else _ndjson(text, name, length)


def _csv(text: Iterator[str], name: str, length: int | None) -> Stream:
    lines = iter(csv.reader(text))
    first = next((line for line in lines if line), None)
    if first is None:
        raise InvalidInput(f"{name} is empty: expected one row of numbers per round.")
    header = not any(_is_number(cell) for cell in first)
    columns = [cell.strip() for cell in first] if header else [str(index) for index in range(len(first))]
    body: Iterable[list[str]] = lines if header else chain([first], lines)
    count = None if length is None else length - header
    return Stream(name, columns, _numbers(body, name, columns), count)


def _numbers(lines: Iterable[list[str]], name: str, columns: list[str]) -> Iterator[list[float]]:
    row = 0
    for line in lines:
        if not line:
            continue
        row += 1
        if len(line) != len(columns):
            raise InvalidInput(f"Row {row} of {name} has {len(line)} fields; expected {len(columns)}.")
        try:
            yield [float(cell) for cell in line]
        except ValueError:
            bad = next(index for index, cell in enumerate(line) if not _is_number(cell))
            raise InvalidInput(
                f"Row {row} of {name} has {line[bad]!r} in column {columns[bad]!r}; expected a number."
            ) from None


def _ndjson(text: Iterator[str], name: str, length: int | None) -> Stream:
    lines = (line for line in text if line.strip())
    first = next(lines, None)
    if first is None:
        raise InvalidInput(f"{name} is empty: expected one JSON list or object of numbers per round.")
    values = _parsed(first, 1, name)
    columns = list(values) if isinstance(values, dict) else [str(index) for index in range(len(values))]

    def rows() -> Iterator[list[float]]:
        for number, line in enumerate(chain([first], lines), start=1):
            values = _parsed(line, number, name)
            if isinstance(values, dict):
                if set(values) != set(columns):
                    raise InvalidInput(f"Row {number} of {name} has the keys {list(values)}; expected {columns}.")
                values = [values[column] for column in columns]
            if len(values) != len(columns):
                raise InvalidInput(f"Row {number} of {name} has {len(values)} values; expected {len(columns)}.")
            for column, value in zip(columns, values, strict=True):
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise InvalidInput(f"Row {number} of {name} has {value!r} in {column!r}; expected a number.")
            yield [float(value) for value in values]

    return Stream(name, columns, rows(), length)


def _parsed(line: str, number: int, name: str) -> Any:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"Row {number} of {name} is not JSON ({error.msg}).") from None
    if not isinstance(values, list | dict) or not values:
        raise InvalidInput(f"Row {number} of {name} must be a JSON list or object of numbers.")
    return values


def _parquet(source: str, name: str) -> Stream:
    if source == "-":
        raise InvalidInput("Parquet cannot be read from standard input: give a file.")
    parquet = require("pyarrow.parquet", "cli")
    try:
        table = parquet.ParquetFile(source)
    except Exception as error:
        raise InvalidInput(f"{name} is not a Parquet file ({type(error).__name__}).") from None
    columns = list(table.schema_arrow.names)
    for column, kind in zip(columns, table.schema_arrow.types, strict=True):
        if not any(word in str(kind) for word in ("int", "float", "double")):
            raise InvalidInput(f"Column {column!r} of {name} has type {kind}; expected numbers.")
    if not table.metadata.num_rows:
        raise InvalidInput(f"{name} is empty: expected one row of numbers per round.")

    def rows() -> Iterator[list[float]]:
        number = 0
        for batch in table.iter_batches(batch_size=4096):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                for column, value in zip(columns, row, strict=True):
                    if value is None:
                        raise InvalidInput(f"Row {number} of {name} has no value in column {column!r}.")
                yield [float(value) for value in row]

    return Stream(name, columns, rows(), table.metadata.num_rows)


def _text(source: str, name: str) -> Iterator[str]:
    try:
        if source == "-":
            yield from sys.stdin
        else:
            with Path(source).open(encoding="utf-8", newline="") as handle:
                yield from handle
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text.") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
