"""Records for other programs: as CSV, as a LaTeX table, or as a pandas frame."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from tacit.validation import require

Records = Sequence[dict[str, Any]]
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {character: f"\\{character}" for character in "_%&#${}"}


def csv_of(records: Records) -> str:
    """Comma-separated values, numbers to the last digit."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()


def latex_of(records: Records) -> str:
    """A tabular for the package booktabs; numbers with four digits.

    >>> print(latex_of([{"name": "a_b", "regret": 12.3456}]))
    \\begin{tabular}{lr}
    \\toprule
    name & regret \\\\
    \\midrule
    a\\_b & 12.35 \\\\
    \\bottomrule
    \\end{tabular}
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in records[0].values()]
    lines = [
        f"\\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        r"\toprule",
        _line(name.replace("_", " ") for name in records[0]),
        r"\midrule",
        *(_line(map(_entry, record.values())) for record in records),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def frame_of(records: Records) -> Any:
    """A pandas frame."""
    return require("pandas", "frames").DataFrame.from_records(list(records))


def _line(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


def _entry(value: Any) -> str:
    if isinstance(value, float):
        return r"$\infty$" if value == float("inf") else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return "".join(_SPECIAL.get(character, character) for character in text)
