"""A thing that grows with one size: what is measured at each size, and the power of the size that fits.

Time is that of the processor, the least of several runs, so that what else goes on hardly counts. Memory is the peak of
what Python and numpy allocate, in a run of its own, without what is handed over (plan and feedback). A state is the
text that a store writes, or what the case says instead; the largest that was seen on the way.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np

FITTED = 3  # so many of the largest sizes: at small ones fixed costs hide the growth
TRACED = 30_000  # rounds at most of a run whose memory is followed, which makes it ten times as slow
TIMED_ROWS, TRACED_ROWS = 10_000, 500  # that are handed over at once; few, where what they take would be counted
LOOKS = 16  # at the state, on the way
RUNS, ENOUGH = (2, 7), 0.15  # runs at least and at most, and processor seconds after which no other one begins


class Work(NamedTuple):
    """What is done at one size.

    Attributes:
        start: makes what plays; not timed, but its memory counts.
        play: plays, handing over so many rows at once; a generator, which stops after each time.
        rounds: what the time is divided by.
        state: the length of the state (None: it has none).
    """

    start: Callable[[], Any]
    play: Callable[[Any, int], Iterator[None]]
    rounds: int
    state: Callable[[Any], int] | None = None


class Case(NamedTuple):
    """How one thing grows.

    Attributes:
        row: its name in docs/growth.md.
        size: what grows: the symbol in the formulas there.
        sizes: how large it becomes.
        make: the work at a size; nothing of what this call does is measured.
        unit: what the time is of.
    """

    row: str
    size: str
    sizes: tuple[int, ...]
    make: Callable[[int], Work]
    unit: str = "a round"


def measured(case: Case) -> dict[str, dict[int, float]]:
    """Microseconds, KB of memory and KB of the state, each by size."""
    found: dict[str, dict[int, float]] = {}
    for size in case.sizes:
        work = case.make(size)
        found.setdefault(f"microseconds {case.unit}", {})[size] = 1e6 * seconds(work) / work.rounds
        if work.rounds > TRACED:
            continue
        memory, state = sizes(work)
        found.setdefault("KB of memory", {})[size] = memory / 1e3
        if state is not None:
            found.setdefault("KB of state", {})[size] = state / 1e3
    return found


def seconds(work: Work) -> float:
    """Processor seconds of the fastest run."""
    times: list[float] = []
    while len(times) < RUNS[0] or (len(times) < RUNS[1] and sum(times) < ENOUGH):
        player = work.start()
        begin = process_time()
        for _ in work.play(player, TIMED_ROWS):
            pass
        times.append(process_time() - begin)
    return min(times)


def sizes(work: Work) -> tuple[int, int | None]:
    """Peak memory of a run, and the largest state on the way, in bytes."""
    gc.collect()
    peak, largest = 0, 0
    tracemalloc.start()
    try:
        player = work.start()
        rows = max(1, min(TRACED_ROWS, work.rounds // LOOKS))
        for number, _ in enumerate(work.play(player, rows)):
            peak = max(peak, tracemalloc.get_traced_memory()[1])
            if work.state is not None and number % max(1, work.rounds // rows // LOOKS) == 0:
                largest = max(largest, work.state(player))
                tracemalloc.reset_peak()  # what the text of a state takes is not the learner's
        if work.state is not None:
            return peak, max(largest, work.state(player))
        return max(peak, tracemalloc.get_traced_memory()[1]), None
    finally:
        tracemalloc.stop()


def exponent(values: dict[int, float]) -> float:
    """The slope of least squares through the logarithms at the largest sizes."""
    at, seen = np.log(np.array(sorted(values.items())[-FITTED:])).T
    return float(np.polyfit(at, seen, 1)[0])


def promised(formula: str, size: str) -> float:
    """The largest power of a symbol in a formula such as O(N log T + d^2); a logarithm counts as none."""
    powers = [0.0]
    inside = re.search(r"O\((.*)\)", formula)
    for term in inside.group(1).split(" + ") if inside else []:
        words = term.split("/")[0].split()
        plain = [word for before, word in zip(["", *words], words, strict=False) if before != "log"]
        powers.append(sum(float(word.partition("^")[2] or 1) for word in plain if word.partition("^")[0] == size))
    return max(powers)
