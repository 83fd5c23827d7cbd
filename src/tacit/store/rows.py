"""The row of a learner in a store: how it is made, found again, and shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tacit.comparison import Comparison
from tacit.errors import Conflict, InvalidInput
from tacit.learners.states import decode
from tacit.planning import plan as planned
from tacit.privacy.guarantee import Guarantee
from tacit.randomness import Randomness
from tacit.store.engines import Transaction
from tacit.store.problems import problem_from_dict, problem_to_dict

_COLUMNS = "id, signature, request, guarantee, ledger, epoch, rounds"


@dataclass(frozen=True)
class Row:
    """What a store knows of a learner besides its state and decisions.

    Attributes:
        number: its number in the store.
        signature: its plan to the last digit.
        request: the problem and the target that were asked for.
        guarantee: its contract.
        ledger: the number of the ledger that it is charged to, or None.
        epoch: how many transactions have written to it.
        rounds: how many rounds were decided.
    """

    number: int
    signature: str
    request: dict[str, Any]
    guarantee: Guarantee
    ledger: int | None
    epoch: int
    rounds: int

    def check_same(self, name: str, plan: Comparison, randomness: Randomness | None) -> None:
        """Refuse to go on with another contract than the learner's own."""
        if plan.plan.signature != self.signature:
            raise Conflict(
                f"The learner {name!r} has another contract. In the store: {self.signature}. "
                f"Here: {plan.plan.signature}."
            )
        if randomness is not None and randomness.private != self.guarantee.private:
            raise Conflict(f"The learner {name!r} has other randomness ({self.guarantee.randomness}).")


def find(transaction: Transaction, name: str) -> Row | None:
    """The row of this name, or None."""
    found = transaction.row(f"SELECT {_COLUMNS} FROM tacit_learners WHERE name = :name", name=name)
    if found is None:
        return None
    number, signature, request, guarantee, ledger, epoch, rounds = found
    return Row(number, signature, json.loads(request), Guarantee.from_json(guarantee), ledger, epoch, rounds)


def make(
    transaction: Transaction,
    name: str,
    plan: Comparison,
    request: dict[str, Any],
    ledger: int | None,
    randomness: Randomness | None,
) -> None:
    """Write a new learner, which has decided nothing and spent nothing."""
    number = int(transaction.row("SELECT coalesce(max(id), 0) + 1 FROM tacit_learners")[0])
    learner = plan.start(randomness)
    transaction.run(
        f"INSERT INTO tacit_learners ({_COLUMNS}, name) "
        "VALUES (:number, :signature, :request, :guarantee, :ledger, 0, 0, :name)",
        number=number,
        signature=plan.plan.signature,
        request=json.dumps(request),
        guarantee=learner.guarantee.to_json(),
        ledger=ledger,
        name=name,
    )
    transaction.run("INSERT INTO tacit_states VALUES (:number, :state)", number=number, state=learner.state_text())


def request_of(problem: object, target: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, as JSON; the problem only if it and the target can be read back from there."""
    plain = {key: value for key, value in target.items() if value is None or isinstance(value, int | float | str)}
    described = problem_to_dict(problem) if len(plain) == len(target) else None
    content: dict[str, Any] = json.loads(json.dumps({"problem": described, "text": repr(problem), "target": plain}))
    return content


def plan_again(name: str, request: dict[str, Any]) -> Comparison:
    """The plan of a learner that is in the store, from what was asked for."""
    if request["problem"] is None:
        raise InvalidInput(f"To open the learner {name!r} name its problem, epsilon and delta again.")
    return planned(problem_from_dict(request["problem"]), **request["target"])


def shown(action: str) -> Any:
    """A stored decision as JSON can hold it: a number, or a list of them."""
    value = decode(json.loads(action))
    return value.tolist() if hasattr(value, "tolist") else value
