"""A full disk, a clock that is set back, a database that is copied back."""

import os
import resource
import shutil
import signal
from datetime import UTC, datetime

import tacit
from faults import world
from faults.kills import verdict
from faults.lives import Account
from tacit.accounting import ledger as budgets
from tacit.accounting import ledger as ledgers
from tacit.accounting.curves import Pure
from tacit.accounting.guarantee import Guarantee
from tacit.errors import PrivacyError, StoreError


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


def clock_set_back(path):
    """A budget that renews every month, and a clock that goes back: how often that renewed it."""
    spent = Guarantee(Pure(1.0), 0.0, "x", "y")
    before, renewed = budgets.now, 0
    try:
        with tacit.Store(path) as store:
            ledger = store.ledger("renewing", epsilon=1.0, delta=0.0, renews="monthly")
            for month in (6, 5, 4, 1):
                budgets.now = ledgers.now = lambda month=month: datetime(2026, month, 1, tzinfo=UTC)
                try:
                    ledger.record("fit", spent)
                    renewed += month != 6
                except PrivacyError:
                    pass
    finally:
        budgets.now = ledgers.now = before
    return {"set back": 3, "doubled": renewed}


def copied_back(path):
    """An older copy in the place of the database, or in another with and without marks: how often nobody noticed."""
    unnoticed, mark = 0, path.with_name(f"{path.name}.mark")
    for number in range(5):
        shutil.copy(path, path.with_suffix(".old"))
        copy = path.with_name(f"copy{number}.db")
        shutil.copy(path, copy)
        if number % 2:
            shutil.copy(mark, copy.with_name(f"{copy.name}.mark"))
        store, live = world.opened(path)
        decision = live.decide()
        live.settle(decision.round, world.losses(decision.round))
        store.close()
        newer = path.read_bytes()
        shutil.copy(path.with_suffix(".old"), path)
        unnoticed += _goes_on(path) + _goes_on(copy)
        path.write_bytes(newer)
    return {"copied back": 10, "unnoticed": unnoticed}


def _goes_on(path):
    try:
        world.opened(path)[0].close()
    except StoreError:
        return False
    return True
