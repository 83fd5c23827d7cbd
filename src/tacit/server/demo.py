"""`tacit serve --demo`: three learners at work, in a store that is removed at the end.

Simulated visitors decide and settle over HTTP, as a program elsewhere would: a part of the feedback never comes, a part
comes late. At first they hurry, so that there is something to see.
"""

from __future__ import annotations

import tempfile
import threading
import time
import webbrowser
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.client import Client
from tacit.errors import TacitError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms, Experts, Problem, Tracking
from tacit.server.server import serve
from tacit.server.tokens import Tokens
from tacit.store.store import Store
from tacit.validation import FloatArray

LEDGER = "visitors"
HURRY = 400  # rounds at full speed
PAUSE = 0.03  # seconds between later rounds
MISSING = 0.2  # of the feedback never comes
LATE = 12  # rounds after which other feedback comes, at most


@dataclass(frozen=True)
class Scene:
    """One learner and the world that it meets.

    Attributes:
        name: the learner's name.
        problem: what is decided.
        epsilon: its privacy.
        means: how likely each option fails.
        shift: after how many rounds the options change places (None: never).
    """

    name: str
    problem: Problem
    epsilon: float
    means: tuple[float, ...]
    shift: int | None = None

    def losses(self, round: int, coins: FloatArray) -> FloatArray:
        """Which options fail in a round."""
        turns = 0 if self.shift is None else round // self.shift
        return (coins < np.roll(self.means, turns)).astype(float)


SCENES = (
    Scene("homepage-banner", Experts(n=4, horizon=20_000, delay=20), 1.5, (0.6, 0.15, 0.65, 0.7)),
    Scene("model-router", Arms(n=3, horizon=20_000, delay=20), 1.5, (0.7, 0.15, 0.65)),
    Scene("seasonal-offers", Tracking(n=3, horizon=20_000, switches=24, delay=20), 2.0, (0.15, 0.7, 0.8), shift=800),
)


def demo(host: str, port: int, ready: Callable[[str, bool], None], *, browser: bool = True) -> None:
    """Serve the example until a signal comes.

    Args:
        host: where to listen.
        port: where to listen (0: any free one).
        ready: is told the address of the page, which signs in by itself, and whether a browser was opened.
        browser: whether to open one.
    """
    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as folder:
        store = Store(Path(folder) / "decisions.db")
        store.ledger(LEDGER, epsilon=6.0, delta=1e-5, renews="monthly")
        for scene in SCENES:
            store.open(scene.name, scene.problem, epsilon=scene.epsilon, delta=1e-6, ledger=LEDGER)
        tokens = Tokens(store)
        viewer, visitor = tokens.make("read"), tokens.make("decide,feedback")
        with visitors(visitor) as start:

            def begin(address: str) -> None:
                start(address)
                page = f"{address}/#token={viewer}"
                ready(page, browser and webbrowser.open(page))

            serve(store, host, port, ready=begin)


@contextmanager
def visitors(token: str) -> Iterator[Callable[[str], None]]:
    """Threads that decide and settle from when they are told the address until the block ends."""
    stop, threads = threading.Event(), []

    def start(address: str) -> None:
        for scene in SCENES:
            threads.append(threading.Thread(target=visit, args=(scene, address, token, stop), daemon=True))
            threads[-1].start()

    try:
        yield start
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def visit(scene: Scene, address: str, token: str, stop: threading.Event) -> None:
    """Visitors of one learner, one after the other, until it is told to stop or the learner's horizon ends."""
    coins = Randomness.replayable(sum(map(ord, scene.name))).stream("visitors")  # simulated people have no privacy
    waiting: deque[tuple[int, float | list[float]]] = deque()
    with Client(address, token, patience=1.0) as client, suppress(TacitError):
        while not stop.is_set():
            decision = client.decide(scene.name)
            losses = scene.losses(decision.round, coins.random(len(scene.means)))
            seen = float(losses[decision.action]) if isinstance(scene.problem, Arms) else losses.tolist()
            if coins.random() > MISSING:
                waiting.append((decision.round, seen))
            while waiting and (len(waiting) > LATE or coins.random() < 0.5):
                client.settle(scene.name, *waiting.popleft())
            if decision.round > HURRY:
                time.sleep(PAUSE)
