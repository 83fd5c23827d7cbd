"""Pictures over a sweep: regret against the horizon, and against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.report.style import (
    Target,
    legend_below,
    legend_lines,
    line_style,
    plain_log_ticks,
    save_figure,
    shared_contract,
    start_figure,
)
from tacit.report.tables import NEARLY, NOT_PRIVATE
from tacit.simulation.records import Summary
from tacit.validation import check_all

_FLOOR: dict[str, Any] = {"color": "0.55", "linestyle": (0, (1, 1)), "linewidth": 1.4}


def split_floor(summaries: Sequence[Summary]) -> tuple[list[Summary], list[Summary]]:
    """The private cells, and those that stand for no privacy."""
    cells = check_all("a report", "summaries", summaries, Summary)
    private = [s for s in cells if s["epsilon"] < NOT_PRIVATE]
    return private, [s for s in cells if s["epsilon"] >= NOT_PRIVATE]


def plot_regret_by_horizon(
    summaries: Sequence[Summary],
    path: Target,
    *,
    title: str = "Regret against the horizon",
    caption: str | None = None,
) -> Target:
    """Mean regret against the horizon, one line for each epsilon, with certified bounds and the floor."""
    private, floor = _split(summaries, "plot_regret_by_horizon")
    lines = {f"epsilon = {e:g}": [s for s in private if s["epsilon"] == e] for e in _values(private, "epsilon")}
    figure, axes = _draw(lines, "horizon", "horizon (rounds)", floor=bool(floor))
    if floor:
        axes.plot([s["horizon"] for s in floor], [s.mean for s in floor], **_FLOOR)
    axes.set_title(title)
    return save_figure(figure, path, grid_caption(private) if caption is None else caption)


def plot_regret_by_epsilon(
    summaries: Sequence[Summary], path: Target, *, title: str = "Regret against epsilon", caption: str | None = None
) -> Target:
    """Mean regret against epsilon, one line for each horizon; the distance from the floor is what privacy costs."""
    private, floor = _split(summaries, "plot_regret_by_epsilon")
    lines = {f"{t:,} rounds": [s for s in private if s["horizon"] == t] for t in _values(private, "horizon")}
    figure, axes = _draw(lines, "epsilon", "epsilon", floor=bool(floor))
    ends, horizons = (min(_values(private, "epsilon")), max(_values(private, "epsilon"))), _values(private, "horizon")
    for summary in floor:  # the marker of its horizon says which it is
        marker = line_style(horizons.index(summary["horizon"]))["marker"] if summary["horizon"] in horizons else ""
        axes.plot(ends, [summary.mean] * 2, marker=marker, markersize=4, **_FLOOR)
    axes.set_title(title)
    return save_figure(figure, path, grid_caption(private) if caption is None else caption)


def grid_caption(cells: Sequence[Summary]) -> str:
    """What the cells of a picture promise, and how they were measured."""
    runs = sorted({s.runs for s in cells})
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    algorithms = ", ".join(sorted({s["algorithm"] for s in cells}))
    note = f"{algorithms}; {count} {'run' if runs == [1] else 'runs'} a point, bars and bands: two standard errors"
    return f"{shared_contract([s['contract'] for s in cells])}\n{note}"


def _draw(lines: dict[str, list[Summary]], along: str, label: str, *, floor: bool) -> tuple[Any, Any]:
    """Measured means with error bars, and the certified bounds as hollow markers."""
    from matplotlib.lines import Line2D

    entries = [Line2D([], [], label=name, **line_style(index)) for index, name in enumerate(lines)]
    hollow = {"linewidth": 0.7, "markerfacecolor": "white"}
    entries.append(Line2D([], [], label="hollow: certified bound", **(line_style(0) | hollow)))
    if floor:
        entries.append(Line2D([], [], label=f"{NEARLY}, measured", **_FLOOR))
    figure, axes = start_figure(legend_lines(len(entries)))
    for index, cells in enumerate(lines.values()):
        ordered = sorted(cells, key=lambda s: float(s[along]))
        x = [s[along] for s in ordered]
        bars = [2 * s.standard_error for s in ordered]
        axes.errorbar(x, [s.mean for s in ordered], yerr=bars, capsize=2, **line_style(index))
        bounds = [s["bound"] if np.isfinite(s["bound"]) else np.nan for s in ordered]
        axes.plot(x, bounds, **(line_style(index) | hollow))
    every = [s for cells in lines.values() for s in cells]
    axes.set_xscale("log")
    if all(s.mean > 0 for s in every):
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis)
    ticks = _values(every, along)
    axes.set_xticks(ticks, [f"{tick:,}" if along == "horizon" else f"{tick:.3g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(label)
    axes.set_ylabel("final regret (units of loss)")
    legend_below(figure, entries)
    return figure, axes


def _values(cells: Sequence[Summary], column: str) -> list[Any]:
    return sorted({s[column] for s in cells})


def _split(summaries: Sequence[Summary], owner: str) -> tuple[list[Summary], list[Summary]]:
    private, floor = split_floor(summaries)
    if not private:
        raise InvalidInput(f"{owner} needs at least one cell with epsilon below {NOT_PRIVATE:g}.")
    return private, sorted(floor, key=lambda s: int(s["horizon"]))
