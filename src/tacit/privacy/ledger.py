"""What was spent: whatever names a ledger writes its guarantee there before it uses data, and the ledger adds up.

Cloning an estimator shares its ledger, so a grid search cannot hide its fits. A ledger in memory cannot be copied into
another process, where its entries would be lost: it refuses to be pickled, loudly. `tacit.Store` keeps ledgers that
outlive the process. Only what composes is accepted: one unit and one number of rounds per person.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from math import isfinite
from typing import Any, NoReturn

from tacit.errors import PrivacyError
from tacit.markup import card
from tacit.privacy.budgets import Budget, Entry, composed, distinct, now
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import rounded_up
from tacit.validation import invalid


class Ledger:
    """A list of guarantees about the same people, and their composition.

    Args:
        epsilon: a budget; what would exceed it at `delta` raises before it sees the data.
        delta: the delta of the budget.
        renews: "daily", "weekly", "monthly" or "yearly": the budget holds in every such period (None: for all time).

    >>> ledger = Ledger(epsilon=1.0, delta=1e-6)
    >>> ledger.epsilon(1e-6)
    0.0
    """

    def __init__(self, epsilon: float | None = None, delta: float = 1e-6, renews: str | None = None) -> None:
        self.budget = Budget(epsilon, delta, renews)
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[str, Guarantee]]:
        return iter([(entry.name, entry.guarantee) for entry in self.entries])

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Who spent what, and when."""
        return tuple(self._entries)

    def record(self, name: str, guarantee: Guarantee) -> None:
        """Write one spending down; raises, and writes nothing, if it cannot be added to the others or afforded."""
        with self._lock:
            entry = self.budget.admit(self._entries, name, guarantee)
            if entry is not None:
                self._entries.append(entry)

    def together(self) -> Guarantee:
        """The contract of everything in the ledger, over all time, as if all of it were about the same people.

        It is for the strictest of their relations: what zeroes rounds out counts as two steps of replacing them if
        other entries replace rounds. A replayable fit stamps the whole as not private.
        """
        entries = self.entries
        if not entries:
            raise PrivacyError("This ledger is empty: there is no contract to state.")
        return composed(distinct(entries))

    def epsilon(self, delta: float) -> float:
        """Certified epsilon of everything in the ledger together, over all time (see `together`)."""
        return self.together().epsilon(delta) if len(self) else 0.0

    @property
    def period(self) -> str:
        """The period that runs now ("": the budget does not renew)."""
        return self.budget.period(self.entries, now())

    @property
    def spent(self) -> float:
        """Certified epsilon, at the budget's delta, of what was charged in the period that runs now."""
        entries = self.entries
        return self.budget.spent(entries, self.budget.period(entries, now()))

    @property
    def private(self) -> bool:
        """False if the noise of any entry can be replayed by whoever knows its seed."""
        return all(guarantee.private for _, guarantee in self)

    def clear(self) -> None:
        """Forget everything: for other people's data."""
        with self._lock:
            self._entries.clear()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready account: the budget, what was spent in this period and over all time, and every entry."""
        entries, budget = self.entries, self.budget
        period = budget.period(entries, now())
        ever = composed(distinct(entries)).epsilon(budget.delta) if entries else 0.0
        return {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "renews": budget.renews,
            "period": period,
            "spent": _number(budget.spent(entries, period)),
            "spent_ever": _number(ever),
            "private": all(entry.guarantee.private for entry in entries),
            "entries": [_as_dict(entry) for entry in entries],
        }

    def to_json(self) -> str:
        """The account of `to_dict` as text."""
        return json.dumps(self.to_dict())

    def table(self) -> str:
        """The account as a table: when, who, and at what price; then the period and all time."""
        head = ("when (UTC)", "who", "epsilon", "delta")
        rows = [head, *(_row(entry) for entry in self.entries)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, *self._sums()])

    def _sums(self) -> list[str]:
        budget, content = self.budget, self.to_dict()
        allowed = "" if budget.epsilon is None else f" of {budget.epsilon:g}"
        ever = f"spent ever: epsilon={_shown(content['spent_ever'])} at delta={budget.delta:g}"
        if budget.renews is None:
            return [f"spent: epsilon={_shown(content['spent'])}{allowed} at delta={budget.delta:g}"]
        return [f"spent in {content['period']}: epsilon={_shown(content['spent'])}{allowed} at {budget.delta:g}", ever]

    def __str__(self) -> str:
        lines = [f"{len(self)} entries"]
        for name, entry in self:
            stamp = "" if entry.private else f", {entry.randomness}"
            lines.append(f"  {name}: {_stated(entry)}{stamp}")
        if len(self):
            whole = self.together()
            stamp = "" if whole.private else f"; {whole.randomness}"
            lines.append(f"together: {_stated(whole)}{stamp}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The account in a notebook."""
        head = ("when (UTC)", "who", "epsilon", "delta")
        table = (head, *(_row(entry) for entry in self.entries)) if len(self) else ()
        warning = (
            "" if self.private else "The noise of an entry can be replayed by whoever knows its seed: NOT private."
        )
        return card(
            f"Ledger, {len(self)} {'entry' if len(self) == 1 else 'entries'}",
            table=table,
            warning=warning,
            note="; ".join(self._sums()),
        )

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            "A Ledger cannot be sent to another process: what is spent there would be lost. "
            "Use threads or n_jobs=1 (to save a fitted model, set its ledger to None first)."
        )


def check_ledger(owner: str, ledger: object) -> None:
    """Refuse what is neither a ledger nor None."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise invalid(owner, "ledger", "a Ledger", ledger)


def _as_dict(entry: Entry) -> dict[str, Any]:
    guarantee = entry.guarantee
    return {
        "when": entry.when.isoformat(timespec="seconds"),
        "period": entry.period,
        "name": entry.name,
        "epsilon": _number(guarantee.epsilon()),
        "delta": guarantee.at_delta,
        "contract": str(guarantee),
    }


def _row(entry: Entry) -> tuple[str, ...]:
    guarantee = entry.guarantee
    when = entry.when.strftime("%Y-%m-%d %H:%M")
    return when, entry.name, rounded_up(guarantee.epsilon()), rounded_up(guarantee.at_delta, 6)


def _number(value: float) -> float | None:
    return value if isfinite(value) else None


def _shown(value: float | None) -> str:
    return "infinite" if value is None else rounded_up(value)


def _stated(guarantee: Guarantee) -> str:
    delta = rounded_up(guarantee.at_delta, 6)
    return f"epsilon={rounded_up(guarantee.epsilon())} at delta={delta}, {guarantee.relation}"
