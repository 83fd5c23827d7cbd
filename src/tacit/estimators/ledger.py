"""The ledger of this process: where estimators without one of their own write what they spend."""

from __future__ import annotations

import multiprocessing

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Ledger, check_ledger
from tacit.errors import PrivacyError
from tacit.noise.randomness import Process

__all__ = ["LEDGER", "Ledger", "PrivacyWarning", "spend"]


class PrivacyWarning(UserWarning):
    """Something about this fit is not covered by its guarantee."""


LEDGER = Ledger()
"""Where estimators without a ledger of their own write: everything this process has spent."""
_HOME = Process.number


def spend(ledger: Ledger | None, name: str, guarantee: Guarantee) -> None:
    """Record a fit in its ledger, or in the process's own; workers have none of their own."""
    check_ledger(name, ledger)
    if ledger is None and (multiprocessing.parent_process() is not None or Process.number != _HOME):
        raise PrivacyError(
            f"This {name} runs in a worker process, whose spending the ledger of the parent would not see: use "
            "n_jobs=1, threads or PrivateGridSearch, or give the worker a ledger of its own and add it up. "
            "Nothing was spent."
        )
    (LEDGER if ledger is None else ledger).record(name, guarantee)
