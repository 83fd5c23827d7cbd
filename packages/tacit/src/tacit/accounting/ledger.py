"""What was spent: whatever names a ledger writes its guarantee there before it uses data, and the ledger adds up.

Cloning an estimator shares its ledger, so a grid search cannot hide its fits. A ledger stays in its process: in a
forked one it refuses, since neither would see what the other spends. `tacit_experiments.Store` keeps ledgers that all
processes share. Only what composes is accepted: one unit, one number of rounds per person.

A budget holds within every period (a calendar month in UTC, say) or, without renewals, for all time; what was spent
over all time is always composed as well. A clock that is wrong renews nothing: a period before the newest charge, or
more than one period after it, is refused until the owner confirms what the clock says. A run that goes on is charged
again in every later period, and counts once over all time. A charge that was a mistake is voided, and stays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

import numpy as np

from tacit.accounting.composition import composed_vectors
from tacit.accounting.guarantee import Guarantee, check_alike
from tacit.accounting.rounding import rounded_up
from tacit.errors import InvalidInput, PrivacyError
from tacit.process import current_process
from tacit.validation import check_choice, check_integer, check_privacy, invalid

FORMATS = {"daily": "%Y-%m-%d", "weekly": "%G-W%V", "monthly": "%Y-%m", "yearly": "%Y"}
"""How the periods of each kind are called; later ones are later in the alphabet."""
_LONGEST = {"daily": 1, "weekly": 7, "monthly": 31, "yearly": 366}  # days from its first one on
LONGEST_REASON = 200
ROUNDING = 1 + 1e-9  # a plan that was calibrated to the budget itself may lie above it by rounding


@dataclass(frozen=True)
class Entry:
    """One spending.

    Attributes:
        name: who or what spent.
        guarantee: the contract.
        when: the clock's time, in UTC.
        period: the period it was charged in ("": the budget does not renew).
        run: the run that it belongs to; entries of one run are one contract over all time ("": of none).
        voided: when and why it was declared a mistake ("": it counts).
    """

    name: str
    guarantee: Guarantee
    when: datetime
    period: str = ""
    run: str = ""
    voided: str = ""


@dataclass(frozen=True)
class Confirmation:
    """The owner's word that the clock was right.

    Attributes:
        after: how many entries there were.
        period: what the clock said.
        when: the clock's time, in UTC.
    """

    after: int
    period: str
    when: datetime


@dataclass(frozen=True)
class Budget:
    """What may be spent on the same people.

    Attributes:
        epsilon: the most that may be spent at `delta` (None: as much as is wanted, but it is written down).
        delta: the delta of the budget.
        renews: "daily", "weekly", "monthly" or "yearly" (None: never).
    """

    epsilon: float | None = None
    delta: float = 1e-6
    renews: str | None = None

    def __post_init__(self) -> None:
        _, delta = check_privacy("Ledger", 1.0 if self.epsilon is None else self.epsilon, self.delta)
        object.__setattr__(self, "delta", delta)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", float(self.epsilon))
        check_choice("Ledger", "renews", self.renews, (None, *FORMATS))

    def period(self, newest: str, when: datetime) -> str:
        """The period at this time, or the newest one that was written down, if the clock is not plausible."""
        return self.period_at(when) if self.plausible(newest, when) else newest

    def period_at(self, when: datetime) -> str:
        """The period at this time by the calendar."""
        return "" if self.renews is None else when.strftime(FORMATS[self.renews])

    def plausible(self, newest: str, when: datetime) -> bool:
        """Whether the clock stands in the newest period that was written down ("": none), or in the next one."""
        return self.renews is None or not newest or self.period_at(when) in (newest, self._following(newest))

    def _following(self, period: str) -> str:
        assert self.renews is not None
        week = self.renews == "weekly"
        first = datetime.strptime(f"{period}-1" if week else period, FORMATS[self.renews] + ("-%u" if week else ""))
        return self.period_at(first + timedelta(days=_LONGEST[self.renews]))

    def admit(
        self,
        entries: Sequence[Entry],
        name: str,
        guarantee: Guarantee,
        run: str = "",
        confirmed: Confirmation | None = None,
    ) -> Entry | None:
        """The entry to write for a spending; None if its run was charged already. Raises if it is not allowed."""
        if not isinstance(name, str):
            raise invalid("Ledger.record", "name", "a text", name)
        if not isinstance(guarantee, Guarantee):
            raise invalid("Ledger.record", "guarantee", "a Guarantee", guarantee)
        when, newest = now(), newest_period(entries, confirmed)
        entry = Entry(name, guarantee, when, self.period(newest, when), run)
        if run and any(other.run == run and other.period == entry.period and not other.voided for other in entries):
            return None
        if not self.plausible(newest, when):
            raise PrivacyError(
                f"The clock says {self.period_at(when)}, and the newest charge is of {entry.period}: a clock that is "
                "wrong would renew the budget, or block it. If the clock is right, confirm it: confirm() of the "
                "ledger, or `tacit store confirm`. Nothing was spent."
            )
        check_alike(related(distinct([*entries, entry])))  # refuses what cannot be added to what is there
        if self.epsilon is not None:
            most, together = self.epsilon * ROUNDING, [*entries, entry]
            # Vectors say at once what is affordable for sure; only where they do not, all is composed exactly.
            if bound(self._inside(together, entry.period), self.delta) <= most:
                return entry
            spent = self.spent(together, entry.period)
            if not spent <= most:
                within = f" in {entry.period}" if entry.period else ""
                reached = f"epsilon={rounded_up(spent)} at delta={self.delta:g}{within}"
                raise PrivacyError(
                    f"This {name} would bring the ledger to {reached}; "
                    f"its budget is {self.epsilon:g}. Nothing was spent."
                )
        return entry

    def spent(self, entries: Sequence[Entry], period: str) -> float:
        """Certified epsilon of what was charged in a period, or under a later date, at the budget's delta."""
        inside = self._inside(entries, period)
        return composed(inside).epsilon(self.delta) if inside else 0.0

    @staticmethod
    def _inside(entries: Sequence[Entry], period: str) -> list[Guarantee]:
        return [entry.guarantee for entry in entries if entry.period >= period and not entry.voided]


