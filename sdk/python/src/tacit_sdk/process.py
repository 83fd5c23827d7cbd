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
        self._number = os.getpid() if value else 0


def new_mark() -> Any:
    """Return a mark whose byte 0 is 1 in this process, and 0 in every process that is forked from it."""
    mark: Any = _wiped_page()
    if mark is None:
        mark = ProcessNumberMark()
    mark[0] = 1
    return mark


def _wiped_page() -> Any:
    """Return a page that the kernel wipes in every child, or None where it cannot."""
    try:
        page: Any = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(MADV_WIPEONFORK)
    except (AttributeError, OSError):
        return None
    try:
        page.madvise(-1)
    except OSError:
        return page
    return None  # an emulator that accepts any advice, and follows none
