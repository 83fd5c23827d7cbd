"""Experiments under kill -9: services and rival closers die at every step, and every release is computed again.

Clients send batches until they are answered. What was acknowledged must be in the release of its version, once. What
was sent and never acknowledged may be, a whole batch or nothing of it. Noise is a function of the key, the salt and the
exact sums, so a release is right if and only if it is that of the acknowledged batches and some of the others.
"""

import http.client
import json
import os
import select
import signal
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import tacit_experiments
from experiments.faults.services import begin, supervised, working
from experiments.faults.world import moments
from tacit.errors import TacitError
from tacit_experiments import records
from tacit_experiments.adapt import closing
from tacit_experiments.contract import LATTICE
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import assign, digest
from tacit_experiments.replies import Replies
from tacit_experiments.service import experiments as routes
from tacit_experiments.service.server import listening
from tacit_experiments.service.tokens import SCOPES, Tokens
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.witness import Witness

NAME, LEDGER, CLIENTS, CLOSERS = "home", "people", 4, 2
SECONDS, WINDOW = 1.5, 1.0
PAUSE = 4.0  # seconds between two failures of the database
MOST_UNSURE = 12  # batches of one version that nobody acknowledged: more are not tried in all ways
RESTORING = (
    *((records, "set_state"), (records, "change"), (records, "add_version"), (records, "act")),
    *((StoredLedger, "charge"), (Witness, "restored"), (Replies, "purge")),
)
STEPS = ((Replies, "close"), (Replies, "sums"), (Witness, "add"), (records, "add_release"), (Replies, "purge"))


@dataclass(frozen=True)
class Places:
    """Where everything is: files, or addresses of PostgreSQL and two files."""

    store: str | Path
    replies: str | Path
    key: Path
    witness: Path

    def opened(self, **options):
        """The store and its experiments."""
        store = tacit_experiments.Store(self.store)
        return store, Experiments(store, replies=self.replies, key=self.key, witness=self.witness, **options)

    def served(self):
        """The same for a service, which looks often at what is due."""
        routes.TICK = 0.3
        return self.opened()


@dataclass
class Batch:
    """What a client sent for one version, until it was answered."""

    salt: str
    rows: list
    tries: int = 0
    taken: bool | None = None


@dataclass
class Sent:
    """All that was sent; it outlives every process."""

    batches: list = field(default_factory=list)
    replayed: int = 0
    late: int = 0
    interrupted: int = 0


def killed_experiments(places, kills, several=1, seed=7, longest=0.4, interrupt=None):
    """Kill services so many times, and closers whenever they are in the middle of something; what was wrong.

    `interrupt` stops the database and starts it again, as often as there is time for it.
    """
    store, experiments = places.opened()
    store.ledger(LEDGER, epsilon=20.0, delta=1e-6)
    hours = {"hours": SECONDS / 3600, "window": WINDOW / 3600, "versions": 20_000}
    experiments.make(Design(NAME, ("control", "short", "video"), epsilon=20.0, ledger=LEDGER, **hours))
    experiments.start(NAME)
    token = Tokens(store).make(list(SCOPES))
    experiments.close()
    store.close()
    sent, stop = Sent(), threading.Event()
    with listening("127.0.0.1", 0) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/experiments/{NAME}/"
        with supervised(partial(supervise, places, listener, kills, several, moments(seed), longest)) as told:
            clients = [threading.Thread(target=send, args=(address, token, n, sent, stop)) for n in range(CLIENTS)]
            clients.append(threading.Thread(target=interrupt_often, args=(interrupt, sent, stop)))
            closers = int(working(clients, told, stop) or b"0")
    return verdict(places, sent) | {"kills": kills, "closers killed": closers}


def interrupt_often(interrupt, sent, stop):
    while interrupt is not None and not stop.wait(PAUSE):
        interrupt()
        sent.interrupted += 1


