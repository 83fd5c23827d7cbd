"""The table of a sweep: one row for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Any

import numpy as np

from tacit.accounting.rounding import rounded_down, rounded_up
from tacit.sweeps.records import Summary
from tacit.validation import check_all

NOT_PRIVATE = 1000.0
"""From this epsilon on a plan stands for no privacy at all: its noise is far below its learning rate's loss."""
NEARLY = "without privacy"


def summary_table(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Give the heads, then what was run and what was measured; sizes have a column where they differ."""
    cells = check_all("summary_table", "summaries", summaries, Summary)
    sizes = [name for name in ("n", "dimension") if len({summary[name] for summary in cells}) > 1]
    heads = (
        "environment", "algorithm", *sizes, "rounds", "epsilon", "delta", "runs", "mean regret", "standard error",
        "regret per round", "certified bound", "proved floor", "mean switches", "mean seconds",
    )  # fmt: skip
    return [heads, *(_row(summary, sizes) for summary in cells)]


def _row(s: Summary, sizes: Sequence[str]) -> tuple[str, ...]:
    without = f" ({NEARLY})" if s["epsilon"] >= NOT_PRIVATE else ""
    floor = (
        f"{rounded_down(s['floor'], 4, thousands=True)} by {s['floor_reason']}" if s["floor"] is not None else "none"
    )
    measured = (s.runs, s.mean, s.standard_error, s.per_round)
    return (
        s["world"],
        s["algorithm"],
        *("-" if s[size] is None else show(s[size]) for size in sizes),
        show(s["horizon"]),
        f"{show(s['epsilon'])}{without}",
        show(s["delta"]),
        *map(show, measured),
        _bound(s),
        floor,
        show(float(np.mean(s.switches))),
        show(float(np.mean(s.seconds))),
    )


def plain_summary(summary: Summary) -> dict[str, Any]:
    """A cell as a JSON-ready record; JSON has no infinity, so a bound that is not finite becomes null."""
    facts = {name: value for name, value in summary.facts.items() if name not in ("candidates", "candidate_bounds")}
    measured = {"runs": summary.runs, "mean_regret": summary.mean, "standard_error": summary.standard_error}
    return {name: None if value == float("inf") else value for name, value in (facts | measured).items()}


def _bound(summary: Summary) -> str:
    bound = summary["bound"]
    if not isfinite(bound):
        return "none"
    shown = f"{ceil(bound):,}" if bound >= 1000 else rounded_up(bound)  # certified: never shown below its value
    if summary["vacuous"]:
        return f"{shown} (vacuous)"
    return f"{shown} if {summary['bound_condition']}" if summary["bound_condition"] else shown


def show(number: float) -> str:
    """A number as people read it: whole numbers whole, others with four digits.

    >>> show(100000), show(0.05), show(1234.567), show(1e-6)
    ('100,000', '0.05', '1,235', '1e-06')
    """
    if isinstance(number, int | np.integer) or (abs(number) >= 1000 and isfinite(number)):
        return f"{number:,.0f}"
    return f"{number:.4g}"
