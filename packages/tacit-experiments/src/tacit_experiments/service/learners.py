"""What a service keeps at hand: threads for what waits, and the accounts of its ledgers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """The threads of a service: the event loop never waits.

    There are many threads for the database, where requests of the same learner wait for one commit together. There are
    a few for planning, which computes for seconds and must not keep decisions waiting. A request that is given up
    leaves its thread at work: nothing can stop it, and it still counts as one of the few.
    """

    def __init__(self, threads: int = 256, planners: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, "tacit-store")
        self._planners = ThreadPoolExecutor(planners, "tacit-plan")

    async def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that waits for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    async def plan(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that may plan."""
        return await asyncio.get_running_loop().run_in_executor(self._planners, partial(function, *args, **kwargs))

    @property
    def run(self) -> Callable[[Callable[[], None]], object]:
        """Calls a function in one of the threads for the database."""
        return self._threads.submit

    def close(self) -> None:
        """Begin nothing new, and wait for what writes."""
        self._planners.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=True)


class Accounts:
    """What was spent of every budget, which each ledger composes again only after a charge and in a new period.

    An account of some hundred different contracts takes seconds to compose. Readers that come meanwhile wait for the
    one that computes, so that many of them cost decisions no more than one.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = threading.Lock()
        self._ledgers: dict[str, StoredLedger] = {}

    def read(self) -> dict[int, dict[str, Any]]:
        """Give the account of every ledger, as `Ledger.to_dict` does, by the ledger's number in the store."""
        with self._turn:
            for name in self._store.ledgers:
                if name not in self._ledgers:
                    self._ledgers[name] = self._store.ledger(name)
            made = sorted(self._ledgers.values(), key=lambda ledger: ledger.number)
            return {ledger.number: ledger.to_dict() for ledger in made}
