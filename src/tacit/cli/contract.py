"""`tacit contract`: write the contract of a plan as JSON, and let the second accountant check one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options, problems
from tacit.cli.commands import add_command, add_commands
from tacit.errors import InvalidInput
from tacit.problems import Problem

app = typer.Typer(help="Write privacy contracts as JSON, and verify them.", no_args_is_help=True)
plans = typer.Typer(help="Write the contract of the chosen plan as JSON.", no_args_is_help=True)
app.add_typer(plans, name="write")


def write(
    problem: Problem,
    privacy: dict[str, Any],
    output: options.Output,
    to: Annotated[Path | None, typer.Option("--output", help="Where it goes (default: standard output).")] = None,
) -> None:
    """Every algorithm that applies is calibrated; the contract of the chosen one is written."""
    options.check_folder(to)
    made = tacit.contract(tacit.plan(problem, **privacy))
    if to is None:
        typer.echo(json.dumps(made, indent=2))
        return
    to.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    output.answer(f"Contract: {to}", {"contract": str(to)})


def verify(
    file: Annotated[Path, typer.Argument(help="A contract as JSON, of tacit.contract or `tacit contract write`.")],
    output: options.Output,
) -> None:
    """Epsilon is recomputed from the plan's public numbers; exit code 0: yes, 1: no, 2: not verifiable yet."""
    found = read(file)
    try:
        verdict = tacit.verify(found)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    output.answer(str(verdict), verdict.to_dict())
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


def read(file: Path) -> dict[str, Any]:
    """The contract in a file, as far as it is one."""
    if not file.exists():
        raise InvalidInput(f"There is no file {str(file)!r}.")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{file} is not JSON: a contract is what `tacit contract write` writes.") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{file} is no contract: that is a JSON object, as `tacit contract write` writes it.")
    return found


add_commands(plans, write, problems.PLANNED)
add_command(app, verify)
