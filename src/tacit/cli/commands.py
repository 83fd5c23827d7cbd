"""One action, a command for every kind of problem.

What `plan`, `run`, `simulate`, `sweep`, `audit` and `bench` do is written once, as an action. Its arguments `problem`,
`privacy` and `output` are made by functions of options; the rest are options of its own. Typer reads signatures, so one
that joins them all stands in place of the action's. `options.everywhere` has the options of every command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from inspect import Parameter, Signature, signature
from typing import Any

import typer

from tacit.cli import options

Part = Callable[..., Any]


def add_commands(
    app: typer.Typer, action: Part, problems: Iterable[Part], privacy: Part | None = None, **parts: Part
) -> None:
    """Add a command to `app` for each function of `problems`; each calls `action(problem, privacy, output, ...)`."""
    for problem in problems:
        add_command(app, action, problem=problem, privacy=privacy or privacy_of(problem), **parts)


def add_command(app: typer.Typer, action: Part, **parts: Part) -> None:
    """Add a command to `app`, named for its problem or else for the action."""
    name = parts["problem"].__name__ if "problem" in parts else action.__name__
    app.command(name)(joined(action, **parts))


def joined(action: Part, **parts: Part) -> Callable[..., None]:
    """A command with the options of all parts and of the action; where two have one name, the first part's is meant."""
    own = options_of(action)
    makers = {**parts, "output": options.everywhere}
    taken: dict[str, Parameter] = {}
    shares: dict[str, list[str]] = {}
    for argument, part in makers.items():
        del own[argument]
        shares[argument] = [name for name in options_of(part) if name not in taken]
        taken |= {name: option for name, option in options_of(part).items() if name not in taken}

    def command(**given: Any) -> None:
        made = {
            argument: makers[argument](**{name: given[name] for name in share}) for argument, share in shares.items()
        }
        try:
            action(**made, **{name: given[name] for name in own})
            sys.stdout.flush()
        except BrokenPipeError:
            nobody_listens()

    together = [*taken.values(), *own.values()]
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


def with_options(part: Part, function: Part, changed: dict[str, Parameter]) -> Part:
    """`function`, which passes for `part` with some of its options changed (old name -> new option)."""
    found = [changed.get(name, option) for name, option in options_of(part).items()]
    function.__name__, function.__doc__ = part.__name__, part.__doc__
    vars(function)["__signature__"] = Signature(found)
    return function


def privacy_of(problem: Part) -> Part:
    """The planner's options; convex problems alone have an algorithm for no privacy at all."""
    if problem.__name__ != "convex":
        return options.privacy

    def make(**given: Any) -> dict[str, Any]:
        return options.privacy(**given)

    epsilon = options_of(options.privacy)["epsilon"].replace(annotation=options.EpsilonOrNone)
    return with_options(options.privacy, make, {"epsilon": epsilon})


def nobody_listens() -> None:
    """The reader of the output went away, which is no error; Python would complain once more at exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # not a file
            stream.flush()
            continue
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
