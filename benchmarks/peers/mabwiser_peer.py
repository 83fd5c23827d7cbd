"""MABWiser's bandits without context: rounds per second."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from benchmarks.peers.rounds import ABOUT, Policy, rates

PACKAGES = ("mabwiser", "numpy", "tacit")
__all__ = ["ABOUT", "PACKAGES", "measure"]


def measure() -> dict[str, float]:
    return rates(policies, {10: 1_500, 1000: 60})


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
