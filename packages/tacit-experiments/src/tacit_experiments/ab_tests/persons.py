"""A file with one row a person, and the sums of their vectors: what a cell may hold is mapped, never refused.

The file is a CSV in UTF-8: a header, then one line a person with the columns `person`, `arm`, one for
each metric and each segment. The header is public, and refused if a column is missing or stands twice.
Everything below it is private, so no line is ever refused, quoted or counted. These rules are public:

- A line is a row by itself, also where a quotation mark is not closed. Cells that are missing are empty.
- A line that is empty, longer than 65,536 bytes, without a person or with an arm that is not declared
  does not count.
- A conversion is 1 for true, yes and every number above 0, and 0 for everything else. A sum is cut to
  [0, high]; what is no number, and NaN, is 0.
- What is in no declared cell of a segment is in the last one, "other".
- A person who is listed again is still one person: of each metric the largest value counts, of each
  segment the first declared cell. Who is listed in two arms counts in none.

So a person's vector depends on the lines that name them and on nothing else. Values stand in memory
only, under hashes of persons, until the sums are made.
"""

from __future__ import annotations

import csv
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

from tacit.errors import InvalidInput
from tacit_experiments.ab_tests.design import ARM, PERSON, ABTest
from tacit_experiments.ab_tests.metrics import Measure
from tacit_experiments.ab_tests.release import Sums, Table
from tacit_experiments.ab_tests.vector import LATTICE, ROW, Layout

LONGEST_LINE = 65_536
"""Bytes; what is longer is no row."""
BYTES = "latin-1"
"""Every byte is a character of it: no line fails to be read."""
BLANKS = " \t\r\n\f\v"
"""What is cut off names; other white space of Latin 1 may be a part of a character in UTF-8."""
YES = ("true", "yes")
BOTH = -1
"""The arm of who is listed in two."""


class PersonsFile:
    """A CSV of persons, whose header was checked.

    Args:
        path: the file.
        design: which columns it must have.
        person: the name of the column of persons.
        arm: the name of the column of arms.
    """

    def __init__(self, path: str | os.PathLike[str], design: ABTest, *, person: str = PERSON, arm: str = ARM) -> None:
        self._path = Path(path)
        self._design = design
        if not self._path.is_file():
            raise InvalidInput(f"There is no file {str(path)!r}.")
        measures = [measure.name for measure in design.measures]
        self._columns = self._header((person, arm, *measures, *design.segments))

    def sums(self) -> Sums:
        """Add up the vectors of all persons, by arm and cell, in integers."""
        design = self._design
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.execute("PRAGMA temp_store = MEMORY")  # nothing of a person is ever in a file
            database.execute("PRAGMA journal_mode = OFF")
            cells = [f"c{number}" for number in range(len(design.segments))]
            values = [f"m{number}" for number in range(len(design.measures))]
            columns = ["arm", *cells, *values]
            declared = ", ".join(f"{column} INTEGER NOT NULL" for column in columns)
            database.execute(f"CREATE TABLE persons (person BLOB PRIMARY KEY, {declared}) WITHOUT ROWID")
            again = [f"arm = CASE WHEN arm = excluded.arm THEN arm ELSE {BOTH} END"]
            again += [f"{cell} = min({cell}, excluded.{cell})" for cell in cells]
            again += [f"{value} = max({value}, excluded.{value})" for value in values]
            marks = ", ".join("?" * (1 + len(columns)))
            database.execute("BEGIN")
            database.executemany(
                f"INSERT INTO persons VALUES ({marks}) ON CONFLICT (person) DO UPDATE SET {', '.join(again)}",
                self._rows(),
            )
            selected = ", ".join(feature_columns(design.layout, values))
            return self._read(database, selected)

    def _read(self, database: sqlite3.Connection, selected: str) -> Sums:
        arms, size = len(self._design.arms), self._design.layout.size

        def table(condition: str) -> Table:
            found = [[0] * size for _ in range(arms)]
            query = f"SELECT arm, {selected} FROM persons WHERE arm >= 0 AND {condition} GROUP BY arm"
            for arm, *sums in database.execute(query):
                found[arm] = list(sums)
            return found

        cells = [
            [table(f"c{number} = {cell}") for cell in range(len(names))]
            for number, names in enumerate(self._design.segments.values())
        ]
        return Sums(table("1"), cells)

    def _header(self, needed: tuple[str, ...]) -> list[int]:
        """Find the columns; of the file nothing is quoted, since a file without a header begins with a person."""
        with self._path.open("rb") as file:
            line = file.readline(LONGEST_LINE + 1).removeprefix(b"\xef\xbb\xbf")
        names = [name.strip(BLANKS) for name in _cells(line)]
        wanted = [name.encode().decode(BYTES) for name in needed]
        for name, written in zip(needed, wanted, strict=True):
            if names.count(written) > 1:
                raise InvalidInput(f"The column {name!r} stands twice in the header of {self._path.name}.")
            if written not in names:
                raise InvalidInput(
                    f"The first line of {self._path.name} must be a header with the columns {', '.join(needed)}, with "
                    f"commas between them: there is no {name!r}."
                )
        return [names.index(written) for written in wanted]

    def _rows(self) -> Iterator[tuple[bytes | int, ...]]:
        design = self._design
        person, arm, *others = self._columns
        measured = list(zip(design.measures, others[: len(design.measures)], strict=True))
        places = {name.encode().decode(BYTES): place for place, name in enumerate(design.arms)}
        cells = []
        for names, column in zip(design.segments.values(), others[len(design.measures) :], strict=True):
            known = {name.encode().decode(BYTES): place for place, name in enumerate(names)}
            cells.append((known, column, len(names) - 1))
        last = max(self._columns)
        with self._path.open("rb") as file:
            _skip(file)
            for line in _lines(file):
                found = _cells(line)
                if len(found) <= last:
                    found += [""] * (last + 1 - len(found))
                place = places.get(found[arm].strip(BLANKS))
                name = found[person].strip(BLANKS)
                if place is None or not name:
                    continue
                key = hashlib.blake2b(name.encode(BYTES), digest_size=16).digest()
                groups = [known.get(found[column].strip(BLANKS), other) for known, column, other in cells]
                values = [row_value(measure, found[column]) for measure, column in measured]
                yield (key, place, *groups, *values)


