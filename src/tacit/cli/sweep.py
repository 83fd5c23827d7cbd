"""`tacit sweep`: a grid of horizons and epsilons, each run many times, into a folder that only grows.

Killed or not, the same command goes on where it stopped and ends with the same numbers.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from inspect import Parameter
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import options, problems
from tacit.cli.commands import Part, add_commands, options_of, with_options
from tacit.cli.simulate import NAMES
from tacit.environments.named import fitting_environment
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.report.tables import plain_summary, summary_table
from tacit.simulation.sweep import sweep

app = typer.Typer(
    help="Simulate a grid of problems and privacies; a killed sweep goes on where it stopped.", no_args_is_help=True
)

FLOOR = 1e4
"""The epsilon that stands for no privacy in pictures."""

Epsilons = Annotated[str, typer.Option(help="Privacy budgets, with commas between them.")]
Runs = Annotated[int, typer.Option(help="How many runs of each cell.")]
Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder of Parquet files to append to.")]
Environments = Annotated[
    str | None, typer.Option(help=f"Environments, with commas between them ({NAMES}; default: the first that fits).")
]
Algorithms = Annotated[str, typer.Option(help="best (the planner's choice), all, or names with commas between them.")]
Floor = Annotated[
    bool,
    typer.Option(
        help="Also simulate without privacy (epsilon = 10000), for comparison; the proved floor is always shown."
    ),
]
Seed = Annotated[int, typer.Option(help="Makes the sweep repeatable.")]
Jobs = Annotated[int, typer.Option(help="How many processes; -1 uses all cores.")]
Backend = Annotated[str | None, typer.Option(help="A joblib backend other than loky.")]
LISTS = {
    "horizon": ("horizons", Annotated[str, typer.Option(help="Numbers of rounds, with commas between them.")]),
    "n": ("n", Annotated[str, typer.Option(help="Numbers of experts, with commas between them.")]),
    "dim": ("dim", Annotated[str, typer.Option(help="Dimensions, with commas between them.")]),
}
"""The options that a sweep takes lists of, under what name."""


def budgets(epsilons: Epsilons, delta: options.Delta = 1e-6, floor: Floor = False) -> list[tuple[float, float]]:
    """Every epsilon with delta, and the floor if it is wanted."""
    wanted = numbers("epsilons", epsilons, float)
    return [(epsilon, delta) for epsilon in (*wanted, *([FLOOR] if floor else []))]


def run(
    problem: Sequence[Problem],
    privacy: list[tuple[float, float]],
    output: options.Output,
    folder: Folder,
    runs: Runs = 20,
    environments: Environments = None,
    algorithms: Algorithms = "best",
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
) -> None:
    """A grid of these problems is simulated; what was measured is appended to a folder, and shown as a table."""
    names = algorithms.split(",")
    result = sweep(
        problem,
        privacy,
        [fitting_environment(problem[0])] if environments is None else environments.split(","),
        runs=runs,
        seed=seed,
        path=folder,
        algorithms=names[0] if len(names) == 1 else names,
        backend=backend,
        n_jobs=jobs,
        command=shlex.join(["tacit", *sys.argv[1:]]),
    )
    summaries = result.summaries()
    last = f"{len(result):,} runs in {folder}; a page of it: tacit report {shlex.quote(str(folder))}"
    record = {"path": str(folder), "runs": len(result), "cells": [plain_summary(s) for s in summaries]}
    output.answer(f"{summary_table(summaries).to_text()}\n{last}", record)


def listed(problem: Part) -> Part:
    """The problem over every combination of its lists: a function with the same options, lists among them."""
    found = options_of(problem)
    names = {old: new for old, (new, _) in LISTS.items() if old in found}

    def make(**given: Any) -> list[Problem]:
        values = [numbers(new, given.pop(new), int) for new in names.values()]
        return [problem(**given, **dict(zip(names, chosen, strict=True))) for chosen in product(*values)]

    changed = {
        old: found[old].replace(name=new, annotation=LISTS[old][1], default=Parameter.empty)
        for old, new in names.items()
    }
    return with_options(problem, make, changed)


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """The numbers of a list with commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InvalidInput(f"--{name} must be {what} with commas between them. Got {text!r} instead.") from None


add_commands(app, run, [listed(kind) for kind in problems.SIMULATED], budgets)
