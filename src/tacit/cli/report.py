"""`tacit report`: one self-contained page about what a sweep left behind."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import options
from tacit.report.html import write_report
from tacit.report.tables import plain_summary, summary_table
from tacit.simulation.records import Sweep


def report(
    output: options.Output,
    results: Annotated[Path, typer.Argument(help="The folder or file that `tacit sweep` wrote.")],
    page: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The page's title.")] = "",
    text: Annotated[bool, typer.Option("--text", help="Only print the table; write no page.")] = False,
) -> None:
    """Write what a sweep measured as one HTML page: pictures, sortable tables, contracts."""
    options.check_folder(page)
    sweep = Sweep.read(results)
    record = {"path": str(results), "runs": len(sweep)}
    if text:
        summaries = sweep.summaries()
        table = summary_table(summaries).to_text()
        output.answer(table.rstrip("\n"), record | {"cells": [plain_summary(s) for s in summaries]})
        return
    write_report(sweep, page, command=shlex.join(["tacit", *sys.argv[1:]]), title=title)
    output.answer(f"{len(sweep):,} runs: {page}", record | {"page": str(page)})
