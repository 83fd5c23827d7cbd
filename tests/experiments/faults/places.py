"""A full disk."""

import os
import resource
import signal

from experiments.faults import world
from experiments.faults.kills import verdict
from experiments.faults.lives import Account
from tacit.errors import StoreError


def full_disk(path, times):
    """Let the files grow no further, so many times; nothing is answered then, and afterwards the learner goes on."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            _fill(path, times, lambda *words: os.write(writing, (" ".join(map(str, words)) + "\n").encode()))
        finally:
            os._exit(0)
    os.close(writing)
    account = Account()
    with os.fdopen(reading) as pipe:
        for line in pipe:
            account.hear(line)
    os.waitpid(child, 0)
    return verdict(path, account, filled=times)


def _fill(path, times, say):
    _, live = world.opened(path)
    number = 0

    def ask():
        decision = live.decide(key=str(number))
        say("told", number, decision.round, decision.action)
        if world.arrives(decision.round):
            live.settle(decision.round, world.losses(decision.round))
            say("settled", decision.round)

    for _ in range(times):
        _allow(path.with_name(f"{path.name}-wal").stat().st_size + 60_000)
        try:
            while True:
                number += 1
                ask()
        except StoreError:
            say("failed", number)
        _allow(resource.RLIM_INFINITY)
        ask()  # the same request again, now that there is room


def _allow(size):
    """How large a file of this process may become."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
