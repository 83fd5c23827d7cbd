"""A store: learners that survive their process, and the ledgers that they are charged to, in one database."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

from tacit.comparison import Comparison
from tacit.errors import Conflict, InvalidInput
from tacit.planning import plan as planned
from tacit.privacy.budgets import Budget
from tacit.problems import Problem
from tacit.randomness import Randomness
from tacit.store import rows
from tacit.store.engines import Database, Transaction
from tacit.store.history import History
from tacit.store.ledgers import StoredLedger, open_ledger
from tacit.store.live import Live
from tacit.store.marks import Marks
from tacit.store.schema import prepare
from tacit.validation import invalid

LONGEST_NAME = 200


class Store:
    """Learners and ledgers in an SQLite file or in PostgreSQL (extras: tacit[store], tacit[postgres]).

    Nothing is shown before it is durable, and nothing is counted twice: see the page "In production". Threads may
    share a store; a forked process opens its own.

    Args:
        where: a file name, or an address such as "postgresql://user@host/name". A new file is readable by its
            owner only.
        timeout: how many seconds to wait for another writer before raising.

    >>> import tacit, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = tacit.Store(f"{folder.name}/decisions.db")
    >>> live = store.open("homepage", tacit.Experts(n=3, horizon=100, delay=5), epsilon=1.0, delta=1e-6)
    >>> decision = live.decide(key="request-4711")
    >>> live.decide(key="request-4711") == decision
    True
    >>> live.settle(decision.round, [0.0, 0.5, 1.0])
    >>> store.export("homepage")["rounds"]
    1
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, where: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        self._database = Database(where, timeout)
        try:
            with self._database.writing() as transaction:
                self.identity, made = prepare(transaction)
            if made:
                self._database.checkpoint()
        except BaseException:
            self._database.close()
            raise
        self._marks = Marks(self._database.file, self.identity)
        self._lock = threading.RLock()
        self._lives: dict[str, Live] = {}
        self._ledgers: dict[str, StoredLedger] = {}

    def open(
        self,
        name: str,
        problem: Problem | None = None,
        *,
        ledger: StoredLedger | str | None = None,
        randomness: Randomness | None = None,
        **target: Any,
    ) -> Live:
        """The learner of this name: made if it is not there, or continued. Another contract than its own is refused.

        Args:
            name: its name in the store.
            problem: what is to be decided; may be left out, with the target, if the learner is there and its problem is
                made of numbers.
            ledger: a ledger of this store, or its name: charged before the first decision is shown. A learner that is
                there keeps its own.
            randomness: where the noise of a new learner comes from (default: secret).
            **target: epsilon, delta and the other arguments of `tacit.plan`.
        """
        return self.make(name, problem, ledger=ledger, randomness=randomness, **target)[0]

    def make(
        self,
        name: str,
        problem: Problem | None = None,
        *,
        ledger: StoredLedger | str | None = None,
        randomness: Randomness | None = None,
        **target: Any,
    ) -> tuple[Live, bool]:
        """The learner of this name, as `open` gives it, and whether it was made now."""
        _check_name("open", name)
        account = self._own(ledger)
        plan, request = self._planned(name, problem, target)
        with self._lock:
            row, made = self._row(name, plan, request, account, randomness)
            row.check_same(name, plan, randomness)
            if account is not None and account.number != row.ledger:
                raise Conflict(f"The learner {name!r} is not charged to the ledger {account.name!r}.")
            if name not in self._lives:
                kept = self._numbered(row.ledger)
                self._lives[name] = Live(self._database, self._marks, row.number, name, plan, row.guarantee, kept)
            return self._lives[name], made

    def release(self, name: str) -> None:
        """Let go of an open learner: it is read again when it is next opened, and a secret one takes fresh noise."""
        with self._lock:
            self._lives.pop(name, None)

    def ledger(
        self, name: str, *, epsilon: float | None = None, delta: float | None = None, renews: str | None = None
    ) -> StoredLedger:
        """The ledger of this name: made if it is not there. Another budget than its own is refused.

        Args:
            name: whose privacy is spent, such as "people-in-eu".
            epsilon: the most that may be spent at `delta` (None: of a new ledger, no limit).
            delta: the delta of the budget (default: 1e-6).
            renews: "daily", "weekly", "monthly" or "yearly": the budget holds in every such period (None: for all
                time).
        """
        _check_name("ledger", name)
        given = not (epsilon is None and delta is None and renews is None)
        budget = Budget(epsilon, 1e-6 if delta is None else delta, renews) if given else None
        with self._lock:
            opened = open_ledger(self._database, self._marks, name, budget)
            return self._ledgers.setdefault(name, opened)

    @property
    def database(self) -> Database:
        """Its transactions, for what keeps more than learners and ledgers there."""
        return self._database

    def __contains__(self, name: str) -> bool:
        """Whether there is a learner of this name."""
        if not _is_name(name):  # PostgreSQL cannot even be asked for some of them
            return False
        with self._database.reading() as transaction:
            return transaction.row("SELECT 1 FROM tacit_learners WHERE name = :name", name=name) is not None

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of the learners."""
        return self._names("learners")

    @property
    def ledgers(self) -> tuple[str, ...]:
        """The names of the ledgers."""
        return self._names("ledgers")

    @property
    def epoch(self) -> int:
        """How many decisions and charges there are; less than before: an older copy was put back.

        Feedback is not counted: whether it came is private.
        """
        with self._database.reading() as transaction:
            return _epoch(transaction)

    @property
    def history(self) -> History:
        """What may be shown of all learners at a glance, counted inside the database."""
        return History(self._database)

    def export(self, name: str) -> dict[str, Any]:
        """What may be shown of a learner, as JSON can hold it: decisions, contract, spending. Never feedback."""
        with self._database.reading() as transaction:
            row = rows.find(transaction, name)
            if row is None:
                raise InvalidInput(f"There is no learner {name!r} in this store.")
            decisions = transaction.rows(
                "SELECT round, action FROM tacit_decisions WHERE learner = :number ORDER BY round", number=row.number
            )
            account = transaction.row("SELECT name FROM tacit_ledgers WHERE id = :ledger", ledger=row.ledger)
            spent = (row.guarantee.epsilon(), row.guarantee.at_delta) if row.rounds else (0.0, 0.0)
            return {
                "name": name,
                "problem": row.request["text"],
                "contract": str(row.guarantee),
                "guarantee": json.loads(row.guarantee.to_json()),
                "rounds": row.rounds,
                "decisions": [{"round": number, "action": rows.shown(action)} for number, action in decisions],
                "spent": {"epsilon": spent[0], "delta": spent[1], "ledger": None if account is None else account[0]},
                "store": {"identity": self.identity, "epoch": _epoch(transaction)},
            }

    def check_marks(self) -> None:
        """Refuse a database that is behind its marks: an earlier copy was put back, and would spend again.

        What is opened is checked anyway; this looks at every learner and ledger at once.
        """
        with self._database.writing() as transaction:  # nobody writes a mark between the two looks
            for kind in ("learner", "ledger"):
                epochs = {
                    int(number): int(epoch)
                    for number, epoch in transaction.rows(f"SELECT id, epoch FROM tacit_{kind}s")
                }
                newer = max(epochs, default=0) + 1  # the next to be made: it has no mark, unless the copy lacks it
                for number, epoch in (*epochs.items(), (newer, 0)):
                    self._marks.check(kind, number, epoch)

    def close(self) -> None:
        """Let go of the database; what was written stays."""
        self._database.close()
        self._marks.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _names(self, kind: str) -> tuple[str, ...]:
        with self._database.reading() as transaction:
            return tuple(str(row[0]) for row in transaction.rows(f"SELECT name FROM tacit_{kind} ORDER BY name"))

    def _own(self, ledger: object) -> StoredLedger | None:
        """A ledger of this store by its name or itself: another one could not be charged in the same transaction."""
        if isinstance(ledger, str) and ledger not in self.ledgers:  # a misspelt one would have no limit
            raise InvalidInput(
                f"There is no ledger {ledger!r} in this store: make it first, by store.ledger(name, ...)."
            )
        account = self.ledger(ledger) if isinstance(ledger, str) else ledger
        if account is not None and account not in self._ledgers.values():
            raise invalid("open", "ledger", "a ledger of this store (store.ledger(name)), or its name", ledger)
        return account if isinstance(account, StoredLedger) else None

    def _numbered(self, number: int | None) -> StoredLedger | None:
        if number is None:
            return None
        with self._database.reading() as transaction:
            name = transaction.row("SELECT name FROM tacit_ledgers WHERE id = :number", number=number)[0]
        return self.ledger(name)

    def _planned(self, name: str, problem: Problem | None, target: dict[str, Any]) -> tuple[Comparison, dict[str, Any]]:
        """The plan of what is asked for, now or, by the name alone, when the learner was made."""
        with self._database.reading() as transaction:
            row = rows.find(transaction, name)
        if problem is None and (row is None or target):
            raise InvalidInput(f"To open the learner {name!r} name its problem, epsilon and delta.")
        missing = [repr(word) for word in ("epsilon", "delta") if problem is not None and word not in target]
        if missing:
            raise InvalidInput(f"To open the learner {name!r} name {' and '.join(missing)} beside its problem.")
        request = row.request if problem is None and row else rows.request_of(problem, target)
        if name in self._lives and row and request["problem"] and request == row.request:  # open already
            return self._lives[name].plan, request
        return planned(problem, **target) if problem is not None else rows.plan_again(name, request), request

    def _row(
        self,
        name: str,
        plan: Comparison,
        request: dict[str, Any],
        account: StoredLedger | None,
        randomness: Randomness | None,
    ) -> tuple[rows.Row, bool]:
        """The learner's row, made if it is not there, and whether it was."""
        with self._database.writing() as transaction:
            transaction.alone()
            row = rows.find(transaction, name)
            missing = row is None
            if missing:
                rows.make(transaction, name, plan, request, None if account is None else account.number, randomness)
                row = rows.find(transaction, name)
            assert row is not None
            self._marks.check("learner", row.number, row.epoch)
        return row, missing


def _epoch(transaction: Transaction) -> int:
    counted = ("rounds", "learners"), ("epoch", "ledgers")  # a learner's own epoch counts feedback too
    return sum(int(transaction.row(f"SELECT coalesce(sum({what}), 0) FROM tacit_{kind}")[0]) for what, kind in counted)


def _check_name(owner: str, name: object) -> None:
    if not _is_name(name):
        raise invalid(owner, "name", f"a printable text of 1 to {LONGEST_NAME} characters", name)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
