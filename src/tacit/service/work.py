"""Threads for what waits: the event loop never does.

Two kinds: many threads for the database, where requests of the same learner wait for one commit together; and a few
for planning, which computes for seconds and must not keep decisions waiting. A request that is given up leaves its
thread at work: nothing can stop it, and it still counts as one of the few.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """The threads of a service.

    Args:
        threads: how many requests may wait for the database at once.
        planners: how many plans are made at once.
    """

    def __init__(self, threads: int = 256, planners: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, "tacit-store")
        self._planners = asyncio.Semaphore(planners)

    async def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that waits for the database."""
        call = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    @property
    def run(self) -> Callable[[Callable[[], None]], object]:
        """Calls a function in one of the threads for the database."""
        return self._threads.submit

    async def plan(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that may plan."""
        await self._planners.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def settle(tell: Callable[[], None]) -> None:
            self._planners.release()
            if not answer.done():  # else nobody waits for it any more
                tell()

        def work() -> None:
            try:
                tell = partial(answer.set_result, function(*args, **kwargs))
            except Exception as error:
                tell = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the service has ended meanwhile
                loop.call_soon_threadsafe(settle, tell)

        # A daemon: a service that shall end does not wait for plans that nobody waits for.
        threading.Thread(target=work, name="tacit-plan", daemon=True).start()
        return await answer

    def close(self) -> None:
        """Begin nothing new, and wait for what writes."""
        self._threads.shutdown(wait=True)
