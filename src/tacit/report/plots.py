"""Pictures: runs over time, sweeps, which algorithm wins where, and the noise of running sums.

Grey levels, line styles, markers and hatches survive a black-and-white print. Every picture ends in a caption with the
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

from tacit.errors import InvalidInput
from tacit.report.tables import NEARLY, NOT_PRIVATE
from tacit.simulation.loop import Simulation
from tacit.sweeps.records import Summary
from tacit.validation import (
    LARGEST,
    LARGEST_DIMENSION,
    FloatArray,
    check_all,
    check_level,
    invalid,
    real_array,
    require,
)

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "x")
SHADES = ("0.0", "0.35", "0.15", "0.5", "0.25", "0.6")
LEADING = "#0b7a57"
HATCHES = ("", "///", "...", "xx", "\\\\\\", "ooo", "++", "--")
CAPTION = {"fontsize": 7.5, "color": "0.25", "ha": "left", "va": "top", "family": "monospace"}
CAPTION_COLUMNS = 108

Target = str | Path | BinaryIO


def start_figure(legend_lines: int = 0) -> tuple[Any, Any]:
    """A figure with room for a caption, and for so many lines of legend above it; and its axes."""
    require("matplotlib", "plots")
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
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    ending, known = Path(path).suffix.lower().removeprefix("."), Figure().canvas.get_supported_filetypes()
    if ending and ending not in known:
        name, formats = Path(path).name, ", ".join(f".{format}" for format in sorted(known))
        raise InvalidInput(f"A picture cannot be written as {name!r}: its name must end in one of {formats}.")


def checked_lines(owner: str, curves: Any, parts: int) -> dict[str, list[FloatArray]]:
    """What is to be drawn, label -> arrays: `parts` vectors of one length, finite and not empty."""
    if not isinstance(curves, Mapping):
        raise invalid(owner, "curves", "a mapping from labels to vectors", curves)
    lines = {}
    for label, vectors in curves.items():
        if not isinstance(vectors, tuple | list) or len(vectors) < parts:
            raise invalid(owner, "curves", f"a mapping from labels to tuples of {parts} vectors", vectors)
        arrays = [real_array(owner, "curves", vector, (None,)) for vector in vectors[:parts]]
        if len({len(array) for array in arrays}) != 1 or not all(_drawable(array) for array in arrays):
            raise InvalidInput(f"The vectors of {label!r} in {owner} must be finite, of one length and not empty.")
        lines[str(label)] = arrays
    return lines


def _drawable(array: FloatArray) -> bool:
    return bool(array.size and np.abs(array).max() <= LARGEST)


def line_style(index: int) -> dict[str, Any]:
    """The look of line number `index`: told apart without colour."""
    return {
        "linestyle": LINES[index % len(LINES)],
        "marker": MARKERS[index % len(MARKERS)],
        "color": SHADES[index % len(SHADES)],
        "markersize": 5,
    }


def plain_log_ticks(axis: Any) -> None:
    """Round numbers on a logarithmic axis, written out: 20, 50, 100."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.3g}" if value < 1e6 else f"{value:.3g}"))
    axis.set_minor_locator(NullLocator())


def shared_contract(contracts: Sequence[str]) -> str:
    """One contract for several runs: the lines they share; what differs is in the picture.

    >>> shared_contract(["epsilon=1 [RDP]\\n  neighbours: replace", "epsilon=2 [RDP]\\n  neighbours: replace"])
    'epsilon and delta as shown, certified for each run\\n  neighbours: replace'
    """
    different = list(dict.fromkeys(contracts))
    if len(different) == 1:
        return different[0]
    others = [set(contract.splitlines()) for contract in different[1:]]
    lines = [line for line in different[0].splitlines()[1:] if all(line in other for other in others)]
    return "\n".join(["epsilon and delta as shown, certified for each run", *lines])


_MANY = 15  # more experts than this: only those that were held or best get a line of their own


