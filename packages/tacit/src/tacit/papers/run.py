"""Run a paper's algorithms beside each other, and keep what a reader compares: rows, each read off the plan that ran."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tacit import algorithms
from tacit.errors import InvalidInput, TacitError
from tacit.papers.paper import Entry, Paper, Stream
from tacit.papers.still import Still
from tacit.papers.table import HEADINGS, cells, csv_table, json_table, markdown_table, text_table
from tacit.problems import Problem
from tacit.progress import Progress
from tacit.runtime.plan import Plan
from tacit.simulation.loop import Simulation, simulate
from tacit.validation import check_choice

TABLES = {".md": markdown_table, ".csv": csv_table, ".json": json_table}
"""How a table is written, by the ending of its file."""
BAND = (10.0, 90.0)
"""Percentiles between which the runs of a row are shown."""


@dataclass(frozen=True)
class Settings:
    """What a run was asked for."""

    horizon: int
    dimension: int
    epsilon: float
    delta: float
    runs: int
    seed: int
    results: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One algorithm on one stream.

    Attributes:
        label: kind of the row: still, printed, repaired, calibrated or rival.
        stream: what it ran on.
        result: number of the result whose parameters ran (empty: none).
        plan: name of the algorithm that ran (empty: it was refused).
        printed_regret: the printed bound, not capped (None: there is none, or an order only).
        regret_bound: the bound that is certified for the plan that ran.
        asked: epsilon that was asked.
        epsilon: epsilon that is proved of the plan that ran, at the delta that was asked.
        status: what became of a printed promise.
        mean: mean regret of the runs.
        low: its 10th percentile.
        high: its 90th percentile.
        switches: mean number of switches.
        seconds: processor time of one run, planning not counted.
        note: what a reader must know.
    """

    label: str
    stream: str
    result: str = ""
    plan: str = ""
    printed_regret: float | None = None
    regret_bound: float = inf
    asked: float | None = None
    epsilon: float = inf
    status: str = ""
    mean: float = inf
    low: float = inf
    high: float = inf
    switches: float = 0.0
    seconds: float = 0.0
    note: str = ""

    @classmethod
    def of(
        cls,
        simulation: Simulation,
        *,
        label: str,
        stream: str,
        asked: Settings,
        seconds: float,
        still: float | None = None,
        note: str = "",
    ) -> Row:
        """Read everything off the plan that ran.

        Args:
            simulation: the runs.
            label: kind of the row.
            stream: name of the stream.
            asked: settings of the whole run.
            seconds: processor time of one run.
            still: mean regret of the player that looks at nothing.
            note: what is said besides.
        """
        plan = simulation.plan
        final = simulation.regret[:, -1]
        mean = float(np.mean(final))
        low, high = (float(value) for value in np.percentile(final, BAND))
        printed = plan.printed
        bound = float(plan.regret_bound)
        said = [note] if note else []
        if isfinite(bound) and plan.vacuous:
            said.append("vacuous bound")
        if still is not None and mean >= still:
            said.append("no better than still")
        return cls(
            label=label,
            stream=stream,
            result="" if printed is None else printed.result,
            plan=plan.algorithm,
            printed_regret=None if printed is None else printed.regret,
            regret_bound=bound,
            asked=asked.epsilon if plan.private else None,
            epsilon=plan.guarantee.curve.epsilon(asked.delta),
            status=plan.printed_status or ("kept" if plan.private else "not private"),
            mean=mean,
            low=low,
            high=high,
            switches=float(np.mean(simulation.switches)),
            seconds=seconds,
            note="; ".join(said),
        )


