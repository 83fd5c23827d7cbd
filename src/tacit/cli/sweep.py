"""`tacit sweep`: a grid of horizons and epsilons, each run many times, into a folder that only grows.

Killed or not, the same command goes on where it stopped and ends with the same numbers.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import options
from tacit.errors import InvalidInput
from tacit.problems import Experts, Problem, Tracking
from tacit.report.tables import summary_table
from tacit.simulation.sweep import sweep

app = typer.Typer(help="Run a grid of problems and privacies; resumable.", no_args_is_help=True)

FLOOR = 1e4
"""The epsilon that stands for no privacy in pictures."""

Horizons = Annotated[str, typer.Option(help="Numbers of rounds, with commas between them.")]
Epsilons = Annotated[str, typer.Option(help="Privacy budgets, with commas between them.")]
Number = Annotated[int, typer.Option(help="Number of experts.")]
Runs = Annotated[int, typer.Option(help="Runs of each cell.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The folder of Parquet files to append to.")]
Environments = Annotated[str, typer.Option(help="Names of environments, with commas between them.")]
Algorithms = Annotated[str, typer.Option(help="best (the planner's choice), all, or names with commas.")]
Floor = Annotated[bool, typer.Option(help="Also run without privacy (epsilon = 10000), for comparison.")]
Seed = Annotated[int, typer.Option(help="Makes the sweep repeatable.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 uses all cores.")]
Backend = Annotated[str | None, typer.Option(help="A joblib backend other than loky.")]


@app.command()
def experts(
    horizons: Horizons,
    n: Number,
    epsilons: Epsilons,
    output: Output,
    runs: Runs = 20,
    delta: options.Delta = 1e-6,
    environments: Environments = "gap",
    algorithms: Algorithms = "best",
    floor: Floor = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
    as_json: options.Json = False,
) -> None:
    """Experts: environments gap and switching."""
    problems = [Experts(n=n, horizon=rounds) for rounds in numbers("horizons", horizons, int)]
    privacies = budgets(epsilons, delta, floor)
    run(problems, privacies, environments, algorithms, runs, seed, output, jobs, backend, as_json)


@app.command()
def tracking(
    horizons: Horizons,
    n: Number,
    switches: options.Switches,
    epsilons: Epsilons,
    output: Output,
    runs: Runs = 20,
    delta: options.Delta = 1e-6,
    adversary: options.LossMaker = "oblivious",
    environments: Environments = "shifting",
    algorithms: Algorithms = "best",
    floor: Floor = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
    as_json: options.Json = False,
) -> None:
    """A changing world: environments shifting, drifting and penalising."""
    problems = [
        Tracking(n=n, horizon=rounds, switches=switches, adversary=adversary)
        for rounds in numbers("horizons", horizons, int)
    ]
    privacies = budgets(epsilons, delta, floor)
    run(problems, privacies, environments, algorithms, runs, seed, output, jobs, backend, as_json)


def budgets(epsilons: str, delta: float, floor: bool) -> list[tuple[float, float]]:
    """Every epsilon with delta, and the floor if it is wanted."""
    wanted = numbers("epsilons", epsilons, float)
    return [(epsilon, delta) for epsilon in (*wanted, *([FLOOR] if floor else []))]


def run(
    problems: Sequence[Problem],
    privacies: list[tuple[float, float]],
    environments: str,
    algorithms: str,
    runs: int,
    seed: int,
    output: Path,
    jobs: int,
    backend: str | None,
    as_json: bool,
) -> None:
    """Sweep, then the table of what was measured."""
    names = algorithms.split(",")
    result = sweep(
        problems,
        privacies,
        environments.split(","),
        runs=runs,
        seed=seed,
        path=output,
        algorithms=names[0] if len(names) == 1 else names,
        backend=backend,
        n_jobs=jobs,
        command=shlex.join(["tacit", *sys.argv[1:]]),
    )
    summaries = result.summaries()
    if as_json:
        cells = [
            {**s.facts, "runs": s.runs, "mean_regret": s.mean, "standard_error": s.standard_error} for s in summaries
        ]
        typer.echo(json.dumps({"path": str(output), "runs": len(result), "cells": [_plain(cell) for cell in cells]}))
        return
    typer.echo(summary_table(summaries).to_text())
    typer.echo(f"{len(result):,} runs in {output}; a page of it: tacit report {shlex.quote(str(output))}")


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """The numbers of a list with commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"--{name} must be numbers with commas between them. Got {text!r} instead.") from None


def _plain(cell: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: a bound that is not finite becomes null."""
    dropped = ("candidates", "candidate_bounds")
    finite = {name: value for name, value in cell.items() if name not in dropped}
    return {name: None if value == float("inf") else value for name, value in finite.items()}
