"""Vowpal Wabbit's contextual bandit with a constant context: rounds per second."""

import numpy as np
from vowpalwabbit import Workspace

from benchmarks.peers.rounds import ABOUT, Policy, rates

PACKAGES = ("vowpalwabbit", "numpy", "tacit")
__all__ = ["ABOUT", "PACKAGES", "measure"]


def measure() -> dict[str, float]:
    return rates(policies, {10: 5_000, 1000: 300})


def policies(k: int) -> dict[str, Policy]:
    return {"vowpalwabbit --cb_explore": lambda rows: play(k, rows)}


def play(k: int, rows: list[np.ndarray]) -> None:
    workspace = Workspace(f"--cb_explore {k} --epsilon 0.1 --quiet")
    coins = np.random.default_rng(0).random(len(rows))
    for row, coin in zip(rows, coins, strict=True):
        chances = np.cumsum(workspace.predict("| a"))
        arm = int(np.searchsorted(chances, coin * chances[-1]))
        chance = chances[arm] - (chances[arm - 1] if arm else 0.0)
        workspace.learn(f"{arm + 1}:{row[arm]}:{chance} | a")
    workspace.finish()
