"""The picture of a paper's run: mean regret of each row with its spread, bounds dashed in the same shade."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tacit.papers.row import BAND, Row, Settings
from tacit.report.plots import check_picture, legend_below, legend_lines, line_style, save_figure, start_figure
from tacit.simulation.loop import Simulation

LEGEND_COLUMNS = 2


def draw(
    title: str,
    settings: Settings,
    rows: Sequence[Row],
    simulations: Sequence[Simulation | None],
    path: str | Path | None,
) -> Any:
    """Draw the rows of the first stream; return the figure, or the path of the file that was written."""
    if path is not None:
        check_picture(path)
    first = rows[0].stream
    drawn = [
        (row, simulation)
        for row, simulation in zip(rows, simulations, strict=True)
        if row.stream == first and simulation is not None
    ]
    figure, axes = start_figure(legend_lines(len(drawn), LEGEND_COLUMNS))
    highest = max(float(np.max(simulation.mean)) for _, simulation in drawn)
    for index, (row, simulation) in enumerate(drawn):
        look = line_style(index)
        plain = {name: look[name] for name in ("color", "linestyle")}
        low, high = np.percentile(simulation.regret, BAND, axis=0)
        named = f"{row.plan}, {row.result}" if row.result else row.plan
        label = "still" if row.label == "still" else f"{row.label}: {named}"
        once = {"marker": look["marker"]} if len(simulation.rounds) == 1 else {}
        axes.plot(simulation.rounds, simulation.mean, label=label, **plain, **once)
        axes.fill_between(simulation.rounds, low, high, color=look["color"], alpha=0.12, linewidth=0)
        if row.label != "still" and isfinite(row.regret_bound) and row.regret_bound <= 2 * highest:
            axes.axhline(row.regret_bound, color=look["color"], linestyle="--", linewidth=0.8)
    one_pass = drawn[0][1].criterion != "regret"
    if one_pass:
        axes.set_xscale("log")
    axes.set_xlabel("records" if one_pass else "round")
    axes.set_ylabel(drawn[0][1].criterion)
    axes.set_title(title, fontsize=9)
    legend_below(figure, axes.get_legend_handles_labels()[0], LEGEND_COLUMNS)
    caption = (
        f"{first}: T={settings.horizon:,}, dimension {settings.dimension}, epsilon={settings.epsilon:g}, "
        f"delta={settings.delta:g}\nmean of {settings.runs} runs, 10th to 90th percentile; dashed: certified bounds; "
        f"seed {settings.seed}, so not private"
    )
    if path is None:
        return figure
    return save_figure(figure, path, caption)
