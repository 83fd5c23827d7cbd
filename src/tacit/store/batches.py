"""One transaction for everybody who waits: one of the waiting threads serves them all.

A commit waits for the disk, and the disk takes as long for eight requests as for one. So the thread that is first takes
all requests that wait, its own among them, and handles them together; the others sleep until theirs is done, or until
it is their turn to serve.

Whoever was just served often asks again at once. If the next batch began without them, two groups would take turns and
everybody would wait for both; so the one who serves waits for those who were there a moment ago, for a small part of
the time that a transaction takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tacit.errors import StoreError

T = TypeVar("T")
PART = 0.25  # of a transaction's time is waited for company
LONGEST = 0.002  # seconds


class Request(Generic[T]):
    """Something to do in a transaction, and what came of it.

    Attributes:
        work: what to do.
        answer: its result, which may be shown when `durable` is set.
        error: why there is none.
        durable: whether the transaction that it was part of has committed.
        done: whether nobody works on it any more.
        leads: whether its thread serves, or is to serve, the others.
    """

    def __init__(self, work: Callable[[T], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: Exception | None = None
        self.durable = False
        self.done = False
        self.leads = False
        self._called = threading.Lock()
        self._called.acquire()

    def sleep(self) -> None:
        """Wait until it is done or leads."""
        self._called.acquire()

    def call(self) -> None:
        """Wake its thread, which happens once."""
        self._called.release()


class Batches(Generic[T]):
    """Requests of several threads, handled together.

    Args:
        handle: handles a list of requests in one transaction; if it raises, none of them happened.
    """

    def __init__(self, handle: Callable[[list[Request[T]]], None]) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._company = threading.Condition(self._lock)  # somebody has come
        self._waiting: list[Request[T]] = []
        self._busy = False
        self._wanted = 0  # how many the one who serves is waiting for
        self._around = 0  # how many were there when the last batch ended,
        self._ended = 0.0  # when that was,
        self._seconds = 0.0  # and how long it took

    def submit(self, work: Callable[[T], Any]) -> Any:
        """The answer to a request, once the transaction that it was part of is durable."""
        request, batch = Request(work), list[Request[T]]()
        try:
            with self._lock:
                self._waiting.append(request)
                if not self._busy:
                    self._busy = request.leads = True
                elif len(self._waiting) == self._wanted:
                    self._company.notify()
            if not request.leads:
                request.sleep()
            if request.leads:
                with self._lock:
                    self._gather()
                    batch, self._waiting = self._waiting, []
                self._serve(batch)
        finally:  # also if this thread was interrupted: nobody shall wait for it
            if request.leads or not request.done:
                self._leave(request, batch)
        if request.error is not None:
            raise request.error
        if not request.durable:  # whoever served it was interrupted where no error could be left
            raise _broken("an interrupt")
        return request.answer

    def _gather(self) -> None:
        """Wait a little for those who were there when the last batch ended."""
        begun = time.monotonic()
        limit = min(PART * self._seconds, LONGEST)
        if len(self._waiting) < self._around and begun < self._ended + limit:
            self._wanted = self._around
            self._company.wait_for(lambda: len(self._waiting) >= self._around, limit)
            self._wanted = 0

    def _serve(self, batch: list[Request[T]]) -> None:
        begun = time.monotonic()
        try:
            self._handle(batch)
            self._seconds = time.monotonic() - begun
        except BaseException as error:
            for request in batch:  # every thread gets an error of its own
                told = StoreError(*error.args) if isinstance(error, StoreError) else _broken(type(error).__name__)
                request.error = told
            raise
        for request in batch:
            request.durable = True

    def _leave(self, request: Request[T], batch: list[Request[T]]) -> None:
        """Wake those who were served, and let another thread serve those who wait."""
        with self._lock:
            for served in batch:
                served.done = True
                if served is not request:
                    served.call()
            self._waiting = [other for other in self._waiting if other is not request and not other.done]
            if not request.leads:
                return
            self._around, self._ended = len(batch) + len(self._waiting), time.monotonic()
            self._busy = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].call()


def _broken(why: str) -> StoreError:
    return StoreError(f"A request in the same transaction broke off ({why}): nothing was shown.")