def plot_regret(
    simulations: Sequence[Simulation],
    path: Target,
    *,
    title: str = "Regret against the best expert",
    floor: Simulation | None = None,
    caption: str | None = None,
) -> Target:
    """Plot mean regret with its band against rounds, the certified bound, and a non-private baseline if given.

    Args:
        simulations: what is compared, each with a line and its bound.
        path: where the picture goes, a file's name (its ending is the format) or an open file (PNG).
        title: the title.
        floor: the non-private baseline (an enormous epsilon), as a dotted line.
        caption: the text below (default: the contracts and how the runs were made).
    """
    results = check_all("plot_regret", "simulations", simulations, Simulation)
    if not results:
        raise InvalidInput("plot_regret needs at least one simulation.")
    curves = {
        f"{result.plan.algorithm}, measured": (result.rounds, result.mean, result.standard_error, result.bound)
        for result in results
    }
    first = results[0]
    count = len(first.regret)
    runs = f"{count} {'run' if count == 1 else 'runs'}, band: two standard errors; seed {first.seed}, so not private"
    return plot_curves(
        curves,
        path,
        title=title,
        floor=None if floor is None else (floor.rounds, floor.mean),
        caption=f"{_contracts(results)}\n{runs}" if caption is None else caption,
    )


def plot_curves(
    curves: Mapping[str, tuple[Any, Any, Any, float]],
    path: Target,
    *,
    title: str,
    floor: tuple[Any, Any] | None = None,
    caption: str = "",
) -> Target:
    """As `plot_regret`, from numbers: label -> (rounds, mean regret, its standard error, certified bound)."""
    lines = checked_lines("plot_curves", curves, 3)
    limits = {str(label): _checked_bound(entry[3:]) for label, entry in curves.items()}
    figure, axes = start_figure(legend_lines(len(curves) + 1 + (floor is not None), 2))
    shades = np.linspace(0.0, 0.45, max(1, len(curves)))
    for index, (label, (rounds, mean, error)) in enumerate(lines.items()):
        bound = limits[label]
        colour = str(shades[index])
        said = f"{label} (certified {ceil(bound):,})" if np.isfinite(bound) else label
        axes.plot(rounds, mean, LINES[index % 4], color=colour, label=said)
        axes.fill_between(rounds, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.15, linewidth=0)
        if np.isfinite(bound):
            axes.axhline(bound, linestyle=LINES[index % 4], color=colour, linewidth=1.0)
    if any(np.isfinite(bound) for bound in limits.values()):
        axes.plot([], [], color="0.4", linewidth=1.0, label="thin: certified bounds")
    if floor is not None:
        axes.plot(*floor, color="0.5", linestyle=(0, (1, 1)), label=f"{NEARLY}, measured")
    axes.set_xlabel("round")
    axes.set_ylabel("regret (units of loss)")
    axes.set_title(title)
    low, high = axes.get_ylim()
    axes.set_ylim(min(0.0, low), high)
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    return save_figure(figure, path, caption)


def _checked_bound(entry: tuple[Any, ...]) -> float:
    bound = entry[0] if len(entry) == 1 else None
    if bound == float("inf"):
        return float("inf")
    return check_level("plot_curves", "bound", bound)


def _contracts(simulations: Sequence[Simulation]) -> str:
    """The contract of all: the privacy of each, then the lines they share."""
    contracts = [str(result.plan.guarantee) for result in simulations]
    if len(set(contracts)) == 1:
        return contracts[0]
    each = [f"{r.plan.algorithm}: {c.split(' [')[0]}" for r, c in zip(simulations, contracts, strict=True)]
    return "\n".join(["; ".join(each), *shared_contract(contracts).splitlines()[1:]])


