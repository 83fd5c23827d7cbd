"""What may be shown of many learners at a glance: how far each is, and its decisions counted inside the database.

Everything here is public: names, contracts, decisions and how often they changed; never feedback, states or keys of
requests. A page that shows a hundred thousand decisions reads a few numbers, and of a learner that goes on only what
is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidInput, PrivacyError, StoreError
from tacit.runtime.plan import Plan
from tacit.store import rows
from tacit.store.engines import Database
from tacit.store.plans import plan_again

_HEADS = "SELECT id, name, rounds, ledger FROM tacit_learners ORDER BY id"
# Each decision beside that of the round before: a window over the rounds would cost twice as much.
_COUNTS = """SELECT later.round / :width AS part, later.action, count(*),
        sum(CASE WHEN later.action <> earlier.action THEN 1 ELSE 0 END)
    FROM tacit_decisions later LEFT JOIN tacit_decisions earlier
        ON earlier.learner = later.learner AND earlier.round = later.round - 1
    WHERE later.learner = :learner AND later.round >= :first AND later.round < :last GROUP BY part, later.action"""
_LATEST = "SELECT action FROM tacit_decisions WHERE learner = :learner AND round = :round"


@dataclass(frozen=True)
class Head:
    """How far a learner is."""

    number: int  # its number in the store; learners that were made later have larger ones
    name: str
    rounds: int  # how many rounds were decided
    ledger: int | None  # the number of the ledger that it is charged to, or None


@dataclass(frozen=True)
class Count:
    """How often one decision was made in one part of the rounds."""

    part: int  # rounds part * width to (part + 1) * width - 1
    action: Any  # the decision, as JSON can hold it
    times: int  # in how many of these rounds it was made
    switches: int  # in how many of them the round before had another one


class History:
    """The public past of every learner in a store; made by `Store.history`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def heads(self) -> tuple[Head, ...]:
        """How far every learner is, the oldest learner first."""
        with self._database.reading() as transaction:
            found = transaction.rows(_HEADS)
        return tuple(Head(int(number), str(name), int(rounds), ledger) for number, name, rounds, ledger in found)

    def about(self, name: str) -> rows.Row:
        """What was asked for when a learner was made, its plan to the last digit, and its contract."""
        with self._database.reading() as transaction:
            found = rows.find(transaction, name)
        if found is None:
            raise InvalidInput(f"There is no learner {name!r} in this store.")
        return found

    def counts(self, number: int, first: int, last: int, width: int) -> Iterator[Count]:
        """How often each decision was made from round `first` to `last - 1`, in parts of `width` rounds."""
        with self._database.reading() as transaction:
            found = transaction.rows(_COUNTS, learner=number, first=first, last=last, width=width)
        for part, action, times, switches in found:
            yield Count(int(part), rows.shown(action), int(times), int(switches))

    def decision(self, number: int, round: int) -> Any:
        """The decision of a round, as JSON can hold it; None if there is none."""
        with self._database.reading() as transaction:
            found = transaction.row(_LATEST, learner=number, round=round)
        return None if found is None else rows.shown(found[0])

    def plan(self, name: str) -> Plan | None:
        """The plan of a learner, made again; None if its problem is not made of numbers, or it was another plan."""
        row = self.about(name)
        try:
            found = plan_again(name, row.signature, row.request, row.plan)
        except (InvalidInput, PrivacyError, StoreError, TypeError):  # registered elsewhere, or asked of another version
            return None
        return found.plan if row.runs(found) else None
