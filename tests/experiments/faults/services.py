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
from functools import partial

import tacit_experiments
from experiments.faults import world
from experiments.faults.kills import verdict
from experiments.faults.lives import CLIENTS, Account
from tacit_experiments.service.http import Limits
from tacit_experiments.service.server import listening, run
from tacit_experiments.service.tokens import SCOPES, Tokens


def killed_services(where, kills, several=1, seed=5, longest=0.5):
    """Kill services so many times under load, half of them at once if there are several; what was lost or doubled."""
    store, _ = world.opened(where)
    token = Tokens(store).make(list(SCOPES))
    store.close()
    account, stop = Account(), threading.Event()
    with listening("127.0.0.1", 0) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        work = partial(supervise, where, listener, kills, several, world.moments(seed), longest)
        with supervised(work) as told:
            threads = [threading.Thread(target=ask, args=(address, token, n, account, stop)) for n in range(CLIENTS)]
            working(threads, told, stop)
    found = verdict(where, account, kills=kills, services=several)
    # Every request was asked until it was answered: a round that no key got was decided for one that has another.
    return found | {"doubled": found["doubled"] + found["rounds"] - found["answers"]}


def ask(address, token, name, account, stop):
    """One client: it decides and settles until it shall stop."""
    lock = account.__dict__.setdefault("lock", threading.Lock())

    def hear(*words):
        with lock:
            account.hear(" ".join(map(str, words)))

    with tacit_experiments.Client(address, token, timeout=5, patience=60) as client:
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


def working(threads, told, stop):
    """Let these threads work until a supervisor has killed enough; what it told."""
    for thread in threads:
        thread.start()
    answer = told()
    stop.set()
    for thread in threads:
        thread.join()
    return answer


@contextmanager
def supervised(work):
    """A process that does this work, with a pipe to tell and one to be ended by; gives a function that waits for it."""
    (told, tell), (ending, end) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(end)
            work(tell, ending)
        finally:
            os._exit(0)
    os.close(tell)
    os.close(ending)
    try:
        yield lambda: os.read(told, 20)
    finally:
        os.close(end)
        os.waitpid(child, 0)
        os.close(told)


def supervise(where, listener, kills, several, moments, longest, tell, ending):
    """Start, kill and start again; at last end all of them in order, when nobody asks any more."""

    def opened():
        return world.opened(where)[:1]

    alive = [begin(listener, opened) for _ in range(several)]
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
        alive += [begin(listener, opened) for _ in victims]
    os.write(tell, b"k")
    os.read(ending, 1)
    for process, _ in alive:
        os.kill(process, signal.SIGTERM)
    for process, _ in alive:
        os.waitpid(process, 0)


def begin(listener, opened):
    """Fork a service of the store (and experiments) that `opened` opens; a pipe says that it is ready, and stays so."""
    ready, said = os.pipe()
    child = os.fork()
    if child:
        os.close(said)
        return child, ready
    try:
        store, *more = opened()
        run(store, listener, Limits(), lambda: os.write(said, b"r" * 1000), *more)
    finally:
        os._exit(0)
