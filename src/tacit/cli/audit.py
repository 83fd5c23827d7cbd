"""`tacit audit`: try to break the privacy contract of the plan that would be used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.auditing.run import audit
from tacit.cli import options, problems
from tacit.cli.commands import add_commands
from tacit.planning import plan as make_plan
from tacit.problems import Problem

app = typer.Typer(help="Try to break the privacy contract of a plan.", no_args_is_help=True)

Budget = Annotated[float, typer.Option(help="Effort: 1 takes less than two minutes.")]
AuditSeed = Annotated[int, typer.Option("--seed", help="Makes the audit repeatable.")]
Plot = Annotated[Path | None, typer.Option(help="Write a picture of the certified and the measured curve here.")]


def attack(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    budget: Budget = 1.0,
    seed: AuditSeed = 0,
    plot: Plot = None,
) -> None:
    """The plan's contract is attacked; exit code 1 if it was broken."""
    options.check_picture(plot)
    report = audit(make_plan(problem, **privacy).plan, budget=budget, seed=seed, progress=_progress())
    if plot is not None:
        report.plot(plot)
    output.answer(str(report), report.to_dict())
    if report.violation:
        raise typer.Exit(1)


add_commands(app, attack, (*problems.SIMULATED, problems.stochastic, problems.stochastic_lipschitz))


def _progress() -> Any:
    """What is being audited, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    return lambda text: typer.echo(f"  {text} ...", err=True)
