"""What jax-privacy supplies here: an optimised buffered Toeplitz strategy, and the noise of running sums made with it.

Beside it the binary tree of the textbooks. Both are described by the noise of each released sum when one round's
vector moves by at most 1 in l2 and the whole stream is mu-Gaussian DP: what learners need for their learning rates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.matrix_factorization import buffered_toeplitz
from jax_privacy.noise_addition import matrix_factorization_privatizer

from tacit.noise.running_sums import Buffered, Tree

jax.config.update("jax_enable_x64", True)  # its optimiser asks for float64


@cache
def strategy(steps: int) -> buffered_toeplitz.BufferedToeplitz:
    """jax-privacy's best buffered encoder for the largest noise, with as many buffers as tacit uses."""
    loss = buffered_toeplitz.LossFn.build_closed_form_single_participation(n=steps)
    return buffered_toeplitz.optimize_loss(loss, num_buffers=len(Buffered(steps).decays))[0]


@dataclass(frozen=True)
class JaxBuffered:
    """Noise of running sums as jax-privacy's privatizer makes it."""

    steps: int
    label = "jax-privacy buffered"

    @property
    def encoder(self) -> buffered_toeplitz.BufferedToeplitz:
        return strategy(self.steps)

    @cached_property
    def column_norm(self) -> float:
        return float(np.linalg.norm(np.asarray(self.encoder.toeplitz_coefs(self.steps))))

    def deviations(self, mu: float) -> np.ndarray:
        """Standard deviation of each released sum, for sensitivity 1."""
        return self._row_norms * (self.column_norm / mu)

    @cached_property
    def _row_norms(self) -> np.ndarray:
        # The decoder is A C^-1: its coefficients are running sums of those of C^-1.
        decoder = np.cumsum(np.asarray(self.encoder.inverse().toeplitz_coefs(self.steps)))
        return np.sqrt(np.cumsum(decoder**2))

    def noise(self, dimension: int, mu: float, seed: int) -> np.ndarray:
        """One draw of the noise of all sums, shape (steps, dimension), for sensitivity 1."""
        return np.asarray(_correlated(self.steps, dimension, seed)).cumsum(axis=0) * (self.column_norm / mu)


def _correlated(steps: int, dimension: int, seed: int) -> jax.Array:
    """What the privatizer adds to a stream of zeros, with standard deviation 1."""
    start, run = _compiled(steps, dimension)
    return run((jax.random.key(seed), start))


@cache
def _compiled(steps: int, dimension: int) -> tuple[Any, Callable[[Any], jax.Array]]:
    """The state of the privatizer's buffers, and the loop over all steps."""
    noise = matrix_factorization_privatizer(strategy(steps).inverse_as_streaming_matrix(), stddev=1.0, prng_key=0)
    zero = jnp.zeros(dimension)
    run = jax.jit(lambda state: jax.lax.scan(lambda s, _: noise.update(zero, s)[::-1], state, length=steps)[1])
    return noise.init(zero)[1], run


@dataclass(frozen=True)
class BinaryTree:
    """The textbook tree: a Gaussian for every node, sums made of one node for each binary one of t."""

    steps: int
    label = "binary tree"

    def deviations(self, mu: float) -> np.ndarray:
        """Standard deviation of each released sum, for sensitivity 1."""
        tree = Tree(self.steps)
        return tree.standard_deviations(tree.scale(mu))

    def noise(self, dimension: int, mu: float, seed: int) -> np.ndarray:
        """One draw of the noise of all sums, shape (steps, dimension), for sensitivity 1."""
        nodes = np.random.default_rng(seed).standard_normal((self.steps + 1, dimension)) * Tree(self.steps).scale(mu)
        nodes[0] = 0.0
        size = 1 << self.steps.bit_length()
        while size:  # t = odd multiple of `size`: the sum up to t - size is finished already
            here = np.arange(size, self.steps + 1, 2 * size)
            nodes[here] += nodes[here - size]
            size //= 2
        return nodes[1:]
