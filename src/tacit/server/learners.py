"""What a service keeps at hand: threads for what waits, the learners that are open, and the accounts of its ledgers."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from tacit.accounting.ledger import now
from tacit.errors import InvalidInput, ProtocolError
from tacit.server.http import Problem
from tacit.store.ledgers import StoredLedger
from tacit.store.live import Live
from tacit.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")
MOST = 256  # open learners


class Work:
    """The threads of a service: the event loop never waits.

    There are many threads for the database, where requests of the same learner wait for one commit together. There are
    a few for planning, which computes for seconds and must not keep decisions waiting. A request that is given up
    leaves its thread at work: nothing can stop it, and it still counts as one of the few.

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


class Learners:
    """Open learners of a store by name; threads may share it.

    Args:
        store: where they are.
        most: how many stay open: the one that was not asked for the longest is let go, and read again when needed.
            Plans are kept by the store, for many more learners.
    """

    def __init__(self, store: Store, most: int = MOST) -> None:
        self._store = store
        self._most = most
        self._open: OrderedDict[str, Live] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, name: str) -> Live:
        """Give the learner of this name; the plan of one that is not open is made of its fields, or planned again."""
        found = self.ready(name)
        if found is not None:
            return found
        self.check(name)
        with self._lock:
            turn = self._opening.setdefault(name, threading.Lock())
        with turn:  # others of this name wait for it, learners of other names do not
            try:
                return self.ready(name) or self._opened(name)
            finally:
                with self._lock:
                    self._opening.pop(name, None)

    def _opened(self, name: str) -> Live:
        try:
            live, _ = self._store.make(name)
        except ProtocolError:
            raise Problem(409, "This learner was ended: its contract, decisions and charges are kept.") from None
        except InvalidInput:  # a loss or a set is known only to the program that made it
            detail = (
                "This learner was made in Python, of parts that a store cannot describe: only that program opens it."
            )
            raise Problem(409, detail) from None
        self.keep(live)
        return live

    def end(self, name: str) -> None:
        """End a learner for good; ending it again changes nothing."""
        self.check(name)
        self._store.end(name)
        with self._lock:
            self._open.pop(name, None)

    async def opened(self, name: str, work: Work) -> Live:
        """The learner of this name, without waiting in the event loop."""
        found = self.ready(name)
        if found is None:
            await work.do(self.check, name)  # whoever misspells a name need not wait for other people's plans
            found = await work.plan(self.get, name)
        return found

    def check(self, name: str) -> None:
        """Refuse a name that no learner has."""
        if name not in self._store:
            raise Problem(404, "There is no learner of this name: POST /v1/learners makes one.")

    def ready(self, name: str) -> Live | None:
        """The learner of this name if it is open."""
        with self._lock:
            found = self._open.get(name)
            if found is not None:
                self._open.move_to_end(name)
            return found

    def keep(self, live: Live) -> None:
        """Remember an open learner, and let go of the one that was not used the longest."""
        with self._lock:
            self._open[live.name] = live
            self._open.move_to_end(live.name)
            gone = [self._open.popitem(last=False)[0] for _ in range(len(self._open) - self._most)]
        for name in gone:
            self._store.release(name)


class Accounts:
    """What was spent of every budget, computed again only when a ledger was charged or its period has ended.

    An account of some hundred different contracts takes seconds to compose. Readers that come meanwhile wait for the
    one that computes, so that many of them cost decisions no more than one.

    Args:
        store: where the ledgers are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = threading.Lock()
        self._known: dict[int, tuple[StoredLedger, tuple[int, str], dict[str, Any]]] = {}

    def read(self) -> dict[int, dict[str, Any]]:
        """Give the account of every ledger, as `Ledger.to_dict` does, by the ledger's number in the store."""
        with self._turn:
            for number, name, epoch in self._store.history.ledgers():
                known = self._known.get(number)
                ledger = self._store.ledger(name) if known is None else known[0]
                key = (epoch, ledger.budget.period_at(now()))
                if known is None or known[1] != key:
                    self._known[number] = ledger, key, ledger.to_dict()
            return {number: account for number, (_, _, account) in self._known.items()}
