"""A learner in a store against the bare database. Run: `python benchmarks/store.py`.

The bare database commits two transactions a round: a decision of this size with its state, and a row of feedback.
SQLite takes them one after the other on one connection, as fast as it can; the store serves eight clients in threads.
"99% of decisions" is the time within which 99 of 100 decisions came, in units of the mean time of a bare commit.
"""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

import tacit
import tacit_experiments

CLIENTS, ROUNDS, TURNS = 8, 8, 15
LOSSES = [i / 10 for i in range(10)]
PROBLEM = tacit.Experts(n=10, horizon=100_000, delay=32)
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def measure() -> dict[str, float]:
    """Rounds a second, and how long a decision takes at worst, in units of the bare database's."""
    with tempfile.TemporaryDirectory() as folder:
        store = tacit_experiments.Store(f"{folder}/store.db")
        live = store.open("home", PROBLEM, **TARGET)
        serve(live)  # fill the window
        bare, size = bare_database(f"{folder}/bare.db"), state_size(store)
        rates: dict[str, list[float]] = {"bare": [], "store": [], "one": []}
        commits, decisions = [], []
        for _ in range(TURNS):  # in turns: the disk is not always equally fast
            rate, times = timed(lambda: bare_rounds(bare, size, CLIENTS * ROUNDS))
            rates["bare"].append(rate)
            commits += times
            rate, times = timed(lambda: serve(live))
            rates["store"].append(rate)
            decisions += times
            rates["one"].append(timed(lambda: client(live, CLIENTS * ROUNDS, []))[0])
        store.close()
        bare_rate = np.array(rates["bare"])
        results = {
            "bare database, rounds/s": float(np.median(bare_rate)),
            "store, 8 clients, rounds/s": float(np.median(rates["store"])),
            "ratio, store with 8 clients / bare database": float(np.median(rates["store"] / bare_rate)),
            "ratio, store with one client / bare database": float(np.median(rates["one"] / bare_rate)),
            "99% of decisions with 8 clients, in mean bare commits": float(
                np.quantile(decisions, 0.99) / np.mean(commits)
            ),
            "99% of bare commits, in mean bare commits": float(np.quantile(commits, 0.99) / np.mean(commits)),
        }
    return results | opening() | reopening() | charging() | memory()


def timed(work: Callable[[], list[float]]) -> tuple[float, list[float]]:
    """Rounds a second, and the single times."""
    start = time.perf_counter()
    times = work()
    return CLIENTS * ROUNDS / (time.perf_counter() - start), times


def serve(live: tacit_experiments.Live) -> list[float]:
    """Eight clients at once; how long each decision took."""
    times: list[float] = []
    threads = [threading.Thread(target=client, args=(live, ROUNDS, times)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def client(live: tacit_experiments.Live, rounds: int, times: list[float]) -> list[float]:
    for _ in range(rounds):
        start = time.perf_counter()
        decision = live.decide()
        times.append(time.perf_counter() - start)
        with suppress(tacit.ProtocolError):  # a client that was too slow: its round counts as missing
            live.settle(decision.round, LOSSES)
    return times


def state_size(store: tacit_experiments.Store) -> int:
    with store._database.reading() as transaction:
        return int(transaction.row("SELECT length(state) FROM tacit_states")[0])


def bare_database(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE decisions (round INTEGER PRIMARY KEY, action TEXT)")
    connection.execute("CREATE TABLE states (id INTEGER PRIMARY KEY, state TEXT)")
    connection.execute("CREATE TABLE feedback (round INTEGER PRIMARY KEY, value TEXT)")
    connection.execute("INSERT INTO states VALUES (1, '')")
    return connection


def bare_rounds(connection: sqlite3.Connection, size: int, rounds: int) -> list[float]:
    """Two transactions a round; how long each took."""
    times, state, value = [], "x" * size, str(LOSSES)
    for _ in range(rounds):
        for statements in (
            (("INSERT INTO decisions (action) VALUES ('7')", ()), ("UPDATE states SET state = ?", (state,))),
            (("INSERT INTO feedback (value) VALUES (?)", (value,)),),
        ):
            start = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                connection.execute(sql, values)
            connection.execute("COMMIT")
            times.append(time.perf_counter() - start)
    return times


def opening() -> dict[str, float]:
    """Opening one learner among a thousand against one among ten."""
    problem, seconds = tacit.Experts(n=2, horizon=100), {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (10, 1000):
            path = Path(folder) / f"{count}.db"
            with tacit_experiments.Store(path) as store:
                store.open("learner 0", problem, **TARGET)
                copy_learner(store, count)
            times = []
            for _ in range(9):
                with tacit_experiments.Store(path) as store:
                    start = time.perf_counter()
                    store.open(f"learner {count // 2}", problem, **TARGET).decide()
                    times.append(time.perf_counter() - start)
            seconds[count] = float(np.median(times))
    return {"ratio, opening one of 1,000 learners / one of ten": seconds[1000] / seconds[10]}


def reopening() -> dict[str, float]:
    """Milliseconds of CPU to open a learner again, beyond opening the database."""
    with tempfile.TemporaryDirectory() as folder:
        with tacit_experiments.Store(f"{folder}/store.db") as store:
            store.open("arms", tacit.Arms(n=5, horizon=100_000, delay=10), **TARGET).decide()
        times = []
        for _ in range(9):
            with tacit_experiments.Store(f"{folder}/store.db") as store:
                start = time.process_time()
                store.open("arms")
                times.append(1e3 * (time.process_time() - start))
    return {"opening a learner again, ms of CPU": float(np.median(times))}


def charging() -> dict[str, float]:
    """Milliseconds of CPU for a charge to a ledger of 400 entries, of six contracts in turns."""
    problem, names = tacit.Experts(n=3, horizon=10_000, delay=5), ("LazyExperts", "HedgeOnSums")
    contracts = [
        tacit.plan(problem, epsilon=epsilon, delta=1e-6, algorithms=[name]).guarantee
        for epsilon in (0.1, 0.2, 0.5)
        for name in names
    ]
    with tempfile.TemporaryDirectory() as folder, tacit_experiments.Store(f"{folder}/store.db") as store:
        ledger, times = store.ledger("people", epsilon=1000.0, delta=1e-6), []
        for number in range(410):
            start = time.process_time()
            ledger.record("learner", contracts[number % len(contracts)])
            times.append(1e3 * (time.process_time() - start))
    return {"a charge to a ledger of 400 entries, ms of CPU": float(np.median(times[400:]))}


def copy_learner(store: tacit_experiments.Store, count: int) -> None:
    """As many learners as were asked for, without planning each of them."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :last) "
    with store._database.writing() as transaction:
        transaction.run(
            "INSERT INTO tacit_learners (id, name, signature, request, guarantee, ledger, epoch, rounds, charged, "
            "salt, plan) "
            + numbers
            + "SELECT i + 1, 'learner ' || i, signature, request, guarantee, ledger, epoch, rounds, "
            "charged, salt, plan FROM n, tacit_learners WHERE id = 1",
            last=count - 1,
        )
        transaction.run(
            "INSERT INTO tacit_states " + numbers + "SELECT i + 1, state FROM n, tacit_states WHERE learner = 1",
            last=count - 1,
        )


def memory() -> dict[str, float]:
    """Decisions a second without a store."""
    learner, rounds = tacit.plan(PROBLEM, **TARGET).start(), 20_000
    start = time.perf_counter()
    for _ in range(rounds):
        learner.settle(learner.decide().round, LOSSES)
    return {"in memory, without a store, rounds/s": rounds / (time.perf_counter() - start)}


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
