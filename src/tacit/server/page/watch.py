"""What the page knows: read from the store in small pieces, and only of what changed.

Decisions wait no longer than for one piece: the latest rounds of one learner. Everybody who looks at the page shares
one watch, so that many viewers cost the store no more than one.

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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any, Generic, TypeVar

from markupsafe import Markup

from tacit.errors import TacitError
from tacit.experiments.experiments import Experiments
from tacit.noise.randomness import Randomness
from tacit.server.http import Problem
from tacit.server.learners import Accounts
from tacit.server.page.experiments import ExperimentView, key_of, view
from tacit.server.page.views import About, LearnerView, LedgerView, Strip, render
from tacit.store.history import Head
from tacit.store.store import Store

View = TypeVar("View", LearnerView, ExperimentView)
FEW = 3  # learners whose contracts stand open
ROWS = 200  # learners on the page, and as many experiments
MOST = 32  # viewers
TICK = 1.0  # seconds between two looks
BEAT = 15.0  # seconds after which a silent connection is tried
TRUST = 5.0  # seconds after which a token is looked at again


@dataclass(frozen=True)
class Shown(Generic[View]):
    """A learner or an experiment as it is shown."""

    view: View
    now: Markup  # the part of the page that changes
    mark: object  # what it was computed from: if that is the same, nothing has changed
    made: int  # the version at which it first was there
    version: int  # the version at which it last changed


@dataclass(frozen=True)
class State:
    """All that is shown; replaced as a whole, never changed."""

    version: int = 0
    experiments: Mapping[str, Shown[ExperimentView]] = field(default_factory=dict)
    learners: Mapping[int, Shown[LearnerView]] = field(default_factory=dict)
    ledgers: tuple[LedgerView, ...] = ()
    ledgers_version: int = 0
    hidden: int = 0


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
        self._history = store.history
        self._turn = threading.Lock()
        self._instance = Randomness.secret().stream("page").bytes(6).hex()
        self._seen: dict[int, About] = {}
        self._state = State()
        self._looked = -inf

    @property
    def age(self) -> float:
        """How many seconds ago the last look ended."""
        return time.monotonic() - self._looked

    def look(self, plans: int = 0) -> None:
        """Read what is new, and so many plans: a part of a second each where they are planned again."""
        with self._turn:
            found = self._history.heads()
            heads = found[:ROWS]
            for head in heads:
                if head.number not in self._seen:
                    row = self._history.about(head.name)
                    self._seen[head.number] = About(row.request, row.guarantee)
            accounts = self._accounts.read()
            self._read_plans(heads, plans)
            version, ledgers = self._state.version + 1, tuple(map(LedgerView.of, accounts.values()))
            names: dict[int | None, str] = {number: account["name"] for number, account in accounts.items()}
            learners = {head.number: self._shown(head, names.get(head.ledger), version) for head in heads}
            same = ledgers == self._state.ledgers
            changed = self._state.ledgers_version if same else version
            tried = self._tried({ledger.name: ledger for ledger in ledgers}, version)
            self._state = State(version, tried, learners, ledgers, changed, hidden=len(found) - len(heads))
            self._looked = time.monotonic()

    def page(self, address: str) -> str:
        """The whole page as of the last look."""
        state = self._state
        return render(
            "live.html",
            experiments=[(shown.view, shown.now) for shown in state.experiments.values()],
            learners=[(shown.view, shown.now) for shown in state.learners.values()],
            opened=len(state.learners) + len(state.experiments) <= FEW,
            ledgers=state.ledgers,
            hidden=state.hidden,
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

    def _tried(self, ledgers: Mapping[str, LedgerView], version: int) -> dict[str, Shown[ExperimentView]]:
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

    def _read_plans(self, heads: Sequence[Head], plans: int) -> None:
        waiting = [head for head in heads if not self._seen[head.number].planned]
        for head in waiting[:plans]:
            about = self._seen[head.number]
            about.plan = self._history.plan(head.name)
            about.planned = True

    def _shown(self, head: Head, ledger: str | None, version: int) -> Shown[LearnerView]:
        """The learner as it was shown before, if nothing changed."""
        about, before = self._seen[head.number], self._state.learners.get(head.number)
        mark = head.rounds, about.planned
        if before is not None and before.mark == mark:
            return before
        first, width = Strip.span(head.rounds)
        strip = Strip.of(about.scale, self._history.counts(head.number, first, head.rounds, width), head.rounds)
        latest = self._history.decision(head.number, head.rounds - 1) if head.rounds else None
        view = about.view(head, ledger, strip, latest)
        made = version if before is None else before.made
        return Shown(view, render("now.html", view=view), mark, made, version)


def _changes(state: State, known: int) -> Iterator[Change]:
    """Experiments and learners that were made since, or what changed about them; and the ledgers."""
    for key, tried in state.experiments.items():
        if tried.made > known:
            card = render("experiment.html", view=tried.view, now=tried.now, opened=False)
            yield Change("experiment-made", {"key": key, "html": card})
        if tried.version > known:
            yield Change("experiment", {"key": key, "html": tried.now})
    for number, shown in state.learners.items():
        if shown.made > known:
            card = render("card.html", view=shown.view, now=shown.now, opened=False)
            yield Change("made", {"number": number, "html": card})
        if shown.version > known:  # a page of an earlier service may have a row of an earlier state
            yield Change("learner", {"number": number, "html": shown.now, "problem": shown.view.about.problem})
    if state.ledgers_version > known:
        yield Change("ledgers", {"html": render("ledgers.html", ledgers=state.ledgers)})


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
                await asyncio.to_thread(self._watch.look, plans=1)
                self._broken = False
            except TacitError:
                self._broken = True
            for told in self._viewers:
                told.set()
            await asyncio.sleep(self._tick)


def _text(change: Change, stamp: str) -> str:
    """One event; JSON has no line breaks, so that its text is one line."""
    return f"id: {stamp}\nevent: {change.kind}\ndata: {json.dumps(change.content)}\n\n"
