"""A ledger in a store: the same account as in memory, kept by everybody who writes to the store and after they end."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn

from tacit.errors import InvalidInput, PrivacyError
from tacit.privacy.budgets import Budget, Entry, now
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.store.engines import Database, Transaction
from tacit.store.marks import Marks

_ENTRIES = "SELECT name, guarantee, charged_at, period, run FROM tacit_charges WHERE ledger = :ledger ORDER BY number"

_LAST = "SELECT period FROM tacit_charges WHERE ledger = :ledger ORDER BY number DESC LIMIT 1"


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

    def charge(self, transaction: Transaction, name: str, guarantee: Guarantee, run: str) -> tuple[int, str]:
        """Charge a run as part of a transaction; the ledger's epoch to mark after the commit, and the period."""
        found = transaction.locked("SELECT epoch FROM tacit_ledgers WHERE id = :ledger", ledger=self.number)
        epoch = int(found[0])
        self._marks.check("ledger", self.number, epoch)
        entries = self._read(transaction)
        entry = self.budget.admit(entries, name, guarantee, run)
        if entry is None:
            return epoch, max(other.period for other in entries if other.run == run)
        transaction.run(
            "INSERT INTO tacit_charges VALUES (:ledger, :number, :name, :guarantee, :charged_at, :period, :run)",
            ledger=self.number,
            number=len(entries),
            name=name,
            guarantee=guarantee.to_json(),
            charged_at=entry.when.isoformat(),
            period=entry.period,
            run=run,
        )
        transaction.run(
            "UPDATE tacit_ledgers SET epoch = :epoch WHERE id = :ledger", epoch=epoch + 1, ledger=self.number
        )
        return epoch + 1, entry.period

    def running(self, transaction: Transaction) -> str:
        """The period that runs now: by the clock, or the latest that was charged, if the clock was set back."""
        if self.budget.renews is None:
            return ""
        last = transaction.row(_LAST, ledger=self.number)  # periods never go back, so the newest charge has the latest
        return max(self.budget.period_at(now()), "" if last is None else str(last[0]))

    def mark(self, epoch: int) -> None:
        """Write the high-water mark of a commit."""
        self._marks.set("ledger", self.number, epoch)

    def clear(self) -> NoReturn:
        """A ledger in a store forgets nothing: for other people's data take one of another name."""
        raise PrivacyError("A ledger in a store forgets nothing: for other people's data take one of another name.")

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, **super().to_dict()}

    def _read(self, transaction: Transaction) -> tuple[Entry, ...]:
        return tuple(
            Entry(str(name), Guarantee.from_json(guarantee), datetime.fromisoformat(when), str(period), str(run))
            for name, guarantee, when, period, run in transaction.rows(_ENTRIES, ledger=self.number)
        )


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
