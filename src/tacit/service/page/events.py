"""Server-sent events: whoever looks at the page gets what changes, once a second at most.

One task looks into the store for all viewers, and only while there are any. There are so many viewers at most. Each is
let go when its token is no longer good, and all of them are when the service ends, which otherwise would wait for them.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from tacit.errors import TacitError
from tacit.service.errors import Problem
from tacit.service.page.watch import Change, Watch

MOST = 32  # viewers
TICK = 1.0  # seconds between two looks
WORK = 0.25  # seconds that a look may take, and the pause after it if it was too short
BEAT = 15.0  # seconds after which a silent connection is tried
TRUST = 5.0  # seconds after which a token is looked at again
FINE, TROUBLE = Change("fine"), Change("trouble")


class Events:
    """The stream of changes.

    Args:
        watch: what is looked at.
        tick: seconds between two looks.
    """

    def __init__(self, watch: Watch, tick: float = TICK) -> None:
        self._watch = watch
        self._tick = tick
        self._viewers: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._broken = False

    @property
    def full(self) -> bool:
        """Whether nobody more can be served."""
        return len(self._viewers) >= MOST

    async def stream(
        self, since: str, closing: threading.Event, check: Callable[[], Awaitable[object]]
    ) -> AsyncIterator[str]:
        """The events for one viewer, until the service ends or the viewer may not look any more.

        Args:
            since: the stamp up to which the viewer knows everything.
            closing: set when the service ends.
            check: raises if the viewer may not look.
        """
        if self.full:  # many came at once, when there was room for each of them
            return
        told = asyncio.Event()
        self._viewers.add(told)
        try:
            checked = spoken = time.monotonic()
            broken = False
            yield "retry: 2000\n\n"
            while not closing.is_set():
                if time.monotonic() - checked > TRUST:
                    await check()
                    checked = time.monotonic()
                self._start()
                changes, stamp = self._watch.changes(since)
                if broken != self._broken:
                    broken = self._broken
                    changes.append(TROUBLE if broken else FINE)
                if changes or time.monotonic() - spoken > BEAT:
                    since, spoken = stamp, time.monotonic()
                    yield "".join(_text(change, stamp) for change in changes) or ": still here\n\n"
                told.clear()
                with suppress(TimeoutError):  # set at every look, so that the end of the service is noticed as well
                    await asyncio.wait_for(told.wait(), BEAT)
        except (Problem, TacitError):  # the browser comes again, and is told why
            return
        finally:
            self._viewers.discard(told)

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """Look into the store until nobody looks at the page."""
        while self._viewers:
            left = False
            try:
                left = await asyncio.to_thread(self._watch.look, WORK, plans=1)
                self._broken = False
            except TacitError:
                self._broken = True
            for told in self._viewers:
                told.set()
            await asyncio.sleep(min(WORK, self._tick) if left else self._tick)


def _text(change: Change, stamp: str) -> str:
    """One event; JSON has no line breaks, so that its text is one line."""
    return f"id: {stamp}\nevent: {change.kind}\ndata: {json.dumps(change.content)}\n\n"
