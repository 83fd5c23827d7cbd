"""`tacit simulate`: measured regret beside the certified bound, on made-up streams."""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options, problems
from tacit.cli.commands import Part, add_commands, options_of, with_options
from tacit.environments.named import NAMED, fitting_environment, named_environment
from tacit.problems import Problem

app = typer.Typer(help="Measure regret on made-up streams, beside the certified regret.", no_args_is_help=True)

NAMES = "; ".join(f"{kind.__name__}: {', '.join(names)}" for kind, names in NAMED.items())
Environment = Annotated[
    str | None, typer.Option(help=f"What makes the feedback ({NAMES}; default: the first that fits).")
]


def simulate(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    environment: Environment = None,
    runs: Annotated[int, typer.Option(help="How many independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Makes the runs repeatable.")] = 0,
    late: Annotated[int, typer.Option(help="Feedback comes up to so many rounds later; beyond --delay: never.")] = 0,
    missing: Annotated[float, typer.Option(help="Share of the rounds whose feedback never comes.")] = 0.0,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of regret here.")] = None,
) -> None:
    """The chosen plan runs against an environment."""
    options.check_picture(plot)
    stream = named_environment(environment or fitting_environment(problem), problem)
    result = tacit.simulate(tacit.plan(problem, **privacy), stream, runs=runs, seed=seed, late=late, missing=missing)
    if plot is not None:
        from tacit.report.plots import plot_regret

        plot_regret([result], plot)
    output.answer(result.summary(), result.to_dict())


def played(problem: Part) -> Part:
    """The problem's options, its horizon among those that must be given: an environment has a length."""

    def make(**given: Any) -> Any:
        return problem(**given)

    rounds = Annotated[int, typer.Option(help="Number of rounds that are played.")]
    horizon = options_of(problem)["horizon"].replace(annotation=rounds, default=Parameter.empty)
    return with_options(problem, make, {"horizon": horizon})


PLAYED = tuple(played(problem) for problem in problems.SIMULATED)
"""Problems that are played for a number of rounds."""

add_commands(app, simulate, PLAYED)
