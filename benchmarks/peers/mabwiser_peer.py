"""MABWiser's bandits: rounds per second without context, and the regret of its LinUCB with features."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from benchmarks.peers import features
from benchmarks.peers.rounds import ABOUT as SPEED
from benchmarks.peers.rounds import Policy, rates
from tacit.environments.environment import InContext

PACKAGES = ("mabwiser", "numpy", "tacit")
BATCH = 64  # rounds after which LinUCB is told of them
ABOUT = f"""{SPEED} {features.ABOUT} LinUCB has alpha=0.5 and learns {BATCH} rounds at once."""


def measure() -> dict[str, float]:
    return rates(policies, {10: 1_500, 1000: 60}) | features.regrets({"mabwiser LinUCB": linear})


def linear(drawn: InContext, seed: int) -> np.ndarray:
    contexts, losses, _ = drawn
    n = losses.shape[1]
    machine, first = MAB(list(range(n)), LearningPolicy.LinUCB(alpha=0.5), seed=seed), np.arange(n)
    machine.fit(first.tolist(), (1 - losses[first, first]).tolist(), contexts[:n])
    played = first.tolist()
    for start in range(n, len(losses), BATCH):
        part = contexts[start : start + BATCH]
        chosen = machine.predict(part)
        chosen = chosen if isinstance(chosen, list) else [chosen]
        rows = np.arange(start, start + len(chosen))
        machine.partial_fit(chosen, (1 - losses[rows, chosen]).tolist(), part)
        played += chosen
    return np.array(played)


def policies(k: int) -> dict[str, Policy]:
    return {
        "mabwiser EpsilonGreedy": lambda rows: play(LearningPolicy.EpsilonGreedy(epsilon=0.1), k, rows),
        "mabwiser Softmax": lambda rows: play(LearningPolicy.Softmax(tau=0.1), k, rows),
    }


def play(policy: object, k: int, rows: list[np.ndarray]) -> None:
    bandit = MAB(list(range(k)), policy, seed=0)
    bandit.fit(list(range(k)), [0.5] * k)  # it wants one reward of every arm before it predicts
    for row in rows:
        arm = bandit.predict()
        bandit.partial_fit([arm], [1 - row[arm]])
