"""River's bandit policies: rounds per second."""

import numpy as np
from river import bandit

from benchmarks.peers.rounds import ABOUT, Policy, rates

PACKAGES = ("river", "numpy", "tacit")
__all__ = ["ABOUT", "PACKAGES", "measure"]


def policies(k: int) -> dict[str, Policy]:
    return {
        "river EpsilonGreedy": lambda rows: play(bandit.EpsilonGreedy(epsilon=0.1, seed=0), k, rows),
        "river Exp3": lambda rows: play(bandit.Exp3(gamma=0.1, seed=0), k, rows),
    }


def measure() -> dict[str, float]:
    return rates(policies, {10: 10_000, 1000: 1_000})


def play(policy: bandit.base.Policy, k: int, rows: list[np.ndarray]) -> None:
    arms = list(range(k))
    for row in rows:
        arm = policy.pull(arms)
        policy.update(arm, 1 - row[arm])
