"""The picture of a paper's run: mean regret of each row with its spread, bounds dashed in the same shade.

There is a panel for each stream, with its legend beside it, where it covers nothing. Kinds of rows differ by colour,
rows of a kind by the style of their lines, so that a print without colour tells most of them apart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tacit.papers.row import BAND, Row, Settings
from tacit.report.plots import LEADING, check_picture
from tacit.simulation.loop import Simulation
from tacit.validation import require

WIDTH, PANEL, CAPTION = 9.6, 2.6, 0.75
"""Inches: the picture's width, the least height of a panel, the room under the last one."""
LABEL_COLUMNS = 38
ENTRY = 0.21
"""Inches that a line of a legend takes."""
COLOURS = {
    "still": ("0.0",),
    "printed": ("#b3301c", "#e0861a", "#7d1f5a", "#c9a400", "#f08a8a", "#5b2c0b"),
    "repaired": ("#1f5fa8", "#58a4dd", "#123a66"),
    "calibrated": (LEADING, "#6cc04a", "#0b4f3a"),
    "rival": ("0.35", "0.55", "0.2", "0.7"),
    "no privacy": ("0.45",),
}
STYLES = ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))


def draw(
    title: str,
    settings: Settings,
    rows: Sequence[Row],
    simulations: Sequence[Simulation | None],
    path: str | Path | None,
) -> Any:
    """Draw a panel for each stream; return the figure, or the path of the file that was written."""
    require("matplotlib", "tacit[plots]")
    from matplotlib.figure import Figure

    if path is not None:
        check_picture(path)
    panels: dict[str, list[tuple[Row, Simulation]]] = {}
    for row, simulation in zip(rows, simulations, strict=True):
        if simulation is not None:
            panels.setdefault(row.stream, []).append((row, simulation))
    labels = {stream: [label_of(row) for row, _ in panel] for stream, panel in panels.items()}
    heights = [max(PANEL, 0.9 + ENTRY * sum(map(lines_of, each))) for each in labels.values()]
    figure = Figure(figsize=(WIDTH, sum(heights) + CAPTION), dpi=130)
    top = sum(heights) + CAPTION
    for (stream, panel), height in zip(panels.items(), heights, strict=True):
        bottom = (top - height + 0.55) / (sum(heights) + CAPTION)
        axes = figure.add_axes((0.085, bottom, 0.555, (height - 0.95) / (sum(heights) + CAPTION)))
        draw_panel(axes, stream, panel, labels[stream])
        top -= height
    figure.suptitle(title, x=0.085, y=1.0, ha="left", va="bottom", fontsize=11)
    caption = (
        f"T={settings.horizon:,}, dimension {settings.dimension}, epsilon={settings.epsilon:g}, "
        f"delta={settings.delta:g}; mean of {settings.runs} runs, 10th to 90th percentile.\n"
        f"Thin dashes: certified bounds, where they fit. Seed {settings.seed}, so not private."
    )
    figure.text(0.03, 0.35 / (sum(heights) + CAPTION), caption, fontsize=8, color="0.25", va="center")
    if path is None:
        return figure
    figure.savefig(Path(path), bbox_inches="tight", pad_inches=0.12)
    return Path(path)


def draw_panel(axes: Any, stream: str, panel: Sequence[tuple[Row, Simulation]], labels: Sequence[str]) -> None:
    """Draw the rows of one stream, and their legend beside the axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.8)
    numbers = {kind: count() for kind in COLOURS}
    low, high = 0.0, 0.0
    for (row, simulation), label in zip(panel, labels, strict=True):
        kind = row.label
        index = next(numbers[kind])
        look = {"color": COLOURS[kind][index % len(COLOURS[kind])], "linestyle": STYLES[index % len(STYLES)]}
        lowest, highest = np.percentile(simulation.regret, BAND, axis=0)
        alone = {"marker": "o", "markersize": 4} if len(simulation.rounds) == 1 else {}
        axes.plot(simulation.rounds, simulation.mean, label=label, linewidth=1.6, **look, **alone)
        axes.fill_between(simulation.rounds, lowest, highest, color=look["color"], alpha=0.1, linewidth=0)
        low, high = min(low, float(np.min(lowest))), max(high, float(np.max(highest)))
    room = 0.05 * (high - low)
    axes.set_ylim(low - room, high + room)
    for line, (row, _) in zip(list(axes.lines), panel, strict=True):
        if row.label != "still" and isfinite(row.regret_bound) and row.regret_bound <= high + room:
            axes.axhline(row.regret_bound, color=line.get_color(), linestyle="--", linewidth=0.7)
    criterion = panel[0][1].criterion
    if criterion == "regret":
        axes.set_xlabel("round")
    else:
        axes.set_xscale("log")
        axes.set_xlabel("records")
    axes.set_ylabel(criterion)
    axes.set_title(stream, fontsize=9, loc="left")
    axes.legend(
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        frameon=False,
        fontsize=8,
        handlelength=2.6,
        borderaxespad=0.0,
        labelspacing=0.45,
    )


def label_of(row: Row) -> str:
    """Return the label of a row: its kind, its plan, its result and the reading, in lines of limited length."""
    if row.label == "still":
        return "still"
    named = f"{row.label}: {row.plan}" + (f", {row.result}" if row.result else "")
    lines = textwrap.wrap(named, LABEL_COLUMNS)
    if row.reading:
        lines += textwrap.wrap(row.reading.removeprefix("repaired: "), LABEL_COLUMNS)[:2]
    return "\n".join(lines)


def lines_of(label: str) -> int:
    """Return how many lines a label has."""
    return label.count("\n") + 1
