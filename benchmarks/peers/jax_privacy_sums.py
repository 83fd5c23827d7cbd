"""Private running sums: steps per second and noise of jax-privacy's buffered Toeplitz beside tacit's."""

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.matrix_factorization import buffered_toeplitz
from jax_privacy.noise_addition import matrix_factorization_privatizer

from benchmarks.peers.jax_privacy_noise import BinaryTree, JaxBuffered, strategy
from benchmarks.peers.timing import Work, in_turns
from tacit.accounting.calibration import gaussian_mu
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered

STEPS = 10_000
REPEATS = {10: 1000, 10_000: 100, 1_000_000: 4}
EPSILON, DELTA = 1.0, 1e-6


def speed() -> dict[str, float]:
    """Steps per second of one noisy running sum, and tacit's over jax-privacy's."""
    rates: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for dimension, repeats in REPEATS.items():
        works = {
            "tacit Buffered float64": ours(dimension, repeats),
            "jax-privacy float32": one_call_a_step(dimension, repeats, "float32"),
            "jax-privacy float64": one_call_a_step(dimension, repeats, "float64"),
            "jax-privacy float32 in one compiled scan": compiled_scan(dimension, repeats),
        }
        for work in works.values():
            work()  # compile
        best = in_turns(works, batches=7)
        mine = best.pop("tacit Buffered float64")
        rates[f"steps a second, d={dimension}, tacit Buffered float64"] = repeats / mine
        for name, seconds in best.items():
            rates[f"steps a second, d={dimension}, {name}"] = repeats / seconds
            ratios[f"ratio of steps a second, d={dimension}, tacit Buffered float64 / {name}"] = seconds / mine
    return rates | ratios


def ours(dimension: int, repeats: int) -> Work:
    """The loop with tacit: each call starts a fresh stream."""
    x = np.ones(dimension)
    mechanism = Buffered(STEPS)

    def work() -> None:
        sums = mechanism.start(dimension, 1.0, mechanism.noise_from(Randomness.replayable(0).stream("noise")))
        for _ in range(repeats):
            sums.add(x)

    return work


def privatizer(dtype: str) -> tuple[object, jax.Array]:
    """jax-privacy's noise for these steps in that precision."""
    best = strategy(STEPS)
    blt = buffered_toeplitz.BufferedToeplitz.build(best.buf_decay, best.output_scale, dtype=jnp.dtype(dtype))
    return matrix_factorization_privatizer(blt.inverse_as_streaming_matrix(), stddev=1.0, prng_key=jax.random.key(0))


def one_call_a_step(dimension: int, repeats: int, dtype: str) -> Work:
    """The stream as it is used online: each step's vector comes from outside and its sum goes out again."""
    noise = privatizer(dtype)
    x = jnp.ones(dimension, dtype)

    @jax.jit
    def step(x: jax.Array, total: jax.Array, state: object) -> tuple[jax.Array, object]:
        noisy, state = noise.update(x, state)
        return total + noisy, state

    def work() -> None:
        total, state = jnp.zeros_like(x), noise.init(x)
        for _ in range(repeats):
            total, state = step(x, total, state)
        total.block_until_ready()

    return work


def compiled_scan(dimension: int, repeats: int) -> Work:
    """All steps in one compiled loop, as training inside jax may use it: the data must be known to the loop."""
    noise = privatizer("float32")
    x = jnp.ones(dimension, "float32")

    def step(carry: tuple[jax.Array, object], _: None) -> tuple[tuple[jax.Array, object], None]:
        total, state = carry
        noisy, state = noise.update(x, state)
        return (total + noisy, state), None

    scan = jax.jit(lambda state: jax.lax.scan(step, (jnp.zeros_like(x), state), length=repeats)[0][0])
    return lambda: scan(noise.init(x)).block_until_ready()


def noise() -> dict[str, float]:
    """Standard deviation of the noise at sensitivity 1, mean and largest over the steps."""
    mu = gaussian_mu(EPSILON, DELTA)
    results = {}
    for steps in (1000, 10_000):
        mine = Buffered(steps)
        deviations = {"tacit Buffered": mine.standard_deviations(mine.scale(mu))}
        deviations |= {peer.label: peer.deviations(mu) for peer in (JaxBuffered(steps), BinaryTree(steps))}
        for name, values in deviations.items():
            results[f"noise of running sums at epsilon=1 and delta=1e-6, T={steps}, {name}, mean over steps"] = (
                values.mean()
            )
            results[f"noise of running sums at epsilon=1 and delta=1e-6, T={steps}, {name}, largest"] = values.max()
    return results
