"""Old names of parameters, which are read for some releases after a change."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


def renamed(old: str, new: str) -> Callable[[type[T]], type[T]]:
    """Let a class take a parameter under its old name as well.

    Args:
        old: the name that callers may still use.
        new: the name of the parameter now.
    """

    def decorate(kind: type[T]) -> type[T]:
        made: Any = kind.__init__

        @wraps(made)
        def initialise(self: T, *arguments: Any, **named: Any) -> None:
            if old in named:
                named[new] = named.pop(old)
            made(self, *arguments, **named)

        kind.__init__ = initialise  # type: ignore[method-assign, assignment]
        return kind

    return decorate
