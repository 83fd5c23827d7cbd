"""What was spent: every fit writes its guarantee into a ledger, and a ledger adds them up.

Cloning an estimator shares its ledger, so a grid search cannot hide its fits. A ledger cannot be copied into
another process, where its entries would be lost: it refuses to be pickled, loudly. Without one of their own,
estimators write into `LEDGER`, one for the whole process. Only what composes is accepted: one unit and one number of
rounds per person.
"""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from tacit.errors import PrivacyError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import rounded_up
from tacit.validation import check_privacy, invalid


class PrivacyWarning(UserWarning):
    """Something about this fit is not covered by its guarantee."""


class Ledger:
    """A list of guarantees about the same people, and their composition.

    Args:
        epsilon: a budget; a fit that would exceed it at `delta` raises before it sees the data.
        delta: the delta of the budget.

    >>> ledger = Ledger(epsilon=1.0, delta=1e-6)
    >>> ledger.epsilon(1e-6)
    0.0
    """

    def __init__(self, epsilon: float | None = None, delta: float = 1e-6) -> None:
        check_privacy("Ledger", 1.0 if epsilon is None else epsilon, delta)
        self._budget = epsilon
        self._delta = delta
        self._entries: list[tuple[str, Guarantee]] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[str, Guarantee]]:
        return iter(tuple(self._entries))

    def record(self, name: str, guarantee: Guarantee) -> None:
        """Write one spending down; raises, and writes nothing, if it cannot be added to the others or afforded."""
        if not isinstance(guarantee, Guarantee):
            raise invalid("Ledger.record", "guarantee", "a Guarantee", guarantee)
        with self._lock:
            total = _together([*(entry for _, entry in self._entries), guarantee])
            if self._budget is not None:
                spent = total.epsilon(self._delta)
                if not spent <= self._budget * (1 + 1e-9):
                    raise PrivacyError(
                        f"This {name} would bring the ledger to epsilon={rounded_up(spent)} at delta={self._delta:g}; "
                        f"its budget is {self._budget:g}. Nothing was spent."
                    )
            self._entries.append((name, guarantee))

    def together(self) -> Guarantee:
        """The contract of everything in the ledger, as if all of it were about the same people.

        It is for the strictest of their relations: what zeroes rounds out counts as two steps of replacing them if
        other entries replace rounds. A replayable fit stamps the whole as not private.
        """
        entries = [guarantee for _, guarantee in self]
        if not entries:
            raise PrivacyError("This ledger is empty: there is no contract to state.")
        return _together(entries)

    def epsilon(self, delta: float) -> float:
        """Certified epsilon of everything in the ledger together (see `together`)."""
        return self.together().epsilon(delta) if self._entries else 0.0

    @property
    def private(self) -> bool:
        """False if the noise of any entry can be replayed by whoever knows its seed."""
        return all(guarantee.private for _, guarantee in self)

    def clear(self) -> None:
        """Forget everything: for other people's data."""
        with self._lock:
            self._entries.clear()

    def __str__(self) -> str:
        lines = [f"{len(self)} entries"]
        for name, entry in self:
            stamp = "" if entry.private else f", {entry.randomness}"
            lines.append(f"  {name}: {_stated(entry)}{stamp}")
        if self._entries:
            whole = self.together()
            stamp = "" if whole.private else f"; {whole.randomness}"
            lines.append(f"together: {_stated(whole)}{stamp}")
        return "\n".join(lines)

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            "A Ledger cannot be sent to another process: what is spent there would be lost. "
            "Use threads or n_jobs=1 (to save a fitted model, set its ledger to None first)."
        )


LEDGER = Ledger()
"""Where estimators without a ledger of their own write: everything this process has spent."""


def spend(ledger: Ledger | None, name: str, guarantee: Guarantee) -> None:
    """Record a fit in its ledger, or in the process's own."""
    if ledger is None and multiprocessing.parent_process() is not None:
        warnings.warn(
            f"This {name} runs in a worker process, whose spending the parent does not see: add up the guarantee_ of "
            "every fit, or use PrivateGridSearch or n_jobs=1.",
            PrivacyWarning,
            stacklevel=3,
        )
    (LEDGER if ledger is None else ledger).record(name, guarantee)


def _together(entries: list[Guarantee]) -> Guarantee:
    """The composition, under replacement unless all entries zero out; other differences raise."""
    if len({entry.relation for entry in entries}) > 1:
        entries = [entry.as_replacement() for entry in entries]
    return entries[0].compose(*entries[1:])


def _stated(guarantee: Guarantee) -> str:
    delta = rounded_up(guarantee.at_delta, 6)
    return f"epsilon={rounded_up(guarantee.epsilon())} at delta={delta}, {guarantee.relation}"
