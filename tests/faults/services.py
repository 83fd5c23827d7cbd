"""Services that are killed while clients ask them over HTTP, and come back.

The clients are threads of this process and outlive every service: what is lost on the way they ask again, under the
same key. All services share one listening socket, so that the others, or the next one, take the connections of one that
was killed. A supervisor, forked before there are threads, starts and kills them.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np

import tacit
from faults import world
from faults.kills import verdict
from faults.lives import CLIENTS, Account
from tacit.server.http import Limits
from tacit.server.server import listening, run
from tacit.server.tokens import SCOPES, Tokens


def killed_services(where, kills, several=1, seed=5, longest=0.5):
    """Kill services so many times under load, half of them at once if there are several; what was lost or doubled."""
    store, _ = world.opened(where)
    token = Tokens(store).make(list(SCOPES))
    store.close()
    account, stop = Account(), threading.Event()
    with listening("127.0.0.1", 0) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with supervised(where, listener, kills, several, seed, longest) as finished:
            threads = [threading.Thread(target=ask, args=(address, token, n, account, stop)) for n in range(CLIENTS)]
            for thread in threads:
                thread.start()
            finished()
            stop.set()
            for thread in threads:
                thread.join()
    found = verdict(where, account, kills=kills, services=several)
    # Every request was asked until it was answered: a round that no key got was decided for one that has another.
    return found | {"doubled": found["doubled"] + found["rounds"] - found["answers"]}


def ask(address, token, name, account, stop):
    """One client: it decides and settles until it shall stop."""
    lock = account.__dict__.setdefault("lock", threading.Lock())

    def hear(*words):
        with lock:
            account.hear(" ".join(map(str, words)))

    with tacit.Client(address, token, timeout=5, patience=60) as client:
        number = 0
        while not stop.is_set():
            key = f"{name}-{number}"
            hear("asks", key)
            decision = client.decide(world.NAME, key)
            hear("told", key, decision.round, decision.action)
            if world.arrives(decision.round):
                client.settle(world.NAME, decision.round, world.losses(decision.round))
                hear("settled", decision.round)
            number += 1


@contextmanager
def supervised(where, listener, kills, several, seed, longest):
    """A process that starts services and kills them; gives a function that waits until it has killed enough."""
    (told, tell), (ending, end) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(end)
            supervise(
                where, listener, kills, several, np.random.Generator(np.random.Philox(seed)), longest, tell, ending
            )
        finally:
            os._exit(0)
    os.close(tell)
    os.close(ending)
    try:
        yield lambda: os.read(told, 1)
    finally:
        os.close(end)
        os.waitpid(child, 0)
        os.close(told)


def supervise(where, listener, kills, several, moments, longest, tell, ending):
    """Start, kill and start again; at last end all of them in order, when nobody asks any more."""
    alive = [begin(where, listener) for _ in range(several)]
    for _ in range(kills):
        early = moments.random() < 1 / 8  # while it opens the store
        if not early:
            for _, ready in alive:
                os.read(ready, 1)
        time.sleep(moments.uniform(0, longest))
        victims = [alive.pop(int(moments.integers(len(alive)))) for _ in range((several + 1) // 2)]
        for process, ready in victims:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(ready)
        alive += [begin(where, listener) for _ in victims]
    os.write(tell, b"k")
    os.read(ending, 1)
    for process, _ in alive:
        os.kill(process, signal.SIGTERM)
    for process, _ in alive:
        os.waitpid(process, 0)


def begin(where, listener):
    """Fork a service; a pipe says that it is ready, and stays so."""
    ready, said = os.pipe()
    child = os.fork()
    if child:
        os.close(said)
        return child, ready
    try:
        store, _ = world.opened(where)
        run(store, listener, Limits(), lambda: os.write(said, b"r" * 1000))
    finally:
        os._exit(0)
