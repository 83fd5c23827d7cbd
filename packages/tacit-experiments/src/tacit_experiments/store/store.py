"""A store: learners that survive their process, and the ledgers that they are charged to, in one database."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections import OrderedDict
from contextlib import AbstractContextManager, suppress
from typing import Any

from tacit.accounting.ledger import Budget, now
from tacit.errors import Conflict, InvalidInput
from tacit.noise.randomness import Randomness
from tacit.planning.comparison import Comparison
from tacit.planning.planner import plan as planned
from tacit.problems import Arms, ContextualArms, Policies, Problem
from tacit.validation import invalid
from tacit_experiments.storage.engines import Database, Transaction
from tacit_experiments.storage.ledgers import StoredLedger, open_ledger
from tacit_experiments.storage.marks import CopyError, Marks
from tacit_experiments.store import rows
from tacit_experiments.store.live import Live, check_person, ended
from tacit_experiments.store.plans import plan_again, request_of
from tacit_experiments.store.schema import fresh_identity, prepare

LONGEST_NAME = 200
ARMS_DEPRECATED = (
    "Arms in a store are deprecated, and gone in the next release: experiments decide without a write and protect "
    "persons. `tacit experiments import` makes a draft of a learner of arms."
)
MOST_OPEN = 256  # learners: the one that was not asked for the longest is let go, and read again when needed
MOST_PLANS = 4096  # that are kept although nobody may use them any more


class Store(AbstractContextManager["Store"]):
    """Learners and ledgers in an SQLite file or in PostgreSQL (extra: tacit-experiments[postgres]).

    Nothing is shown before it is durable, and nothing is counted twice: see the page "In production". Threads may
    share a store; a forked process opens its own.

    Args:
        where: a file name, or an address such as "postgresql://user@host/name". A new file is readable by its
            owner only.
        timeout: how many seconds to wait for another writer before raising.

    >>> import tempfile
    >>> import tacit, tacit_experiments
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = tacit_experiments.Store(f"{folder.name}/decisions.db")
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
                self.identity, changed = prepare(transaction)
                self._marks = Marks(self._database.file, self.identity)
                self._marks.claim(transaction)
            if changed:
                self._database.checkpoint()
        except BaseException:
            self._database.close()
            raise
        self._lock = threading.RLock()
        self._lives: OrderedDict[str, Live] = OrderedDict()
        self._plans: OrderedDict[tuple[str, str], Comparison] = OrderedDict()
        self._ledgers: dict[str, StoredLedger] = {}

    def open(
        self,
        name: str,
        problem: Problem | None = None,
        *,
        ledger: StoredLedger | str | None = None,
        randomness: Randomness | None = None,
        persons: bool | None = None,
        **target: Any,
    ) -> Live:
        """Open the learner of this name, which is made if there is none. Another contract than its own is refused.

        Args:
            name: its name in the store.
            problem: what is to be decided; may be left out, with the target, if the learner is there and its problem is
                made of numbers.
            ledger: a ledger of this store, or its name: charged before the first decision is shown. A learner that is
                there keeps its own.
            randomness: where the noise of a new learner comes from (default: secret).
            persons: whether `settle` names whose feedback it is, and the store counts it: what one person says in more
                rounds than the contract covers counts as missing. Otherwise that limit is your promise (the default of
                a new learner).
            **target: epsilon, delta and the other arguments of `tacit.plan`.
        """
        live, _ = self.make(name, problem, ledger=ledger, randomness=randomness, persons=persons, **target)
        if isinstance(live.plan.problem, Arms):
            warnings.warn(ARMS_DEPRECATED, DeprecationWarning, stacklevel=2)
        return live

    def make(
        self,
        name: str,
        problem: Problem | None = None,
        *,
        ledger: StoredLedger | str | None = None,
        randomness: Randomness | None = None,
        persons: bool | None = None,
        largest: int | None = None,
        **target: Any,
    ) -> tuple[Live, bool]:
        """Give the learner of this name, as `open` does, and whether the learner was made now.

        The state of a new learner may have `largest` bytes (None: any number).
        """
        _check_name("open", name)
        if isinstance(problem, ContextualArms | Policies):
            raise InvalidInput(
                f"A store takes no {type(problem).__name__} yet: its learners decide without features and "
                "recommendations. Start such a plan in your own process."
            )
        account = self._own(ledger)
        plan, request = self._planned(name, problem, target)
        # A large state takes seconds to make: nobody waits for it but who asked.
        beginning = None if name in self else rows.Beginning.of(plan, randomness, largest, bool(persons))
        with self._lock:
            row, made = self._row(name, plan, request, account, beginning)
            if row.ended is not None:
                raise ended(name)
            if persons is not None and persons != row.persons:
                raise Conflict(f"The learner {name!r} was opened with persons={row.persons}, and keeps to it.")
            row.check_same(name, plan, randomness)
            if account is not None and account.number != row.ledger:
                raise Conflict(f"The learner {name!r} is not charged to the ledger {account.name!r}.")
            if name not in self._lives:
                kept = self._numbered(row.ledger)
                self._lives[name] = Live(self._database, self._marks, row.number, name, plan, row.guarantee, kept)
                if len(self._lives) > MOST_OPEN:
                    self._lives.popitem(last=False)
            return self._lives[name], made

    def opened(self, name: str) -> Live | None:
        """Give the learner of this name if it is open; waits for nobody, so that an event loop can ask."""
        found = self._lives.get(name)
        if found is not None:
            with suppress(KeyError):  # another thread has let go of it
                self._lives.move_to_end(name)
        return found

    def end(self, name: str) -> None:
        """End a learner for good: its state, feedback and keys are deleted; contract, decisions and charges are kept.

        The learner's name stays taken. Ending twice changes nothing.
        """
        with self._lock:
            with self._database.writing() as transaction:
                row = rows.find(transaction, name)
                if row is None:
                    raise InvalidInput(f"There is no learner {name!r} in this store.")
                found = transaction.locked("SELECT epoch FROM tacit_learners WHERE id = :number", number=row.number)
                self._marks.check("learner", row.number, int(found[0]))
                if row.ended is None:
                    rows.end(transaction, row.number)
            if row.ended is None:
                self._marks.set("learner", row.number, int(found[0]) + 1)
            self._lives.pop(name, None)
        self._database.checkpoint()

    def erase(self, person: str) -> None:
        """Forget what a person said in open rounds, and count nothing of theirs any more.

        Open answers become missing. What was absorbed stays in the states of learners, under their contracts. Where
        persons are counted a hash stays until the learner ends: it keeps the limit if the person comes back.
        """
        check_person("erase", person)
        with self._database.writing() as transaction:
            transaction.alone()
            changed = rows.erase(transaction, person)
        for number, epoch in changed:
            self._marks.set("learner", number, epoch)
        self._database.checkpoint()

    def ledger(
        self, name: str, *, epsilon: float | None = None, delta: float | None = None, renews: str | None = None
    ) -> StoredLedger:
        """Give the ledger of this name: made if there is none. Another budget than the ledger's own is refused.

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
        """The database, for what keeps more than learners and ledgers there."""
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

    def export(self, name: str) -> dict[str, Any]:
        """Give what may be shown of a learner, as JSON values: decisions, contract, spending. Never feedback."""
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
                "ended": row.ended,
                "decisions": [{"round": number, "action": rows.shown(action)} for number, action in decisions],
                "spent": {"epsilon": spent[0], "delta": spent[1], "ledger": None if account is None else account[0]},
                "store": {"identity": self.identity, "epoch": _epoch(transaction)},
                "continued": _continued(transaction),
            }

    def check_marks(self) -> None:
        """Refuse a database that is a copy, or behind its marks: it would spend again what was spent elsewhere.

        What is opened is checked anyway; this looks at every learner and ledger at once.
        """
        with self._database.writing() as transaction:  # nobody writes a mark between the two looks
            self._check_marks(transaction)

    def _check_marks(self, transaction: Transaction) -> None:
        for kind in ("learner", "ledger"):
            epochs = {
                int(number): int(epoch) for number, epoch in transaction.rows(f"SELECT id, epoch FROM tacit_{kind}s")
            }
            newer = max(epochs, default=0) + 1  # the next to be made: it has no mark, unless the copy lacks it
            for number, epoch in (*epochs.items(), (newer, 0)):
                self._marks.check(kind, number, epoch)

    def adopt(self) -> str:
        """Go on with a copy whose newest original is lost; give the sentence that every export has from now on.

        What was decided and spent after the copy was made is not known here, and may be spent a second time: count it
        as spent. The copy gets an identity of its own. A store that is no copy is refused.
        """
        with self._lock, self._database.writing() as transaction:
            transaction.alone()
            try:
                self._check_marks(transaction)
            except CopyError:
                pass
            else:
                raise InvalidInput("This store stands where it was written last: there is nothing to adopt.")
            identity = fresh_identity()
            transaction.run(
                "INSERT INTO tacit_adoptions SELECT count(*), :adopted_at, :identity, :epoch FROM tacit_adoptions",
                adopted_at=now().isoformat(timespec="seconds"),
                identity=self.identity,
                epoch=_epoch(transaction),
            )
            transaction.run("UPDATE tacit_store SET identity = :identity", identity=identity)
            self._marks.adopt(transaction, identity)
            sentence = _continued(transaction)[-1]
        self.identity = identity
        return sentence

    def close(self) -> None:
        """Let go of the database; what was written stays."""
        self._database.close()
        self._marks.close()

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
        request = row.request if problem is None and row else request_of(problem, target)
        described = request["problem"] is not None
        if row is None or request != row.request:
            assert problem is not None
            return planned(problem, **target), request
        if not described:  # functions of the user's own are no key to find a plan by
            return plan_again(name, row.signature, {**request, "target": target}, row.plan, problem), request
        return self._known(name, row), request

    def _known(self, name: str, row: rows.Row) -> Comparison:
        """Give the plan of a learner that was made: the last ones are kept, also of learners that were let go."""
        key = row.signature, json.dumps(row.request)
        with self._lock:
            found = self._plans.get(key)
        if found is None:
            found = plan_again(name, row.signature, row.request, row.plan)
        with self._lock:
            self._plans[key] = found
            self._plans.move_to_end(key)
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return found

    def _row(
        self,
        name: str,
        plan: Comparison,
        request: dict[str, Any],
        account: StoredLedger | None,
        beginning: rows.Beginning | None,
    ) -> tuple[rows.Row, bool]:
        """The learner's row, made of its beginning if it is not there, and whether it was."""
        with self._database.writing() as transaction:
            transaction.alone()
            row = rows.find(transaction, name)
            missing = row is None
            if missing:
                if beginning is None:  # it was there a moment ago
                    raise Conflict(f"The learner {name!r} was ended a moment ago: ask for it again.")
                rows.make(transaction, name, plan, request, None if account is None else account.number, beginning)
                row = rows.find(transaction, name)
            assert row is not None
            self._marks.check("learner", row.number, row.epoch)
            if row.plan is None and row.runs(plan):  # of an earlier version
                rows.keep_plan(transaction, row.number, plan)
        return row, missing


def _epoch(transaction: Transaction) -> int:
    counted = ("rounds", "learners"), ("epoch", "ledgers")  # a learner's own epoch counts feedback too
    return sum(int(transaction.row(f"SELECT coalesce(sum({what}), 0) FROM tacit_{kind}")[0]) for what, kind in counted)


def _continued(transaction: Transaction) -> list[str]:
    """Every adoption of a copy, in words."""
    found = transaction.rows("SELECT adopted_at, identity, epoch FROM tacit_adoptions ORDER BY number")
    return [
        f"continued from a copy at {when}, of store {identity} at epoch {epoch}: may have spent twice"
        for when, identity, epoch in found
    ]


def _check_name(owner: str, name: object) -> None:
    if not _is_name(name):
        raise invalid(owner, "name", f"a printable text of 1 to {LONGEST_NAME} characters", name)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
