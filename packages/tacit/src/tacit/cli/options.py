"""Options that several commands share, so that one name means one thing everywhere; and commands made of them.

`Output` has the options of every command: one that is added there is added to all of them. What `plan`, `simulate`
and `audit` do is written once, as an action, and there is a command for every kind of problem. The arguments `problem`,
`privacy` and `output` of an action are made by functions of options; the rest are options of its own. Typer reads
signatures, so one that joins them all stands in place of the action's.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.errors import InvalidInput
from tacit.report.plots import check_picture as check_format

Epsilon = Annotated[
    float,
    typer.Option(
        help="Privacy budget of the whole run: smaller is more private; inf (convex only): none, NOT private."
    ),
]
Delta = Annotated[float, typer.Option(help="Failure probability of the privacy; 0 asks for pure differential privacy.")]


@dataclass(frozen=True)
class Output:
    """Where a command's answer goes, text for people or JSON for programs; its fields are options of every command."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False

    def say(self, text: str) -> None:
        """Something for people alone."""
        if not self.as_json:
            typer.echo(text)

    def answer(self, text: str, record: object) -> None:
        """The answer, in words or as one JSON record."""
        typer.echo(json.dumps(record) if self.as_json else text)


def privacy_options(
    epsilon: Epsilon,
    delta: Delta = 1e-6,
    relation: Annotated[
        str, typer.Option(help="What privacy hides: a round is replaced (replace) or emptied (zero-out).")
    ] = "replace",
    rounds_per_person: Annotated[int, typer.Option(help="How many rounds one person may stand in.")] = 1,
    separation: Annotated[int, typer.Option(help="By how many rounds those of one person are apart at least.")] = 1,
    max_switches: Annotated[int | None, typer.Option(help="Hard limit on how often the decision may change.")] = None,
    numerics: Annotated[
        str, typer.Option(help="exact (integer noise wherever proved) or float (for simulation only, NOT private).")
    ] = "exact",
    algorithm: Annotated[
        str | None, typer.Option(help="The algorithm by its name (default: chosen as tacit plan says).")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Probability with which a single run must meet the certified regret.")
    ] = None,
) -> dict[str, Any]:
    """The planner's arguments from their options."""
    return {
        "epsilon": epsilon,
        "delta": delta,
        "relation": relation,
        "rounds_per_person": rounds_per_person,
        "separation": separation,
        "max_switches": max_switches,
        "numerics": numerics,
        "algorithms": None if algorithm is None else [algorithm],
        "confidence": confidence,
    }


def check_folder(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work that would fill it."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(path.parent)!r} for {path.name!r}: make it first.")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, before the work that would fill it."""
    check_folder(path)
    if path is not None:
        check_format(path)


Part = Callable[..., Any]


def add_commands(app: typer.Typer, action: Part, problems: Iterable[Part]) -> None:
    """Add a command to `app` for each function of `problems`; each calls `action(problem, privacy, output, ...)`."""
    for problem in problems:
        add_command(app, action, problem=problem, privacy=privacy_options)


def add_command(app: typer.Typer, action: Part, **parts: Part) -> None:
    """Add a command to `app`, named for its problem or else for the action."""
    name = parts["problem"].__name__ if "problem" in parts else action.__name__
    app.command(name)(joined(action, **parts))


def single_command(action: Part, **parts: Part) -> typer.Typer:
    """Return an application of one command, for the entry points of another package."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    add_command(app, action, **parts)
    return app


def joined(action: Part, **parts: Part) -> Callable[..., None]:
    """A command with the options of all parts and of the action.

    What a part opens (a context manager) is closed when the action has ended.
    """
    makers = {**parts, "output": Output}
    shares = {argument: options_of(part) for argument, part in makers.items()}
    own = {name: option for name, option in options_of(action).items() if name not in makers}

    def command(**given: Any) -> None:
        made = {argument: makers[argument](**{name: given[name] for name in shares[argument]}) for argument in makers}
        with ExitStack() as open:
            for argument, value in made.items():
                if isinstance(value, AbstractContextManager):
                    made[argument] = open.enter_context(value)
            try:
                action(**made, **{name: given[name] for name in own})
                sys.stdout.flush()
            except BrokenPipeError:
                nobody_listens()

    together = [option for share in (*shares.values(), own) for option in share.values()]
    together.sort(key=lambda option: option.default is not Parameter.empty)  # what must be given stands first
    texts = [parts["problem"].__doc__, action.__doc__] if "problem" in parts else [action.__doc__]
    command.__doc__ = "\n\n".join(text for text in texts if text)
    vars(command)["__signature__"] = Signature(together)
    command.__annotations__ = {}
    return command


def options_of(part: Part) -> dict[str, Parameter]:
    """The options of a function, by name."""
    found = signature(part, eval_str=True).parameters
    return {name: option.replace(kind=Parameter.KEYWORD_ONLY) for name, option in found.items()}


def nobody_listens() -> None:
    """The reader of the output went away, which is no error; Python would complain once more at exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # not a file
            stream.flush()
            continue
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
