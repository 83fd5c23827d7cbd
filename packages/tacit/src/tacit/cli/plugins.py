"""Commands of other packages: found by the entry points `tacit.commands`, loaded when one of them is called."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from tacit.errors import InvalidInput
from tacit.packages import COMMANDS, install_command

GROUP = "tacit.commands"


class Commands(TyperGroup):
    """The commands of tacit itself, then those of the packages that are installed beside it."""

    def list_commands(self, context: Any) -> list[str]:
        own = super().list_commands(context)
        return [*own, *sorted(entry_points(group=GROUP).names - set(own))]

    def get_command(self, context: Any, name: str) -> Any:
        own = super().get_command(context, name)
        if own is not None:  # no package replaces a command of tacit
            return own
        for entry_point in entry_points(group=GROUP, name=name):
            command = typer.main.get_command(entry_point.load())
            command.name = name
            return command
        if name in COMMANDS:
            package = COMMANDS[name]
            raise InvalidInput(f"`tacit {name}` is a command of the package {package}: {install_command(package)}.")
        return None
