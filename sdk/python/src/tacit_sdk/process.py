"""Notice that this process was forked, by Python or by a server in C below it: threads and queues are the parent's."""

from __future__ import annotations

import mmap
import os
from typing import Any

MADV_WIPEONFORK = 18


class ProcessNumberMark:
    """A mark that compares process numbers, where the kernel cannot wipe memory in a child."""

    def __init__(self) -> None:
        self._number = 0

    def __getitem__(self, index: int) -> int:
        return self._number == os.getpid()

    def __setitem__(self, index: int, value: int) -> None:
        self._number = os.getpid()


def new_mark() -> Any:
    """Return a mark whose byte 0 is 1 in this process, and 0 in every process that is forked from it."""
    try:
        mark: Any = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mark.madvise(MADV_WIPEONFORK)
    except (AttributeError, OSError):
        mark = ProcessNumberMark()
    mark[0] = 1
    return mark
