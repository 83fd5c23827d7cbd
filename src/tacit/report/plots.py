"""Pictures: readable in black and white, labelled with units, captioned with the contract."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.simulation.loop import Simulation
from tacit.validation import require

LINES = ("-", "--", "-.", ":")
CAPTION = {"fontsize": 7.5, "color": "0.25", "ha": "left", "va": "top", "family": "monospace"}


def plot_regret(
    simulations: Sequence[Simulation],
    path: str | Path,
    *,
    title: str = "Regret against the best expert",
    floor: Simulation | None = None,
) -> Path:
    """Mean regret with its band against rounds, the certified bound, and a non-private floor if given."""
    figure, axes = _figure()
    shades = np.linspace(0.0, 0.45, max(1, len(simulations)))
    for index, result in enumerate(simulations):
        colour = str(shades[index])
        low, high = result.band
        axes.plot(
            result.rounds, result.mean, LINES[index % 4], color=colour, label=f"{result.plan.algorithm}, measured"
        )
        axes.fill_between(result.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(result.bound, linestyle=":", color=colour, linewidth=1)
        axes.annotate(f"certified bound {result.bound:,.0f}", (result.rounds[0], result.bound), fontsize=8, va="bottom")
    if floor is not None:
        axes.plot(floor.rounds, floor.mean, color="0.5", linestyle=(0, (1, 1)), label="without privacy, measured")
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret (units of loss)")
    axes.set_title(title)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.legend(frameon=False, loc="center right")
    return _save(figure, path, simulations[0])


def _figure() -> tuple[Any, Any]:
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), dpi=130)
    axes = figure.add_axes((0.11, 0.36, 0.85, 0.56))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.8)
    return figure, axes


def _save(figure: Any, path: str | Path, result: Simulation) -> Path:
    runs = f"{len(result.regret)} run(s), band: two standard errors; seed {result.seed}, so not private"
    figure.text(0.03, 0.235, f"{result.plan.guarantee}\n{runs}", **CAPTION)
    target = Path(path)
    figure.savefig(target)
    return target
