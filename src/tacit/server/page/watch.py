"""What the page knows: read from the store in small pieces, and only what is new.

`look` works for a limited time, so that a page is there at once whatever the store holds, and decisions wait for it no
longer than for one piece. What was not read yet is read by the next look; the page says so meanwhile. Everybody who
looks at the page shares one watch, so that many viewers cost the store no more than one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tacit.privacy.budgets import now
from tacit.randomness import Randomness
from tacit.service.page import html
from tacit.service.page.strips import Strip
from tacit.service.page.views import About, LearnerView, LedgerView
from tacit.store.history import Head
from tacit.store.ledgers import StoredLedger
from tacit.store.store import Store

PIECE = 5_000  # rounds that are counted in one transaction
FEW = 3  # learners whose contracts stand open
ROWS = 200  # learners on the page


@dataclass
class Seen:
    """A learner as far as it was read: what never changes, and its decisions."""

    about: About
    strip: Strip


@dataclass(frozen=True)
class Shown:
    """A learner as it is shown.

    Attributes:
        view: what is shown.
        now: the part of the page that changes.
        planned: whether its plan was known.
        made: the version at which it first was there.
        version: the version at which it last changed.
    """

    view: LearnerView
    now: str
    planned: bool
    made: int
    version: int


@dataclass(frozen=True)
class State:
    """All that is shown; replaced as a whole, never changed."""

    version: int = 0
    learners: Mapping[int, Shown] = field(default_factory=dict)
    ledgers: tuple[LedgerView, ...] = ()
    ledgers_version: int = 0
    hidden: int = 0


@dataclass(frozen=True)
class Change:
    """Something for the page: a kind of event and its content."""

    kind: str
    content: dict[str, Any] = field(default_factory=dict)


class Watch:
    """The public past of a store, as a page shows it; threads may share it.

    Args:
        store: the store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._history = store.history
        self._turn = threading.Lock()
        self._instance = Randomness.secret().stream("page").bytes(6).hex()
        self._seen: dict[int, Seen] = {}
        self._accounts: dict[int, tuple[StoredLedger, tuple[int, str], LedgerView]] = {}
        self._state = State()
        self._looked = -inf

    @property
    def age(self) -> float:
        """How many seconds ago the last look ended."""
        return time.monotonic() - self._looked

    def look(self, seconds: float, plans: int = 0) -> bool:
        """Read what is new; whether something is left to read.

        Args:
            seconds: so long at most, but one piece in any case.
            plans: how many contracts may be planned again, which takes a part of a second each.
        """
        with self._turn:
            until = time.monotonic() + seconds
            found = self._history.heads()
            heads = found[:ROWS]
            for head in heads:
                if head.number not in self._seen:
                    row = self._history.about(head.name)
                    about = About(row.request, row.guarantee)
                    self._seen[head.number] = Seen(about, Strip(about.scale))
            names = self._read_ledgers()
            left = self._read_decisions(heads, until)
            self._read_plans(heads, plans)
            version, ledgers = self._state.version + 1, tuple(view for _, _, view in self._accounts.values())
            learners = {head.number: self._shown(head, names.get(head.ledger), version) for head in heads}
            same = ledgers == self._state.ledgers
            changed = self._state.ledgers_version if same else version
            self._state = State(version, learners, ledgers, changed, hidden=len(found) - len(heads))
            self._looked = time.monotonic()
            return left

    def page(self, address: str) -> str:
        """The whole page as of the last look."""
        state = self._state
        opened = len(state.learners) <= FEW
        cards = [html.card(shown.view, shown.now, opened=opened) for shown in state.learners.values()]
        return html.live_page(cards, state.ledgers, self._stamp(state), address, state.hidden)

    def changes(self, since: str) -> tuple[list[Change], str]:
        """What changed since a stamp (all of it, if the stamp is not of this watch), and the stamp of now."""
        state = self._state
        instance, _, number = since.partition(".")
        known = int(number) if instance == self._instance and re.fullmatch(r"[0-9]{1,15}", number) else 0
        return list(_changes(state, known)), self._stamp(state)

    def _stamp(self, state: State) -> str:
        return f"{self._instance}.{state.version}"

    def _read_ledgers(self) -> dict[int | None, str]:
        """The names of the ledgers; those that were charged, or whose period ended, are read again."""
        names: dict[int | None, str] = {}
        for number, name, epoch in self._history.ledgers():
            names[number] = name
            known = self._accounts.get(number)
            account = self._store.ledger(name) if known is None else known[0]
            key = (epoch, account.budget.period_at(now()))
            if known is None or known[1] != key:
                self._accounts[number] = account, key, LedgerView.of(account.to_dict())
        return names

    def _read_decisions(self, heads: Sequence[Head], until: float) -> bool:
        """First those that are nearly up to date, then the others as far as the time goes; whether it was too short."""
        behind = [(head.rounds - self._seen[head.number].strip.rounds, head) for head in heads]
        for missing, head in sorted(behind, key=lambda pair: pair[0]):
            while missing > 0:
                missing -= self._read_piece(head)
                if time.monotonic() > until:
                    return True
        return False

    def _read_piece(self, head: Head) -> int:
        strip = self._seen[head.number].strip
        first, last = strip.rounds, min(head.rounds, strip.rounds + PIECE)
        strip.widen(last)
        strip.add(self._history.counts(head.number, first, last, strip.width), last)
        return last - first

    def _read_plans(self, heads: Sequence[Head], plans: int) -> None:
        waiting = [head for head in heads if not self._seen[head.number].about.planned]
        for head in waiting[:plans]:
            about = self._seen[head.number].about
            about.plan = self._history.plan(head.name)
            about.planned = True

    def _shown(self, head: Head, ledger: str | None, version: int) -> Shown:
        """The learner as it was shown before, if nothing changed."""
        seen, before = self._seen[head.number], self._state.learners.get(head.number)
        if before is not None:
            old = (before.view.rounds, before.view.counted, before.planned)
            if old == (head.rounds, seen.strip.rounds, seen.about.planned):
                return before
        latest = self._history.decision(head.number, head.rounds - 1) if head.rounds else None
        view = seen.about.view(head, ledger, seen.strip, latest)
        made = version if before is None else before.made
        return Shown(view, html.now(view), seen.about.planned, made, version)


def _changes(state: State, known: int) -> Iterator[Change]:
    """Learners that were made since, or what changed about them; and the ledgers."""
    for number, shown in state.learners.items():
        if shown.made > known:
            yield Change("made", {"number": number, "html": html.card(shown.view, shown.now, opened=False)})
        if shown.version > known:  # a page of an earlier service may have a row of an earlier state
            yield Change("learner", {"number": number, "html": shown.now, "problem": shown.view.problem})
    if state.ledgers_version > known:
        yield Change("ledgers", {"html": html.ledger_bars(state.ledgers)})
