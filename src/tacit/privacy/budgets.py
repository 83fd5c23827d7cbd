"""Budgets that may renew, and the rule by which a spending is admitted to one.

A budget holds within every period (a calendar month in UTC, say) or, without renewals, for all time. What was spent
over all time is always composed as well: renewing a budget forgets nothing.

Two things would renew it by accident, and do not. A clock that is set back: the period of a spending is never earlier
than the latest one that was written down. And a run that goes on: whatever still learns in a later period is charged
there again, since it uses that period's data, while over all time its one contract counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit.errors import PrivacyError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import rounded_up
from tacit.validation import check_choice, check_privacy, invalid

FORMATS = {"daily": "%Y-%m-%d", "weekly": "%G-W%V", "monthly": "%Y-%m", "yearly": "%Y"}
"""How the periods of each kind are called; later ones are later in the alphabet."""
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
    """

    name: str
    guarantee: Guarantee
    when: datetime
    period: str = ""
    run: str = ""


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

    def period(self, entries: Sequence[Entry], when: datetime) -> str:
        """The period at this time, or the latest one that was written down, if the clock was set back."""
        return max([self.period_at(when), *(entry.period for entry in entries)])

    def period_at(self, when: datetime) -> str:
        """The period at this time by the calendar."""
        return "" if self.renews is None else when.strftime(FORMATS[self.renews])

    def admit(self, entries: Sequence[Entry], name: str, guarantee: Guarantee, run: str = "") -> Entry | None:
        """The entry to write for a spending; None if its run was charged already. Raises if it is not allowed."""
        if not isinstance(name, str):
            raise invalid("Ledger.record", "name", "a text", name)
        if not isinstance(guarantee, Guarantee):
            raise invalid("Ledger.record", "guarantee", "a Guarantee", guarantee)
        entry = Entry(name, guarantee, now(), self.period(entries, now()), run)
        if run and any(other.run == run and other.period == entry.period for other in entries):
            return None
        composed(distinct([*entries, entry]))  # refuses what cannot be added to what is there
        if self.epsilon is not None:
            spent = self.spent([*entries, entry], entry.period)
            if not spent <= self.epsilon * ROUNDING:
                when = f" in {entry.period}" if entry.period else ""
                raise PrivacyError(
                    f"This {name} would bring the ledger to epsilon={rounded_up(spent)} at delta={self.delta:g}{when}; "
                    f"its budget is {self.epsilon:g}. Nothing was spent."
                )
        return entry

    def spent(self, entries: Sequence[Entry], period: str) -> float:
        """Certified epsilon of everything that was charged in a period, at the budget's delta."""
        inside = [entry.guarantee for entry in entries if entry.period == period]
        return composed(inside).epsilon(self.delta) if inside else 0.0


def now() -> datetime:
    """The clock's time."""
    return datetime.now(UTC)


def distinct(entries: Sequence[Entry]) -> list[Guarantee]:
    """The contracts of all entries, those of one run once."""
    runs: set[str] = set()
    found = []
    for entry in entries:
        if entry.run not in runs:
            found.append(entry.guarantee)
        if entry.run:
            runs.add(entry.run)
    return found


def composed(guarantees: Sequence[Guarantee]) -> Guarantee:
    """The composition, under replacement unless all of them zero out; other differences raise."""
    parts = list(guarantees)
    if len({part.relation for part in parts}) > 1:
        parts = [part.as_replacement() for part in parts]
    return parts[0].compose(*parts[1:])
