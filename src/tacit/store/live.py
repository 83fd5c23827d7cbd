"""A learner in a store: nothing that it decides is shown before it is durable.

A decision is one transaction: lock the learner's row, find the decision of the same key or else charge the ledger,
close the slots whose windows are over, advance the learner, write the decision and the new state, commit and sync.
Then it is returned. If anything fails before, nothing of it happened: the learner is read again from the last commit,
and takes fresh noise. Settled feedback is a row of its own until its window is over; after that it is only in the
learner's state.

The learner in memory is a copy of the last commit, and `epoch`, which counts the commits, says whether it still is:
it is compared when the row is locked and again when it is written, so that a writer that was overtaken cannot commit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit.comparison import Comparison
from tacit.errors import InvalidInput, ProtocolError, StoreError
from tacit.learners.learner import Learner
from tacit.learners.slots import Decision
from tacit.learners.states import decode, encode
from tacit.privacy.budgets import now
from tacit.privacy.guarantee import Guarantee
from tacit.store.engines import Database, Transaction
from tacit.store.ledgers import StoredLedger
from tacit.store.marks import Marks
from tacit.validation import check_integer, invalid

LONGEST_KEY = 200
_HEAD = "SELECT epoch, charged FROM tacit_learners WHERE id = :learner"
_BY_KEY = "SELECT round, action FROM tacit_decisions WHERE learner = :learner AND request_key = :key"
_WAITING = """SELECT decided.round, decided.action FROM tacit_decisions decided LEFT JOIN tacit_feedback settled
    ON settled.learner = decided.learner AND settled.round = decided.round
    WHERE decided.learner = :learner AND decided.round >= :oldest AND settled.round IS NULL ORDER BY decided.round"""


class Live:
    """A learner that survives its process; made by `Store.open`. Threads may share it.

    Attributes:
        name: its name in the store.
        plan: the plan that it runs, with every candidate that was compared.
        guarantee: its privacy contract.
        ledger: where it is charged, or None.
    """

    def __init__(
        self,
        database: Database,
        marks: Marks,
        number: int,
        name: str,
        plan: Comparison,
        guarantee: Guarantee,
        ledger: StoredLedger | None,
    ) -> None:
        self.name = name
        self.plan = plan
        self.guarantee = guarantee
        self.ledger = ledger
        self._database = database
        self._marks = marks
        self._number = number
        self._lock = threading.Lock()
        self._learner: Learner | None = None
        self._epoch = 0  # of the newest commit that this process has seen

    @property
    def rounds(self) -> int:
        """How many rounds were decided."""
        with self._database.reading() as transaction:
            found = transaction.row("SELECT rounds FROM tacit_learners WHERE id = :learner", learner=self._number)
            return int(found[0])

    @property
    def switches(self) -> int:
        """How often the decision has changed."""
        with self._turn() as turn:
            return self._current(turn.transaction).switches

    @property
    def waiting(self) -> tuple[Decision, ...]:
        """The decisions whose windows are open and whose feedback is not there, oldest first."""
        with self._database.reading() as transaction:
            found = transaction.row("SELECT rounds FROM tacit_learners WHERE id = :learner", learner=self._number)
            oldest = int(found[0]) - 1 - self.plan.problem.delay
            rows = transaction.rows(_WAITING, learner=self._number, oldest=oldest)
        return tuple(Decision(int(number), _read(action)) for number, action in rows)

    def decide(self, key: str | None = None) -> Decision:
        """The decision of the next round, once it is durable.

        Args:
            key: a name for this request, such as its number: asked again with the same key, after a lost answer or a
                crash, the store gives the same decision. Without a key every call opens a round.
        """
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
            raise invalid("decide", "key", f"a printable text of 1 to {LONGEST_KEY} characters, or None", key)
        with self._turn() as turn:
            found = None if key is None else turn.transaction.row(_BY_KEY, learner=self._number, key=key)
            if found is not None:
                return Decision(int(found[0]), _read(found[1]))
            learner = self._current(turn.transaction)
            self._charge(turn)
            decision = learner.decide()
            action = _written(decision.action)
            self._write(turn, learner, decision.round, action, key)
        return Decision(decision.round, _read(action))

    def settle(self, round: int, feedback: Any) -> None:
        """Keep the feedback of an open round (None: there is none), once it is durable.

        The same feedback again is accepted. Another one is refused, as is any for a round that is closed or was not
        decided; bad feedback changes nothing.
        """
        number = check_integer("settle", "round", round, at_least=0)
        value = _feedback(feedback)
        with self._turn() as turn:
            self._current(turn.transaction).settle(number, feedback)
            kept = turn.transaction.run(
                "INSERT INTO tacit_feedback VALUES (:learner, :round, :value) ON CONFLICT DO NOTHING",
                learner=self._number,
                round=number,
                value=value,
            )
            if kept:
                self._advance(turn)

    @contextmanager
    def _turn(self) -> Iterator[_Turn]:
        """A transaction that holds the learner's lock; if it fails, what was not committed is forgotten."""
        with self._lock:
            try:
                with self._database.writing() as transaction:
                    found = transaction.locked(_HEAD, learner=self._number)
                    self._check_epoch(found)
                    turn = _Turn(transaction, found[1])
                    yield turn
            except (InvalidInput, ProtocolError):  # refused before anything changed
                raise
            except BaseException:
                self._learner = None
                raise
            if turn.advanced:
                self._epoch += 1
                self._marks.set("learner", self._number, self._epoch)
            if self.ledger is not None and turn.ledger_epoch is not None:
                self.ledger.mark(turn.ledger_epoch)

    def _check_epoch(self, found: Any) -> None:
        """Notice that others have written since, or that an older copy of the database was put back."""
        epoch = -1 if found is None else int(found[0])
        if epoch < self._epoch:
            raise StoreError(
                f"The learner {self.name!r} is at epoch {max(epoch, 0)} in the store, but was at {self._epoch}: an "
                "earlier copy of the database was put back, and would spend again what was spent since."
            )
        if epoch > self._epoch or self._learner is None:
            self._marks.check("learner", self._number, epoch)
            self._learner, self._epoch = None, epoch

    def _current(self, transaction: Transaction) -> Learner:
        """The learner as of the last commit; read again, it continues under fresh keys."""
        if self._learner is None:
            number = self._number
            found = transaction.row("SELECT state FROM tacit_states WHERE learner = :learner", learner=number)
            learner = self.plan.restore(json.loads(found[0]))
            for round, value in transaction.rows(
                "SELECT round, value FROM tacit_feedback WHERE learner = :learner", learner=number
            ):
                learner.settle(int(round), _read(value))
            self._learner = learner
        return self._learner

    def _charge(self, turn: _Turn) -> None:
        """Charge the contract at the first decision, and again in every period in which the learner goes on."""
        ledger = self.ledger
        if ledger is None or (turn.charged is not None and ledger.budget.period_at(now()) <= turn.charged):
            return
        run = f"learner {self._number}"
        turn.ledger_epoch, turn.charged = ledger.charge(turn.transaction, self.name, self.guarantee, run)

    def _write(self, turn: _Turn, learner: Learner, round: int, action: str, key: str | None) -> None:
        """Write a decision and the state after it; feedback whose window is over is now only in the state."""
        number = self._number
        turn.transaction.run(
            "INSERT INTO tacit_decisions VALUES (:learner, :round, :action, :key)",
            learner=number,
            round=round,
            action=action,
            key=key,
        )
        turn.transaction.run(
            "DELETE FROM tacit_feedback WHERE learner = :learner AND round < :oldest",
            learner=number,
            oldest=round - self.plan.problem.delay,
        )
        turn.transaction.run(
            "UPDATE tacit_states SET state = :state WHERE learner = :learner",
            learner=number,
            state=json.dumps(learner.state_dict(), separators=(",", ":")),
        )
        self._advance(turn, ", rounds = :rounds, charged = :charged", rounds=round + 1, charged=turn.charged)

    def _advance(self, turn: _Turn, also: str = "", **values: Any) -> None:
        """Count the commit, if nobody else has since the row was locked."""
        changed = turn.transaction.run(
            f"UPDATE tacit_learners SET epoch = :epoch{also} WHERE id = :learner AND epoch = :before",
            epoch=self._epoch + 1,
            learner=self._number,
            before=self._epoch,
            **values,
        )
        if changed != 1:
            raise StoreError(
                f"Another writer has overtaken this one at the learner {self.name!r}: nothing was written."
            )
        turn.advanced = True


@dataclass
class _Turn:
    """What a transaction on a learner knows.

    Attributes:
        transaction: its statements.
        charged: the period that the learner was last charged in, or None.
        advanced: whether the learner's row was written.
        ledger_epoch: the epoch of the ledger, if it was charged.
    """

    transaction: Transaction
    charged: str | None
    advanced: bool = False
    ledger_epoch: int | None = None


def _written(value: Any) -> str:
    return json.dumps(encode(value), separators=(",", ":"))


def _read(text: str) -> Any:
    return decode(json.loads(text))


def _feedback(value: Any) -> str:
    try:
        return _written(value)
    except InvalidInput:
        raise InvalidInput(
            "A store keeps feedback that is made of numbers, lists, tuples and arrays. "
            f"Got a {type(value).__name__} instead."
        ) from None
