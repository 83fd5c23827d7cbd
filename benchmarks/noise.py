"""Which generator should make the noise: AES in counter mode or ChaCha20? Millions of draws a second (M/s) on one core.

Run: `python -m benchmarks noise`.
"""

import time
from collections.abc import Callable

import numpy as np
from randomgen import AESCounter, ChaCha

COUNT = 100_000


def measure() -> dict[str, float]:
    """Millions of draws per second for each generator and law, and the ratio of the two on normals."""
    rates = {}
    for name, bits in (("aes", AESCounter(key=1)), ("chacha20", ChaCha(key=1, rounds=20))):
        rng = np.random.Generator(bits)
        laws: dict[str, Callable[[], object]] = {
            "normal": lambda rng=rng: rng.standard_normal(COUNT),
            "exponential": lambda rng=rng: rng.standard_exponential(COUNT),
            "laplace": lambda rng=rng: rng.laplace(0.0, 1.0, COUNT),
        }
        for law, draw in laws.items():
            rates[f"{name} {law} M/s"] = COUNT / fastest(draw, 10) / 1e6
    rates["aes/chacha20 normal"] = rates["aes normal M/s"] / rates["chacha20 normal M/s"]
    return rates


def fastest(work: Callable[[], object], repeats: int, batches: int = 9) -> float:
    """Seconds of one call, in the fastest of several batches: the others were disturbed."""
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        times.append((time.perf_counter() - start) / repeats)
    return min(times)
