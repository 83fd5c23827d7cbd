"""Rounds per second of tacit's expert learners and of a peer's policies on the same coins, one round at a time."""

from collections.abc import Callable
from functools import partial

import numpy as np

import tacit
from benchmarks.peers.timing import in_turns

# A policy plays all rows of losses, one after the other.
Policy = Callable[[list[np.ndarray]], None]

HORIZON = 100_000  # tacit's plans are for this many rounds, of which the first ones are timed

ABOUT = """The peer's policies see only the loss of the arm they pulled and protect nobody; tacit's learners see every
loss and keep them private at epsilon=1, delta=1e-6. Only the speed of a loop of one decision and one update a round
is compared, never the regret: the feedback differs."""


def rates(peers: Callable[[int], dict[str, Policy]], sizes: dict[int, int]) -> dict[str, float]:
    """Rounds per second, then tacit's over the peer's; `sizes` maps the number of arms to that of rounds."""
    speeds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for k, rounds in sizes.items():
        rows = list(
            tacit.environments.BernoulliGap(n=k, horizon=rounds).losses(tacit.Randomness.replayable(0).stream("losses"))
        )
        policies = {**ours(k), **peers(k)}
        best = in_turns({name: partial(play, rows) for name, play in policies.items()})
        for name, seconds in best.items():
            speeds[f"rounds a second, K={k}, {name}"] = rounds / seconds
            print(f"    K={k} {name}: {rounds / seconds:.4g} rounds/s", flush=True)
        for name in peers(k):
            for mine in ours(k):
                ratios[f"ratio of rounds a second, K={k}, {mine} / {name}"] = best[name] / best[mine]
    return speeds | ratios


def ours(k: int) -> dict[str, Policy]:
    """The learners of tacit, each started afresh."""

    def loop(algorithm: type) -> Policy:
        plan = algorithm.calibrate(tacit.Experts(n=k, horizon=HORIZON), epsilon=1.0, delta=1e-6)

        def play(rows: list[np.ndarray]) -> None:
            learner = plan.start(tacit.Randomness.replayable(0))
            for row in rows:
                learner.play()
                learner.observe(row)

        return play

    return {
        f"tacit {kind.__name__}": loop(kind) for kind in (tacit.algorithms.LazyExperts, tacit.algorithms.HedgeOnSums)
    }
