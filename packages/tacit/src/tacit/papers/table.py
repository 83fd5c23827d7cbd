"""Tables of rows: as text in a terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from math import isfinite
from typing import Any

from tacit.papers.row import Row

HEADINGS = (
    "row", "stream", "plan", "printed", "bound", "epsilon", "status", "regret (10-90%)", "switches", "s", "note",
)  # fmt: skip


COLUMNS = 120
INDENT = " " * 8


def number(value: float | None) -> str:
    """Return a number in about three digits, "-" where there is none.

    >>> number(0.01934), number(2.5), number(218300.0), number(1.4142e7), number(float("inf")), number(None)
    ('.0193', '2.5', '218,300', '1.41e7', '-', '-')
    """
    if value is None or not isfinite(value):
        return "-"
    if abs(value) >= 1e7:
        return f"{value:.2e}".replace("e+0", "e").replace("e+", "e")
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row."""
    plan = f"{row.plan}, {row.result}" if row.result else row.plan
    spread = f"{number(row.mean)} ({number(row.low)} to {number(row.high)})" if isfinite(row.mean) else "-"
    return (
        row.label,
        row.stream,
        "-" if row.label == "still" else plan,
        number(row.printed_regret),
        number(row.regret_bound),
        number(row.epsilon),
        row.status if row.label != "still" else "",
        spread,
        number(row.switches),
        number(row.seconds),
        "; ".join(each for each in (row.reading, row.note) if each),
    )


def text_table(rows: Sequence[Row]) -> str:
    """Return columns of equal width for a terminal, a block for each stream and the note of a row under it.

    What a block shares, the stream, is its heading; seconds are in the tables that are written to files.
    """
    shown = [index for index, name in enumerate(HEADINGS) if name not in ("stream", "s", "note")]
    table = {row: cells(row) for row in rows}
    headings = [HEADINGS[index] for index in shown]
    widths = [max(len(line[index]) for line in (HEADINGS, *table.values())) for index in shown]

    def padded(line: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()

    lines: list[str] = []
    for stream in dict.fromkeys(row.stream for row in rows):
        lines += ["", stream, padded(headings)] if lines else [stream, padded(headings)]
        for row in rows:
            if row.stream == stream:
                lines.append(padded([table[row][index] for index in shown]))
                lines += textwrap.wrap(table[row][-1], COLUMNS, initial_indent=INDENT, subsequent_indent=INDENT)
    return "\n".join(lines)


def html_table(rows: Sequence[Row]) -> str:
    """Return a table for notebooks."""
    heading = "".join(f"<th>{escape(each)}</th>" for each in HEADINGS)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in cells(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def markdown_table(rows: Sequence[Row], _record: Any) -> str:
    """Return a Markdown table."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def csv_table(_rows: Sequence[Row], record: Any) -> str:
    """Return comma-separated values at full precision, one line a row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(record["rows"][0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(record["rows"])
    return text.getvalue()


def json_table(_rows: Sequence[Row], record: Any) -> str:
    """Return the whole record as JSON."""
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def plain_row(row: Row) -> dict[str, Any]:
    """Return a row by its fields; what is infinite is None, which JSON has."""
    infinite = [name for name, value in asdict(row).items() if isinstance(value, float) and not isfinite(value)]
    return asdict(row) | dict.fromkeys(infinite)
