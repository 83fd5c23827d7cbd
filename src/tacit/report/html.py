"""One self-contained page about a sweep: pictures, sortable tables, contracts, and the commands that made it.

Everything is inside the file: pictures as base64, a few lines of style and script. It asks the network for
nothing, and every number on it is in the Parquet file or is a mean, standard error or count of its rows.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib.resources import files
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tacit.privacy.guarantee import Guarantee
from tacit.report.comparisons import grid_caption, plot_regret_by_epsilon, plot_regret_by_horizon, split_floor
from tacit.report.crossover import Crossover, plot_crossover
from tacit.report.plots import plot_curves, plot_held, plot_switches
from tacit.report.tables import Value, fact, show, summary_table, swept_sizes
from tacit.simulation.records import Summary, Sweep
from tacit.validation import invalid, require
from tacit.version import __version__

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
<script>
{script}</script>
</body>
</html>
"""


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
    heading = title or "Regret and privacy, measured"
    summaries = sweep.summaries()
    parts = [_head(sweep, summaries, heading), _randomness(secret)]
    sizes = swept_sizes(summaries)
    for _, cells in groupby(summaries, key=_section):
        parts.append(_section_html(list(cells), sizes))
    parts.append(_commands(sweep, command))
    text = _PAGE.format(
        title=escape(heading), style=_asset("page.css"), script=_asset("page.js"), body="\n".join(parts)
    )
    target = Path(path)
    target.write_text(text, encoding="utf-8")
    return target


def _section(summary: Summary) -> tuple[str, str, float]:
    """Cells that belong into one picture: one problem up to its horizon, one environment, one delta."""
    return summary["family"], summary["world"], summary["delta"]


def _head(sweep: Sweep, summaries: Sequence[Summary], heading: str) -> str:
    runs = Value(show(len(sweep)), len(sweep), "", "run", "count").to_html("span")
    cells = Value(show(len(summaries)), len(summaries), "", "cell", "distinct").to_html("span")
    versions = ", ".join(escape(version) for version in sweep.versions)
    today = date.today().isoformat()
    return (
        f"<h1>{escape(heading)}</h1>\n"
        f'<p class="made">Written on <time datetime="{today}">{today}</time> by tacit {__version__}.</p>\n'
        f"<p>{runs} simulated runs of {cells} plans, made by tacit {versions}. Regret is what the learner lost beyond "
        "the best decisions in hindsight; the certified bound was known before the first round. The proved floor is "
        "the regret that every learner has in some world, not necessarily in the one that was simulated.</p>"
    )


def _randomness(secret: Guarantee | None) -> str:
    """Which contract was secret and which replayable, and why."""
    lines = [
        "<h2>Secret or replayable</h2>",
        "<p><b>Replayable</b>: every run in the tables and pictures below. A simulation must give the same numbers "
        "again, so its noise comes from a seed; whoever knows the seed can take the noise away again, and the "
        "contracts of these runs say so.</p>",
        "<p><b>Secret</b>: what <code>plan.start()</code> gives for your own data. Its noise has a key that nobody "
        "knows and that is kept nowhere; the contract is the same but for its last line.</p>",
    ]
    if secret is not None:
        lines.append(f"<p>The contract of the secret run beside these:</p>\n<pre>{escape(str(secret))}</pre>")
    return "\n".join(lines)


def _section_html(cells: list[Summary], sizes: Sequence[str]) -> str:
    first = cells[0]
    pictures = "\n".join(picture.to_html() for picture in _pictures(cells))
    contracts = "\n\n".join(dict.fromkeys(f"{s['algorithm']}: {s['contract']}" for s in split_floor(cells)[0]))
    return (
        f"<section>\n<h2>{escape(first['kind'])} in the environment {escape(first['world'])}, "
        f"delta {fact(first, 'delta').to_html('span')}</h2>\n"
        f'<p class="family">{escape(_sized(first["family"]))}; rounds: {_rounds(cells)}</p>\n'
        f'<div class="pictures">\n{pictures}\n</div>\n'
        '<p class="hint">The table has more columns: scroll it sideways.</p>\n'
        f'<div class="scroll">\n{summary_table(cells, environment=False, sizes=sizes).to_html()}\n</div>\n'
        "<details><summary>The contracts, of replayable runs</summary>\n"
        f"<pre>{escape(contracts)}</pre></details>\n</section>"
    )


def _sized(family: str) -> str:
    """A problem without the horizon that it does not have."""
    return family.replace("horizon=None, ", "").replace("horizon=None", "")


def _rounds(cells: list[Summary]) -> str:
    """The lengths of these runs."""
    by_length = {s["horizon"]: s for s in cells}
    return ", ".join(fact(by_length[length], "horizon").to_html("span") for length in sorted(by_length))


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

    def to_html(self) -> str:
        data = base64.b64encode(self.png).decode("ascii")
        return (
            f'<figure><img alt="{escape(self.name)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


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
    if len(horizons) > 1 and len(epsilons) > 1:
        crossover = Crossover.from_summaries(cells)
        yield draw("Which algorithm wins where", crossover.caption, plot_crossover, crossover)
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


def _commands(sweep: Sweep, command: str | None) -> str:
    lines = dict.fromkeys([*sweep.commands, *([command] if command else [])])
    return f'<h2>The commands that made this page</h2>\n<pre class="commands">{escape(chr(10).join(lines))}</pre>'


def _asset(name: str) -> str:
    return files("tacit.report").joinpath(name).read_text(encoding="utf-8")
