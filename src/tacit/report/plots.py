"""Pictures of runs over time: regret, switches, the held expert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInput
from tacit.report.style import (
    LINES,
    SHADES,
    Target,
    checked_lines,
    legend_below,
    legend_lines,
    save_figure,
    shared_contract,
    start_figure,
)
from tacit.report.tables import NEARLY
from tacit.simulation.loop import Simulation
from tacit.validation import LARGEST, LARGEST_DIMENSION, check_all, check_level, invalid, real_array

_MANY = 15  # more experts than this: only those that were held or best get a line of their own


def plot_regret(
    simulations: Sequence[Simulation],
    path: Target,
    *,
    title: str = "Regret against the best expert",
    floor: Simulation | None = None,
    caption: str | None = None,
) -> Target:
    """Mean regret with its band against rounds, the certified bound, and a non-private floor if given.

    Args:
        simulations: what is compared, each with a line and its bound.
        path: where the picture goes, a file's name (its ending is the format) or an open file (PNG).
        title: the title.
        floor: the same without privacy (an enormous epsilon), as a dotted line.
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
    """How often the decision has changed up to each round: label -> (rounds, switches)."""
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
    """The expert held in each round, the comparator's, and the rounds of detected restarts.

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
