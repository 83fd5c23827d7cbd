"""A ledger in a store: the same account as in memory, kept by everybody who writes to the store and after they end."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Budget, Confirmation, Entry, Ledger, now, voided
from tacit.errors import InvalidInput
from tacit_experiments.storage.engines import Database, Transaction
from tacit_experiments.storage.marks import Marks

_ENTRIES = """SELECT name, guarantee, charged_at, period, run, voided FROM tacit_charges
    WHERE ledger = :ledger AND number >= :known ORDER BY number"""
_VOIDED = "SELECT number, voided FROM tacit_charges WHERE ledger = :ledger AND number < :known AND voided <> ''"
_CONFIRMED = """SELECT after, period, confirmed_at FROM tacit_confirmations
    WHERE ledger = :ledger ORDER BY number DESC LIMIT 1"""
_EPOCH = "SELECT epoch FROM tacit_ledgers WHERE id = :ledger"
_NEWEST = "SELECT max(period) FROM tacit_charges WHERE ledger = :ledger AND number >= :after AND voided = ''"


class StoredLedger(Ledger):
    """A budget in a store; made by `Store.ledger`. See `Ledger` for what it can tell.

    Attributes:
        name: its name in the store.
        budget: epsilon, delta and renewals.
    """

    def __init__(self, database: Database, marks: Marks, number: int, name: str, budget: Budget) -> None:
        super().__init__(budget.epsilon, budget.delta, budget.renews)
        self.name = name
        self.number = number
        self._database = database
        self._marks = marks
        self._known: tuple[int, tuple[Entry, ...]] = (-1, ())  # the entries, and as of which epoch
        self._contracts: dict[str, Guarantee] = {}  # by their texts: each is evaluated once
        self._stated: tuple[object, str] = (None, "")  # the account as text, and of what

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Who spent what, and when."""
        with self._database.reading() as transaction:
            return self._read(transaction)

    def record(self, name: str, guarantee: Guarantee) -> None:
        """Write one spending down for good; raises, and writes nothing, if it cannot be added or afforded."""
        with self._database.writing() as transaction:
            epoch, _ = self.charge(transaction, name, guarantee, "")
        self.mark(epoch)

    def charge(
        self, transaction: Transaction, name: str, guarantee: Guarantee, run: str, *, owed: bool = False
    ) -> tuple[int, str]:
        """Charge a run as part of a transaction; the ledger's epoch to mark after the commit, and the period.

        What is owed was spent already: it is written down also where the budget cannot afford it.
        """
        epoch = self._locked(transaction)
        entries = self._read(transaction)
        budget = replace(self.budget, epsilon=None) if owed else self.budget
        entry = budget.admit(entries, name, guarantee, run, self._confirmation(transaction))
        if entry is None:
            return epoch, max(other.period for other in entries if other.run == run and not other.voided)
        transaction.run(
            "INSERT INTO tacit_charges (ledger, number, name, guarantee, charged_at, period, run) "
            "VALUES (:ledger, :number, :name, :guarantee, :charged_at, :period, :run)",
            ledger=self.number,
            number=len(entries),
            name=name,
            guarantee=guarantee.to_json(),
            charged_at=entry.when.isoformat(),
            period=entry.period,
            run=run,
        )
        self._advance(transaction, epoch)
        return epoch + 1, entry.period

    def running(self, transaction: Transaction) -> str:
        """The period that runs now: by the clock, or the latest that was charged, if the clock is not plausible."""
        if self.budget.renews is None:
            return ""
        confirmed = self._confirmation(transaction)
        after, known = (0, "") if confirmed is None else (confirmed.after, confirmed.period)
        newest = transaction.row(_NEWEST, ledger=self.number, after=after)[0] or ""
        return self.budget.period(max(known, newest), now())

    @property
    def confirmed(self) -> Confirmation | None:
        """When the owner last confirmed the clock, or None."""
        with self._database.reading() as transaction:
            return self._confirmation(transaction)

    def confirm(self) -> str:
        """Say that the clock is right although it is far from the newest charge, as `Ledger.confirm` does; recorded."""
        period = self.budget.period_at(now())
        with self._database.writing() as transaction:
            epoch = self._locked(transaction)
            transaction.run(
                """INSERT INTO tacit_confirmations SELECT :ledger, count(*), :after, :period, :confirmed_at
                    FROM tacit_confirmations WHERE ledger = :ledger""",
                ledger=self.number,
                after=len(self._read(transaction)),
                period=period,
                confirmed_at=now().isoformat(),
            )
            self._advance(transaction, epoch)
        self.mark(epoch + 1)
        return period

    def void(self, number: int, reason: str) -> None:
        """Declare a charge a mistake, as `Ledger.void` does; a learner that goes on is charged again."""
        with self._database.writing() as transaction:
            epoch = self._locked(transaction)
            entries = list(self._read(transaction))
            entry = voided(entries, number, reason)
            if entry.run.startswith("experiment "):
                raise InvalidInput("The charge of an experiment cannot be void: replies count because it is there.")
            entries[number] = entry
            transaction.run(
                "UPDATE tacit_charges SET voided = :voided WHERE ledger = :ledger AND number = :number",
                voided=entry.voided,
                ledger=self.number,
                number=number,
            )
            if entry.run:
                transaction.run(
                    "UPDATE tacit_learners SET charged = :charged, epoch = epoch + 1 WHERE id = :learner",
                    charged=max((e.period for e in entries if e.run == entry.run and not e.voided), default=None),
                    learner=int(entry.run.removeprefix("learner ")),
                )
            self._advance(transaction, epoch)
        self.mark(epoch + 1)

    def _locked(self, transaction: Transaction) -> int:
        """Lock the ledger; its epoch."""
        found = transaction.locked(_EPOCH, ledger=self.number)
        self._marks.check("ledger", self.number, int(found[0]))
        return int(found[0])

    def _advance(self, transaction: Transaction, epoch: int) -> None:
        transaction.run(
            "UPDATE tacit_ledgers SET epoch = :epoch WHERE id = :ledger", epoch=epoch + 1, ledger=self.number
        )

    def _confirmation(self, transaction: Transaction) -> Confirmation | None:
        found = transaction.row(_CONFIRMED, ledger=self.number)
        return None if found is None else Confirmation(int(found[0]), str(found[1]), datetime.fromisoformat(found[2]))

    def mark(self, epoch: int) -> None:
        """Write the high-water mark of a commit."""
        self._marks.set("ledger", self.number, epoch)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready account, as `Ledger.to_dict`; computed again only after a charge, or in a new period."""
        with self._database.reading() as transaction:
            key = transaction.row(_EPOCH, ledger=self.number)[0], self.budget.period_at(now())
        known, text = self._stated
        if known != key:
            text = json.dumps({"name": self.name, **super().to_dict()})
            self._stated = key, text
        content: dict[str, Any] = json.loads(text)
        return content

    def _read(self, transaction: Transaction) -> tuple[Entry, ...]:
        """Give the entries; of what is known only the marks of void ones can change, and what is new is read."""
        epoch = int(transaction.row(_EPOCH, ledger=self.number)[0])
        known, entries = self._known
        if known != epoch:
            kept, count = list(entries), len(entries)
            for number, voided_at in transaction.rows(_VOIDED, ledger=self.number, known=count):
                kept[number] = replace(kept[number], voided=voided_at)
            for name, text, when, period, run, void in transaction.rows(_ENTRIES, ledger=self.number, known=count):
                if text not in self._contracts:
                    self._contracts[text] = Guarantee.from_json(text)
                kept.append(
                    Entry(str(name), self._contracts[text], datetime.fromisoformat(when), str(period), run, void)
                )
            entries = tuple(kept)
            self._known = epoch, entries
        return entries


def open_ledger(database: Database, marks: Marks, name: str, budget: Budget | None) -> StoredLedger:
    """The ledger of this name, made if it is not there; another budget than its own is refused."""
    with database.writing() as transaction:
        transaction.alone()
        found = transaction.row(
            "SELECT id, epsilon, delta, renews, epoch FROM tacit_ledgers WHERE name = :name", name=name
        )
        if found is not None:
            number, kept, epoch = int(found[0]), Budget(found[1], found[2], found[3]), int(found[4])
            if budget is not None and budget != kept:
                raise InvalidInput(f"The ledger {name!r} has another budget: {kept}. Got {budget} instead.")
        else:
            number = int(transaction.row("SELECT coalesce(max(id), 0) + 1 FROM tacit_ledgers")[0])
            kept, epoch = Budget() if budget is None else budget, 0
            transaction.run(
                "INSERT INTO tacit_ledgers VALUES (:id, :name, :epsilon, :delta, :renews, 0)",
                id=number,
                name=name,
                epsilon=kept.epsilon,
                delta=kept.delta,
                renews=kept.renews,
            )
        marks.check("ledger", number, epoch)
    return StoredLedger(database, marks, number, name, kept)
