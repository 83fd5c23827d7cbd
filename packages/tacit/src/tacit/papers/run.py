"""Run a paper's algorithms beside each other: rows that a reader compares, each read off the plan that ran."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput, TacitError
from tacit.papers.paper import Entry, Paper, Result, Stream, algorithm_named
from tacit.papers.picture import draw
from tacit.papers.row import Row, Settings
from tacit.papers.still import BestOnRecords, Still
from tacit.papers.table import csv_table, html_table, json_table, markdown_table, plain_row, text_table
from tacit.problems import Experts, Problem, Stochastic
from tacit.progress import Progress
from tacit.runtime.plan import Plan
from tacit.simulation.loop import Simulation, simulate
from tacit.validation import check_choice, check_integer, check_privacy

TABLES = {".md": markdown_table, ".csv": csv_table, ".json": json_table}
"""How a table is written, by the ending of its file."""

PRIVACY = ("epsilon", "delta")
"""What an entry may ask for in place of the run's settings."""


@dataclass(frozen=True, repr=False)
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
            "rows": [plain_row(row) for row in self.rows],
        }

    def write_table(self, path: str | Path) -> None:
        """Write the table as Markdown, CSV or JSON, by the ending of the file."""
        place = Path(path)
        check_choice("write_table", "path", place.suffix, tuple(TABLES))
        place.write_text(TABLES[place.suffix](self.rows, self.to_dict()), encoding="utf-8")

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw mean regret of each row with its 10th to 90th percentile, bounds dashed; write it if a path is given."""
        return draw(self.paper.title, self.settings, self.rows, self.simulations, path)

    def save(self, folder: str | Path) -> None:
        """Write table (.md, .csv, .json) and picture into a folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for ending in TABLES:
            self.write_table(place / f"{self.paper.name}{ending}")
        self.plot(place / f"{self.paper.name}.png")

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        streams = len({row.stream for row in self.rows})
        return f"PaperRun({self.paper.name}: {len(self.rows)} rows on {streams} streams, {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        return html_table(self.rows)


def run_paper(
    paper: Paper,
    horizon: int | None = None,
    dimension: int | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    runs: int = 20,
    seed: int = 0,
    results: Sequence[str] | None = None,
    progress: bool | None = None,
) -> PaperRun:
    """Run a paper's algorithms beside each other.

    Args:
        paper: the paper.
        horizon: rounds (default: the paper's own).
        dimension: dimension of the set, or number of experts (default: the paper's own).
        epsilon: privacy that is asked of every row.
        delta: delta that is asked of every row.
        runs: independent runs of each row.
        seed: makes the runs repeatable; a simulation is never private.
        results: numbers of the results to which printed rows are limited (None: all).
        progress: show what is done (default: only in a terminal).
    """
    check_privacy("run", epsilon, delta)
    rounds = check_integer("run", "horizon", paper.horizon if horizon is None else horizon)
    size = check_integer("run", "dimension", paper.dimension if dimension is None else dimension)
    check_integer("run", "runs", runs)
    check_integer("run", "seed", seed, at_least=0)
    known = tuple(dict.fromkeys(entry.result for entry in paper.entries if entry.result))
    for number in results or ():
        check_choice("run", "results", number, known)
    settings = Settings(rounds, size, epsilon, delta, runs, seed, None if results is None else tuple(results))
    return run_rows(paper, settings, progress)


def run_rows(paper: Paper, settings: Settings, progress: bool | None) -> PaperRun:
    """Run the still player and every row that the settings ask for, stream by stream."""
    started = time.perf_counter()
    entries = [entry for entry in paper.entries if is_asked(entry, settings.results)]
    rows: list[Row] = []
    simulations: list[Simulation | None] = []
    shown = Progress(paper.name, progress)
    one_pass = sum(isinstance(each.problem(1, 1), Stochastic) for each in paper.streams)
    count = len(entries) + len(paper.streams) + one_pass
    for stream in paper.streams:
        problem = stream.problem(settings.horizon, settings.dimension)
        still, simulation = run_plan(Still(problem), stream, settings, label="still")
        rows.append(still)
        simulations.append(simulation)
        if isinstance(problem, Stochastic):
            row, played = run_fitted(stream, problem, settings)
            rows.append(row)
            simulations.append(played)
        shown.step(len(rows), count)
        for entry in entries:
            if entry.stream == stream.name:
                row, played = run_entry(entry, stream, problem, settings, still.mean)
                rows.append(row)
                simulations.append(played)
                shown.step(len(rows), count)
    return PaperRun(paper, settings, tuple(rows), tuple(simulations), time.perf_counter() - started)


