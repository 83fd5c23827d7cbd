"""How much of the raw noise-generation rate is left after a private running sum has used the noise.

"ratio" is the rate of adding d numbers and releasing their noisy sum over the rate of only drawing d noises; "us/add"
is microseconds an addition. Both sides are measured in the same run, in turns, with the generator that tacit uses.

Run: `python -m benchmarks running_sums`.
"""

import time

import numpy as np

from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree, RunningSum, Tree

STEPS = 100_000
DIMENSIONS = (10, 10_000, 100_000)
MECHANISMS: dict[str, RunningSum] = {
    "buffered": Buffered(STEPS),
    "tree": Tree(STEPS),
    "laplace tree": LaplaceTree.best(STEPS),
}


def measure() -> dict[str, float]:
    """For each mechanism and dimension: rate of `add` over rate of drawing its noise, and microseconds per add."""
    results = {}
    for name, mechanism in MECHANISMS.items():
        for dimension in DIMENSIONS:
            drawing, adding = compare(mechanism, dimension)
            results[f"{name} d={dimension:g} ratio"] = drawing / adding
            results[f"{name} d={dimension:g} us/add"] = adding * 1e6
    return results


def compare(mechanism: RunningSum, dimension: int, batches: int = 9) -> tuple[float, float]:
    """Seconds per draw and per add, each in its fastest batch; batches alternate so that both see the same machine."""
    draw = mechanism.noise_from(Randomness.replayable(1).stream("noise"))
    sums = mechanism.start(dimension, 1.0, draw)
    x = np.ones(dimension)
    repeats = max(10, 2_000_000 // (10 * max(dimension, 100)))
    drawing, adding = [], []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(repeats):
            draw(dimension)
        middle = time.perf_counter()
        for _ in range(repeats):
            sums.add(x)
        drawing.append((middle - start) / repeats)
        adding.append((time.perf_counter() - middle) / repeats)
    return min(drawing), min(adding)
