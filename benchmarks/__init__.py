"""Speed as ratios in one run: against bare numpy, the noise generator, or a peer."""

from collections.abc import Iterator
from contextlib import contextmanager

from tacit import kernels

COMPILED = kernels.compiled
WAYS = ("numpy",) if COMPILED is None else ("C", "numpy")


@contextmanager
def loops_in(way: str) -> Iterator[None]:
    """Run the loops this way inside."""
    kernels.compiled = COMPILED if way == "C" else None
    try:
        yield
    finally:
        kernels.compiled = COMPILED
