"""One transaction for everybody who waits: the first of the waiting threads serves them all.

A commit waits for the disk, and the disk takes as long for eight requests as for one. So a thread that finds nobody at
work takes all requests that wait, its own among them, and handles them together; the others sleep until theirs is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tacit.errors import StoreError

T = TypeVar("T")


class Request(Generic[T]):
    """Something to do in a transaction, and what came of it.

    Attributes:
        work: what to do.
        answer: its result, which may be shown when `durable` is set.
        error: why there is none.
        durable: whether the transaction that it was part of has committed.
        done: whether nobody works on it any more.
    """

    def __init__(self, work: Callable[[T], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: Exception | None = None
        self.durable = False
        self.done = False


class Batches(Generic[T]):
    """Requests of several threads, handled together.

    Args:
        handle: handles a list of requests in one transaction; if it raises, none of them happened.
    """

    def __init__(self, handle: Callable[[list[Request[T]]], None]) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._waiting: list[Request[T]] = []
        self._busy = False

    def submit(self, work: Callable[[T], Any]) -> Any:
        """The answer to a request, once the transaction that it was part of is durable."""
        request, batch = Request(work), []
        try:
            with self._changed:
                self._waiting.append(request)
                while self._busy and not request.done:
                    self._changed.wait()
                if not request.done:
                    batch, self._waiting = self._waiting, []
                    self._busy = True
            if batch:
                self._serve(batch)
        finally:  # also if this thread was interrupted: nobody shall wait for it
            if batch:
                self._release(batch)
        if request.error is not None:
            raise request.error
        if not request.durable:  # whoever served it was interrupted where no error could be left
            raise _broken("an interrupt")
        return request.answer

    def _serve(self, batch: list[Request[T]]) -> None:
        try:
            self._handle(batch)
        except BaseException as error:
            for request in batch:  # every thread gets an error of its own
                told = StoreError(*error.args) if isinstance(error, StoreError) else _broken(type(error).__name__)
                request.error = told
            raise
        for request in batch:
            request.durable = True

    def _release(self, batch: list[Request[T]]) -> None:
        with self._changed:
            for request in batch:
                request.done = True
            self._busy = False
            self._changed.notify_all()


def _broken(why: str) -> StoreError:
    return StoreError(f"A request in the same transaction broke off ({why}): nothing was shown.")
