"""Another value in the place of an attribute, for as long as an attack or a planted bug needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def swapped(*swaps: tuple[Any, str, Any]) -> Iterator[None]:
    """Put each (owner, name, value) in place, and the honest attributes back in the end.

    >>> class Coin:
    ...     side = "heads"
    >>> with swapped((Coin, "side", "tails")):
    ...     print(Coin.side)
    tails
    >>> Coin.side
    'heads'
    """
    honest = [
        (owner, name, vars(owner)[name]) for owner, name, _ in swaps
    ]  # the attribute itself: a property stays one
    for owner, name, value in swaps:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in honest:
            setattr(owner, name, value)
