"""kill -9 at random moments under load; afterwards everything that was promised is there, once."""

import numpy as np

from experiments.faults import world
from experiments.faults.lives import Account, begin, follow


def kill_often(where, kills, seed=1, longest=0.4):
    """Kill so many processes that work on one store; what was lost or doubled.

    One in eight is killed while it opens the store, the others within `longest` seconds of being ready.
    """
    moments = np.random.Generator(np.random.Philox(seed))
    account = Account()
    for life in range(kills):
        early = moments.random() < 1 / 8
        seconds = -moments.uniform(0.001, 0.3) if early else moments.uniform(0, longest)
        follow(*begin(where, life, account), account, seconds)
    follow(*begin(where, "calm", account, rounds=1), account, None)  # the last one asks again, and ends by itself
    return verdict(where, account, kills=kills)


def two_writers(where, rounds):
    """Two processes on one store at the same time."""
    accounts = [Account(), Account()]
    lives = [begin(where, name, account, rounds) for name, account in zip("ab", accounts, strict=True)]
    for life, account in zip(lives, accounts, strict=True):
        follow(*life, account, None)
    both = Account(asked=accounts[0].asked | accounts[1].asked, decided=accounts[0].decided | accounts[1].decided)
    both.failed = accounts[0].failed + accounts[1].failed
    both.settled = accounts[0].settled + accounts[1].settled
    both.unsettled = accounts[0].unsettled | accounts[1].unsettled
    return verdict(where, both, writers=2)


def verdict(where, account, **also):
    """What was promised against what is there."""
    store, _ = world.opened(where)
    exported = store.export(world.NAME)
    wrong, other_state = world.differences(store)
    lost = account.lost(exported)
    charges = len(store.ledger(world.LEDGER))
    store.close()
    return {
        **also,
        "answers": len(account.decided),
        "rounds": exported["rounds"],
        "settled": account.settled,
        "refused": account.failed,
        "unanswered": len(account.asked) + len(account.unsettled),
        "lost": lost,
        "doubled": account.doubled + (charges > 1),
        "unlike the twin": wrong + other_state,
    }
