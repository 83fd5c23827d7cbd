"""Lazy experts against one pass over the data, and against river's epsilon-greedy bandit.

Numbers are times over that of the other; what is wanted stands in their names.
"""

import tracemalloc
from time import perf_counter, process_time

import numpy as np

import tacit
from benchmarks import WAYS, loops_in
from tacit import Randomness


def measure() -> dict[str, float]:
    """Ratios; the targets are in the names."""
    results = {}
    for n, rounds, target in ((10, 20_000, "at most 2"), (1000, 2_000, "at most 0.1")):
        results[f"play/observe K={n}, times river eps-greedy ({target})"] = loop_against_river(n, rounds)
    results["HedgeOnSums array run K=10, times its own play/observe loop"] = hedge_array()
    results["extra peak memory of 2e6 rounds over 1e5 rounds, MB (flat: about 0)"] = memory()
    for (name, most), ratio in array_runs().items():
        results[f"array run 1e5 x 1e3 with {name}, times one losses.sum() (at most {most:g})"] = ratio
    return results


def array_runs(rounds: int = 100_000, n: int = 1000, repeats: int = 4) -> dict[tuple[str, float], float]:
    """In C and in numpy, in turns."""
    losses = np.random.default_rng(0).random((rounds, n))
    plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
    limits = {"C": 1.6, "numpy": 3.0}
    times: dict[tuple[str, float], list[float]] = {(name, limits[name]): [] for name in WAYS}
    floor = []
    for repeat in range(repeats):
        start = process_time()
        losses.sum()
        floor.append(process_time() - start)
        for (name, _), seen in times.items():
            with loops_in(name):
                learner = plan.start(Randomness.replayable(repeat))
                start = process_time()
                learner.run(losses)
                seen.append(process_time() - start)
    return {way: min(seen) / min(floor) for way, seen in times.items()}


def loop_against_river(n: int, rounds: int) -> float:
    from river import bandit

    losses = np.random.default_rng(0).random((rounds, n))
    rows = list(losses)
    plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
    learner = plan.start(Randomness.replayable(0))
    start = perf_counter()
    for row in rows:
        learner.play()
        learner.observe(row)
    ours = perf_counter() - start
    policy = bandit.EpsilonGreedy(epsilon=0.1, seed=0)
    arms = list(range(n))
    for arm in arms:  # the first pulls of every arm are a special case
        policy.update(arm, 0.5)
    start = perf_counter()
    for row in rows:
        arm = policy.pull(arms)
        policy.update(arm, 1 - row[arm])
    return ours / (perf_counter() - start)


def hedge_array(n: int = 10, rounds: int = 20_000, repeats: int = 3) -> float:
    losses = np.random.default_rng(0).random((rounds, n))
    rows = list(losses)
    plan = tacit.algorithms.HedgeOnSums.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
    array, loop = [], []
    for repeat in range(repeats):
        learner = plan.start(Randomness.replayable(repeat))
        start = perf_counter()
        learner.run(losses)
        array.append(perf_counter() - start)
        learner = plan.start(Randomness.replayable(repeat))
        start = perf_counter()
        for row in rows:
            learner.play()
            learner.observe(row)
        loop.append(perf_counter() - start)
    return min(array) / min(loop)


def memory() -> float:
    """Peak of what the learner allocates, measured by tracemalloc (numpy reports its arrays to it)."""

    def peak(rounds: int) -> int:
        plan = tacit.algorithms.LazyExperts(tacit.Experts(n=10, horizon=rounds), eta=0.01, force=0.01)
        learner = plan.start(Randomness.replayable(0))
        block = np.random.default_rng(0).random((10_000, 10))
        tracemalloc.start()
        for _ in range(rounds // len(block)):
            learner.run(block)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    return (peak(2_000_000) - peak(100_000)) / 2**20
