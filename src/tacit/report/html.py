"""One self-contained page about a sweep: pictures, sortable tables, contracts, and the commands that made it.

Everything is inside the file: pictures as base64, a few lines of style and script. It asks the network for
nothing, and every number on it is in the Parquet file or is a mean, standard error or count of its rows.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.report.plots import (
    grid_caption,
    plot_curves,
    plot_held,
    plot_regret_by_epsilon,
    plot_regret_by_horizon,
    plot_switches,
    split_floor,
)
from tacit.report.tables import Value, fact, show, summary_table, swept_sizes
from tacit.sweeps.records import Summary, Sweep
from tacit.validation import invalid, require
from tacit.version import __version__


def write_report(
    sweep: Sweep, path: str | Path, *, command: str | None = None, title: str = "", secret: Guarantee | None = None
) -> Path:
    """Write the page.

    Args:
        sweep: what a sweep left behind.
        path: where the page goes.
        command: what was typed to make the page.
        title: the page's title.
        secret: the contract of a run with secret randomness that was made beside the sweep.
    """
    if secret is not None and not isinstance(secret, Guarantee):
        raise invalid("write_report", "secret", "a Guarantee", secret)
    if not isinstance(sweep, Sweep):
        raise invalid("write_report", "sweep", "a Sweep", sweep)
    jinja2 = require("jinja2", "plots")
    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    summaries = sweep.summaries()
    sizes = swept_sizes(summaries)
    text = pages.get_template("report.html").render(
        title=title or "Regret and privacy, measured",
        today=date.today().isoformat(),
        version=__version__,
        versions=", ".join(sweep.versions),
        runs=Value(show(len(sweep)), len(sweep), "", "run", "count"),
        cells=Value(show(len(summaries)), len(summaries), "", "cell", "distinct"),
        secret=secret,
        sections=[_Section(list(cells), sizes) for _, cells in groupby(summaries, key=_belongs)],
        commands=dict.fromkeys([*sweep.commands, *([command] if command else [])]),
    )
    target = Path(path)
    target.write_text(text, encoding="utf-8")
    return target


def _belongs(summary: Summary) -> tuple[str, str, float]:
    """Name what the cells of one picture share: one problem up to its horizon, one environment, one delta."""
    return summary["family"], summary["world"], summary["delta"]


class _Section:
    """Cells of one problem, environment and delta: pictures, a table, contracts."""

    def __init__(self, cells: list[Summary], sizes: Sequence[str]) -> None:
        by_length = {s["horizon"]: s for s in cells}
        self.first = cells[0]
        self.delta = fact(cells[0], "delta")
        self.family = cells[0]["family"].replace("horizon=None, ", "").replace("horizon=None", "")
        self.rounds = [fact(by_length[length], "horizon") for length in sorted(by_length)]
        self.pictures = list(_pictures(cells))
        self.table = summary_table(cells, environment=False, sizes=sizes)
        self.contracts = list(dict.fromkeys(f"{s['algorithm']}: {s['contract']}" for s in split_floor(cells)[0]))


@dataclass(frozen=True)
class _Picture:
    """A picture, and under it the contract as text, which can be read on a phone as well."""

    name: str
    png: bytes
    caption: str

    @classmethod
    def draw(cls, name: str, caption: str, plot: Callable[..., object], *arguments: Any, **options: Any) -> _Picture:
        buffer = BytesIO()
        matplotlib = require("matplotlib", "plots")
        with matplotlib.rc_context({"font.size": 13}):
            plot(*arguments, buffer, caption="", **options)
        return cls(name, buffer.getvalue(), caption)

    @property
    def data(self) -> str:
        """The picture as text."""
        return base64.b64encode(self.png).decode("ascii")


def _pictures(cells: list[Summary]) -> Iterator[_Picture]:
    """Every picture these cells have the data for."""
    chosen = [s for s in cells if s["chosen"]] or cells
    private, floor = split_floor(chosen)
    if not private:
        return
    draw = _Picture.draw
    horizons, epsilons = {s["horizon"] for s in private}, {s["epsilon"] for s in private}
    compared = _compared([s for s in cells if s["horizon"] == max(horizons)])
    caption = grid_caption(list(compared.values()))
    if len(horizons) > 1:
        yield draw("Regret against the horizon", grid_caption(private), plot_regret_by_horizon, chosen)
    if len(epsilons) > 1:
        yield draw("Regret against epsilon", grid_caption(private), plot_regret_by_epsilon, chosen)
    # A vacuous bound would only push the measured curves to the bottom.
    bounds = {label: float("inf") if s["vacuous"] else s["bound"] for label, s in compared.items()}
    curves = {label: (s.checkpoints, *s.curve, bounds[label]) for label, s in compared.items()}
    below = [(s.checkpoints, s.curve[0]) for s in floor if s["horizon"] == max(horizons)]
    one = len({s["epsilon"] for s in compared.values()}) == 1
    at = f", epsilon = {next(iter(compared.values()))['epsilon']:.3g}" if one else ""
    title = f"Regret over {max(horizons):,} rounds{at}"
    yield draw("Regret over time", caption, plot_curves, curves, title=title, floor=below[0] if below else None)
    steps = [(label, s.checkpoints, s.switch_curve) for label, s in compared.items()]
    switching = {label: (rounds, np.mean(curve, axis=0)) for label, rounds, curve in steps if curve is not None}
    if switching:
        yield draw("Switches over time", caption, plot_switches, switching, title=f"Switches over time{at}")
    traced = [s for s in compared.values() if s.first["comparator"]]
    for s in sorted(traced, key=lambda s: len(s.first["restarts"]))[-1:]:
        yield draw(
            "Held expert against best expert",
            f"{s['algorithm']}: {s['contract']}",
            plot_held,
            s.first["held"],
            s.first["comparator"],
            rounds=s.checkpoints,
            restarts=s.first["restarts"],
            title=f"One run of {s['algorithm']}, epsilon = {s['epsilon']:g}",
        )


def _compared(longest: list[Summary]) -> dict[str, Summary]:
    """Cells for one picture over time: the algorithms at one epsilon, or the planner's choice at several."""
    private, _ = split_floor(longest)
    epsilons = sorted({s["epsilon"] for s in private})
    middle = [s for s in private if s["epsilon"] == epsilons[len(epsilons) // 2]]
    if len(middle) > 1:
        return {s["algorithm"]: s for s in middle}
    kept = sorted(private, key=lambda s: float(s["epsilon"]))[-4:]
    return {f"epsilon = {s['epsilon']:g}, {s['algorithm']}": s for s in kept}
