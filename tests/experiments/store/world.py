"""A learner in a store, and the same one that was never in a store."""

import numpy as np

import tacit

PROBLEM = tacit.Experts(n=3, horizon=200, delay=4)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
SEED = tacit.Randomness.replayable(5)


def losses(number):
    return [(number * 7 % 5) / 4, 0.5, (number % 3) / 2]


def use(live, rounds):
    for _ in range(rounds):
        decision = live.decide()
        live.settle(decision.round, np.resize(losses(decision.round), live.plan.problem.n))


def actions(store, name="home"):
    return [entry["action"] for entry in store.export(name)["decisions"]]


def twin(rounds, **options):
    """The decisions of the same learner that was never in a store."""
    learner = tacit.plan(PROBLEM, **TARGET, **options).start(SEED)
    found = []
    for number in range(rounds):
        found.append(learner.decide().action)
        learner.settle(number, losses(number))
    return found
