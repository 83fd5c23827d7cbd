"""Tables of a sweep: one line for each cell.

A `Value` knows where it comes from (which cell, column and statistic), so that a page can be checked against its
Parquet file number by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Any

import numpy as np

from tacit.accounting.rounding import rounded_down, rounded_up
from tacit.sweeps.records import Summary
from tacit.validation import check_all

NOT_PRIVATE = 1000.0
"""From this epsilon on a plan stands for no privacy at all: its noise is far below its learning rate's loss."""
NEARLY = "without privacy"


@dataclass(frozen=True)
class Value:
    """One entry: what is shown, the number behind it, and its source."""

    shown: str
    number: float | None = None
    cell: str = ""
    column: str = ""
    statistic: str = ""


@dataclass(frozen=True)
class Table:
    """Column heads and rows."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [self.heads, *(tuple(value.shown for value in row) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.heads))]
        shown = ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([shown[0], "  ".join("-" * width for width in widths), *shown[1:]]) + "\n"

    def to_markdown(self) -> str:
        """A Markdown table."""
        lines = [self.heads, ("---",) * len(self.heads), *(tuple(value.shown for value in row) for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def summary_table(
    summaries: Sequence[Summary], *, environment: bool = True, sizes: Sequence[str] | None = None
) -> Table:
    """What was run and what was measured, one row for each cell.

    Args:
        summaries: the cells.
        environment: whether the environment has a column.
        sizes: which of "n" and "dimension" have a column (default: those that are not the same in all cells).
    """
    cells = check_all("summary_table", "summaries", summaries, Summary)
    shown = swept_sizes(cells) if sizes is None else tuple(sizes)
    heads = (
        "environment", "algorithm", *shown, "rounds", "epsilon", "delta", "runs", "mean regret", "standard error",
        "regret per round", "certified bound", "proved floor", "mean switches", "mean seconds",
    )  # fmt: skip
    first = 0 if environment else 1
    return Table(heads[first:], tuple(_row(summary, shown)[first:] for summary in cells))


def swept_sizes(summaries: Sequence[Summary]) -> tuple[str, ...]:
    """The sizes in which these cells differ."""
    return tuple(name for name in ("n", "dimension") if len({summary[name] for summary in summaries}) > 1)


def _row(s: Summary, sizes: Sequence[str]) -> tuple[Value, ...]:
    return (
        Value(s["world"]),
        Value(s["algorithm"]),
        *(Value("-") if s[size] is None else fact(s, size) for size in sizes),
        fact(s, "horizon"),
        _epsilon(s),
        fact(s, "delta"),
        _value(s, "run", "count", s.runs),
        _value(s, "regret", "mean", s.mean),
        _value(s, "regret", "standard error", s.standard_error),
        _value(s, "regret_per_round", "mean", s.per_round),
        _bound(s),
        _floor(s),
        _value(s, "switches", "mean", float(np.mean(s.switches))),
        _value(s, "seconds", "mean", float(np.mean(s.seconds))),
    )


def plain_summary(summary: Summary) -> dict[str, Any]:
    """A cell as a JSON-ready record; JSON has no infinity, so a bound that is not finite becomes null."""
    facts = {name: value for name, value in summary.facts.items() if name not in ("candidates", "candidate_bounds")}
    measured = {"runs": summary.runs, "mean_regret": summary.mean, "standard_error": summary.standard_error}
    return {name: None if value == float("inf") else value for name, value in (facts | measured).items()}


def fact(summary: Summary, column: str) -> Value:
    """A column that all runs of the cell share."""
    return _value(summary, column, "value", summary[column])


def _value(summary: Summary, column: str, statistic: str, number: float) -> Value:
    return Value(show(number), number, summary["cell"], column, statistic)


def _epsilon(summary: Summary) -> Value:
    """Epsilon; one that stands for no privacy at all is named so."""
    value = fact(summary, "epsilon")
    return replace(value, shown=f"{value.shown} ({NEARLY})") if summary["epsilon"] >= NOT_PRIVATE else value


def _bound(summary: Summary) -> Value:
    if not isfinite(summary["bound"]):
        return Value("none")
    bound = summary["bound"]
    shown = f"{ceil(bound):,}" if bound >= 1000 else rounded_up(bound)  # certified: never shown below its value
    if summary["vacuous"]:
        shown += " (vacuous)"
    elif summary["bound_condition"]:
        shown += f" if {summary['bound_condition']}"
    return Value(shown, bound, summary["cell"], "bound", "value")


def _floor(summary: Summary) -> Value:
    """What no learner escapes, in some world: never shown above its value."""
    floor = summary["floor"]
    if floor is None:
        return Value("none")
    return Value(
        f"{rounded_down(floor, 4, thousands=True)} by {summary['floor_reason']}",
        floor,
        summary["cell"],
        "floor",
        "value",
    )


def show(number: float) -> str:
    """A number as people read it: whole numbers whole, others with four digits.

    >>> show(100000), show(0.05), show(1234.567), show(1e-6)
    ('100,000', '0.05', '1,235', '1e-06')
    """
    if isinstance(number, int | np.integer) or (abs(number) >= 1000 and isfinite(number)):
        return f"{number:,.0f}"
    return f"{number:.4g}"
