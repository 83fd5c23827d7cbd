"""How far long work has come, on standard error and in a terminal only."""

from __future__ import annotations

import sys
import time
from typing import Self


class Progress:
    """A line on standard error: runs done, and the time left if the rest goes as fast."""

    def __init__(self, label: str, wanted: bool | None) -> None:
        self._label = label
        self._show = sys.stderr.isatty() if wanted is None else wanted
        self._width = 0
        self._started = time.monotonic()

    def step(self, done: int, total: int) -> None:
        """So many runs of one length are done."""
        rest = (time.monotonic() - self._started) * (total - done) / done
        self.say(f"{done}/{total} runs, {duration(rest)} left", last=done == total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave an empty line behind."""
        if self._show and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0

    def say(self, text: str, *, last: bool = False) -> None:
        """Replace the line by this text."""
        if self._show:
            line = f"{self._label}: {text}"
            sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if last else ""))
            sys.stderr.flush()
            self._width = len(line)


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> duration(42), duration(150), duration(9000)
    ('42 s', '2.5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
