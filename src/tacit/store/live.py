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
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from tacit.comparison import Comparison
from tacit.decisions import Decision
from tacit.errors import InvalidInput, PrivacyError, ProtocolError, StoreError
from tacit.learners.learner import Learner
from tacit.privacy.guarantee import Guarantee
from tacit.store.batches import Batches, Request, Run
from tacit.store.engines import Database, Transaction
from tacit.store.ledgers import StoredLedger
from tacit.store.marks import Marks
from tacit.store.rows import shown
from tacit.store.turns import Turn, feedback_text, read
from tacit.validation import check_integer, invalid

LONGEST_KEY = 200
_HEAD = "SELECT epoch, charged FROM tacit_learners WHERE id = :learner"
_DECISIONS = """SELECT round, action FROM tacit_decisions WHERE learner = :learner AND round >= :first
    ORDER BY round LIMIT :limit"""
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
        self._batches: Batches[Turn] = Batches(self._handle)
        self._learner: Learner | None = None
        self._epoch = 0  # of the newest commit that this process has seen

    @property
    def rounds(self) -> int:
        """How many rounds were decided."""
        with self._database.reading() as transaction:
            return self._rounds(transaction)

    @property
    def switches(self) -> int:
        """How often the decision has changed."""
        return int(self._batches.submit(_switches))

    def switches_later(self, run: Run) -> Future[int]:
        """The same for programs that do not wait in threads: a future; `run` is like the `submit` of an executor."""
        return self._batches.later(_switches, run)

    @property
    def waiting(self) -> tuple[Decision, ...]:
        """The decisions whose windows are open and whose feedback is not there, oldest first."""
        with self._database.reading() as transaction:
            oldest = self._rounds(transaction) - 1 - self.plan.problem.delay
            rows = transaction.rows(_WAITING, learner=self._number, oldest=oldest)
        return tuple(Decision(int(number), read(action)) for number, action in rows)

    def decisions(self, first: int | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        """Decisions as JSON can hold them, oldest first: so many from a round on, or the latest ones."""
        with self._database.reading() as transaction:
            start = max(0, self._rounds(transaction) - limit) if first is None else first
            found = transaction.rows(_DECISIONS, learner=self._number, first=start, limit=limit)
        return [{"round": int(number), "action": shown(action)} for number, action in found]

    def decide(self, key: str | None = None) -> Decision:
        """The decision of the next round, once it is durable.

        Args:
            key: a name for this request, such as its number: asked again with the same key, after a lost answer or a
                crash, the store gives the same decision. Without a key every call opens a round.
        """
        decision: Decision = self._batches.submit(self._deciding(key))
        return decision

    def decide_later(self, key: str | None, run: Run) -> Future[Decision]:
        """The same for programs that do not wait in threads: a future; `run` is like the `submit` of an executor."""
        return self._batches.later(self._deciding(key), run)

    def settle(self, round: int, feedback: Any) -> None:
        """Keep the feedback of an open round (None: there is none), once it is durable.

        The same feedback again is accepted. Another one is refused, as is any for a round that is closed or was not
        decided; bad feedback changes nothing.
        """
        self._batches.submit(self._settling(round, feedback))

    def settle_later(self, round: int, feedback: Any, run: Run) -> Future[None]:
        """The same for programs that do not wait in threads: a future; `run` is like the `submit` of an executor."""
        return self._batches.later(self._settling(round, feedback), run)

    def _deciding(self, key: str | None) -> Callable[[Turn], Decision]:
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
            raise invalid("decide", "key", f"a printable text of 1 to {LONGEST_KEY} characters, or None", key)
        return partial(self._decide, key)

    def _settling(self, round: int, feedback: Any) -> Callable[[Turn], None]:
        number = check_integer("settle", "round", round, at_least=0)
        value = feedback_text(feedback)
        return lambda turn: turn.settle(number, feedback, value)

    def _decide(self, key: str | None, turn: Turn) -> Decision:
        found = None if key is None else turn.find(key)
        if found is not None:
            return found
        if turn.learner.decided != self.plan.plan.horizon:  # else it decides no more, and says so
            turn.charge(self.ledger, self.name, self.guarantee)
        return turn.decide(key)

    def _handle(self, requests: list[Request[Turn]]) -> None:
        """One transaction for all of these; if it fails, what was not committed is forgotten."""
        try:
            with self._database.writing() as transaction:
                turn = self._turn(transaction)
                for request in requests:
                    try:
                        request.answer = request.work(turn)
                    except (InvalidInput, PrivacyError, ProtocolError) as error:  # refused before anything changed
                        request.error = error
                advanced = turn.write()
        except BaseException:
            self._learner = None
            raise
        if advanced:
            self._epoch += 1
            self._marks.set("learner", self._number, self._epoch)
        if self.ledger is not None and turn.ledger_epoch is not None:
            self.ledger.mark(turn.ledger_epoch)

    def _turn(self, transaction: Transaction) -> Turn:
        found = transaction.locked(_HEAD, learner=self._number)
        self._check_epoch(-1 if found is None else int(found[0]))
        if self._learner is None:
            self._learner = self._read(transaction)
        return Turn(transaction, self._learner, self._number, self._epoch, found[1])

    def _check_epoch(self, epoch: int) -> None:
        """Notice that others have written since, or that an older copy of the database was put back."""
        if epoch < self._epoch:
            raise StoreError(
                f"The learner {self.name!r} is behind what was written to it: an earlier copy of the database was put "
                "back, and would spend again what was spent since."
            )
        if epoch > self._epoch or self._learner is None:
            self._marks.check("learner", self._number, epoch)
            self._learner, self._epoch = None, epoch

    def _read(self, transaction: Transaction) -> Learner:
        """The learner as of the last commit; a secret one continues under fresh keys."""
        found = transaction.row("SELECT state FROM tacit_states WHERE learner = :learner", learner=self._number)
        learner = self.plan.restore(json.loads(found[0]))
        for number, value in transaction.rows(
            "SELECT round, value FROM tacit_feedback WHERE learner = :learner", learner=self._number
        ):
            learner.settle(int(number), read(value))
        return learner

    def _rounds(self, transaction: Transaction) -> int:
        return int(transaction.row("SELECT rounds FROM tacit_learners WHERE id = :learner", learner=self._number)[0])


def _switches(turn: Turn) -> int:
    return turn.learner.switches