def plot_switches(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    path: Target,
    *,
    title: str = "Switches over time",
    caption: str = "",
) -> Target:
    """Plot how often the decision has changed up to each round: label -> (rounds, switches)."""
    lines = checked_lines("plot_switches", curves, 2)
    figure, axes = start_figure(legend_lines(len(lines), 2))
    for index, (label, (rounds, switches)) in enumerate(lines.items()):
        axes.step(rounds, switches, where="post", linestyle=LINES[index % 4], color=SHADES[index % 6], label=label)
    axes.set_xlabel("round")
    axes.set_ylabel("switches so far (mean)")
    axes.set_title(title)
    axes.set_ylim(bottom=0.0)
    legend_below(figure, axes.get_legend_handles_labels()[0], 2)
    return save_figure(figure, path, caption)


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
    lines = checked_lines("plot_shares", {arm: (share,) for arm, share in shares.items()}, 1)
    if not lines or len({len(share) for (share,) in lines.values()}) != 1:
        raise InvalidInput("plot_shares needs at least one arm, and as many shares for each arm.")
    arms = sorted(lines, key=lambda arm: -lines[arm][0][-1])
    bands = np.array([lines[arm][0] for arm in arms])
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


def plot_held(
    held: ArrayLike,
    best: ArrayLike,
    path: Target,
    *,
    rounds: ArrayLike | None = None,
    restarts: Sequence[int] = (),
    names: Sequence[str] | None = None,
    title: str = "Held expert against best expert",
    caption: str = "",
) -> Target:
    """Plot the expert held in each round, the comparator's, and the rounds of detected restarts.

    Args:
        held: the expert that was played.
        best: the comparator's expert.
        path: where the picture goes.
        rounds: the rounds these are of (default: 1, 2, ...).
        restarts: rounds at which the learner started again.
        names: the experts' names.
        title: the title.
        caption: the contract.
    """
    played, compared = real_array("plot_held", "held", held, None), real_array("plot_held", "best", best, None)
    if played.ndim != 1 or not played.size or played.shape != compared.shape:
        raise InvalidInput(f"held and best must be of one length. Got shapes {played.shape} and {compared.shape}.")
    for name, experts in (("held", played), ("best", compared)):
        if not np.all((experts >= 0) & (experts < LARGEST_DIMENSION)):
            raise InvalidInput(f"The '{name}' of plot_held must be numbers of experts. Got {experts.tolist()} instead.")
    time = np.arange(1, played.size + 1) if rounds is None else real_array("plot_held", "rounds", rounds, played.shape)
    marks = real_array("plot_held", "restarts", restarts, (None,))
    if not (np.all(np.abs(time) <= LARGEST) and np.all(np.abs(marks) <= LARGEST)):
        raise InvalidInput("The 'rounds' and 'restarts' of plot_held must be finite.")
    if names is not None and not (isinstance(names, list | tuple) and len(names) > max(played.max(), compared.max())):
        raise invalid("plot_held", "names", "a list with a name for each expert", names)
    shown = np.unique(np.concatenate([played, compared]))
    rank = {int(expert): position for position, expert in enumerate(shown)}
    figure, axes = start_figure(1)
    thick = {"color": "0.75", "linewidth": 7, "solid_capstyle": "butt"}
    axes.step(time, [rank[int(e)] for e in compared], where="post", label="best sequence", **thick)
    axes.step(time, [rank[int(e)] for e in played], where="post", color="0.0", linewidth=1.2, label="held")
    for index, restart in enumerate(marks):
        axes.axvline(restart, color="0.3", linestyle=":", linewidth=1.2, label=None if index else "detected restart")
    if len(shown) <= _MANY:
        labels = [str(names[int(e)]) if names else str(int(e)) for e in shown]
        axes.set_yticks(range(len(shown)), labels)
        box = axes.get_position()
        left = max(box.x0, 0.05 + 0.012 * max(map(len, labels)))  # room for the longest name
        axes.set_position((left, box.y0, box.x1 - left, box.height))
    axes.set_xlabel("round")
    axes.set_ylabel("expert")
    axes.set_title(title)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    legend_below(figure, axes.get_legend_handles_labels()[0])
    return save_figure(figure, path, caption)


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
    """Plot mean regret against the horizon, one line for each epsilon, with certified bounds and the baseline."""
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
    """Plot mean regret against epsilon, one line for each horizon; privacy costs the distance from the baseline."""
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