def now() -> datetime:
    """The clock's time."""
    return datetime.now(UTC)


def newest_period(entries: Sequence[Entry], confirmed: Confirmation | None) -> str:
    """The latest period that was charged since the owner last confirmed the clock, or that of the confirmation."""
    since = entries if confirmed is None else entries[confirmed.after :]
    known = "" if confirmed is None else confirmed.period
    return max([known, *(entry.period for entry in since if not entry.voided)])


def distinct(entries: Sequence[Entry]) -> list[Guarantee]:
    """The contracts of all entries that count, those of one run once."""
    runs: set[str] = set()
    found = []
    for entry in entries:
        if entry.voided:
            continue
        if entry.run not in runs:
            found.append(entry.guarantee)
        if entry.run:
            runs.add(entry.run)
    return found


def composed(guarantees: Sequence[Guarantee]) -> Guarantee:
    """The composition, under replacement unless all of them zero out; other differences raise."""
    first, *others = related(guarantees)
    return first.compose(*others)


@np.errstate(under="ignore")
def bound(guarantees: Sequence[Guarantee], delta: float) -> float:
    """At least epsilon of the composition at `delta`, by adding vectors; `composed` has no more, but for rounding."""
    return composed_vectors([guarantee.vector for guarantee in related(guarantees)]).epsilon(delta)


