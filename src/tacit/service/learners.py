"""The learners that are open: each is opened when it is first asked for, and only so many stay in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tacit.errors import InvalidInput
from tacit.service.errors import Problem
from tacit.service.work import Work
from tacit.store.live import Live
from tacit.store.store import Store

MOST = 256


class Learners:
    """Open learners of a store by name; threads may share it.

    Args:
        store: where they are.
        most: how many stay open: the one that was not asked for the longest is let go, and read again when needed.
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
        """The learner of this name; opening one that is not open plans again, which can take seconds."""
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
            live = self._store.open(name)
        except InvalidInput:  # a loss or a set is known only to the program that made it
            detail = (
                "This learner was made in Python, of parts that a store cannot describe: only that program opens it."
            )
            raise Problem(409, detail) from None
        self.keep(live)
        return live

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
