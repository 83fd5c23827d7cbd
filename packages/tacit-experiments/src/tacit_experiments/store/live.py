"""A learner in a store: nothing that it decides is shown before it is durable.

A decision is one transaction: lock the learner's row, find the decision of the same key or else charge the ledger,
close the slots whose windows are over, advance the learner, write the decision and the new state, commit and sync.
Then it is returned. If anything fails before, nothing of it happened: the learner is read again from the last commit,
and takes fresh noise. Settled feedback is a row of its own until its window is over; after that it is only in the
learner's state. With the last decision all windows close: feedback that no decision can use is not kept.

The learner in memory is a copy of the last commit, and `epoch`, which counts the commits, says whether it still is:
it is compared when the row is locked and again when it is written, so that a writer that was overtaken cannot commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tacit.accounting.guarantee import ENFORCED, Guarantee
from tacit.decisions import Decision
from tacit.errors import InvalidInput, PrivacyError, ProtocolError, StoreError
from tacit.planning.comparison import Comparison
from tacit.runtime.learner import Learner
from tacit.runtime.rounds import reported_otherwise
from tacit.runtime.state import decode, encode
from tacit.validation import check_integer, invalid
from tacit_experiments.storage.engines import Database, Transaction
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.storage.marks import Marks
from tacit_experiments.store.batches import Batches, Request, Run
from tacit_experiments.store.rows import shown
from tacit_experiments.store.schema import hashed

LONGEST_KEY = 200
LONGEST_PERSON = 1000
_HEAD = "SELECT epoch, charged, salt, ended_at FROM tacit_learners WHERE id = :learner"
_DECISIONS = """SELECT round, action FROM tacit_decisions WHERE learner = :learner AND round >= :first
    ORDER BY round LIMIT :limit"""
_WAITING = """SELECT decided.round, decided.action FROM tacit_decisions decided LEFT JOIN tacit_feedback settled
    ON settled.learner = decided.learner AND settled.round = decided.round
    WHERE decided.learner = :learner AND decided.round >= :oldest AND settled.round IS NULL ORDER BY decided.round"""
_BY_KEY = """SELECT decided.round, decided.action FROM tacit_keys asked JOIN tacit_decisions decided
    ON decided.learner = asked.learner AND decided.round = asked.round
    WHERE asked.learner = :learner AND asked.hash = :hash"""
_DECISION = "INSERT INTO tacit_decisions VALUES (:learner, :round, :action)"
_KEY = "INSERT INTO tacit_keys VALUES (:learner, :round, :hash)"
_FEEDBACK = """INSERT INTO tacit_feedback (learner, round, value, person) VALUES (:learner, :round, :value, :person)
    ON CONFLICT DO NOTHING"""
_SETTLED_BY = "SELECT person FROM tacit_feedback WHERE learner = :learner AND round = :round"
_STOOD = "SELECT rounds FROM tacit_persons WHERE learner = :learner AND hash = :hash"
_STANDS = """INSERT INTO tacit_persons VALUES (:learner, :hash, :rounds)
    ON CONFLICT (learner, hash) DO UPDATE SET rounds = excluded.rounds"""
_FORGET = tuple(
    f"DELETE FROM tacit_{table} WHERE learner = :learner AND round < :oldest" for table in ("feedback", "keys")
)
_BLANK = "UPDATE tacit_feedback SET value = '', person = '' WHERE learner = :learner"
_STATE = "UPDATE tacit_states SET state = :state WHERE learner = :learner"
_ADVANCE = "UPDATE tacit_learners SET epoch = epoch + 1 WHERE id = :learner AND epoch = :epoch"
_CHARGED = (
    "UPDATE tacit_learners SET epoch = epoch + 1, rounds = :rounds, charged = :charged "
    "WHERE id = :learner AND epoch = :epoch"
)
MISSING = "null"  # how feedback that is missing is written


@dataclass(eq=False, repr=False)
class Live:
    """A learner that survives its process; made by `Store.open`. Threads may share it.

    Attributes:
        name: its name in the store.
        plan: the plan that it runs, with every candidate that was compared.
        guarantee: its privacy contract.
        ledger: where it is charged, or None.
        persons: whether the store counts in how many rounds each person stands, and so enforces the contract's limit.
    """

    _database: Database
    _marks: Marks
    _number: int
    name: str
    plan: Comparison
    guarantee: Guarantee
    ledger: StoredLedger | None

    def __post_init__(self) -> None:
        self.persons = self.guarantee.participation_limit == ENFORCED
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
        """Give `switches` as a future, for programs that do not wait in threads; `run` is like `Executor.submit`."""
        return self._batches.later(_switches, run)

    @property
    def waiting(self) -> tuple[Decision, ...]:
        """The decisions whose windows are open and whose feedback is not there, oldest first."""
        with self._database.reading() as transaction:
            oldest = self._rounds(transaction) - 1 - self.plan.problem.delay
            rows = transaction.rows(_WAITING, learner=self._number, oldest=oldest)
        return tuple(Decision(int(number), read(action)) for number, action in rows)

    def decisions(self, first: int | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        """Give decisions as JSON values, oldest first: so many from a round on, or the latest decisions."""
        with self._database.reading() as transaction:
            start = max(0, self._rounds(transaction) - limit) if first is None else first
            found = transaction.rows(_DECISIONS, learner=self._number, first=start, limit=limit)
        return [{"round": int(number), "action": shown(action)} for number, action in found]

    def decide(self, key: str | None = None) -> Decision:
        """Give the decision of the next round, once the decision is durable.

        Args:
            key: a name for this request, such as its number. Asked again with the same key, after a lost answer or a
                crash, the store gives the same decision while the round takes feedback. A key of an older round
                opens a round. Without a key every call opens a round.
        """
        decision: Decision = self._batches.submit(self._deciding(key))
        return decision

    def decide_later(self, key: str | None, run: Run) -> Future[Decision]:
        """Decide as a future, for programs that do not wait in threads; `run` is like the `submit` of an executor."""
        return self._batches.later(self._deciding(key), run)

    def settle(self, round: int, feedback: Any, *, person: str | None = None) -> None:
        """Keep the feedback of an open round (None: there is none), once it is durable.

        The same feedback again is accepted. Another one is refused, as is any for a round that is closed or was not
        decided; bad feedback changes nothing. After the last decision feedback changes nothing either, and is not kept.

        Args:
            round: the number of the decision.
            feedback: what came of it.
            person: whose feedback it is, if the learner was opened with `persons=True`: needed then, and refused
                otherwise. What one person says in more rounds than the contract covers is accepted, and counts as
                missing.
        """
        self._batches.submit(self._settling(round, feedback, person))

    def settle_later(self, round: int, feedback: Any, run: Run, *, person: str | None = None) -> Future[None]:
        """Settle as a future, for programs that do not wait in threads; `run` is like the `submit` of an executor."""
        return self._batches.later(self._settling(round, feedback, person), run)

    def _deciding(self, key: str | None) -> Callable[[Turn], Decision]:
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
            raise invalid("decide", "key", f"a printable text of 1 to {LONGEST_KEY} characters, or None", key)
        return partial(self._decide, key)

    def _settling(self, round: int, feedback: Any, person: str | None) -> Callable[[Turn], None]:
        number = check_integer("settle", "round", round, at_least=0)
        value = feedback_text(feedback)
        if self.persons:
            check_person("settle", person)
        elif person is not None:
            raise InvalidInput(
                f"The learner {self.name!r} counts no persons: name none, or open one with persons=True."
            )
        return lambda turn: turn.settle(number, feedback, value, person)

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
                if turn is None:
                    for request in requests:
                        request.error = ended(self.name)
                    return
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
        if turn.finishes:
            self._database.checkpoint()

    def _turn(self, transaction: Transaction) -> Turn | None:
        found = transaction.locked(_HEAD, learner=self._number)
        self._check_epoch(-1 if found is None else int(found[0]))
        if found[3] is not None:
            self._learner = None
            return None
        if self._learner is None:
            self._learner = self._read(transaction)
        limit = self.guarantee.rounds_per_person if self.persons else None
        return Turn(transaction, self._learner, self._number, self._epoch, found[1], str(found[2]), limit)

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
            "SELECT round, value FROM tacit_feedback WHERE learner = :learner AND value <> ''", learner=self._number
        ):
            learner.settle(int(number), read(value))
        return learner

    def _rounds(self, transaction: Transaction) -> int:
        return int(transaction.row("SELECT rounds FROM tacit_learners WHERE id = :learner", learner=self._number)[0])


def check_person(owner: str, person: object) -> None:
    """Refuse what names nobody; the text itself is not repeated, it may be private."""
    if not (isinstance(person, str) and 0 < len(person) <= LONGEST_PERSON):
        raise InvalidInput(
            f"The 'person' parameter of {owner} must be a text of 1 to {LONGEST_PERSON} characters that names one "
            "person."
        )


def ended(name: str) -> ProtocolError:
    """What is said of a learner whose state was deleted."""
    return ProtocolError(
        f"The learner {name!r} was ended and its state deleted; its contract, decisions and charges are kept. "
        "Open one of another name."
    )


def _switches(turn: Turn) -> int:
    return turn.learner.switches


@dataclass(eq=False, repr=False)
class Turn:
    """A transaction that holds the lock of a learner."""

    _transaction: Transaction
    learner: Learner
    _number: int
    _epoch: int
    _charged: str | None  # the period that it was last charged in, or None
    _salt: str  # what its hashes are made with
    _limit: int | None  # in how many rounds one person may stand (None: nobody is counted)
    ledger_epoch: int | None = None  # if the ledger was charged
    _decisions: list[dict[str, Any]] = field(default_factory=list)
    _keys: dict[str, int] = field(default_factory=dict)
    _persons: dict[str, int] = field(default_factory=dict)  # in how many rounds those of this transaction stood
    _feedback: list[dict[str, Any]] = field(default_factory=list)

    def find(self, key: str) -> Decision | None:
        """The decision that was given to this key, by an earlier transaction or by this one."""
        digest = hashed(self._salt, "request", key)
        if digest in self._keys:
            number = self._keys[digest]
            return next(Decision(number, read(made["action"])) for made in self._decisions if made["round"] == number)
        found = self._transaction.row(_BY_KEY, learner=self._number, hash=digest)
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
        self._decisions.append({"learner": self._number, "round": decision.round, "action": action})
        if key is not None:
            self._keys[hashed(self._salt, "request", key)] = decision.round
        return Decision(decision.round, read(action))

    def settle(self, round: int, feedback: Any, value: str, person: str | None) -> None:
        """Fill the slot of a round; what one person says past the limit counts as missing.

        Feedback past the limit is checked like any other, and of it a hash is kept: whether a call raises never depends
        on how often a person came.
        """
        if self.over:  # no decision follows that could use the feedback
            self.learner.checked(round, feedback)
            self._feedback.append({"learner": self._number, "round": round, "value": "", "person": ""})
            return
        tag = ""
        if self._limit is not None:
            assert person is not None
            tag = digest = hashed(self._salt, "person", person)
            before, stood = self._settled_by(round), self._stood(digest)
            if before is not None and before.removeprefix("-").partition(":")[0] != digest:
                raise ProtocolError(f"Round {round} has its feedback already, and another person's was reported.")
            if before.startswith("-") if before else stood >= self._limit:
                said = hashed(self._salt, "feedback", written(self.learner.checked(round, feedback)))
                tag, feedback, value = f"-{digest}:{said}", None, MISSING
                if before not in (None, tag, f"-{digest}:"):  # the last one: it was erased
                    raise reported_otherwise(round)
        self.learner.settle(round, feedback)
        if tag and not tag.startswith("-") and before is None:
            self._persons[tag] = stood + 1
        self._feedback.append({"learner": self._number, "round": round, "value": value, "person": tag})

    def _settled_by(self, round: int) -> str | None:
        """The hash of who settled a round (past the limit: a minus, it, and that of what was said), or None."""
        for entry in self._feedback:
            if entry["round"] == round:
                return str(entry["person"])
        found = self._transaction.row(_SETTLED_BY, learner=self._number, round=round)
        return None if found is None else str(found[0])

    def _stood(self, digest: str) -> int:
        """In how many rounds a person stood so far."""
        if digest not in self._persons:
            found = self._transaction.row(_STOOD, learner=self._number, hash=digest)
            return 0 if found is None else int(found[0])
        return self._persons[digest]

    @property
    def over(self) -> bool:
        """Whether the last decision is made: what is settled now changes nothing, and is not kept."""
        return self.learner.decided == self.learner.plan.horizon

    @property
    def finishes(self) -> bool:
        """Whether the last decision is one of this transaction."""
        return bool(self._decisions) and self.over

    def write(self) -> bool:
        """Write what was collected; whether there was anything."""
        if self._feedback:
            blank = {"value": "", "person": ""}  # no decision follows that could use it
            kept = [entry | blank for entry in self._feedback] if self.over else self._feedback
            self._transaction.run_all(_FEEDBACK, kept)
            stands = [{"learner": self._number, "hash": at, "rounds": rounds} for at, rounds in self._persons.items()]
            self._transaction.run_all(_STANDS, stands)
        if self._decisions:
            self._write_decisions()
        elif self._feedback:
            self._advance(_ADVANCE)
        return bool(self._decisions or self._feedback)

    def _write_decisions(self) -> None:
        """The decisions, and the state after them; feedback whose window is over is now only in the state."""
        run, last = self._transaction.run, self._decisions[-1]["round"]
        self._transaction.run_all(_DECISION, self._decisions)
        keys = [{"learner": self._number, "round": at, "hash": digest} for digest, at in self._keys.items()]
        self._transaction.run_all(_KEY, keys)
        for forget in _FORGET:
            run(forget, learner=self._number, oldest=last - self.learner.plan.problem.delay)
        if self.over:  # all windows close: no decision follows that could use what was settled
            run(_BLANK, learner=self._number)
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
