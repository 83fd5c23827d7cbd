"""Vowpal Wabbit's contextual bandit: rounds per second with a constant context, and its regret with features."""

import numpy as np
from vowpalwabbit import Workspace

from benchmarks.peers import features
from benchmarks.peers.rounds import ABOUT as SPEED
from benchmarks.peers.rounds import Policy, rates
from tacit.environments.environment import InContext

PACKAGES = ("vowpalwabbit", "numpy", "tacit")
EXPLORED = 0.05
ABOUT = (
    f"""{SPEED} {features.ABOUT} Vowpal Wabbit explores a share of {EXPLORED:g} (--cb_explore, its default model)."""
)


def measure() -> dict[str, float]:
    return rates(policies, {10: 5_000, 1000: 300}) | features.regrets({"vowpalwabbit --cb_explore": linear})


def linear(drawn: InContext, seed: int) -> np.ndarray:
    contexts, losses, _ = drawn
    workspace = Workspace(f"--cb_explore {losses.shape[1]} --epsilon {EXPLORED} --quiet")
    coins, played = np.random.default_rng(seed).random(len(losses)), []
    for row, context, coin in zip(losses, contexts, coins, strict=True):
        seen = "| " + " ".join(f"{place}:{value:.6g}" for place, value in enumerate(context.tolist()))
        arm, chance = drawn_arm(workspace.predict(seen), coin)
        workspace.learn(f"{arm + 1}:{row[arm]}:{chance} {seen}")
        played.append(arm)
    workspace.finish()
    return np.array(played)


def drawn_arm(probabilities: list[float], coin: float) -> tuple[int, float]:
    """An arm, and its probability."""
    chances = np.cumsum(probabilities)
    arm = int(np.searchsorted(chances, coin * chances[-1]))
    return arm, float(chances[arm] - (chances[arm - 1] if arm else 0.0))


def policies(k: int) -> dict[str, Policy]:
    return {"vowpalwabbit --cb_explore": lambda rows: play(k, rows)}


def play(k: int, rows: list[np.ndarray]) -> None:
    workspace = Workspace(f"--cb_explore {k} --epsilon 0.1 --quiet")
    coins = np.random.default_rng(0).random(len(rows))
    for row, coin in zip(rows, coins, strict=True):
        arm, chance = drawn_arm(workspace.predict("| a"), coin)
        workspace.learn(f"{arm + 1}:{row[arm]}:{chance} | a")
    workspace.finish()
