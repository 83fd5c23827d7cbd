"""A learner behind HTTP against the bare database, and against HTTP alone. Run: `python -m benchmarks.service`.

The service is a process of its own; eight clients in threads of this one ask it. HTTP alone is the same server with the
same clients, whose every answer is a constant: what is left of the difference is tokens, checks and the store. Clients
stay connected, as those of a program that runs do: before anything is timed each has its connection.

Ratios to the disk mean little on a machine that does other things as well, so the results begin with how busy it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import tacit
import tacit_experiments
from benchmarks.store import (
    CLIENTS,
    PROBLEM,
    ROUNDS,
    TARGET,
    bare_database,
    bare_rounds,
    client,
    copy_learner,
    state_size,
    timed,
)
from tacit_experiments.service.tokens import SCOPES, Tokens

TURNS = 15
SERVICE = "from tacit.cli.main import main; main()"
TRIVIAL = """
import socket, sys, uvicorn
ANSWER = b'{"round": 0, "action": 7}'
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(ANSWER))]}
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send(HEAD)
    await send({"type": "http.response.body", "body": ANSWER})
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: else asyncio waits for more
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print('{"address": "http://127.0.0.1:%d"}' % listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, http="h11", lifespan="off", log_level="critical")).run([listener])
"""


class Remote:
    """A learner behind HTTP, as one in a store is used, and eight clients of it."""

    def __init__(self, address: str, token: str, name: str = "home") -> None:
        self._client, self._name = tacit_experiments.Client(address, token), name
        self._threads = ThreadPoolExecutor(CLIENTS)  # each keeps a connection

    def decide(self) -> tacit.Decision:
        return self._client.decide(self._name)

    def settle(self, round: int, feedback: object) -> None:
        self._client.settle(self._name, round, feedback)

    def serve(self) -> list[float]:
        """All clients at once; how long each decision took."""
        times: list[float] = []
        for done in [self._threads.submit(client, self, ROUNDS, times) for _ in range(CLIENTS)]:
            done.result()
        return times


@contextmanager
def started(code: str, *options: str) -> Iterator[tuple[str, int]]:
    """A service in a process of its own; its address and the number of its process."""
    with subprocess.Popen([sys.executable, "-c", code, *options], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield json.loads(child.stdout.readline())["address"], child.pid
        finally:
            child.terminate()


@contextmanager
def served(path: Path, prepare: Callable[[tacit_experiments.Store], object]) -> Iterator[tuple[str, str, int]]:
    """`tacit serve` of a store that was prepared; its address, a token, and the number of its process."""
    with tacit_experiments.Store(path) as store:
        prepare(store)
        token = Tokens(store).make(list(SCOPES))
    with started(SERVICE, "serve", "--store", str(path), "--port", "0", "--quiet", "--json") as (address, process):
        yield address, token, process


def measure() -> dict[str, float]:
    """Rounds a second, and how long a decision takes at worst, in units of the bare database's."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            served(folder / "store.db", lambda store: store.open("home", PROBLEM, **TARGET)) as (address, token, child),
            started(TRIVIAL) as (trivial, _),
        ):
            live, constant = Remote(address, token), Remote(trivial, token)
            live.serve()  # fill the window
            constant.serve()
            with tacit_experiments.Store(folder / "store.db") as store:
                size = state_size(store)
            results = compared(folder, size, live, constant)
            results |= beyond_the_store(folder, live, child)
        return {"other programs that wanted a core before, for each core": busy} | results | opening(folder)


def compared(folder: Path, size: int, live: Remote, constant: Remote) -> dict[str, float]:
    """All in turns: the disk is not always equally fast, and the machine not always equally busy."""
    bare = bare_database(str(folder / "bare.db"))
    rates: dict[str, list[float]] = {"bare": [], "service": [], "one": [], "constant": []}
    times: dict[str, list[float]] = {name: [] for name in rates}
    works = {
        "bare": lambda: bare_rounds(bare, size, CLIENTS * ROUNDS),
        "service": live.serve,
        "one": lambda: client(live, CLIENTS * ROUNDS, []),
        "constant": constant.serve,
    }
    for _ in range(TURNS):
        for name, work in works.items():
            rate, single = timed(work)
            rates[name].append(rate)
            times[name] += single
    bare.close()
    found = {name: np.array(rate) for name, rate in rates.items()}
    commit = np.mean(times["bare"])
    return {
        "bare database, rounds/s": float(np.median(found["bare"])),
        "service, 8 clients, rounds/s": float(np.median(found["service"])),
        "HTTP alone, 8 clients, rounds/s": float(np.median(found["constant"])),
        "ratio, service with 8 clients / bare database": float(np.median(found["service"] / found["bare"])),
        "ratio, service with one client / bare database": float(np.median(found["one"] / found["bare"])),
        "ratio, service with 8 clients / HTTP alone": float(np.median(found["service"] / found["constant"])),
        "99% of decisions with 8 clients, in mean bare commits": float(np.quantile(times["service"], 0.99) / commit),
        "99% of answers of HTTP alone, in mean bare commits": float(np.quantile(times["constant"], 0.99) / commit),
        "99% of bare commits, in mean bare commits": float(np.quantile(times["bare"], 0.99) / commit),
    }


def beyond_the_store(folder: Path, live: Remote, process: int) -> dict[str, float]:
    """Processor time of a request in the service, less that of the same rounds in a store without HTTP."""
    rounds = 2 * CLIENTS * ROUNDS
    begin = processor_seconds(process)
    client(live, rounds, [])
    served_seconds = processor_seconds(process) - begin
    with tacit_experiments.Store(folder / "alone.db") as store:
        alone = store.open("home", PROBLEM, **TARGET)
        client(alone, CLIENTS * ROUNDS, [])  # fill the window
        begin = time.process_time()
        client(alone, rounds, [])
        stored_seconds = time.process_time() - begin
    return {
        "processor microseconds of a request": served_seconds / (2 * rounds) * 1e6,
        "processor microseconds of a request beyond the store": (served_seconds - stored_seconds) / (2 * rounds) * 1e6,
    }


def processor_seconds(process: int) -> float:
    """The processor time of a process so far, as Linux says."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def opening(folder: Path) -> dict[str, float]:
    """The first decision of a learner among a thousand against one among ten."""
    seconds = {}
    for count in (10, 1000):

        def prepare(store: tacit_experiments.Store, count: int = count) -> None:
            store.open("learner 0", tacit.Experts(n=2, horizon=100), **TARGET)
            copy_learner(store, count)

        with served(folder / f"{count}.db", prepare) as (address, token, _):
            times = []
            for number in range(1, 10):
                start = time.perf_counter()
                Remote(address, token, f"learner {number * count // 10}").decide()
                times.append(time.perf_counter() - start)
            seconds[count] = float(np.median(times))
    return {"ratio, first decision of one of 1,000 learners / of one of ten": seconds[1000] / seconds[10]}


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