def row_value(measure: Measure, cell: str) -> int:
    """Map a cell to a value of a row, 0..2^32 steps of the largest value: a public rule, which never fails.

    >>> from tacit_experiments.ab_tests.metrics import Conversion, Sum
    >>> [row_value(Conversion("bought"), cell) for cell in ("", "0", "1", "Yes", "nan", "x")]
    [0, 0, 4294967296, 4294967296, 0, 0]
    >>> [row_value(Sum("revenue", 200), cell) / 2**32 for cell in ("50", "-3", "1e300", "inf", "nan", "1,5")]
    [0.25, 0.0, 1.0, 1.0, 0.0, 0.0]
    """
    try:
        value = float(cell)
    except ValueError:
        return ROW if measure.binary and cell.strip().lower() in YES else 0
    if not value > 0:  # not NaN either
        return 0
    if measure.binary or value >= measure.high:
        return ROW
    return min(ROW, round(value / measure.high * ROW))


def feature_columns(layout: Layout, values: list[str]) -> list[str]:
    """Write the sums of `Layout.features` in SQL, whose division of integers rounds towards zero."""
    steps = [f"(({value} + {ROW // LATTICE // 2}) >> 16)" for value in values]
    centred = [f"(2 * {step} - {LATTICE})" for step in steps]
    squares = [f"4 * {steps[place]} * ({LATTICE} - {steps[place]}) / {LATTICE}" for place in layout.squared]
    pairs = [f"{centred[first]} * {centred[second]} / {LATTICE}" for first, second in layout.pairs]
    return [f"sum({feature})" for feature in (str(LATTICE), *centred, *squares, *pairs)]


def _cells(line: bytes) -> list[str]:
    """Divide one line by commas, outside of quotation marks; a line that cannot be read is empty."""
    text = line.decode(BYTES).rstrip("\r\n")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return []


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Read lines, without those that are too long to be rows; none is ever in memory as a whole."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            yield line
        else:
            _skip(file)


def _skip(file: IO[bytes]) -> None:
    """Go on behind the end of the line."""
    while (part := file.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        pass
