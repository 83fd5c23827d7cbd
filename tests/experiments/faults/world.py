"""What is decided while things fail, and the same learner that never met a failure."""

import json
from unittest.mock import patch

import numpy as np

import tacit
import tacit_experiments
from tacit_experiments.store import store as stores

NAME, LEDGER = "home", "people"
PROBLEM = tacit.Experts(n=3, horizon=10_000_000, delay=100)
TARGET = {"epsilon": 20.0, "delta": 1e-6}
PLAN = tacit.plan(PROBLEM, **TARGET)


def source():
    """Replayable noise: only with it can a learner be compared with its twin bit for bit."""
    return tacit.Randomness.replayable(2026)


def moments(seed):
    """When what happens."""
    return np.random.Generator(np.random.Philox(seed))


def losses(number):
    """The feedback of a round."""
    return [(number * 7 % 11) / 10, (number * 3 % 5) / 4, (number % 2) / 2]


def arrives(number):
    """Three in ten feedbacks never come."""
    return number * 7919 % 10 >= 3


def opened(where):
    """The store, and the learner in it; planned once, since every life asks for the same."""
    store = tacit_experiments.Store(where)
    try:
        store.ledger(LEDGER, epsilon=TARGET["epsilon"], delta=TARGET["delta"])
        with patch.object(stores, "planned", lambda problem, **target: PLAN):
            return store, store.open(NAME, PROBLEM, ledger=LEDGER, randomness=source(), **TARGET)
    except BaseException:
        store.close()
        raise


def differences(store):
    """How many decisions differ from those of the twin, and whether the states do: sums, open slots, all of it."""
    found = store.export(NAME)["decisions"]
    twin = PLAN.start(source())
    wrong = 0
    for entry in found:
        decision = twin.decide()
        wrong += (decision.round, decision.action) != (entry["round"], entry["action"])
        if arrives(decision.round):
            twin.settle(decision.round, losses(decision.round))
    live = store.open(NAME)
    with store._database.writing() as transaction:
        state = live._read(transaction).state_dict()
    return wrong, json.dumps(state) != json.dumps(twin.state_dict())
