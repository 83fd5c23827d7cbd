"""`tacit sweep`: a grid of horizons and epsilons, each run many times, into a folder that only grows.

Killed or not, the same command goes on where it stopped and ends with the same numbers.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from inspect import Parameter, Signature, signature
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import options
from tacit.cli.commands import Part, add_commands
from tacit.cli.simulate import KINDS, NAMES
from tacit.environments.named import fitting_environment
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.report.tables import summary_table
from tacit.simulation.sweep import sweep

app = typer.Typer(
    help="Simulate a grid of problems and privacies; a killed sweep goes on where it stopped.", no_args_is_help=True
)

FLOOR = 1e4
"""The epsilon that stands for no privacy in pictures."""

Epsilons = Annotated[str, typer.Option(help="Privacy budgets, with commas between them.")]
Runs = Annotated[int, typer.Option(help="How many runs of each cell.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The folder of Parquet files to append to.")]
Environments = Annotated[
    str | None, typer.Option(help=f"Environments, with commas between them ({NAMES}; default: the first that fits).")
]
Algorithms = Annotated[str, typer.Option(help="best (the planner's choice), all, or names with commas between them.")]
Floor = Annotated[bool, typer.Option(help="Also simulate without privacy (epsilon = 10000), for comparison.")]
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
    problems: Sequence[Problem],
    privacies: list[tuple[float, float]],
    output: Output,
    runs: Runs = 20,
    environments: Environments = None,
    algorithms: Algorithms = "best",
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
    as_json: options.Json = False,
) -> None:
    """Sweep, then the table of what was measured."""
    names = algorithms.split(",")
    result = sweep(
        problems,
        privacies,
        [fitting_environment(problems[0])] if environments is None else environments.split(","),
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


def listed(problem: Part) -> Part:
    """The problem over every combination of its lists: a function with the same options, lists among them."""
    found = signature(problem, eval_str=True).parameters
    names = {old: new for old, (new, _) in LISTS.items() if old in found}

    def make(**given: Any) -> list[Problem]:
        values = [numbers(new, given.pop(new), int) for new in names.values()]
        return [problem(**given, **dict(zip(names, chosen, strict=True))) for chosen in product(*values)]

    options = [
        option.replace(name=LISTS[name][0], annotation=LISTS[name][1], default=Parameter.empty)
        if name in LISTS
        else option
        for name, option in found.items()
    ]
    make.__name__, make.__doc__ = problem.__name__, problem.__doc__
    vars(make)["__signature__"] = Signature([option.replace(kind=Parameter.KEYWORD_ONLY) for option in options])
    return make


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """The numbers of a list with commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InvalidInput(f"--{name} must be {what} with commas between them. Got {text!r} instead.") from None


def _plain(cell: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: a bound that is not finite becomes null."""
    dropped = ("candidates", "candidate_bounds")
    finite = {name: value for name, value in cell.items() if name not in dropped}
    return {name: None if value == float("inf") else value for name, value in finite.items()}


add_commands(app, run, [listed(kind) for kind in KINDS], budgets)