@dataclass(frozen=True)
class PaperRun:
    """The rows of a paper's table, with the simulations behind them.

    Attributes:
        paper: the paper.
        settings: what was asked.
        rows: one for each algorithm and stream.
        simulations: the simulation of each row (None: the row was refused).
        seconds: how long everything took.
    """

    paper: Paper
    settings: Settings
    rows: tuple[Row, ...]
    simulations: tuple[Simulation | None, ...]
    seconds: float

    def table(self) -> str:
        """Return the rows as text."""
        return text_table(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "paper": self.paper.name,
            "settings": asdict(self.settings),
            "rows": [asdict(row) for row in self.rows],
        }

    def write_table(self, path: str | Path) -> None:
        """Write the table as Markdown, CSV or JSON, by the ending of the file."""
        place = Path(path)
        check_choice("write_table", "path", place.suffix, tuple(TABLES))
        place.write_text(TABLES[place.suffix](self.rows, self.to_dict()), encoding="utf-8")

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw mean regret of each row with its 10th to 90th percentile, bounds dashed; write it if a path is given."""
        from tacit.papers.picture import draw

        return draw(self, path)

    def save(self, folder: str | Path) -> None:
        """Write table (.md, .csv, .json) and picture into a folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for ending in TABLES:
            self.write_table(place / f"{self.paper.name}{ending}")
        self.plot(place / f"{self.paper.name}.png")

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from html import escape

        heading = "".join(f"<th>{escape(each)}</th>" for each in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row)) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def run_paper(paper: Paper, settings: Settings, progress: bool | None) -> PaperRun:
    """Run every row of a paper's table that the settings ask for."""
    started = time.perf_counter()
    streams = {stream.name: stream for stream in paper.streams}
    entries = [entry for entry in paper.entries if is_asked(entry, settings.results)]
    rows: list[Row] = []
    simulations: list[Simulation | None] = []
    shown = Progress(paper.name, progress)
    count = len(entries) + len(streams)
    for stream in streams.values():
        problem = stream.problem(settings.horizon, settings.dimension)
        row, simulation = run_plan(Still(problem), stream, settings, label="still")
        rows.append(row)
        simulations.append(simulation)
        shown.step(len(rows), count)
        for entry in entries:
            if entry.stream != stream.name:
                continue
            found, played = run_entry(entry, stream, problem, settings, row.mean)
            rows.append(found)
            simulations.append(played)
            shown.step(len(rows), count)
    return PaperRun(paper, settings, tuple(rows), tuple(simulations), time.perf_counter() - started)


def is_asked(entry: Entry, results: Sequence[str] | None) -> bool:
    """Return True for rows without a printed result, and for printed ones that are asked for."""
    return results is None or not entry.result or entry.result in results


def run_entry(
    entry: Entry, stream: Stream, problem: Problem, settings: Settings, still: float
) -> tuple[Row, Simulation | None]:
    """Make the plan of a row and run it; what is refused is a row with its sentence."""
    try:
        plan = plan_of(entry, problem, settings)
        return run_plan(plan, stream, settings, label=entry.kind, still=still, note=entry.note)
    except TacitError as error:
        asked = settings.epsilon if entry.private else None
        row = Row(entry.kind, stream.name, entry.result, entry.plan, asked=asked, status="refused", note=str(error))
        return row, None


def plan_of(entry: Entry, problem: Problem, settings: Settings) -> Plan:
    """Return the plan of a row, with printed or with calibrated parameters."""
    algorithm: type[Plan] | None = getattr(algorithms, entry.plan, None)
    if algorithm is None:
        raise InvalidInput(f"tacit.algorithms has no {entry.plan!r}.")
    target = {"epsilon": settings.epsilon, "delta": settings.delta} if entry.private else {}
    given = {name: value(problem) if callable(value) else value for name, value in entry.choose.items()}
    if entry.result:
        return algorithm.as_printed(problem, result=entry.result, **target, **given)
    return algorithm.calibrate(problem, **target, **given)


def run_plan(
    plan: Plan, stream: Stream, settings: Settings, *, label: str, still: float | None = None, note: str = ""
) -> tuple[Row, Simulation]:
    """Simulate one plan and read its row."""
    environment = stream.environment(plan.problem, settings.horizon)
    before = time.process_time()
    simulation = simulate(plan, environment, runs=settings.runs, seed=settings.seed, progress=False)
    seconds = (time.process_time() - before) / settings.runs
    row = Row.of(simulation, label=label, stream=stream.name, asked=settings, seconds=seconds, still=still, note=note)
    return row, simulation
