"""Planted bugs in a store and its service: rounds decided twice, and signs by which feedback shows that it came."""

from __future__ import annotations

import json
import logging.handlers
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from attacks import rows
from experiments.service.running import running
from planted_bugs.catalogue import Control, around, planting, swap
from planted_bugs.tested import by_test
from tacit.accounting import ledger as budgets
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped
from tacit.errors import StoreError
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.runtime.learner import Learner
from tacit.runtime.state import same_plan
from tacit_experiments.service import http
from tacit_experiments.storage.marks import Marks
from tacit_experiments.store import live as store_live
from tacit_experiments.store import rows as store_rows
from tacit_experiments.store import store as stores
from tacit_experiments.store.live import Live, Turn
from tacit_experiments.store.store import Store

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


@around
def _uncounted(honest: Any, self: Turn, sql: str, **values: Any) -> None:
    """Whether another writer was faster is not looked at."""
    with suppress(StoreError):
        honest(self, sql, **values)


@around
def _kept_learner(honest: Any, self: Live, requests: Any) -> None:
    """The learner in memory goes on although its decision was not committed."""
    kept = self._learner
    try:
        honest(self, requests)
    except BaseException:
        self._learner = kept
        raise


def logged() -> Finding:
    """Report feedback to a service whose store fails, and look for what was logged of that."""
    kept = logging.handlers.BufferingHandler(100)
    http.LOG.addHandler(kept)
    try:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "one.db") as service:
            service.store.open("home", PROBLEM, epsilon=1.0, delta=0.0).decide()
            with swapped((Live, "settle_later", _fail)):
                service.post("/v1/learners/home/rounds/0/feedback", {"feedback": [0.0, 1.0]})
    finally:
        http.LOG.removeHandler(kept)
    said = "the log tells that feedback came" if kept.buffer else "nothing found"
    return Finding("service", "feedback while the store fails", said, 0.0, float(len(kept.buffer)), bool(kept.buffer))


def _nothing(scope: Any) -> bool:
    return False


def _fail(*_: Any, **__: Any) -> None:
    raise StoreError("The store failed.")


in_store = planting("store")
CONTROLS = (
    in_store("an export counts transactions", stores, "_epoch", _all_transactions, counted, row=rows.COUNTED),
    in_store("marks beside the file are not compared", Marks, "check", lambda honest: lambda *_: None,
             by_test("experiments.store.test_marks",
                     "test_an_older_copy_that_was_put_back_is_noticed"), row=rows.OLDER_COPY),
    in_store("a copy in another place goes on", Marks, "claim",
             lambda honest: lambda self, transaction: self._exchange(self._path, begin=True),
             by_test("experiments.store.test_marks",
                     "test_a_copy_in_another_place_is_noticed_and_a_store_that_was_moved_is_not", 3, "another name"),
             row=rows.OLDER_COPY),
    in_store("another store takes the marks away", Marks, "_aside",
             lambda honest: staticmethod(lambda path, _: path.with_name("lost")),
             by_test("experiments.store.test_marks",
                     "test_another_store_in_between_takes_no_marks_away"), row=rows.OLDER_COPY),
    in_store("a learner of 0.2 goes on against another adversary", store_rows.Row, "runs",
             lambda honest: lambda self, plan: same_plan(self.signature, plan.plan.signature),
             by_test("experiments.store.test_version_0_2", "test_another_adversary_is_another_contract", "price")),
    in_store("a writer that was overtaken commits", Turn, "_advance", _uncounted,
             by_test("experiments.store.test_writers",
                     "test_a_writer_that_was_overtaken_cannot_commit"), row=rows.WRITERS),
    in_store("a learner goes on from what was not committed", Live, "_handle", _kept_learner,
             by_test("experiments.store.test_writers",
                     "test_a_commit_that_fails_shows_nothing_and_the_learner_goes_on_from_the_last_one", "decide"),
             row=rows.BROKEN_COMMIT),
    in_store("a key that was answered is not looked for", Turn, "find", lambda honest: lambda *_: None,
             by_test("experiments.store.test_store", "test_the_same_key_gives_the_same_decision"), row=rows.REPEATED),
    in_store("persons are not counted", Turn, "_stood", lambda honest: lambda *_: 0,
             by_test("experiments.store.test_persons", "test_threads_never_exceed_the_limit")),
    in_store("an erasure resets a person's count", store_rows, "ERASED", lambda honest: 0,
             by_test("experiments.store.test_persons", "test_a_person_who_was_erased_never_counts_again")),
    in_store("feedback past the limit is not looked at", Learner, "checked", lambda honest: lambda *_: None,
             by_test("experiments.store.test_persons",
                     "test_whether_a_call_raises_does_not_say_how_often_a_person_came")),
    in_store("any clock is believed", budgets.Budget, "plausible",
             lambda honest: lambda self, newest, when: self.period_at(when) >= newest,
             by_test("experiments.store.test_ledgers",
                     "test_a_clock_that_jumps_forward_renews_nothing_and_blocks_nothing", "memory")),
    in_store("the last feedback stays", Turn, "over", lambda honest: property(lambda _: False),
             by_test("experiments.store.test_forgetting",
                     "test_the_last_feedback_is_deleted_when_the_last_decision_is_made")),
    in_store("keys of requests are kept as they are", store_live, "hashed", lambda honest: lambda *words: words[-1],
             by_test("experiments.store.test_forgetting",
                     "test_keys_are_kept_as_hashes_and_only_while_their_windows_are_open")),
    Control(
        "an ended learner keeps its state", "store",
        swap(store_rows, "end", lambda honest: lambda transaction, number: transaction.run(
            "UPDATE tacit_learners SET ended_at = 'x', epoch = epoch + 1 WHERE id = :number", number=number)),
        by_test(
            "experiments.store.test_forgetting", "test_an_ended_learner_keeps_its_contract_and_nothing_private"
        ),
    ),
    in_store("a failure is logged, whatever was asked", http, "private", lambda _: _nothing, logged, row=rows.COUNTED),
)  # fmt: skip
