"""The row of a learner in a store: how it is made, found again, and shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tacit.accounting.guarantee import ENFORCED, Guarantee
from tacit.accounting.ledger import ROUNDING, now
from tacit.errors import Conflict, InvalidInput, StoreError
from tacit.noise.randomness import Randomness
from tacit.planning.comparison import Comparison
from tacit.runtime.state import decode, same_plan
from tacit_experiments.storage.engines import Transaction
from tacit_experiments.store.plans import plan_to_text
from tacit_experiments.store.schema import fresh_salt, hashed

ERASED = 2**31 - 1  # rounds of a person who was erased: above every limit
_COLUMNS = "id, signature, request, guarantee, ledger, epoch, rounds, ended_at, plan"


@dataclass(frozen=True)
class Row:
    """What a store knows of a learner besides its state and decisions."""

    number: int  # its number in the store
    signature: str  # its plan to the last digit
    request: dict[str, Any]  # the problem and the target that were asked for
    guarantee: Guarantee  # its contract
    ledger: int | None  # the number of the ledger that it is charged to, or None
    epoch: int  # how many transactions have written to it
    rounds: int  # how many rounds were decided
    ended: str | None  # when its state was deleted, or None
    plan: (
        str | None
    )  # the fields of its plan (`tacit_experiments.store.plans`), or None: it is planned again when it is opened

    @property
    def persons(self) -> bool:
        """Whether the store counts in how many rounds each person stands."""
        return self.guarantee.participation_limit == ENFORCED

    def runs(self, plan: Comparison) -> bool:
        """Whether this is the learner's plan; most signatures of version 0.2 do not name the adversary."""
        named = self.signature == plan.plan.signature or self.request["text"] == repr(plan.problem)
        return named and same_plan(self.signature, plan.plan.signature)

    def check_same(self, name: str, plan: Comparison, randomness: Randomness | None) -> None:
        """Refuse to go on with another contract than the learner's own."""
        if not self.runs(plan):
            raise Conflict(
                f"The learner {name!r} has another contract. In the store: {self.signature}, for "
                f"{self.request['text']}. Here: {plan.plan.signature}."
            )
        if randomness is not None and randomness.private != self.guarantee.private:
            raise Conflict(f"The learner {name!r} has other randomness ({self.guarantee.randomness}).")
        if not _covers(self.guarantee, plan.guarantee):
            raise StoreError(
                f"The guarantee of the learner {name!r} in the store promises more than its plan keeps: nothing was "
                "shown."
            )


def _covers(stored: Guarantee, own: Guarantee) -> bool:
    """Whether what a plan guarantees is within what the store says of it; the same curve needs no computation."""
    for name in ("relation", "unit", "rounds_per_person", "separation"):
        if getattr(stored, name) != getattr(own, name):
            return False
    same = stored.curve.to_dict() == own.curve.to_dict()
    return same or own.epsilon(stored.at_delta) <= stored.epsilon() * ROUNDING


def find(transaction: Transaction, name: str) -> Row | None:
    """The row of this name, or None."""
    found = transaction.row(f"SELECT {_COLUMNS} FROM tacit_learners WHERE name = :name", name=name)
    if found is None:
        return None
    number, signature, request, guarantee, *others = found
    return Row(number, signature, json.loads(request), Guarantee.from_json(guarantee), *others)


@dataclass(frozen=True)
class Beginning:
    """A learner that has decided nothing and spent nothing, as text; made before the transaction that writes it."""

    guarantee: str  # its contract
    state: str  # its state

    @staticmethod
    def of(plan: Comparison, randomness: Randomness | None, largest: int | None, persons: bool) -> Beginning:
        """Start a learner; refuse one whose state has more bytes than `largest`."""
        learner = plan.start(randomness)
        state = learner.state_text()
        if largest is not None and len(state) > largest:
            raise InvalidInput(
                f"The state of this learner has {len(state):,} bytes, and is written at every decision: at most "
                f"{largest:,} are allowed. Ask for fewer options, or for a shorter delay."
            )
        guarantee = learner.guarantee.with_enforced_persons() if persons else learner.guarantee
        return Beginning(guarantee.to_json(), state)


def make(
    transaction: Transaction,
    name: str,
    plan: Comparison,
    request: dict[str, Any],
    ledger: int | None,
    beginning: Beginning,
) -> None:
    """Write a new learner."""
    number = int(transaction.row("SELECT coalesce(max(id), 0) + 1 FROM tacit_learners")[0])
    transaction.run(
        f"INSERT INTO tacit_learners ({_COLUMNS}, name, salt) "
        "VALUES (:number, :signature, :request, :guarantee, :ledger, 0, 0, NULL, :plan, :name, :salt)",
        number=number,
        signature=plan.plan.signature,
        request=json.dumps(request),
        guarantee=beginning.guarantee,
        ledger=ledger,
        plan=plan_to_text(plan.plan),
        name=name,
        salt=fresh_salt(),
    )
    transaction.run("INSERT INTO tacit_states VALUES (:number, :state)", number=number, state=beginning.state)


def keep_plan(transaction: Transaction, number: int, plan: Comparison) -> None:
    """Write the fields of the plan of a learner that an earlier version made."""
    text = plan_to_text(plan.plan)
    if text is not None:
        transaction.run("UPDATE tacit_learners SET plan = :plan WHERE id = :number", plan=text, number=number)


def end(transaction: Transaction, number: int) -> None:
    """Delete all that is private of a learner."""
    for table in ("states", "feedback", "keys", "persons"):
        transaction.run(f"DELETE FROM tacit_{table} WHERE learner = :number", number=number)
    transaction.run(
        "UPDATE tacit_learners SET ended_at = :now, salt = NULL, epoch = epoch + 1 WHERE id = :number",
        now=now().isoformat(timespec="seconds"),
        number=number,
    )


def erase(transaction: Transaction, person: str) -> list[tuple[int, int]]:
    """Forget what a person said in open rounds, and count nothing of theirs any more; the epochs of changed learners.

    The hash stays, as one that stood in every round: without it a person who comes back would count beyond the limit
    that the contract calls enforced.
    """
    changed = []
    for (number,) in transaction.rows("SELECT id FROM tacit_learners WHERE salt IS NOT NULL ORDER BY id"):
        # The learner first, as whoever settles does: otherwise each would wait for the other.
        salt, epoch = transaction.locked("SELECT salt, epoch FROM tacit_learners WHERE id = :number", number=number)
        if salt is None:  # it has ended meanwhile
            continue
        digest = hashed(salt, "person", person)
        where = {"number": number, "digest": digest}
        if not transaction.run(
            "UPDATE tacit_persons SET rounds = :all WHERE learner = :number AND hash = :digest", all=ERASED, **where
        ):
            continue
        transaction.run(
            """UPDATE tacit_feedback SET value = 'null', person = :erased
                WHERE learner = :number AND value <> '' AND (person = :digest OR person LIKE :past)""",
            erased=f"-{digest}:",
            past=f"-{digest}:%",
            **where,
        )
        transaction.run("UPDATE tacit_learners SET epoch = epoch + 1 WHERE id = :number", number=number)
        changed.append((int(number), int(epoch) + 1))
    return changed


def shown(action: str) -> Any:
    """A stored decision as JSON can hold it: a number, or a list of them."""
    value = decode(json.loads(action))
    return value.tolist() if hasattr(value, "tolist") else value
