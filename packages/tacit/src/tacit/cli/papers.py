"""`tacit paper`: list the five papers, or run one and print its table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit import papers
from tacit.cli import options
from tacit.errors import InvalidInput
from tacit.papers.run import TABLES

Name = Annotated[str | None, typer.Argument(help="ctrl, l2p, bandit, tracking or online_to_batch, or 1 to 5.")]


def paper(
    output: options.Output,
    name: Name = None,
    horizon: Annotated[int | None, typer.Option(help="Rounds (default: the paper's).")] = None,
    dimension: Annotated[int | None, typer.Option(help="Dimension, or number of experts.")] = None,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    runs: Annotated[int, typer.Option(help="Independent runs of each row.")] = 20,
    seed: Annotated[int, typer.Option(help="Makes the runs repeatable.")] = 0,
    result: Annotated[list[str] | None, typer.Option(help='Only this printed result, such as "Theorem 8".')] = None,
    plot: Annotated[Path | None, typer.Option(help="Write the picture here.")] = None,
    table: Annotated[Path | None, typer.Option(help="Write the table here (.md, .csv or .json).")] = None,
) -> None:
    """List the five papers, or run one: printed parameters, repaired, calibrated, rivals, and the still player."""
    if name is None:
        listed = [paper_named(each).PAPER for each in papers.NAMES]
        width = max(len(each.name) for each in listed)
        lines = [
            f"{number}  {each.name:{width}}  {each.year}  {len(each.results):2} results, {len(each.errata):2} errata  "
            f"{each.title}"
            for number, each in enumerate(listed, 1)
        ]
        records = [
            {
                "name": each.name,
                "year": each.year,
                "title": each.title,
                "results": len(each.results),
                "errata": len(each.errata),
            }
            for each in listed
        ]
        output.answer("\n".join(lines), records)
        return
    chosen = paper_named(name)
    options.check_picture(plot)
    options.check_folder(table)
    if table is not None and table.suffix not in TABLES:
        raise InvalidInput(f"A table is written as {', '.join(TABLES)}. Got {table.name!r} instead.")
    found = chosen.run(horizon, dimension, epsilon, delta, runs, seed, result or None)
    if plot is not None:
        found.plot(plot)
    if table is not None:
        found.write_table(table)
    output.answer(found.table(), found.to_dict())


def paper_named(name: str) -> Any:
    """Return the module of a paper, by its name or number."""
    plain = name.replace("-", "_")
    if plain in ("1", "2", "3", "4", "5"):
        plain = papers.NAMES[int(plain) - 1]
    if plain not in papers.NAMES:
        known = ", ".join(repr(each) for each in papers.NAMES[:-1])
        raise InvalidInput(
            f"The 'name' parameter of paper must be {known} or {papers.NAMES[-1]!r}. Got {name!r} instead."
        )
    return getattr(papers, plain)
