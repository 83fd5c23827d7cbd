"""What the page knows: read from the store in small pieces, and only of what changed.

Everybody who looks at the page shares one watch, so that many viewers cost the store no more than one. A page asks
once a second what has changed; the store is looked into if the last look is older than that.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from markupsafe import Markup

from tacit.noise.randomness import Randomness
from tacit_experiments.experiments import Experiments
from tacit_experiments.service.learners import Accounts
from tacit_experiments.service.page.experiments import ExperimentView, key_of, view
from tacit_experiments.service.page.views import LearnerView, render
from tacit_experiments.store import rows
from tacit_experiments.store.store import Store

FEW = 3  # experiments whose contracts stand open
ROWS = 200  # learners on the page, and as many experiments
TABLES = ("learners", "ledgers")


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


class Change(NamedTuple):
    """Something for the page: a kind of change and its content."""

    kind: str
    content: dict[str, Any]


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

    def look(self, fresh: float = 0.0) -> None:
        """Read what is new, unless the last look ended so few seconds ago: then somebody else looks."""
        with self._turn:
            if time.monotonic() - self._looked < fresh:
                return
            version, ledgers = self._state.version + 1, self._accounts.read()
            learners, hidden = self._learners(ledgers)
            tables = {
                "learners": render("learners.html", learners=learners, hidden=hidden),
                "ledgers": render("ledgers.html", ledgers=ledgers.values()),
            }
            before = self._state
            changed = {
                kind: before.changed[kind] if html == before.tables[kind] else version for kind, html in tables.items()
            }
            tried = self._tried({ledger["name"]: ledger for ledger in ledgers.values()}, version)
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

    def _learners(self, ledgers: Mapping[int, dict[str, Any]]) -> tuple[list[LearnerView], int]:
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
            account = ledgers[ledger]["name"] if ledger in ledgers else None
            found.append(LearnerView.of(name, self._seen[name], int(rounds), account))
        return found, len(heads) - len(found)

    def _tried(self, ledgers: Mapping[str, dict[str, Any]], version: int) -> dict[str, Shown]:
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
