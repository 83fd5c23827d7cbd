"""Five papers, each with its results by printed number, its errata, and a run that shows its algorithms at work.

>>> from tacit import papers
>>> papers.l2p.PAPER.year
2024
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.papers import bandit, ctrl, l2p, online_to_batch, tracking

NAMES = ("ctrl", "l2p", "bandit", "tracking", "online_to_batch")
"""The papers, in the order of their numbers 1 to 5."""

__all__ = ["NAMES", "bandit", "ctrl", "l2p", "online_to_batch", "tracking"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a paper when it is first used."""
        if name in NAMES:
            return import_module(f"tacit.papers.{name}")
        raise AttributeError(f"module 'tacit.papers' has no attribute {name!r}")
