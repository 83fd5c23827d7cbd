"""Experiments against the bare database. Run: `python benchmarks/experiments.py`.

The bare database does the same upserts, 100 rows a commit, on one connection. Closing a million rows is compared with
one GROUP BY of the same rows. Replies go on while a version closes and its rows are deleted: how long 99 of 100 batches
took then, against before.
"""

import sqlite3
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import tacit
from tacit.experiments import closing, records
from tacit.experiments.design import Design
from tacit.experiments.experiments import Experiments
from tacit.experiments.policy import assign
from tacit.noise.randomness import Randomness

BATCH, BATCHES, TURNS, ROWS = 100, 40, 9, 1_000_000
UPSERT = """INSERT INTO replies AS kept VALUES (:person, :arm, :score, 0) ON CONFLICT (person) DO UPDATE
    SET score = max(kept.score, excluded.score), beat = 1 - kept.beat"""


def measure() -> dict[str, float]:
    """Rates and times in units of the bare database's."""
    with tempfile.TemporaryDirectory() as folder:
        store = tacit.Store(f"{folder}/store.db")
        store.ledger("people", epsilon=1.0, delta=1e-6, renews="monthly")
        with store, Experiments(store) as experiments:
            for name in ("home", "other"):
                ledger = store.ledger(name, epsilon=1.0, delta=1e-6, renews="monthly")
                experiments.make(Design(name, ("control", "short", "video"), epsilon=1.0, ledger=ledger.name, days=1))
                experiments.start(name)
            return deciding(experiments) | replying(experiments, Path(folder)) | closings(experiments, store)


def deciding(experiments: Experiments) -> dict[str, float]:
    """How fast the service computes arms again: the pure function of policy and pid."""
    policy = experiments.policy("home")
    pids = [f"{number:032x}" for number in range(20_000)]
    start = time.perf_counter()
    for pid in pids:
        assign(policy["salt"], policy["upto"], pid)
    return {"arms computed, 1/s": len(pids) / (time.perf_counter() - start)}


def replying(experiments: Experiments, folder: Path) -> dict[str, float]:
    """Replies a second, in turns with the bare database."""
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        bare.execute(f"PRAGMA {pragma}")
    bare.execute("CREATE TABLE replies (person BLOB PRIMARY KEY, arm INT, score INT, beat INT) WITHOUT ROWID")
    salt, people = experiments.policy("home")["salt"], Randomness.replayable(1).stream("people")
    rates: dict[str, list[float]] = {"bare": [], "experiments": []}
    for _ in range(TURNS):  # in turns: the disk is not always equally fast
        pids = [people.bytes(16) for _ in range(BATCH * BATCHES)]
        start = time.perf_counter()
        for first in range(0, len(pids), BATCH):
            rows = [{"person": pid, "arm": 1, "score": 65536} for pid in sorted(pids[first : first + BATCH])]
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany(UPSERT, rows)
            bare.execute("COMMIT")
        middle = time.perf_counter()
        for first in range(0, len(pids), BATCH):
            experiments.reply("home", [[salt, pid.hex(), 1] for pid in pids[first : first + BATCH]])
        rates["bare"].append(len(pids) / (middle - start))
        rates["experiments"].append(len(pids) / (time.perf_counter() - middle))
    bare.close()
    ratio = np.array(rates["experiments"]) / np.array(rates["bare"])
    return {
        "bare upserts, 100 a commit, rows/s": float(np.median(rates["bare"])),
        "replies, 100 a batch, rows/s": float(np.median(rates["experiments"])),
        "ratio, replies in batches of 100 / bare upserts": float(np.median(ratio)),
    }


def closings(experiments: Experiments, store: tacit.Store) -> dict[str, float]:
    """Close a million rows, against one GROUP BY, while another version takes replies."""
    salt = experiments.policy("home")["salt"]
    people = Randomness.replayable(2).stream("people")
    with experiments._replies._database.writing() as transaction:
        rows = (people.bytes(16) for _ in range(ROWS))
        some = [{"person": person, "arm": number % 3, "score": number % 65537} for number, person in enumerate(rows)]
        transaction.run_all(f"INSERT INTO tacit_replies_{salt} VALUES (:person, :arm, :score, 0)", some)
    bare = sqlite3.connect(experiments._replies._database.file)
    grouped = min(
        timed(lambda: bare.execute(f"SELECT arm, sum(score) FROM tacit_replies_{salt} GROUP BY arm").fetchall())
        for _ in range(5)
    )
    bare.close()
    with store.database.reading() as transaction:
        owner = records.experiment(transaction, "home")
        version = records.versions(transaction, owner.number)[0]
    before = batches(experiments, lambda: time.sleep(1.0))
    taken = []

    def close() -> None:
        with_sums = time.perf_counter()
        experiments._replies.close(salt)
        sums = experiments._replies.sums(salt, 3)
        assert sums is not None
        content = closing.noisy(experiments._key, owner, version, sums)
        experiments._witness.add(salt, closing.digest(content))
        taken.append(time.perf_counter() - with_sums)
        closing.settle(experiments._database, experiments._replies, version, (content, closing.digest(content)))

    during = batches(experiments, close)
    return {
        "closing a million rows, s": taken[0],
        "ratio, closing a million rows / one GROUP BY": taken[0] / grouped,
        "ratio, 99% of batches while closing and deleting / before": during / before,
    }


def batches(experiments: Experiments, work) -> float:
    """The time within which 99 of 100 batches were answered while something else went on."""
    salt, done, times, number = experiments.policy("other")["salt"], threading.Event(), [], 0

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
    return float(np.quantile(times, 0.99))


def timed(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key}: {value:.4g}")
