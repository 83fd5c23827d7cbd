"""Speed, memory and regret of the bandit learner, the printed noise beside it. Run: `python -m benchmarks bandit`.

Regret is that of a round, on a target that moves: the loss is the distance to it. "Printed" is the paper's noise.
"""

import time
import tracemalloc

from tacit.algorithms.bandit import BanditFW, Rounds
from tacit.domains import Ball
from tacit.environments.bandit import MovingTarget
from tacit.noise.randomness import Randomness

CASES = ((2, 100_000), (2, 1_000_000), (10, 1_000_000))
SEEDS = 5


def measure() -> dict[str, float]:
    """Seconds and peak MB of a million rounds at n=10; regret per round of each case, planned and printed noise."""
    results = {"n=10 T=1e6 seconds": seconds(10, 1_000_000)}
    for rounds in (100_000, 1_000_000):
        results[f"n=10 T={rounds:.0e} peak MB"] = peak(10, rounds)
    for n, rounds in CASES:
        name = f"n={n} T={rounds:.0e} regret"
        results[name] = regret(n, rounds)
        results[f"{name}, pure"] = regret(n, rounds, delta=0.0)
        results[f"{name}, printed noise"] = regret(n, rounds, printed=True)
    return results


def play(n: int, rounds: int, seed: int, delta: float = 1e-6, printed: bool = False) -> tuple[float, float]:
    """One run on the moving target: regret per round and seconds."""
    world = MovingTarget(Ball(dim=n, radius=0.5), rounds)
    if printed:
        plan = BanditFW.as_printed(world.problem, epsilon=1.0, delta=delta, line_14="plus")
    else:
        plan = BanditFW.calibrate(world.problem, epsilon=1.0, delta=delta)
    source = Randomness.replayable(seed)
    opponent = world.start(source.stream("world"))
    learner = plan.start(source)
    start = time.perf_counter()
    learner.run(Rounds(opponent.values, rounds, keep=False))
    elapsed = time.perf_counter() - start
    return opponent.regret / rounds, elapsed


def regret(n: int, rounds: int, delta: float = 1e-6, printed: bool = False) -> float:
    """Mean regret per round over the seeds."""
    return sum(play(n, rounds, seed, delta, printed)[0] for seed in range(SEEDS)) / SEEDS


def seconds(n: int, rounds: int) -> float:
    """The fastest of three runs, the environment included."""
    return min(play(n, rounds, seed)[1] for seed in range(3))


def peak(n: int, rounds: int) -> float:
    """Peak memory of a run in MB, the points not kept."""
    play(n, 1_000, 0)  # imports and tables
    tracemalloc.start()
    play(n, rounds, 0)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6
