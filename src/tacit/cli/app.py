"""The commands and their shared options."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.cli import audit, bench, contract, demo, plan, report, run, serve, simulate, sweep, token
from tacit.cli.commands import add_command
from tacit.version import __version__

ABOUT = "Differentially private online learning: decide again and again, with a proof of what the decisions leak."
ORDER = ("demo", "plan", "run", "simulate", "sweep", "report", "audit", "contract", "bench", "serve", "token")


class InOrder(TyperGroup):
    """Help lists the commands in the order in which they are met."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    cls=InOrder,
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(plan.app, name="plan")
app.add_typer(run.app, name="run")
app.add_typer(simulate.app, name="simulate")
app.add_typer(sweep.app, name="sweep")
app.add_typer(audit.app, name="audit")
app.add_typer(contract.app, name="contract")
app.add_typer(bench.app, name="bench")
add_command(app, report.report)
add_command(app, demo.demo)
add_command(app, serve.serve)
add_command(app, token.token)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What stands before the commands."""
