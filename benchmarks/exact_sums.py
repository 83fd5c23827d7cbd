"""What sums on a lattice cost: learners that play round by round and in arrays, against float64 noise.

Both sides are measured in the same run, in turns. Speeds above 1: exact sums are faster.
Run: `python -m benchmarks exact_sums`.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import WAYS, loops_in
from tacit import Convex, Experts, Randomness
from tacit.algorithms import HedgeOnSums, PrivateFTRL
from tacit.domains import Ball
from tacit.losses import LinearLoss

TARGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "numerics": "exact"}
ROUNDS = 2000


def measure() -> dict[str, float]:
    """Speed on the lattice over speed in float64."""
    hedges = {n: HedgeOnSums.calibrate(Experts(n=n, horizon=10**6), **TARGET) for n in (10, 1000)}
    leader = PrivateFTRL.calibrate(Convex(domain=Ball(10), loss=LinearLoss(), horizon=10**6), **TARGET)
    results = {}
    for name in WAYS:
        with loops_in(name):
            for n, plan in hedges.items():
                results[f"play and observe, N={n}, HedgeOnSums with {name}"] = ratio(plan, n, loop)
            results[f"play and observe, N=10, PrivateFTRL with {name}"] = ratio(leader, 10, loop)
            for n, plan in hedges.items():
                results[f"array, N={n}, HedgeOnSums with {name}"] = ratio(plan, n, array)
    return {f"exact speed / float speed, {key}": value for key, value in results.items()}


def ratio(plan: Any, size: int, work: Callable[[Any, Any], None]) -> float:
    """Seconds in float64 over seconds on the lattice, in the fastest of some turns."""
    rows = np.random.default_rng(1).random((ROUNDS, size)) / (1 if isinstance(plan, HedgeOnSums) else size)
    times: dict[str, list[float]] = {"exact": [], "float": []}
    for _ in range(7):
        for numerics, seen in times.items():
            learner = replace(plan, numerics=numerics).start(Randomness.replayable(1))
            start = time.process_time()
            work(learner, rows)
            seen.append(time.process_time() - start)
    return min(times["float"]) / min(times["exact"])


def loop(learner: Any, rows: Any) -> None:
    """Round by round."""
    for row in rows:
        learner.play()
        learner.observe(row)


def array(learner: Any, rows: Any) -> None:
    """All rounds at once."""
    learner.run(rows)
