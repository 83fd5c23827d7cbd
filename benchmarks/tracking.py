"""How much slower is privacy? Array runs of the tracking learners against non-private fixed share in numpy.

Run: `python -m benchmarks tracking`.

Numbers are times over that of the plain loop (at most 5 wanted; below 1 is faster than without privacy).
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from tacit.algorithms.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RestartOnShift,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking
from tacit.runtime.plan import Plan

EXPERTS, ROUNDS, SWITCHES = 100, 20_000, 3


def fixed_share(losses: np.ndarray, eta: float, share: float, generator: np.random.Generator) -> np.ndarray:
    """The textbook loop without privacy: weights, a draw from them, the share."""
    rounds, n = losses.shape
    weights = np.full(n, 1 / n)
    actions = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        actions[t] = np.searchsorted(np.cumsum(weights), generator.random())
        weights = weights * np.exp(-eta * losses[t])
        weights /= weights.sum()
        weights = (1 - share) * weights + share * (1 - weights) / (n - 1)
    return actions


def plans() -> dict[str, Plan]:
    problem = Tracking(n=EXPERTS, horizon=ROUNDS, switches=SWITCHES)
    approximate = {"epsilon": 1.0, "delta": 1e-6}
    pure = {"epsilon": 1.0, "delta": 0.0}
    return {
        "LimitedUpdates": LimitedUpdates.calibrate(problem, **pure),
        "RestartOnShift": RestartOnShift.calibrate(problem, **pure),
        "LazyFixedShare": LazyFixedShare.calibrate(problem, **approximate),
        "LazyFixedShare, pure": LazyFixedShare.calibrate(problem, **pure),
        "LazyFixedShare, uniform prior": LazyFixedShare.calibrate(problem, **approximate, prior="uniform"),
        "NoisyMirrorDescent, Laplace": NoisyMirrorDescent.calibrate(problem, **pure, noise="laplace", batch=1),
        "NoisyMirrorDescent, Gaussian": NoisyMirrorDescent.calibrate(problem, **approximate, noise="gaussian", batch=1),
    }


def measure(repeats: int = 3) -> dict[str, float]:
    """Time of each learner's array run divided by that of the plain loop; best of `repeats`, interleaved."""
    source = Randomness.replayable(1)
    losses = source.stream("losses").random((ROUNDS, EXPERTS))
    every = plans()
    best = dict.fromkeys(["fixed share", *every], float("inf"))
    for _ in range(repeats):
        start = perf_counter()
        fixed_share(losses, 0.05, SWITCHES / ROUNDS, source.stream("plain"))
        best["fixed share"] = min(best["fixed share"], perf_counter() - start)
        for name, plan in every.items():
            learner = plan.start(source.child(name))
            start = perf_counter()
            learner.run(losses)
            best[name] = min(best[name], perf_counter() - start)
    return {name: seconds / best["fixed share"] for name, seconds in best.items() if name in every} | {
        "fixed share, rounds per second": ROUNDS / best["fixed share"]
    }
