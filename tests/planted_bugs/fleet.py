"""Planted bugs in a fleet: sealed noise that two batches share, and rows that count twice."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attacks import rows
from planted_bugs.catalogue import Control, around, planting, swap
from planted_bugs.checked import found
from planted_bugs.tested import by_test
from tacit.algorithms.experts import HedgeOnSums, LazyExperts
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness, Sealed, SealedBatch
from tacit.problems import Experts
from tacit.process import current_process
from tacit.runtime.doubling import Doubling
from tacit.runtime.plan import Plan
from tacit_experiments.fleet import deciding, fleet
from tacit_experiments.fleet.fleet import Fleet
from tacit_experiments.fleet.root import Root

ROUNDS = 16
_KEYS = bytes(range(32))


def _fleet() -> Fleet:
    plan = HedgeOnSums.calibrate(Experts(n=2, horizon=ROUNDS), epsilon=1.0, delta=1e-6)
    return Fleet(plan, Randomness.sealed(_KEYS))


def _rows(name: str) -> Any:
    return Randomness.replayable(1).stream(name).random((ROUNDS, 2))


def _keys_of(run: Callable[[], Any]) -> set[bytes]:
    """The keys of all generators that are made meanwhile."""
    seen: set[bytes] = set()
    honest = SealedBatch.generator

    def generator(self: Any, message: bytes) -> Any:
        made = honest(self, message)
        seen.add(bytes(made.state["s"]["seed"]))
        return made

    with swapped((SealedBatch, "generator", generator)):
        run()
    return seen


def shared_by(**changes: Any) -> Callable[[], Finding]:
    """Run two batches that differ in one thing, and look for a key that both have used."""

    def attack() -> Finding:
        many = _fleet()
        before = {name: many.advance(b"shop", None, np.arange(4), _rows(name)[:4]).state for name in ("a", "b")}
        what = {"name": b"shop", "state": "a", "rows": "c"}
        used = []
        for each in (what, what | changes):
            state = before[each["state"]] if each["name"] == b"shop" else None
            if "name" in changes:
                state = None
            rounds = np.arange(4, 8) if state else np.arange(4)
            part = _rows(each["rows"])[: len(rounds)]
            used.append(_keys_of(lambda e=each, s=state, r=rounds, p=part: many.advance(e["name"], s, r, p)))
        shared = bool(used[0] & used[1])
        return _finding(f"two batches that differ in {next(iter(changes))}", "they share noise" if shared else "")

    return attack


def counted_twice() -> Finding:
    """Send rows again, in the same batch and in the next one, and compare with a key to which they came once."""
    rounds, losses = np.arange(6), _rows("a")[:6]
    clean = _fleet().advance(b"shop", None, rounds, losses)
    doubled = _fleet().advance(b"shop", None, np.r_[rounds, 3], np.r_[losses, losses[3:4]])
    later = _fleet().advance(b"shop", clean.state, rounds[-2:], losses[-2:])
    wrong = doubled.state != clean.state or later.state != clean.state
    return _finding("rows that come again", "a person counts twice" if wrong else "")


def shared_by_pasts() -> Finding:
    """Let a row come in one version and be lost in the other, where both lead to the same sums, and go on alike.

    A key whose decision changed in one version only says nothing (about one in twenty), so several are tried.
    """
    many = Fleet(LazyExperts(Experts(n=2, horizon=ROUNDS), eta=0.1, force=0.01), Randomness.sealed(_KEYS))
    missing = np.full((1, 2), np.nan)
    shared = False
    for key in (b"shop 0", b"shop 1", b"shop 2", b"shop 3", b"shop 4", b"shop 5", b"shop 6", b"shop 7"):
        used = []
        start = many.advance(key, None, np.array([-1]), missing).state
        for row in (np.full((1, 2), 0.5), missing):
            state = many.advance(key, start, np.array([0]), row).state
            used.append(_keys_of(lambda k=key, s=state: many.advance(k, s, np.arange(1, 5), _rows("a")[:4])))
        shared |= bool(used[0] & used[1])
    return _finding("two pasts with the same sums", "they share noise" if shared else "")


def shared_by_plans() -> Finding:
    """Run two plans of unknown horizon that differ in the relation on the same rows, and look for a shared key."""
    used = []
    for relation in ("replace", "zero-out"):
        plan = LazyExperts.calibrate(Experts(n=2, horizon=None), epsilon=1.0, delta=0.0, relation=relation)
        many = Fleet(plan, Randomness.sealed(_KEYS))
        used.append(_keys_of(lambda m=many: m.advance(b"shop", None, np.arange(4), _rows("a")[:4])))
    shared = bool(used[0] & used[1])
    return _finding("two plans without a horizon", "they share noise" if shared else "")


def _finding(attack: str, broken: str) -> Finding:
    return Finding("fleet", attack, broken or "nothing found", 0.0, float(bool(broken)), bool(broken))


def _ignoring(**fixed: Any) -> Any:
    def plant(honest: Any) -> Any:
        return lambda self, **parts: honest(self, **(parts | fixed))

    return swap(Sealed, "batch", plant)


@around
def _next_round(honest: Any, problem: Any, columns: int, rounds: Any, losses: Any, report: Any) -> Any:
    """Rows of a round that has its row become rows of later rounds."""
    order = np.argsort(rounds, kind="stable")
    numbers = rounds[order].copy()
    for at in range(1, len(numbers)):
        numbers[at] = max(numbers[at], numbers[at - 1] + 1)
    return honest(problem, columns, numbers, losses[order], report)


def _afresh(honest: Any) -> Any:
    return lambda self, **parts: honest(self, **(parts | {"rows": Randomness.fresh_key()}))


@around
def _by_arrival(honest: Any, problem: Any, columns: int, rounds: Any, losses: Any, report: Any) -> Any:
    """Of the rows of a round the one that arrived first counts."""
    first = np.unique(rounds, return_index=True)[1]
    report.duplicates += len(rounds) - len(first)
    return honest(problem, columns, rounds[first], losses[first], report)


@around
def _uncounted(honest: Any, self: SealedBatch, message: bytes) -> bytes:
    self._given.clear()
    return bytes(honest(self, message))


@around
def _anywhere(honest: Any, self: SealedBatch, message: bytes) -> bytes:
    self._process = current_process()
    return bytes(honest(self, message))


def moved_state() -> Finding:
    """Put the state of one key under another one."""
    many = _fleet()
    state = many.advance(b"shop", None, np.arange(4), _rows("a")[:4]).state
    try:
        many.advance(b"other", state, np.arange(4, 8), _rows("a")[4:8])
    except InvalidInput:
        return _finding("a state under another key", "")
    return _finding("a state under another key", "it is continued")


def nameless() -> Finding:
    """Send a row whose integer key is null, which pandas makes a NaN of."""
    row = pd.DataFrame({"__round": [0], "__losses": list(_rows("a")[:1])})
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(_KEYS)
        recipe = deciding.Recipe(_fleet().plan, Root.found(Path(file.name)), "batch", ("shop",))
        try:
            state, _ = deciding.answer(recipe, (float("nan"),), [row], None)
        except InvalidInput:
            return _finding("a row without a key", "it stops the query")
    return _finding("a row without a key", "" if state is None else "it counts")


# In sealed sources themselves: what is wrong, where, and the test that must fail.
SEALS = (
    (
        *("a sealed source can be pickled", Sealed, "__reduce__", lambda honest: lambda self: (Randomness.secret, ())),
        *("test_a_sealed_source_is_private_and_silent", rows.ROOT),
    ),
    (
        *("a batch does not count what it gave", SealedBatch, "_next", _uncounted),
        *("test_a_sealed_batch_never_gives_the_same_noise_twice", rows.UNBOUND),
    ),
    (
        *("a forked process goes on with a batch", SealedBatch, "_next", _anywhere),
        *("test_a_forked_process_may_begin_a_sealed_batch_and_not_go_on_with_one", rows.FORKED_BATCH),
    ),
)
in_fleet = planting("fleet")
CONTROLS = (
    Control("sealed draws ignore the rows", "fleet", _ignoring(rows=b""), shared_by(rows="d"), row=rows.OTHER_ROWS),
    Control("sealed draws ignore the state", "fleet", _ignoring(state=b""), shared_by(state="b"), row=rows.OLDER_STATE),
    in_fleet("a batch that is run again draws afresh", Sealed, "batch", _afresh, found("sealed_batches_repeat"),
             row=rows.AGAIN),
    in_fleet("the code of a state names no learner", Sealed, "tag",
             lambda honest: lambda self, *parts: honest(self, *parts[1:]), moved_state, row=rows.COPIED_STATE),
    in_fleet("the row that arrives first counts", fleet, "ordered", _by_arrival,
             by_test("experiments.fleet.test_fleet",
                     "test_a_round_that_comes_twice_with_other_losses_counts_in_any_order_of_arrival_the_same_way"),
             row=rows.ORDER),
    in_fleet("an integer key that is null is taken for a key", deciding, "_is_null",
             lambda honest: lambda entry: entry is None, nameless, row=rows.NO_KEY),
    *(
        Control(name, "fleet", swap(owner, method, bug), by_test("noise.test_randomness", test), row=row)
        for name, owner, method, bug, test, row in SEALS
    ),
    in_fleet("states carry no trace of their past", SealedBatch, "past",
             lambda honest: property(lambda batch: bytes(16)), shared_by_pasts, row=rows.OLDER_STATE),
    Control("sealed draws ignore the learner's key", "fleet", _ignoring(learner=b""), shared_by(name=b"other"),
            row=rows.TWO_KEYS),
    in_fleet("a plan without a horizon is known by its epsilon and delta alone", Doubling, "signature",
             lambda honest: vars(Plan)["signature"], shared_by_plans, row=rows.TWO_KEYS),
    in_fleet("duplicates of a round are counted", fleet, "ordered", _next_round, counted_twice, row=rows.TWICE),
)  # fmt: skip
