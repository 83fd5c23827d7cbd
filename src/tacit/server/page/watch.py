"""What the page knows: read from the store in small pieces, and only of what changed.

Everybody who looks at the page shares one watch, so that many viewers cost the store no more than one.

Whoever looks gets what changes as server-sent events, once a second at most. One task looks into the store for all
viewers, and only while there are any. There are so many viewers at most, and so many of one token. Each is let go when
its token is no longer good, and all of them are when the service ends, which otherwise would wait for them.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from markupsafe import Markup

from tacit.errors import TacitError
from tacit.experiments.experiments import Experiments
from tacit.noise.randomness import Randomness
from tacit.server.http import Problem
from tacit.server.learners import Accounts
from tacit.server.page.experiments import ExperimentView, key_of, view
from tacit.server.page.views import LearnerView, LedgerView, render
from tacit.store import rows
from tacit.store.store import Store

FEW = 3  # experiments whose contracts stand open
ROWS = 200  # learners on the page, and as many experiments
MOST = 32  # viewers
TABLES = ("learners", "ledgers")
TICK = 1.0  # seconds between two looks
BEAT = 15.0  # seconds after which a silent connection is tried
TRUST = 5.0  # seconds after which a token is looked at again


@dataclass(frozen=True)
class Shown:
    """An experiment as it is shown."""

    view: ExperimentView
    now: Markup  # the part of the page that changes
    mark: object  # what it was computed from: if that is the same, nothing has changed
    made: int  # the version at which it first was there
    version: int  # the version at which it last changed


@dataclass(frozen=True)
class State:
    """All that is shown; replaced as a whole, never changed."""

    version: int = 0
    experiments: Mapping[str, Shown] = field(default_factory=dict)
    tables: Mapping[str, Markup] = field(default_factory=lambda: dict.fromkeys(TABLES, Markup()))
    changed: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))  # at which version each was


@dataclass(frozen=True)
class Change:
    """Something for the page: a kind of event and its content."""

    kind: str
    content: dict[str, Any] = field(default_factory=dict)


class Watch:
    """The public past of a store, as a page shows it; threads may share it."""

    def __init__(self, store: Store, accounts: Accounts | None = None, experiments: Experiments | None = None) -> None:
        self._experiments = experiments
        self._accounts = Accounts(store) if accounts is None else accounts
        self._database = store.database
        self._turn = threading.Lock()
        self._instance = Randomness.secret().stream("page").bytes(6).hex()
        self._seen: dict[str, rows.Row] = {}  # what never changes of learners
        self._state = State()
        self._looked = -inf

    @property
    def age(self) -> float:
        """How many seconds ago the last look ended."""
        return time.monotonic() - self._looked

    def look(self) -> None:
        """Read what is new."""
        with self._turn:
            version, accounts = self._state.version + 1, self._accounts.read()
            ledgers = {number: LedgerView.of(account) for number, account in accounts.items()}
            learners, hidden = self._learners(ledgers)
            tables = {
                "learners": render("learners.html", learners=learners, hidden=hidden),
                "ledgers": render("ledgers.html", ledgers=ledgers.values()),
            }
            before = self._state
            changed = {
                kind: before.changed[kind] if html == before.tables[kind] else version for kind, html in tables.items()
            }
            tried = self._tried({ledger.name: ledger for ledger in ledgers.values()}, version)
            self._state = State(version, tried, tables, changed)
            self._looked = time.monotonic()

    def page(self, address: str) -> str:
        """The whole page as of the last look."""
        state = self._state
        return render(
            "live.html",
            experiments=[(shown.view, shown.now) for shown in state.experiments.values()],
            opened=len(state.experiments) <= FEW,
            **state.tables,
            version=self._stamp(state),
            address=address,
        )

    def changes(self, since: str) -> tuple[list[Change], str]:
        """What changed since a stamp (all of it, if the stamp is not of this watch), and the stamp of now."""
        state = self._state
        instance, _, number = since.partition(".")
        known = int(number) if instance == self._instance and re.fullmatch(r"[0-9]{1,15}", number) else 0
        return list(_changes(state, known)), self._stamp(state)

    def _stamp(self, state: State) -> str:
        return f"{self._instance}.{state.version}"

    def _learners(self, ledgers: Mapping[int, LedgerView]) -> tuple[list[LearnerView], int]:
        """The oldest learners, and how many more there are."""
        with self._database.reading() as transaction:
            heads = transaction.rows("SELECT name, rounds, ledger FROM tacit_learners ORDER BY id")
        found = []
        for name, rounds, ledger in heads[:ROWS]:
            if name not in self._seen:
                with self._database.reading() as transaction:  # of its own: decisions wait for one learner at most
                    row = rows.find(transaction, name)
                assert row is not None
                self._seen[name] = row
            account = ledgers[ledger].name if ledger in ledgers else None
            found.append(LearnerView.of(name, self._seen[name], int(rounds), account))
        return found, len(heads) - len(found)

    def _tried(self, ledgers: Mapping[str, LedgerView], version: int) -> dict[str, Shown]:
        """The experiments; those that did not change are as they were shown before."""
        if self._experiments is None:
            return {}
        tried = {}
        for name, mark in list(self._experiments.marks().items())[:ROWS]:
            ledger, before = ledgers.get(mark.ledger), self._state.experiments.get(key_of(name))
            if before is not None and before.mark == (mark, ledger):
                tried[before.view.key] = before
                continue
            seen = view(self._experiments, name, ledger, mark.overdue)
            made = version if before is None else before.made
            tried[seen.key] = Shown(seen, render("experiment_now.html", view=seen), (mark, ledger), made, version)
        return tried


def _changes(state: State, known: int) -> Iterator[Change]:
    """Experiments that were made since, or what changed about them; learners and ledgers."""
    for key, tried in state.experiments.items():
        if tried.made > known:
            card = render("experiment.html", view=tried.view, now=tried.now, opened=False)
            yield Change("experiment-made", {"key": key, "html": card})
        if tried.version > known:
            yield Change("experiment", {"key": key, "html": tried.now})
    for kind, version in state.changed.items():
        if version > known:
            yield Change(kind, {"html": state.tables[kind]})


class Events:
    """The stream of changes."""

    def __init__(self, watch: Watch, each: int, tick: float = TICK) -> None:
        self._watch = watch
        self._each = each
        self._tick = tick
        self._viewers: dict[asyncio.Event, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._broken = False

    def room(self, token: int) -> bool:
        """Tell whether one more viewer can be served, whose token has this number."""
        return len(self._viewers) < MOST and list(self._viewers.values()).count(token) < self._each

    async def stream(
        self, since: str, token: int, closing: threading.Event, check: Callable[[], Awaitable[object]]
    ) -> AsyncIterator[str]:
        """The events for one viewer, until the service ends or the viewer may not look any more."""
        if not self.room(token):  # many came at once, when there was room for each of them
            return
        told = asyncio.Event()
        self._viewers[told] = token
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
                    changes.append(Change("trouble" if broken else "fine"))
                if changes or time.monotonic() - spoken > BEAT:
                    since, spoken = stamp, time.monotonic()
                    yield "".join(_text(change, stamp) for change in changes) or ": still here\n\n"
                told.clear()
                with suppress(TimeoutError):  # set at every look, so that the end of the service is noticed as well
                    await asyncio.wait_for(told.wait(), BEAT)
        except (Problem, TacitError):  # the browser comes again, and is told why
            return
        finally:
            del self._viewers[told]

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """Look into the store until nobody looks at the page."""
        while self._viewers:
            try:
                await asyncio.to_thread(self._watch.look)
                self._broken = False
            except TacitError:
                self._broken = True
            for told in self._viewers:
                told.set()
            await asyncio.sleep(self._tick)


def _text(change: Change, stamp: str) -> str:
    """One event; JSON has no line breaks, so that its text is one line."""
    return f"id: {stamp}\nevent: {change.kind}\ndata: {json.dumps(change.content)}\n\n"
