"""The ledger of this process: where estimators without one of their own write what they spend."""

from __future__ import annotations

import multiprocessing
import warnings

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, check_ledger

__all__ = ["LEDGER", "Ledger", "PrivacyWarning", "spend"]


class PrivacyWarning(UserWarning):
    """Something about this fit is not covered by its guarantee."""


LEDGER = Ledger()
"""Where estimators without a ledger of their own write: everything this process has spent."""


def spend(ledger: Ledger | None, name: str, guarantee: Guarantee) -> None:
    """Record a fit in its ledger, or in the process's own."""
    check_ledger(name, ledger)
    if ledger is None and multiprocessing.parent_process() is not None:
        warnings.warn(
            f"This {name} runs in a worker process, whose spending the parent does not see: add up the guarantee_ of "
            "every fit, or use PrivateGridSearch or n_jobs=1.",
            PrivacyWarning,
            stacklevel=3,
        )
    (LEDGER if ledger is None else ledger).record(name, guarantee)
