"""Regret of tacit's ExploreLinear and of a peer's contextual bandits on the same features and coins."""

from collections.abc import Callable

import numpy as np

import tacit
from benchmarks.contexts import ACTIONS, DIMENSION, ROUNDS, dealt, planned, regret
from tacit.environments.environment import InContext

# A policy plays all rounds of a world with that seed, and says which actions it played.
Policy = Callable[[InContext, int], np.ndarray]

WORLDS, SEEDS = ("sphere", "one-hot", "skewed"), 2

ABOUT = f"""With features ({ACTIONS} actions, {DIMENSION} features, {ROUNDS:,} rounds) both see the loss of the action
that was played; tacit's ExploreLinear keeps features and losses private at epsilon=1, delta=1e-6, the peer protects
nobody. Regret is a round's, in expected losses, the mean of {SEEDS} seeds."""


def regrets(peers: dict[str, Policy]) -> dict[str, float]:
    """Mean regret a round of everyone in every world."""
    plan = planned()

    def private(drawn: InContext, seed: int) -> np.ndarray:
        return plan.run(drawn.losses, tacit.Randomness.replayable(500 + seed), contexts=drawn.contexts)

    results = {}
    for shape in WORLDS:
        draws = [dealt(shape, 500 + seed) for seed in range(SEEDS)]
        for name, play in {"tacit ExploreLinear": private, **peers}.items():
            found = float(np.mean([regret(drawn, play(drawn, seed)) for seed, drawn in enumerate(draws)]))
            results[f"regret a round with features, world={shape}, {name}"] = found
            print(f"    {shape}, {name}: {found:.4f}", flush=True)
    return results
