"""`tacit run`: a stream of feedback in, one decision a round out."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options, problems
from tacit.cli.commands import Part, add_commands, options_of, with_options
from tacit.cli.deciding import decide, losses_within, show_point
from tacit.cli.steps import Source, source_of
from tacit.cli.streams import Stream, open_replies, open_stream
from tacit.errors import InvalidInput

app = typer.Typer(help="Run the chosen plan on a stream: feedback in, one decision a round out.", no_args_is_help=True)

SIZES = {
    "n": "Number of experts (default: from the first row; with it, standard input has no names and waits for none).",
    "dim": "Number of features (default: from the first row; with it, standard input has no names and waits for none).",
}
"""The options that a stream can stand in for."""
Label = Annotated[str | None, typer.Option(help="Column of the label, if the loss has one (default: the last one).")]


@dataclass(frozen=True)
class Wanted:
    """A problem whose size and horizon may be left to the stream."""

    make: Part
    given: dict[str, Any]

    @property
    def size(self) -> int | None:
        """The size that was asked for (None: that of the stream)."""
        size: int | None = self.given[self._name]
        return size

    @property
    def _name(self) -> str:
        return next(name for name in SIZES if name in self.given)

    def of(self, size: int, stream: Stream) -> Any:
        """The problem of this size; its horizon is what was asked for, or the stream's length."""
        horizon = stream.length if self.given["horizon"] is None else self.given["horizon"]
        return self.make(**{**self.given, self._name: size, "horizon": horizon})


def streamed(problem: Part) -> Part:
    """The problem's options, its size among those that may be left out."""

    def make(**given: Any) -> Wanted:
        return Wanted(problem, given)

    found = options_of(problem)
    changed = {
        name: found[name].replace(default=None, annotation=Annotated[int | None, typer.Option(f"--{name}", help=text)])
        for name, text in SIZES.items()
        if name in found
    }
    return with_options(problem, make, changed)


def experts(
    problem: Wanted,
    privacy: dict[str, Any],
    output: options.Output,
    source: Source,
    input: options.Input,
    format: options.Format = None,
) -> None:
    """Losses of every expert in, one expert a round out; at the end the contract, to standard error.

    The decision of a round is written before that round's losses are read. For a file the horizon is its
    number of rows; for standard input it is --horizon, or unknown. SIGINT and SIGTERM end the stream.
    """
    stream = open_stream(input, format, problem.size)
    made = problem.of(len(stream.columns), stream)

    def show(decision: Any) -> tuple[str, dict[str, Any]]:
        column = stream.columns[int(decision)]
        return column, {"decision": int(decision), "name": column}

    decide(made, privacy, stream, losses_within(made, stream.columns), show, source, output)


def convex(
    problem: Wanted,
    privacy: dict[str, Any],
    output: options.Output,
    source: Source,
    input: options.Input,
    format: options.Format = None,
    label: Label = None,
) -> None:
    """A row of features and its label in (linear, quadratic: no label), the weights of each round out."""
    labelled = problem.given["loss"] in problems.LOSSES
    stream = open_stream(input, format, None if problem.size is None else problem.size + labelled)
    made = problem.of(len(stream.columns) - labelled, stream)
    column = stream.columns[-1] if label is None else label
    if column not in stream.columns:
        raise InvalidInput(f"{stream.name} has no column {column!r}: its columns are {', '.join(stream.columns)}.")
    at = stream.columns.index(column)

    def feedback(row: list[float], _: str) -> Any:
        return ([*row[:at], *row[at + 1 :]], row[at]) if labelled else row

    decide(made, privacy, stream, feedback, show_point, source, output)


def bandit(problem: tacit.Bandit, privacy: dict[str, Any], output: options.Output, source: Source) -> None:
    """A conversation: a point out, its loss in, line by line, until standard input ends.

    Each point is one line of numbers with commas between them (or JSON); answer it with one line, its loss.
    """
    stream = open_stream("-", "csv", columns=1)
    decide(problem, privacy, stream, lambda row, _: row[0], show_point, source, output)


def arms(
    problem: tacit.Arms, privacy: dict[str, Any], output: options.Output, source: Source, format: options.Replies = None
) -> None:
    """A conversation: an arm out, its loss in, one number a line, until standard input ends. Arms count from 0.

    An empty line, or null, is a reply that never came: the round counts with a loss in the middle of the range, and
    that it was missing is as private as a loss.
    """

    low, high = problem.loss_range

    def feedback(row: list[float], name: str) -> float | None:
        if isnan(row[0]):
            return None
        if not low <= row[0] <= high:
            raise InvalidInput(f"{name} has a loss outside [{low:g}, {high:g}]; an empty line, or null, is none.")
        return row[0]

    decide(problem, privacy, open_replies(format), feedback, show_arm, source, output)


def show_arm(arm: Any) -> tuple[str, dict[str, Any]]:
    """The number of an arm."""
    return str(int(arm)), {"decision": int(arm)}


add_commands(app, experts, [streamed(problems.experts), streamed(problems.tracking)], source=source_of)
add_commands(app, convex, [streamed(problems.convex)], source=source_of)
add_commands(app, bandit, [problems.bandit], source=source_of)
add_commands(app, arms, [problems.arms], source=source_of)
