"""Notice that this process was forked, however it was forked: by Python, or by a server in C such as uWSGI.

Secret noise, learners, stores, in-memory ledgers and clients belong to the process that made them. Each of them keeps
the number that `current_process` returned when it was made, and compares. The number changes in every child: a page of
memory holds a mark that the kernel wipes in each child (MADV_WIPEONFORK, Linux 4.14 or newer). Elsewhere the C library
calls back in the child (pthread_atfork), which a fork by a bare system call passes by. Where the compiled file is
missing too, the number of the operating system is compared, which a later process may have again: `DETECTION` says
which of the three it is, and the label of secret randomness says so where it is the last.

A snapshot of a whole machine, or of a stopped process (CRIU), is no fork: its copies have equal marks. A process is
watched once: a subinterpreter, which would watch it again, is refused.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, Protocol

from tacit import kernels

MADV_WIPEONFORK = 18
"""The advice of Linux that pages are zero in every child; the module mmap has no name for it before Python 3.13."""


class Mark(Protocol):
    """A byte that is 1 in the process that wrote it, and 0 in every process that was forked from it since."""

    def __getitem__(self, index: int, /) -> int:
        """Return the byte."""

    def __setitem__(self, index: int, value: int, /) -> None:
        """Write the byte."""


class ProcessNumberMark:
    """A mark that compares the process number of the operating system."""

    def __init__(self) -> None:
        self._number = 0

    def __getitem__(self, index: int) -> int:
        return self._number == os.getpid()

    def __setitem__(self, index: int, value: int) -> None:
        self._number = os.getpid() if value else 0


def wiped_page() -> Mark | None:
    """Return a page that the kernel wipes in every child, or None where it cannot."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(MADV_WIPEONFORK)
    except (AttributeError, OSError):
        return None
    try:
        page.madvise(-1)
    except OSError:
        return page
    return None  # an emulator that accepts any advice, and follows none


def byte_cleared_by_library() -> Mark | None:
    """Return a byte that the C library clears in every child that it makes, or None without the compiled file."""
    if kernels.compiled is None:
        return None
    cleared = bytearray(1)
    return cleared if kernels.compiled.clear_in_children(cleared) else None


def refuse_subinterpreters() -> None:
    """Raise ImportError in an interpreter that is not the first one of its process."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            interpreters: Any = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "tacit cannot be used in a subinterpreter: forks are watched once in a process. "
                "Import it in the main interpreter, or in a process of its own."
            )
        return


def _new_number() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _first_mark() -> tuple[Mark, Literal["kernel", "library", "process number"]]:
    page = wiped_page()
    if page is not None:
        return page, "kernel"
    cleared = byte_cleared_by_library()
    if cleared is not None:
        return cleared, "library"
    return ProcessNumberMark(), "process number"


refuse_subinterpreters()
_mark, DETECTION = _first_mark()
_number = _new_number()
_callbacks: list[Callable[[], None]] = []
_entering = threading.Lock()
_LONGEST_ENTERING = 1.0  # seconds; a lock that another thread held when a C program forked is never released


def current_process() -> int:
    """Return the number of this process: another one than in each process that it was forked from."""
    if _mark[0]:
        return _number
    return _enter_child()


def call_in_children(callback: Callable[[], None]) -> None:
    """Have a function called in every child, before `current_process` returns there for the first time."""
    _callbacks.append(callback)


def _enter_child() -> int:
    acquired = _entering.acquire(timeout=_LONGEST_ENTERING)
    try:
        if not _mark[0]:
            for callback in _callbacks:
                callback()
            _begin()
    finally:
        if acquired:
            _entering.release()
    return _number


def _begin() -> None:
    global _number
    _number = _new_number()
    if _COMPILED is not None:
        _COMPILED.watch_process(_mark, _number, _enter_child)
    _mark[0] = 1  # last: until then every thread of a child comes to _enter_child


def _after_python_fork() -> None:
    global _entering
    _entering = threading.Lock()
    _mark[0] = 0  # where process numbers are compared, a child in another namespace may have the same one
    current_process()


_COMPILED: Any = None if DETECTION == "process number" else kernels.compiled
_begin()
if _COMPILED is not None:
    current_process = _COMPILED.current_process  # every round asks: a call in C takes a third of the time
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_python_fork)
