"""Lazy experts against one pass over the data, and against river's epsilon-greedy bandit."""

import tracemalloc
from time import perf_counter

import numpy as np

import tacit
from tacit import Randomness


def measure() -> dict[str, float]:
    """Ratios; the targets are in the names."""
    results = {"array run 1e5 x 1e3, times one losses.sum() (at most 3)": array_run()}
    for n, rounds, target in ((10, 20_000, "at most 2"), (1000, 2_000, "at most 0.1")):
        results[f"play/observe K={n}, times river eps-greedy ({target})"] = loop_against_river(n, rounds)
    results["HedgeOnSums array run K=10, times its own play/observe loop"] = hedge_array()
    results["extra peak memory of 2e6 rounds over 1e5 rounds, MB (flat: about 0)"] = memory()
    return results


def array_run(rounds: int = 100_000, n: int = 1000, repeats: int = 5) -> float:
    losses = np.random.default_rng(0).random((rounds, n))
    plan = tacit.LazyExperts.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
    ours, floor = [], []
    for repeat in range(repeats):
        start = perf_counter()
        losses.sum()
        floor.append(perf_counter() - start)
        learner = plan.start(Randomness.replayable(repeat))
        start = perf_counter()
        learner.run(losses)
        ours.append(perf_counter() - start)
    return min(ours) / min(floor)


def loop_against_river(n: int, rounds: int) -> float:
    from river import bandit

    losses = np.random.default_rng(0).random((rounds, n))
    rows = list(losses)
    plan = tacit.LazyExperts.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
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
    plan = tacit.HedgeOnSums.calibrate(tacit.Experts(n=n, horizon=rounds), epsilon=1.0, delta=1e-6)
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
        plan = tacit.LazyExperts(tacit.Experts(n=10, horizon=rounds), eta=0.01, force=0.01)
        learner = plan.start(Randomness.replayable(0))
        block = np.random.default_rng(0).random((10_000, 10))
        tracemalloc.start()
        for _ in range(rounds // len(block)):
            learner.run(block)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    return (peak(2_000_000) - peak(100_000)) / 2**20
