"""`tacit simulate`: measured regret beside the certified bound, on made-up streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import tacit
from tacit.cli import options
from tacit.validation import check_choice

app = typer.Typer(help="Measure regret on simulated streams.", no_args_is_help=True)

ENVIRONMENTS = {"gap": tacit.BernoulliGap, "switching": tacit.SwitchingAdversary}


@app.command()
def experts(
    n: Annotated[int, typer.Option(help="Number of experts.")],
    horizon: Annotated[int, typer.Option(help="Number of rounds.")],
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    environment: Annotated[str, typer.Option(help="gap or switching.")] = "gap",
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Makes the runs repeatable.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Write a PNG here.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run the best plan for experts against a simulated stream."""
    check_choice("simulate", "environment", environment, tuple(ENVIRONMENTS))
    plan = tacit.plan(tacit.Experts(n=n, horizon=horizon), epsilon=epsilon, delta=delta)
    result = tacit.simulate(plan, ENVIRONMENTS[environment](n, horizon), runs=runs, seed=seed)
    if plot is not None:
        from tacit.report.plots import plot_regret

        plot_regret([result], plot)
    typer.echo(json.dumps(result.to_dict()) if as_json else result.summary())
