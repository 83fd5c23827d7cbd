"""The commands and their shared options."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import audit, demo, plan, report, run, simulate, sweep
from tacit.version import __version__

app = typer.Typer(
    help="Differentially private online learning: plan, run, simulate, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(plan.app, name="plan")
app.add_typer(run.app, name="run")
app.add_typer(simulate.app, name="simulate")
app.add_typer(sweep.app, name="sweep")
app.add_typer(audit.app, name="audit")
app.command()(report.report)
app.command()(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Differentially private online learning: plan, run, simulate, report."""
