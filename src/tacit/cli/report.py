"""`tacit report`: one self-contained page about what a sweep left behind."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import options
from tacit.report.html import write_report
from tacit.report.tables import summary_table
from tacit.simulation.records import Sweep


def report(
    results: Annotated[Path, typer.Argument(help="The folder or file that `tacit sweep` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The page's title.")] = "",
    text: Annotated[bool, typer.Option("--text", help="Only print the table; write no page.")] = False,
) -> None:
    """Write what a sweep measured as one HTML page: pictures, sortable tables, contracts."""
    options.check_folder(output)
    sweep = Sweep.read(results)
    if text:
        typer.echo(summary_table(sweep.summaries()).to_text(), nl=False)
        return
    write_report(sweep, output, command=shlex.join(["tacit", *sys.argv[1:]]), title=title)
    typer.echo(f"{len(sweep):,} runs: {output}")
