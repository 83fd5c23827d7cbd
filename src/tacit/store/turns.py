"""One transaction on a learner: what its requests decide and settle is collected, and written once at the end."""

from __future__ import annotations

import json
from typing import Any

from tacit.decisions import Decision
from tacit.errors import InvalidInput, StoreError
from tacit.learners.learner import Learner
from tacit.learners.states import decode, encode
from tacit.privacy.guarantee import Guarantee
from tacit.store.engines import Transaction
from tacit.store.ledgers import StoredLedger

_BY_KEY = "SELECT round, action FROM tacit_decisions WHERE learner = :learner AND request_key = :key"
_DECISION = "INSERT INTO tacit_decisions VALUES (:learner, :round, :action, :key)"
_FEEDBACK = "INSERT INTO tacit_feedback VALUES (:learner, :round, :value) ON CONFLICT DO NOTHING"
_FORGET = "DELETE FROM tacit_feedback WHERE learner = :learner AND round < :oldest"
_STATE = "UPDATE tacit_states SET state = :state WHERE learner = :learner"
_ADVANCE = "UPDATE tacit_learners SET epoch = epoch + 1 WHERE id = :learner AND epoch = :epoch"
_CHARGED = (
    "UPDATE tacit_learners SET epoch = epoch + 1, rounds = :rounds, charged = :charged "
    "WHERE id = :learner AND epoch = :epoch"
)


class Turn:
    """A transaction that holds the lock of a learner.

    Args:
        transaction: its statements.
        learner: the learner as of the last commit.
        number: its number in the store.
        epoch: how many transactions have written to it.
        charged: the period that it was last charged in, or None.
    """

    def __init__(
        self, transaction: Transaction, learner: Learner, number: int, epoch: int, charged: str | None
    ) -> None:
        self.learner = learner
        self.ledger_epoch: int | None = None  # if the ledger was charged
        self._transaction = transaction
        self._number = number
        self._epoch = epoch
        self._charged = charged
        self._decisions: list[dict[str, Any]] = []
        self._feedback: list[dict[str, Any]] = []

    def find(self, key: str) -> Decision | None:
        """The decision that was given to this key, by an earlier transaction or by this one."""
        for entry in self._decisions:
            if entry["key"] == key:
                return Decision(entry["round"], read(entry["action"]))
        found = self._transaction.row(_BY_KEY, learner=self._number, key=key)
        return None if found is None else Decision(int(found[0]), read(found[1]))

    def charge(self, ledger: StoredLedger | None, name: str, guarantee: Guarantee) -> None:
        """Charge the contract at the first decision, and again in every period in which the learner goes on."""
        if ledger is None or (self._charged is not None and ledger.running(self._transaction) <= self._charged):
            return
        run = f"learner {self._number}"
        self.ledger_epoch, self._charged = ledger.charge(self._transaction, name, guarantee, run)

    def decide(self, key: str | None) -> Decision:
        """Open a round; its slot, and what closes before it, is in the learner's state from now on."""
        decision = self.learner.decide()
        action = written(decision.action)
        self._decisions.append({"learner": self._number, "round": decision.round, "action": action, "key": key})
        return Decision(decision.round, read(action))

    def settle(self, round: int, feedback: Any, value: str) -> None:
        """Fill the slot of a round."""
        self.learner.settle(round, feedback)
        self._feedback.append({"learner": self._number, "round": round, "value": value})

    def write(self) -> bool:
        """Write what was collected; whether there was anything."""
        if self._feedback:
            self._transaction.run_all(_FEEDBACK, self._feedback)
        if self._decisions:
            self._write_decisions()
        elif self._feedback:
            self._advance(_ADVANCE)
        return bool(self._decisions or self._feedback)

    def _write_decisions(self) -> None:
        """The decisions, and the state after them; feedback whose window is over is now only in the state."""
        run, last = self._transaction.run, self._decisions[-1]["round"]
        self._transaction.run_all(_DECISION, self._decisions)
        run(_FORGET, learner=self._number, oldest=last - self.learner.plan.problem.delay)
        state = self.learner.state_text(waiting=False)  # feedback that waits has rows of its own
        run(_STATE, learner=self._number, state=state)
        self._advance(_CHARGED, rounds=last + 1, charged=self._charged)

    def _advance(self, sql: str, **values: Any) -> None:
        """Count the commit, if nobody else has since the row was locked."""
        if self._transaction.run(sql, learner=self._number, epoch=self._epoch, **values) != 1:
            raise StoreError("Another writer has overtaken this one: nothing was written.")


def written(value: Any) -> str:
    """A decision or feedback as text, to the last bit."""
    return json.dumps(encode(value), separators=(",", ":"))


def read(text: str) -> Any:
    """What `written` was given."""
    return decode(json.loads(text))


def feedback_text(value: Any) -> str:
    """Feedback as text; what is not made of numbers is refused."""
    try:
        return written(value)
    except (InvalidInput, RecursionError):
        raise InvalidInput(
            "A store keeps feedback that is made of numbers, lists, tuples and arrays. "
            f"Got a {type(value).__name__} instead."
        ) from None