def is_asked(entry: Entry, results: Sequence[str] | None) -> bool:
    """Return True for rows without a printed result, and for printed ones that are asked for."""
    if results is None:
        return entry.shown
    return not entry.result or entry.result in results


def run_entry(
    entry: Entry, stream: Stream, problem: Problem, settings: Settings, still: float
) -> tuple[Row, Simulation | None]:
    """Make the plan of a row and run it; what is refused is a row with its sentence."""
    asked = asked_of(entry, problem, settings)
    try:
        plan = plan_of(entry, fixed_problem(problem) if entry.fixed else problem, asked)
        note = entry.note if isinstance(entry.note, str) else entry.note(plan)
        compared = problem if entry.fixed else None
        return run_plan(plan, stream, asked, label=entry.kind, still=still, note=note, compared=compared)
    except TacitError as error:
        epsilon = asked.epsilon if entry.private else None
        name = entry.plan if isinstance(entry.plan, str) else entry.plan.__name__
        row = Row(entry.kind, stream.name, entry.result, name, asked=epsilon, status="refused", note=str(error))
        return row, None


def asked_of(entry: Entry, problem: Problem, settings: Settings) -> Settings:
    """Return the settings of a row, which may ask for an epsilon and a delta of its own."""
    own = {name: value for name, value in entry.choose.items() if name in PRIVACY}
    return replace(settings, **{name: value(problem) if callable(value) else value for name, value in own.items()})


def fixed_problem(problem: Problem) -> Experts:
    """Return the problem of a learner of one fixed expert on the same losses."""
    if not isinstance(problem, Experts):
        raise InvalidInput(f"Only problems of experts have learners of a fixed one. Got {problem!r} instead.")
    return Experts(**{field.name: getattr(problem, field.name) for field in fields(Experts)})


def run_fitted(stream: Stream, problem: Problem, settings: Settings) -> tuple[Row, Simulation | None]:
    """Run the best model on the records of each run; where nobody can certify one, the row says why."""
    try:
        return run_plan(BestOnRecords(problem), stream, settings, label="no privacy")
    except TacitError as error:
        return Row("no privacy", stream.name, plan="BestOnRecords", status="refused", note=str(error)), None


def plan_of(entry: Entry, problem: Problem, settings: Settings) -> Plan:
    """Return the plan of a row, with printed or with calibrated parameters."""
    algorithm: type[Plan] = algorithm_named(entry.plan)
    target: dict[str, Any] = {"epsilon": settings.epsilon, "delta": settings.delta} if entry.private else {}
    given = {
        name: value(problem) if callable(value) else value
        for name, value in entry.choose.items()
        if name not in PRIVACY
    }
    if entry.kind == "still":
        return algorithm(problem, **given)
    if entry.result:
        return algorithm.as_printed(problem, result=entry.result, **(target | given))
    without = {"epsilon": inf, "delta": 0.0}  # no privacy is asked, as `calibrate` spells it
    return algorithm.calibrate(problem, **((target or without) | given))


def printed_plan(paper: Paper, result: Result, settings: Settings) -> Plan:
    """Return the plan of a printed result on the first of the paper's streams that it takes.

    Raises:
        InvalidInput: if it takes none of them; with what the first one says.
    """
    algorithm: type[Plan] = result.runs
    target: dict[str, Any] = {"epsilon": settings.epsilon, "delta": settings.delta}
    refusal = f"{result.number} of {paper.name} runs on no stream."
    for stream in paper.streams:
        problem = stream.problem(settings.horizon, settings.dimension)
        for asked in (target, {}):  # results without privacy take none
            try:
                given = {name: value(problem) if callable(value) else value for name, value in result.choose.items()}
                return algorithm.as_printed(problem, **({"result": result.number} | asked | given))
            except TacitError as error:
                refusal = str(error)
            except AttributeError:  # an argument is a function of another kind of problem
                continue
    raise InvalidInput(refusal)


def run_plan(
    plan: Plan,
    stream: Stream,
    settings: Settings,
    *,
    label: str,
    still: float | None = None,
    note: str = "",
    compared: Problem | None = None,
) -> tuple[Row, Simulation]:
    """Simulate one plan and read its row; `compared` is the stream's problem, if the plan's comparator is another."""
    environment = stream.environment(plan.problem if compared is None else compared, settings.horizon)
    switches = compared.switches if isinstance(compared, Experts) else None
    before = time.process_time()
    simulation = simulate(plan, environment, runs=settings.runs, seed=settings.seed, switches=switches, progress=False)
    seconds = (time.process_time() - before) / settings.runs
    row = Row.of(simulation, label=label, stream=stream.name, asked=settings, seconds=seconds, still=still, note=note)
    return row, simulation
