"""What a fit spends: its noise, and the ledger of this process for estimators without one of their own."""

from __future__ import annotations

import multiprocessing
import warnings
from typing import Any

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Ledger, check_ledger
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.process import current_process

__all__ = ["LEDGER", "Ledger", "PrivacyWarning", "charged", "randomness_of", "spend", "warn_of_reading"]


class PrivacyWarning(UserWarning):
    """Something about this fit is not covered by its guarantee."""


def warn_of_reading(what: str, declare: str, level: int) -> None:
    """Warn that something was read off the data; `level`: how many calls above this one the warning belongs to."""
    told = f"{what} read off the data, which the guarantee does not cover: declare {declare}."
    warnings.warn(told, PrivacyWarning, stacklevel=level + 1)


LEDGER = Ledger()
"""Where estimators without a ledger of their own write: everything this process has spent."""
_HOME = current_process()


def spend(ledger: Ledger | None, name: str, guarantee: Guarantee) -> None:
    """Record a fit in its ledger, or in the process's own; workers have none of their own."""
    check_ledger(name, ledger)
    if ledger is None and (multiprocessing.parent_process() is not None or current_process() != _HOME):
        raise PrivacyError(
            f"This {name} runs in a worker process, whose spending the ledger of the parent would not see: use "
            "n_jobs=1, threads or PrivateGridSearch, or give the worker a ledger of its own and add it up. "
            "Nothing was spent."
        )
    (LEDGER if ledger is None else ledger).record(name, guarantee)


def charged(model: Any, guarantee: Guarantee, level: int = 2) -> Randomness:
    """Record what a fit of this model spends, stamped with the source of its noise, which is returned.

    `level`: how many calls above this one stands who asked for the fit.
    """
    source = randomness_of(model.random_state, level + 1)
    stamped = guarantee.with_randomness(source.label)
    spend(model.ledger, f"{type(model).__name__}.fit", stamped)
    model.guarantee_ = stamped
    return source


def randomness_of(state: Any, level: int) -> Randomness:
    """Secret, unless a seed was given: then replayable, with a warning that belongs so many calls above this one."""
    if state is None:
        return Randomness.secret()
    if isinstance(state, Randomness):
        return state
    warnings.warn(
        "random_state makes the noise replayable: whoever knows it can undo the privacy of this fit.",
        PrivacyWarning,
        stacklevel=level + 1,
    )
    return Randomness.replayable(int(state.randint(2**31 - 1)) if hasattr(state, "randint") else state)
