"""One action, a command for every kind of problem.

What `plan`, `simulate`, `sweep` and `audit` do is written once; here it is given the options that describe the
problem, then those of privacy, then its own. Typer reads signatures, so the joined one is put in place of three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import Any

import typer

from tacit.cli import options

Part = Callable[..., Any]


def add_commands(app: typer.Typer, action: Part, problems: Iterable[Part], privacy: Part = options.privacy) -> None:
    """Add a command to `app` for each function of `problems`; each calls `action(problem, privacy, **own)`."""
    for problem in problems:
        app.command(problem.__name__)(joined(problem, privacy, action))


def joined(problem: Part, privacy: Part, action: Part) -> Callable[..., None]:
    """A command with the options of all three; an option of the problem hides one of privacy's of that name."""
    about = _options(problem)
    budget = {name: option for name, option in _options(privacy).items() if name not in about}
    own = dict(list(_options(action).items())[2:])

    def command(**given: Any) -> None:
        described = problem(**{name: given[name] for name in about})
        asked = privacy(**{name: given[name] for name in budget})
        action(described, asked, **{name: given[name] for name in own})

    together = [*about.values(), *budget.values(), *own.values()]
    together.sort(key=lambda option: option.default is not Parameter.empty)  # what must be given stands first
    command.__doc__ = problem.__doc__
    vars(command)["__signature__"] = Signature(together)
    command.__annotations__ = {}
    return command


def _options(part: Part) -> dict[str, Parameter]:
    found = signature(part, eval_str=True).parameters
    return {name: option.replace(kind=Parameter.KEYWORD_ONLY) for name, option in found.items()}
