"""`tacit serve --demo`: an experiment at work, in a store that is removed at the end.

Versions of the experiment are served for seconds where others are served for days. Its first versions are simulated
before the service starts, on a clock of their own, so that there is something to see.
"""

from __future__ import annotations

import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from tacit.errors import TacitError
from tacit.noise.randomness import Randomness
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import period_of
from tacit_experiments.service.server import serve
from tacit_experiments.service.tokens import Tokens
from tacit_experiments.simulated import clicks
from tacit_experiments.store.store import Store

PEOPLE = "people"
SERVED, WINDOW = 12.0, 8.0  # seconds of a version, and after it
PERSONS = 6_000  # of a version
PAST = 24  # versions that are simulated
ARMS = {"control": 0.10, "short": 0.15, "video": 0.08, "carousel": 0.11}
"""The arms of the experiment, and which part of their persons converts."""
HOMEPAGE = Design(
    "homepage",
    tuple(ARMS),
    epsilon=2.0,
    ledger=PEOPLE,
    people_per_day=PERSONS * 86_400 / SERVED,
    hours=SERVED / 3600,
    window=WINDOW / 3600,
    versions=300,
    min_share=0.05,
)


def demo(host: str, port: int, ready: Callable[[str, bool], None], *, browser: bool = True) -> None:
    """Serve the example until a signal comes; `ready` is told the page that signs in, and whether a browser has it."""
    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as folder:
        store = Store(Path(folder) / "decisions.db")
        store.ledger(PEOPLE, epsilon=3.0, delta=1e-6, renews="monthly")
        simulate_past(store, time.time())
        experiments = Experiments(store)
        viewer = Tokens(store).make("read,admin")
        with people(experiments) as start:

            def begin(address: str) -> None:
                start()
                page = f"{address}/#token={viewer}"
                ready(page, browser and webbrowser.open(page))

            serve(store, host, port, ready=begin, experiments=experiments)


def simulate_past(store: Store, now: float) -> None:
    """Run the experiment on a clock that ends now, from as many versions ago as this month has room for."""
    month = datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
    moment = max(month, now - PAST * SERVED)
    with Experiments(store, clock=lambda: moment) as experiments:
        experiments.make(HOMEPAGE)
        experiments.start(HOMEPAGE.name)
        while moment + SERVED < now and period_of(moment) == period_of(now):
            convert(experiments, range(PERSONS))
            moment += SERVED
            experiments.tick()


def convert(experiments: Experiments, persons: range) -> None:
    """Let persons of the version that is served see their arms, and report who converted."""
    policy = experiments.policy(HOMEPAGE.name)
    coins = Randomness.replayable(int(policy["salt"][:8], 16) + persons.start).stream("people").random(len(persons))
    experiments.reply(HOMEPAGE.name, clicks(policy, ARMS, persons, coins))


def come(experiments: Experiments, stop: threading.Event) -> None:
    """Let people of the experiment come, second by second, until it is told to stop."""
    salt, persons, each = "", 0, round(PERSONS / SERVED)
    while not stop.is_set():
        with suppress(TacitError):
            served = experiments.policy(HOMEPAGE.name)["salt"]
            salt, persons = (salt, persons) if served == salt else (served, 0)
            if persons < PERSONS:
                convert(experiments, range(persons, persons + each))
                persons += each
        stop.wait(1.0)


@contextmanager
def people(experiments: Experiments) -> Iterator[Callable[[], None]]:
    """A thread in which people come, from when it is started until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=come, args=(experiments, stop), daemon=True)
    try:
        yield thread.start
    finally:
        stop.set()
        if thread.ident is not None:
            thread.join()
