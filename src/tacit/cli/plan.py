"""`tacit plan`: compare every algorithm on certified regret before any data is seen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options, problems
from tacit.cli.commands import add_commands
from tacit.problems import Problem

app = typer.Typer(help="Calibrate every algorithm that applies, and choose by certified regret.", no_args_is_help=True)


def plan(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    environment: options.Believed = None,
    runs: Annotated[int, typer.Option(help="How many runs of each plan are simulated in --environment.")] = 20,
) -> None:
    """Every algorithm that applies is calibrated; the smallest certified regret is chosen, or simulated regret.

    Where a public rule prefers an algorithm whose certified regret is somewhat larger, the answer states the rule.
    """
    choice = tacit.plan(problem, **privacy, environment=environment, runs=runs)
    output.answer(choice.explain(), choice.to_dict())


add_commands(app, plan, problems.PLANNED)
