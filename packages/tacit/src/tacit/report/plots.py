"""Pictures: regret over time, and the share of traffic of arms.

Grey levels, line styles and markers survive a black-and-white print. Every picture ends in a caption with the
contract, because a regret without its epsilon says nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting.rounding import rounded_up
from tacit.errors import InvalidInput
from tacit.simulation.loop import OnePassSimulation, Simulation
from tacit.validation import (
    LARGEST,
    FloatArray,
    invalid,
    real_array,
    require,
)

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "x")
SHADES = ("0.0", "0.35", "0.15", "0.5", "0.25", "0.6")
LEADING = "#0b7a57"
CAPTION = {"fontsize": 7.5, "color": "0.25", "ha": "left", "va": "top", "family": "monospace"}
CAPTION_COLUMNS = 108

Target = str | Path | BinaryIO


def start_figure(legend_lines: int = 0) -> tuple[Any, Any]:
    """A figure with room for a caption, and for so many lines of legend above it; and its axes."""
    require("matplotlib", "tacit[plots]")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), dpi=130)
    bottom = 0.36 + 0.045 * legend_lines
    axes = figure.add_axes((0.11, bottom, 0.85, 0.92 - bottom))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.8)
    return figure, axes


def legend_below(figure: Any, handles: Sequence[Any], columns: int = 3) -> None:
    """A legend between the axes and the caption, where it covers nothing."""
    figure.legend(
        handles=handles, frameon=False, fontsize="small", ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 0.235)
    )


def legend_lines(entries: int, columns: int = 3) -> int:
    """How many lines a legend of so many entries takes."""
    return -(-entries // columns)


def save_figure(figure: Any, target: Target, caption: str) -> Target:
    """Write the caption and the PNG (or what the file's name says); without a caption, cut its room off."""
    cut: dict[str, Any] = {} if caption else {"bbox_inches": "tight", "pad_inches": 0.08}
    lines = [wrapped for line in caption.splitlines() for wrapped in textwrap.wrap(line, CAPTION_COLUMNS) or [""]]
    figure.text(0.03, 0.225, "\n".join(lines), **CAPTION)
    if not isinstance(target, str | Path) and not hasattr(target, "write"):
        raise invalid("a picture", "path", "a path or an open file", target)
    if isinstance(target, str | Path):
        check_picture(target)
        figure.savefig(Path(target), **cut)
        return Path(target)
    figure.savefig(target, format="png", **cut)
    return target


def check_picture(path: str | Path) -> None:
    """Refuse a file whose ending is no format of pictures; without an ending it is PNG."""
    require("matplotlib", "tacit[plots]")
    from matplotlib.figure import Figure

    ending, known = Path(path).suffix.lower().removeprefix("."), Figure().canvas.get_supported_filetypes()
    if ending and ending not in known:
        name, formats = Path(path).name, ", ".join(f".{format}" for format in sorted(known))
        raise InvalidInput(f"A picture cannot be written as {name!r}: its name must end in one of {formats}.")


def line_style(index: int) -> dict[str, Any]:
    """The look of line number `index`: told apart without colour."""
    return {
        "linestyle": LINES[index % len(LINES)],
        "marker": MARKERS[index % len(MARKERS)],
        "color": SHADES[index % len(SHADES)],
        "markersize": 5,
    }


def plot_regret(
    simulations: Sequence[Simulation],
    path: Target,
    *,
    title: str | None = None,
    floor: Simulation | None = None,
    labels: Sequence[str] | None = None,
    caption: str | None = None,
) -> Target:
    """Plot mean regret with its band against rounds, the certified bound, and a non-private baseline if given.

    Args:
        simulations: what is compared, each with a line and its bound.
        path: where the picture goes, a file's name (its ending is the format) or an open file (PNG).
        title: the title (default: what is measured).
        floor: the non-private baseline (an enormous epsilon), as a dotted line.
        labels: a name for each (default: its algorithm).
        caption: the text below (default: the contracts and how the runs were made).
    """
    results: list[Simulation] = list(simulations) if isinstance(simulations, list | tuple) else []
    if not results or not all(isinstance(result, Simulation) for result in results):
        raise InvalidInput("plot_regret needs a list of at least one simulation.")
    names = [result.plan.algorithm for result in results]
    numbered = [f"{name} {index}" if names.count(name) > 1 else name for index, name in enumerate(names, 1)]
    figure, axes = start_figure(legend_lines(len(results) + 1 + (floor is not None), 2))
    shades = np.linspace(0.0, 0.45, len(results))
    for index, (name, result) in enumerate(zip(labels or numbered, results, strict=True)):
        mean, error, bound = result.mean, result.standard_error, result.bound
        look = {"linestyle": LINES[index % 4], "color": str(shades[index])}
        shown = rounded_up(bound) if isinstance(result, OnePassSimulation) else f"{ceil(bound):,}"
        certified = f" (certified {shown})" if np.isfinite(bound) else ""
        once = {"marker": MARKERS[index % 6], "markersize": 5} if len(mean) == 1 else {}
        axes.plot(result.rounds, mean, label=f"{name}, measured{certified}", **look, **once)
        axes.fill_between(
            result.rounds, mean - 2 * error, mean + 2 * error, color=look["color"], alpha=0.15, linewidth=0
        )
        if isinstance(result, OnePassSimulation):
            axes.plot(result.rounds, result.bounds, linewidth=1.0, marker="_", **look)
        elif certified:
            axes.axhline(bound, linewidth=1.0, **look)
    if any(np.isfinite(result.bound) for result in results):
        axes.plot([], [], color="0.4", linewidth=1.0, label="thin: certified bounds")
    if floor is not None:
        axes.plot(floor.rounds, floor.mean, color="0.5", linestyle=(0, (1, 1)), label="without privacy, measured")
    criterion = results[0].criterion
    if any(result.criterion != criterion for result in results):
        raise InvalidInput("plot_regret draws regret or excess risk, and not both in one picture.")
    in_records = isinstance(results[0], OnePassSimulation)
    axes.set_xlabel("records" if in_records else "round")
    axes.set_ylabel(f"{criterion} (units of loss)")
    axes.set_title(title or ("Excess risk of the model" if in_records else "Regret against the best expert"))
    if in_records:
        axes.set_xscale("log")
        if all(result.mean.min() > 0 for result in results):
            axes.set_yscale("log")
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(min(0.0, low), high)
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    count, seed = len(results[0].regret), results[0].seed
    runs = f"{count} {'run' if count == 1 else 'runs'}, band: two standard errors; seed {seed}, so not private"
    return save_figure(figure, path, f"{_contracts(results)}\n{runs}" if caption is None else caption)


def _contracts(simulations: Sequence[Simulation]) -> str:
    """The contract of all: the privacy of each, then the lines they share."""
    contracts = [str(result.plan.guarantee) for result in simulations]
    if len(set(contracts)) == 1:
        return contracts[0]
    each = [f"{r.plan.algorithm}: {c.split(' [')[0]}" for r, c in zip(simulations, contracts, strict=True)]
    others = [set(contract.splitlines()) for contract in contracts]
    shared = [line for line in contracts[0].splitlines()[1:] if all(line in other for other in others)]
    return "\n".join(["; ".join(each), *shared])


def plot_shares(
    shares: Mapping[str, ArrayLike], path: Target, *, title: str = "Share of traffic", caption: str = ""
) -> Target:
    """Draw the share of each arm by day as stacked bands, the arm of the largest last share at the bottom.

    Args:
        shares: arm -> its share on each day.
        path: where the picture goes, a file's name (its ending is the format) or an open file (PNG).
        title: the title.
        caption: the text below.
    """
    if not isinstance(shares, Mapping):
        raise invalid("plot_shares", "shares", "a mapping from arms to vectors", shares)
    lines = {str(arm): real_array("plot_shares", "shares", share, (None,)) for arm, share in shares.items()}
    if len({len(share) for share in lines.values()}) != 1 or not all(map(_drawable, lines.values())):
        raise InvalidInput("plot_shares needs at least one arm, and as many finite shares for each arm.")
    arms = sorted(lines, key=lambda arm: -lines[arm][-1])
    bands = np.array([lines[arm] for arm in arms])
    bands = np.column_stack([bands, bands[:, -1]])  # the last day has an end
    figure, axes = start_figure(legend_lines(len(arms), 4))
    axes.grid(False)
    axes.stackplot(
        np.arange(bands.shape[1]) + 1,
        bands,
        labels=arms,
        colors=[LEADING, *np.linspace(0.6, 0.88, max(1, len(arms) - 1)).astype(str)],
        edgecolor="white",
        linewidth=0.8,
        step="post",
    )
    axes.set_xlim(1, bands.shape[1])
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_xlabel("day")
    axes.set_ylabel("share of traffic")
    axes.set_title(title)
    legend_below(figure, axes.get_legend_handles_labels()[0], 4)
    return save_figure(figure, path, caption)


def _drawable(array: FloatArray) -> bool:
    return bool(array.size and np.abs(array).max() <= LARGEST)
