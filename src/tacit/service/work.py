"""Threads for what waits: the event loop never does.

Two kinds: many threads for the database, where requests of the same learner wait for one commit together; and a few
for planning, which computes for seconds and must not keep decisions waiting. A request that is given up leaves its
thread at work: nothing can stop it, and it still counts as one of the few.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
        self._planners = ThreadPoolExecutor(planners, "tacit-plan")

    async def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that waits for the database."""
        return await self._in(self._threads, partial(function, *args, **kwargs))

    async def plan(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that may plan."""
        return await self._in(self._planners, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Begin nothing new, and wait for what writes; plans that nobody waits for any more are not waited for."""
        self._planners.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=True)

    async def _in(self, threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, call)
