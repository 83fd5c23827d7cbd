"""What stands around learners: plans, late feedback, a fleet of keys, a store with many learners and its live page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tacit
import tacit_experiments
from benchmarks.growing.case import Case, Work
from benchmarks.growing.learners import FEW, ROUNDS, TARGET, learning, numbers
from benchmarks.store import copy_learner
from tacit_experiments.fleet.fleet import Fleet
from tacit_experiments.service.page.watch import Watch

KEYS = (10, 100, 300, 1_000)
STORED = (10, 100, 1_000, 3_000, 10_000)
DELAYS = (10, 100, 1_000, 3_000)
ROWS = 10  # of a key in a batch
DECIDED = 20  # by a learner of a store


def cases(folder: Path) -> Iterator[Case]:
    """All of them; the stores are made in a folder."""
    yield Case("tacit.plan", "T", (1_000, 10_000, 100_000, 1_000_000), lambda t: planning(FEW, t), "a plan")
    yield Case("tacit.plan", "N", (10, 100, 1_000, 10_000), lambda n: planning(n, ROUNDS), "a plan")
    yield Case("late feedback", "delay", DELAYS, late)
    yield Case("a fleet", "keys", KEYS, fleet, "a row")
    works: dict[str, Callable[[Path], Work]] = {
        "a store: open": opening,
        "a store: decide": deciding,
        "a store: names": naming,
        "the live page: first look": partial(looking, first=True),
        "the live page: next look": partial(looking, first=False),
    }
    for row, make in works.items():
        yield Case(row, "learners", STORED, lambda count, m=make: m(stored(folder, count)), "a call")


def once(call: Callable[[], object]) -> Work:
    """One call, again and again."""

    def play(player: None, size: int) -> Iterator[None]:
        call()
        yield

    return Work(lambda: None, play, 1)


def planning(n: int, horizon: int) -> Work:
    return once(lambda: tacit.plan(tacit.Experts(n=n, horizon=horizon), **TARGET))


def late(delay: int) -> Work:
    problem = tacit.Experts(n=FEW, horizon=ROUNDS, delay=delay)
    plan = tacit.algorithms.ScheduledExperts.calibrate(problem, **TARGET)
    plan = replace(plan, batch=1)  # the best plan draws more often where feedback is later
    return learning(plan, lambda count: numbers(count, FEW), ROUNDS // 2)


def fleet(keys: int) -> Work:
    """The second batch of every key, by the function that Spark calls."""
    plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=FEW, horizon=1_000), **TARGET)
    function = Fleet(plan, tacit.Randomness.sealed(bytes(range(32))))
    losses, names = numbers(ROWS, FEW), [f"key {number}".encode() for number in range(keys)]

    def batch(states: dict[bytes, bytes | None], first: int) -> None:
        rounds = np.arange(first, first + ROWS)
        for name in names:
            states[name] = function.advance(name, states.get(name), rounds, losses).state

    def start() -> dict[bytes, bytes | None]:
        states: dict[bytes, bytes | None] = {}
        batch(states, 0)
        return states

    def play(states: dict[bytes, bytes | None], size: int) -> Iterator[None]:
        batch(states, ROWS)
        yield

    return Work(start, play, keys * ROWS, lambda states: max(map(len, states.values())))


def stored(folder: Path, count: int) -> Path:
    """A store with so many learners, made if it is not there."""
    path = folder / f"{count}.db"
    if not path.exists():
        with tacit_experiments.Store(path) as store:
            store.open("learner 0", tacit.Experts(n=2, horizon=ROUNDS), **TARGET).decide()
            copy_learner(store, count)
    return path


def opening(path: Path) -> Work:
    """Open the store and one learner, whose plan is made again, and decide."""

    def call() -> None:
        with tacit_experiments.Store(path) as store:
            store.open("learner 5").decide()

    return once(call)


def deciding(path: Path) -> Work:
    """Decisions of a learner that is open, and their feedback."""

    def start() -> Any:
        store = tacit_experiments.Store(path)
        return store, store.open("learner 7")

    def play(opened: Any, size: int) -> Iterator[None]:
        store, live = opened
        for _ in range(DECIDED):
            live.settle(live.decide().round, [0.0, 1.0])
        store.close()
        yield

    return Work(start, play, DECIDED)


def naming(path: Path) -> Work:
    def call() -> None:
        with tacit_experiments.Store(path) as store:
            assert store.learners

    return once(call)


def looking(path: Path, *, first: bool) -> Work:
    """What the page reads of a store, and the page."""

    def start() -> Any:
        store = tacit_experiments.Store(path)
        watch = Watch(store)
        if not first:
            watch.look()
        return store, watch

    def play(opened: Any, size: int) -> Iterator[None]:
        store, watch = opened
        watch.look()
        watch.page("http://localhost/")
        store.close()
        yield

    return Work(start, play, 1)