def send(address, token, name, sent, stop):
    """One client: it decides nothing, and reports of people of its own; now and then again, or too late."""
    number, old = 0, None
    while not stop.is_set():
        policy = ask(address + "policy", token)
        rows = [[policy["salt"], f"{name:08x}{number + place:024x}", place % 5 / 4] for place in range(20)]
        number += 20
        batch = Batch(policy["salt"], rows)
        sent.batches.append(batch)
        answer = ask(address + "replies", token, {"replies": rows}, batch)
        batch.taken = not answer["closed"]
        if number % 100 == 0:  # a replay of rows that are there
            ask(address + "replies", token, {"replies": rows})
            sent.replayed += 1
        if old is not None and number % 60 == 0:  # a version that is over by now, from people who never replied to it
            late = Batch(old, [[old, f"{name:08x}{2**60 + number:024x}", 1]])
            sent.batches.append(late)
            late.taken = not ask(address + "replies", token, {"replies": late.rows}, late)["closed"]
            sent.late += 1
        old = policy["salt"] if number % 200 == 0 or old is None else old
        time.sleep(0.002)


def ask(url, token, body=None, batch=None):
    """Ask until there is an answer."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    while True:
        if batch is not None:
            batch.tries += 1
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=10) as response:
                return json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.02)


def supervise(places, listener, kills, several, random, longest, tell, ending):
    """Start services and closers, kill services, start again whatever has died; at last end all of them."""
    services = [begin(listener, places.served) for _ in range(several)]
    closers = [begin_closer(places, int(random.integers(2**32))) for _ in range(CLOSERS)]
    killed = 0
    for _ in range(kills):
        victim, ready = services.pop(int(random.integers(len(services))))
        if random.random() < 7 / 8:  # else while it opens the store
            os.read(ready, 1)
        time.sleep(random.uniform(0.0, longest))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        os.close(ready)
        services.append(begin(listener, places.served))
        for place, closer in enumerate(closers):
            if os.waitpid(closer, os.WNOHANG)[0]:
                killed += 1
                closers[place] = begin_closer(places, int(random.integers(2**32)))
        revive(places, listener, services)
    os.write(tell, str(killed).encode())
    while not select.select([ending], [], [], 0.2)[0]:  # clients ask until they are answered
        revive(places, listener, services)
    for child in closers:
        os.kill(child, signal.SIGKILL)
    for child, _ in services:
        os.kill(child, signal.SIGTERM)
    for child in (*closers, *(child for child, _ in services)):
        os.waitpid(child, 0)


def revive(places, listener, services):
    """Start those again that ended by themselves: the database was away when they opened it."""
    for place, (child, ready) in enumerate(services):
        if os.waitpid(child, os.WNOHANG)[0]:
            os.close(ready)
            services[place] = begin(listener, places.served)


def begin_closer(places, seed):
    """Fork a closer that dies at some step, before or after it."""
    child = os.fork()
    if child:
        return child
    try:
        random = moments(seed)
        for owner, name in STEPS:
            setattr(owner, name, deadly(getattr(owner, name), random))
        _, experiments = places.opened()
        while True:
            with suppress(TacitError):  # another one holds the database
                experiments.tick()
            time.sleep(0.05)
    finally:
        os._exit(0)


def deadly(step, random):
    """The same step, which one call in eight does not survive."""

    def taken(*arguments, **options):
        fate = random.random()
        if fate < 1 / 16:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = step(*arguments, **options)
        if fate > 15 / 16:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return taken


def verdict(places, sent):
    """What was promised against what was released."""
    store, experiments = places.opened()
    experiments.tick()
    experiments.stop(NAME)
    time.sleep(SECONDS + WINDOW + 0.2)
    experiments.tick()
    with store.database.reading() as transaction:
        owner = records.experiment(transaction, NAME)
        versions = records.versions(transaction, owner.number)
        chain = {release.salt: release.content for release in records.releases(transaction, owner.number)}
    counted = [version for version in versions if version.counting]
    by_salt = {}
    for batch in sent.batches:
        by_salt.setdefault(batch.salt, []).append(batch)
    wrong = sum(
        not right(experiments._key, owner, version, by_salt.get(version.salt, []), chain[version.salt])
        for version in counted
        if version.salt in chain
    )
    # A window whose opener was killed before its version was written belongs to nobody, and is empty.
    rows = len(experiments._replies.windows().keys() & {version.salt for version in versions})
    charges, head = len(store.ledger(LEDGER)), ""
    for release in experiments.releases(NAME):
        head = digest([head, release["digest"]])
    found = {
        "versions": len(counted),
        "acknowledged": sum(len(batch.rows) for batch in sent.batches if batch.taken),
        "replayed": sent.replayed,
        "late": sent.late,
        "database stopped": sent.interrupted,
        "unlike the twin": wrong,
        "lost": sum(version.salt not in chain for version in counted),
        "doubled": (charges != 1)
        + (len(chain) != len(experiments.releases(NAME)))
        + (head != experiments.releases(NAME)[-1]["head"]),
        "left behind": rows,
    }
    experiments.close()
    store.close()
    return found


def right(key, owner, version, batches, content):
    """Whether a release is that of the acknowledged batches, and of some that may have been committed unanswered."""
    sure = [batch for batch in batches if batch.taken]
    unsure = [batch for batch in batches if batch.taken is None or (not batch.taken and batch.tries > 1)]
    if len(unsure) > MOST_UNSURE:
        return False
    return any(
        closing.noisy(
            key, owner, version, sums(version, sure + [b for b, there in zip(unsure, chosen, strict=True) if there])
        )["sums"]
        == content["sums"]
        for chosen in product((True, False), repeat=len(unsure))
    )


def sums(version, batches):
    """The exact sums of these batches, whose people differ."""
    found = [[0, 0] for _ in version.policy.arms]
    for batch in batches:
        for salt, pid, value in batch.rows:
            score = int(value * LATTICE)
            pair = found[assign(salt, version.policy.upto, pid)]
            pair[0] += score
            pair[1] += LATTICE - score
    return found


class Days:
    """An experiment of one day a version whose clock is moved by hand, and everything that it took."""

    def __init__(self, places):
        self.places, self.time, self.batches = places, time.time(), []
        self.store, self.experiments = places.opened(clock=lambda: self.time)
        self.store.ledger(LEDGER, epsilon=20.0, delta=1e-6)
        self.experiments.make(Design(NAME, ("control", "short", "video"), epsilon=1.0, ledger=LEDGER, days=1))
        self.experiments.start(NAME)

    def send(self, people):
        """Reply for these people; what is not acknowledged is not kept here."""
        salt = self.experiments.policy(NAME)["salt"]
        rows = [[salt, f"{person:032x}", person % 5 / 4] for person in people]
        answer = self.experiments.reply(NAME, rows)
        self.batches.append(Batch(salt, rows, 1, not answer.closed))

    def verdict(self):
        """How many releases are not those of what was acknowledged, and how many rows are left behind."""
        with self.store.database.reading() as transaction:
            owner = records.experiment(transaction, NAME)
            chain = {release.salt: release.content for release in records.releases(transaction, owner.number)}
            versions = records.versions(transaction, owner.number)
        wrong = sum(
            not right(
                self.experiments._key, owner, version, [b for b in self.batches if b.salt == version.salt], content
            )
            for version in versions
            if (content := chain.get(version.salt)) is not None
        )
        open_salts = {version.salt for version in versions if version.state == "open"}
        return {
            "releases": len(chain),
            "unlike the twin": wrong,
            "lost": sum(version.counting and version.state == "void" for version in versions),
            "left behind": len(self.experiments._replies.windows().keys() - open_salts),
        }

    def close(self):
        self.experiments.close()
        self.store.close()


def killed_restores(folder):
    """Kill a restore before each of its steps, one after the other, until one comes through; what was wrong."""
    world = Days(Places(*(folder / name for name in ("r.db", "r.replies", "r.key", "r.witness"))))
    world.send(range(40))
    world.time += 86_400 * 2.1
    world.experiments.tick()
    world.send(range(100, 140))
    world.close()
    kills = 0
    while True:
        child = os.fork()
        if not child:
            try:
                left = [kills]
                for owner, name in RESTORING:
                    setattr(owner, name, fatal(getattr(owner, name), left))
                world.places.opened(clock=lambda: world.time)[1].restore()
            finally:
                os._exit(0)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            break
        kills += 1
    world.store, world.experiments = world.places.opened(clock=lambda: world.time)
    try:
        found = world.experiments.describe(NAME)
        world.experiments.tick()
        world.experiments.start(NAME)
        world.send(range(200, 240))
        world.time += 86_400 * 2.1
        world.experiments.tick()
        states = [version["state"] for version in found["versions"] if version["counting"]]
        charges = len(world.store.ledger(LEDGER))
        return world.verdict() | {
            "kills": kills,
            "lost": states != ["released", "void"],
            "doubled": (charges != 2) + (found["state"] != "frozen"),
        }
    finally:
        world.close()


def fatal(step, left):
    """The same step, which the call that is reached when none are left does not survive."""

    def taken(*arguments, **options):
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return step(*arguments, **options)

    return taken
