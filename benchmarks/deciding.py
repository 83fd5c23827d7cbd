"""Deciding and settling against playing and observing, and how fast a decision is."""

from collections.abc import Callable
from time import process_time

import numpy as np

import tacit
from tacit import Learner, Plan, Randomness

ROUNDS, REPEATS = 20_000, 3
Loop = Callable[[Learner, list[np.ndarray]], None]


def measure() -> dict[str, float]:
    """Ratios, and decisions a second where feedback is absorbed before each of them."""
    results = {}
    for algorithm in (tacit.algorithms.LazyExperts, tacit.algorithms.ScheduledExperts, tacit.algorithms.HedgeOnSums):
        plan = algorithm.calibrate(tacit.Experts(n=10, horizon=ROUNDS), epsilon=1.0, delta=1e-6)
        late = algorithm.calibrate(tacit.Experts(n=10, horizon=ROUNDS, delay=10), epsilon=1.0, delta=1e-6)
        playing, name = best(plan, play), plan.algorithm
        results[f"decide and settle over play and observe, {name}"] = best(plan, decide) / playing
        results[f"the same ten rounds late, {name}"] = best(late, decide) / playing
        results[f"decisions a second without reports (at least 100,000), {name}"] = ROUNDS / best(plan, only_decide)
    return results


def best(plan: Plan, loop: Loop) -> float:
    """Processor seconds of the fastest of a few runs: what others do on the machine hardly counts."""
    rows = list(np.random.default_rng(0).random((ROUNDS, 10)))
    times = []
    for repeat in range(REPEATS):
        learner = plan.start(Randomness.replayable(repeat))
        start = process_time()
        loop(learner, rows)
        times.append(process_time() - start)
    return min(times)


def play(learner: Learner, rows: list[np.ndarray]) -> None:
    for row in rows:
        learner.play()
        learner.observe(row)


def decide(learner: Learner, rows: list[np.ndarray]) -> None:
    for row in rows:
        learner.settle(learner.decide().round, row)


def only_decide(learner: Learner, rows: list[np.ndarray]) -> None:
    for _ in rows:
        learner.decide()
