"""Planted bugs in a store and its service: rounds decided twice, and signs by which feedback shows that it came."""

from __future__ import annotations

import json
import logging.handlers
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attacks import rows
from planted_bugs.catalogue import Control, swap
from planted_bugs.tested import by_test, path, store
from service.running import running
from tacit.auditing.report import Finding
from tacit.auditing.swapped_attributes import swapped
from tacit.errors import StoreError
from tacit.problems import Experts
from tacit.randomness import Randomness
from tacit.service import errors
from tacit.store import store as stores
from tacit.store.live import Live
from tacit.store.marks import Marks
from tacit.store.store import Store
from tacit.store.turns import Turn

PROBLEM = Experts(n=2, horizon=20, delay=9)


def counted() -> Finding:
    """Keep the feedback of one round more, inside the window in which no decision can know of it."""
    with tempfile.TemporaryDirectory() as folder:
        differs = _shown(Path(folder) / "one.db", 1) != _shown(Path(folder) / "two.db", 2)
    said = "the export counts feedback" if differs else "nothing found"
    return Finding("store", "feedback that comes or not", said, 0.0, float(differs), differs)


def _shown(file: Path, settled: int) -> str:
    with Store(file) as opened:
        live = opened.open("home", PROBLEM, epsilon=1.0, delta=0.0, randomness=Randomness.replayable(1))
        for number in range(3):
            live.decide()
            if number < settled:
                live.settle(number, [0.0, 1.0])
        exported = opened.export("home")
    exported["store"].pop("identity")
    return json.dumps(exported)


def _all_transactions(_: Any) -> Any:
    def epoch(transaction: Any) -> int:
        return int(transaction.row("SELECT sum(epoch) FROM tacit_learners")[0])

    return epoch


def _uncounted(honest: Any) -> Any:
    """Whether another writer was faster is not looked at."""

    def advance(self: Turn, sql: str, **values: Any) -> None:
        with suppress(StoreError):
            honest(self, sql, **values)

    return advance


def _kept_learner(honest: Any) -> Any:
    """The learner in memory goes on although its decision was not committed."""

    def handle(self: Live, requests: Any) -> None:
        kept = self._learner
        try:
            honest(self, requests)
        except BaseException:
            self._learner = kept
            raise

    return handle


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
    Control(
        "an export counts transactions", "store", swap(stores, "_epoch", _all_transactions), counted, row=rows.COUNTED
    ),
    Control(
        "marks beside the file are not compared", "store", swap(Marks, "check", lambda honest: lambda *_: None),
        by_test("store.test_marks", "test_an_older_copy_that_was_put_back_is_noticed", fixtures=(path,)),
        row=rows.OLDER_COPY,
    ),
    Control(
        "another store takes the marks away", "store",
        swap(Marks, "_aside", lambda honest: staticmethod(lambda path, _: path.with_name("lost"))),
        by_test("store.test_marks", "test_another_store_in_between_takes_no_marks_away", fixtures=(path,)),
        row=rows.OLDER_COPY,
    ),
    Control(
        "a writer that was overtaken commits", "store", swap(Turn, "_advance", _uncounted),
        by_test(
            "store.test_writers", "test_a_writer_that_was_overtaken_cannot_commit",
            fixtures=(store, pytest.MonkeyPatch.context),
        ),
        row=rows.WRITERS,
    ),
    Control(
        "a learner goes on from what was not committed", "store", swap(Live, "_handle", _kept_learner),
        by_test(
            "store.test_writers",
            "test_a_commit_that_fails_shows_nothing_and_the_learner_goes_on_from_the_last_one", "decide",
            fixtures=(store,),
        ),
        row=rows.BROKEN_COMMIT,
    ),
    Control(
        "a key that was answered is not looked for", "store", swap(Turn, "find", lambda honest: lambda *_: None),
        by_test("store.test_store", "test_the_same_key_gives_the_same_decision", fixtures=(path,)),
        row=rows.REPEATED,
    ),
    Control(
        "a failure is logged, whatever was asked", "store", swap(errors, "private", lambda _: _nothing), logged,
        row=rows.COUNTED,
    ),
)  # fmt: skip
