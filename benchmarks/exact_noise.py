"""What exact noise costs: draws in blocks and one by one, against float noise of the same generator.

Both sides are measured in the same run, in turns. Rates above 1: exact noise is faster. A draw is one call, which gives
a block of so many numbers. Run: `python -m benchmarks exact_noise`.
"""

import time
from collections.abc import Callable

from benchmarks import WAYS, loops_in
from tacit.noise.cube import CubeNoise
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.randomness import Randomness

BLOCKS = (10, 1000, 10_000)
SOURCE = Randomness.replayable(1)
RATE = 2.0**-27


def measure() -> dict[str, float]:
    """Rates of exact noise over those of float noise, in blocks, and microseconds of a draw of ten numbers."""
    floats = SOURCE.stream("floats")
    results = {}
    for name in WAYS:
        with loops_in(name):
            results |= compared(f"gaussian with {name}", DiscreteGaussian.from_streams(SOURCE, "noise").draw,
                                floats.standard_normal)  # fmt: skip
    laplace = DiscreteLaplace.from_streams(SOURCE, "noise", RATE).draw
    results |= compared("two-sided geometric", laplace, lambda count: floats.laplace(0.0, 1.0, count))
    cube = CubeNoise.from_streams(SOURCE, "noise", RATE, 10).draw
    results |= compared("cube of 10", cube, lambda count: floats.laplace(0.0, 1.0, count))
    return results


def compared(name: str, exact: Callable[[int], object], plain: Callable[[int], object]) -> dict[str, float]:
    """Exact over float rate for each block, and microseconds of the exact draw."""
    results = {}
    for block in BLOCKS:
        ours, theirs = in_turns(lambda block=block: exact(block), lambda block=block: plain(block), block)
        results[f"exact rate / float rate, block={block}, {name}"] = theirs / ours
        results[f"microseconds a draw, block={block}, {name}"] = ours * 1e6
    return results


def in_turns(first: Callable[[], object], second: Callable[[], object], block: int) -> tuple[float, float]:
    """Seconds of a call of each, in their fastest batches; a batch is long enough to see the pool refilled."""
    repeats = max(20, 200_000 // block)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(9):
        for work, seen in zip((first, second), times, strict=True):
            start = time.perf_counter()
            for _ in range(repeats):
                work()
            seen.append((time.perf_counter() - start) / repeats)
    return min(times[0]), min(times[1])
