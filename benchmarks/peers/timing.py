"""Times of several works on one machine that others may use: batches take turns, the fastest batch counts."""

from collections.abc import Callable
from time import perf_counter

Work = Callable[[], object]


def in_turns(works: dict[str, Work], batches: int = 5) -> dict[str, float]:
    """Seconds of one call of each work, in its fastest batch: the others were disturbed."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(batches):
        for name, work in works.items():
            start = perf_counter()
            work()
            best[name] = min(best[name], perf_counter() - start)
    return best
