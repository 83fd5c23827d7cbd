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
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, TypeVar

from tacit.errors import StoreError

T = TypeVar("T")
Run = Callable[[Callable[[], None]], object]
PART = 0.25  # of a transaction's time is waited for company
LONGEST = 0.005  # seconds


class Request(Generic[T]):
    """Something to do in a transaction, and what came of it; its thread sleeps meanwhile."""

    def __init__(self, work: Callable[[T], Any]) -> None:
        self.work = work
        self.answer: Any = None  # may be shown when it is durable
        self.error: Exception | None = None  # why there is none
        self.durable = False  # whether the transaction that it was part of has committed
        self.done = False  # whether nobody works on it any more
        self.leads = False  # whether its thread serves, or is to serve, the others
        self._called = threading.Lock()
        self._called.acquire()

    def sleep(self) -> None:
        """Wait until it is done or leads."""
        self._called.acquire()

    def lead(self) -> None:
        """Let it serve the others."""
        self._called.release()

    def begin(self) -> bool:
        """Whether it is still wanted, now that it is to be done."""
        return True

    def tell(self) -> None:
        """Say that it is done."""
        if not self.leads:
            self._called.release()

    def outcome(self) -> Any:
        """The answer, or the error."""
        if self.error is not None:
            raise self.error
        if not self.durable:  # whoever served it was interrupted where no error could be left
            raise _broken("an interrupt")
        return self.answer


class Later(Request[T]):
    """A request without a thread of its own: a future has what came of it."""

    def __init__(self, work: Callable[[T], Any], serve: Callable[[Request[T]], None], run: Run) -> None:
        super().__init__(work)
        self.future: Future[Any] = Future()
        self._serve = serve
        self._run = run

    def lead(self) -> None:
        try:
            self._run(partial(self._serve, self))
        except RuntimeError:  # no thread is given any more, but others may wait for this one
            threading.Thread(target=self._serve, args=(self,)).start()

    def begin(self) -> bool:
        return self.future.set_running_or_notify_cancel()

    def tell(self) -> None:
        if self.future.cancelled():
            return
        try:
            answer = self.outcome()
        except Exception as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(answer)


class Batches(Generic[T]):
    """Requests of several threads, handled together."""

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
        request = Request(work)
        try:
            self._enter(request)
            if not request.leads:
                request.sleep()
            if request.leads:
                self._lead(request)
        finally:  # also if this thread was interrupted: nobody shall wait for it
            if not request.done:
                self._leave(request, [])
        return request.outcome()

    def later(self, work: Callable[[T], Any], run: Run) -> Future[Any]:
        """The same without waiting: a future of the answer; `run` calls a function in a thread (`Executor.submit`)."""
        request = Later(work, self._lead, run)
        self._enter(request)
        if request.leads:
            request.lead()
        return request.future

    def _enter(self, request: Request[T]) -> None:
        with self._lock:
            self._waiting.append(request)
            if not self._busy:
                self._busy = request.leads = True
            elif len(self._waiting) == self._wanted:
                self._company.notify()

    def _lead(self, request: Request[T]) -> None:
        """Serve everybody who waits, in one transaction."""
        batch: list[Request[T]] = []
        try:
            with self._lock:
                self._gather()
                batch, self._waiting = self._waiting, []
            self._serve([served for served in batch if served.begin()])
        finally:
            self._leave(request, batch)

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
            if batch:
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
        """Tell those who were served, and let another request serve those who wait."""
        with self._lock:
            for served in batch:
                served.done = True
            self._waiting = [other for other in self._waiting if other is not request and not other.done]
            following = self._waiting[0] if self._waiting and request.leads else None
            if request.leads:
                self._around, self._ended = len(batch) + len(self._waiting), time.monotonic()
                self._busy = following is not None
            if following is not None:
                following.leads = True
        for served in batch:
            served.tell()
        if following is not None:
            following.lead()


def _broken(why: str) -> StoreError:
    return StoreError(f"A request in the same transaction broke off ({why}): nothing was shown.")