def related(guarantees: Sequence[Guarantee]) -> list[Guarantee]:
    """The same guarantees under one relation."""
    mixed = len({guarantee.relation for guarantee in guarantees}) > 1
    return [guarantee.as_replacement() if mixed else guarantee for guarantee in guarantees]


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

    _process: int | None  # which made it; None for a ledger that was sent to another one

    def __init__(self, epsilon: float | None = None, delta: float = 1e-6, renews: str | None = None) -> None:
        self.budget = Budget(epsilon, delta, renews)
        self._process = current_process()
        self._entries: list[Entry] = []
        self._confirmed: Confirmation | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[str, Guarantee]]:
        return iter([(entry.name, entry.guarantee) for entry in self.entries])

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Who spent what, and when."""
        self._check_process()
        return tuple(self._entries)

    @property
    def confirmed(self) -> Confirmation | None:
        """When the owner last confirmed the clock, or None."""
        self._check_process()
        return self._confirmed

    def record(self, name: str, guarantee: Guarantee) -> None:
        """Write one spending down; raises, and writes nothing, if it cannot be added to the others or afforded."""
        self._check_process()
        with self._lock:
            entry = self.budget.admit(self._entries, name, guarantee, confirmed=self._confirmed)
            if entry is not None:
                self._entries.append(entry)

    def confirm(self) -> str:
        """Say that the clock is right although it is far from the newest charge; give the period that runs from now on.

        A ledger refuses charges before the period of its newest one, or more than one period after it, until then.
        """
        self._check_process()
        with self._lock:
            self._confirmed = Confirmation(len(self._entries), self.budget.period_at(now()), now())
            return self._confirmed.period

    def void(self, number: int, reason: str) -> None:
        """Declare a charge a mistake: its data were not used. The charge stays in the account, with the reason.

        Args:
            number: the entry, counted from 0.
            reason: why.
        """
        self._check_process()
        with self._lock:
            self._entries[number] = voided(self._entries, number, reason)

    def together(self) -> Guarantee:
        """Compose all entries of the ledger into one contract, over all time, as if all were about the same people.

        The contract is for the entries' strictest relation: zero-out counts as two steps of replacement if other
        entries replace rounds. A replayable fit stamps the whole as not private.
        """
        entries = self.entries
        counted = distinct(entries)
        if not counted:
            raise PrivacyError("This ledger is empty: there is no contract to state.")
        return composed(counted)

    def epsilon(self, delta: float) -> float:
        """Give the certified epsilon of everything in the ledger together, over all time (see `together`)."""
        counted = distinct(self.entries)
        return composed(counted).epsilon(delta) if counted else 0.0

    @property
    def period(self) -> str:
        """The period that runs now ("": the budget does not renew)."""
        return self.budget.period(newest_period(self.entries, self.confirmed), now())

    @property
    def spent(self) -> float:
        """Certified epsilon, at the budget's delta, of what was charged in the period that runs now."""
        entries = self.entries
        return self.budget.spent(entries, self.budget.period(newest_period(entries, self.confirmed), now()))

    @property
    def private(self) -> bool:
        """False if the noise of any entry can be replayed by whoever knows its seed."""
        return all(guarantee.private for _, guarantee in self)

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready account: the budget, what was spent in this period and over all time, and every entry."""
        entries, budget = self.entries, self.budget
        period, counted = budget.period(newest_period(entries, self.confirmed), now()), distinct(entries)
        ever = composed(counted).epsilon(budget.delta) if counted else 0.0
        spent = budget.spent(entries, period) if budget.renews is not None else ever
        return {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "renews": budget.renews,
            "period": period,
            "spent": _number(spent),
            "spent_ever": _number(ever),
            "private": all(entry.guarantee.private for entry in entries),
            "entries": [_as_dict(entry) for entry in entries],
        }

    def table(self) -> str:
        """Show the account as a table: when, who, and at what price; then the period and all time."""
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
        if distinct(self.entries):
            whole = self.together()
            stamp = "" if whole.private else f"; {whole.randomness}"
            lines.append(f"together: {_stated(whole)}{stamp}")
        return "\n".join(lines)

    def _check_process(self) -> None:
        """Refuse a process that did not make this ledger: what is spent here would be missing there."""
        if self._process != current_process():
            raise PrivacyError(
                "This ledger stayed in the process that made it, and what is spent here would be lost: use n_jobs=1, "
                "threads or PrivateGridSearch, or a ledger that all processes share, "
                "tacit_experiments.Store('people.db').ledger('people'). For a model that was saved, "
                "set_params(ledger=...) names the one to charge."
            )

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[type[Ledger], tuple[()]]:
        return LedgerElsewhere, ()


class LedgerElsewhere(Ledger):
    """A ledger that was sent to another process: it stayed where it was made, and refuses to be used here."""

    def __init__(self) -> None:
        super().__init__()
        self._process = None


def voided(entries: Sequence[Entry], number: int, reason: str) -> Entry:
    """The entry of this number as one that counts no more."""
    check_integer("void", "number", number, at_least=0)
    if number >= len(entries):
        raise InvalidInput(f"This ledger has no charge {number}: its charges are counted from 0 to {len(entries) - 1}.")
    if not (isinstance(reason, str) and 0 < len(reason) <= LONGEST_REASON and reason.isprintable()):
        raise invalid("void", "reason", f"a printable text of 1 to {LONGEST_REASON} characters", reason)
    if entries[number].voided:
        raise InvalidInput(f"Charge {number} is void already: {entries[number].voided}.")
    return replace(entries[number], voided=f"{now().isoformat(timespec='seconds')}: {reason}")


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
        "voided": entry.voided,
    }


def _row(entry: Entry) -> tuple[str, ...]:
    guarantee = entry.guarantee
    when = entry.when.strftime("%Y-%m-%d %H:%M")
    name = f"{entry.name} (void since {entry.voided})" if entry.voided else entry.name
    return when, name, rounded_up(guarantee.epsilon()), rounded_up(guarantee.at_delta, 6)


def _number(value: float) -> float | None:
    return value if isfinite(value) else None


def _shown(value: float | None) -> str:
    return "infinite" if value is None else rounded_up(value)


def _stated(guarantee: Guarantee) -> str:
    delta = rounded_up(guarantee.at_delta, 6)
    return f"epsilon={rounded_up(guarantee.epsilon())} at delta={delta}, {guarantee.relation}"
