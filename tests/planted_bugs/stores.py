"""Planted bugs in a store and its service: what may be shown of them tells whether feedback came."""

from __future__ import annotations

import json
import logging.handlers
import tempfile
from pathlib import Path
from typing import Any

from planted_bugs.catalogue import Control, swap
from service.running import running
from tacit.auditing.report import Finding
from tacit.auditing.swapped_attributes import swapped
from tacit.errors import StoreError
from tacit.problems import Experts
from tacit.randomness import Randomness
from tacit.service import errors
from tacit.store import store as stores
from tacit.store.live import Live
from tacit.store.store import Store

PROBLEM = Experts(n=2, horizon=20, delay=9)


def counted() -> Finding:
    """Keep the feedback of one round more, inside the window in which no decision can know of it."""
    with tempfile.TemporaryDirectory() as folder:
        differs = _shown(Path(folder) / "one.db", 1) != _shown(Path(folder) / "two.db", 2)
    said = "the export counts feedback" if differs else "nothing found"
    return Finding("store", "feedback that comes or not", said, 0.0, float(differs), differs)


def _shown(file: Path, settled: int) -> str:
    with Store(file) as store:
        live = store.open("home", PROBLEM, epsilon=1.0, delta=0.0, randomness=Randomness.replayable(1))
        for number in range(3):
            live.decide()
            if number < settled:
                live.settle(number, [0.0, 1.0])
        exported = store.export("home")
    exported["store"].pop("identity")
    return json.dumps(exported)


def _all_transactions(_: Any) -> Any:
    def epoch(transaction: Any) -> int:
        return int(transaction.row("SELECT sum(epoch) FROM tacit_learners")[0])

    return epoch


def logged() -> Finding:
    """Report feedback to a service whose store fails, and look for what was logged of that."""
    kept = logging.handlers.BufferingHandler(100)
    errors.LOG.addHandler(kept)
    try:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "one.db") as service:
            service.store.open("home", PROBLEM, epsilon=1.0, delta=0.0).decide()
            with swapped((Live, "settle_later", _fail)):
                service.post("/v1/learners/home/rounds/0/feedback", {"feedback": [0.0, 1.0]})
    finally:
        errors.LOG.removeHandler(kept)
    said = "the log tells that feedback came" if kept.buffer else "nothing found"
    return Finding("service", "feedback while the store fails", said, 0.0, float(len(kept.buffer)), bool(kept.buffer))


def _nothing(scope: Any) -> bool:
    return False


def _fail(*_: Any) -> None:
    raise StoreError("The store failed.")


CONTROLS = (
    Control("an export counts transactions", "store", swap(stores, "_epoch", _all_transactions), counted),
    Control("a failure is logged, whatever was asked", "store", swap(errors, "private", lambda _: _nothing), logged),
)
