"""Noise shaped for the cube: P[z] proportional to e^{-a max |z_j|}, exact, for pure differential privacy.

One round moves every coordinate by at most the same number of units, which independent two-sided geometrics pay in
l1, N times. Noise with this law pays in l_infinity: a shift by D costs exactly a max |D_j|. Its radius M is drawn by
rejection: M a sum of d + 1 geometrics has weight C(M+d, d) e^{-aM}; d coins of probability (2M+1)/(2M+2i), i = 1..d,
turn that into a multiple of (2M+1)^d e^{-aM}; and a uniform point of {-M..M}^d then has the law of z, because
the sum over M >= |z| of e^{-aM} is proportional to e^{-a|z|}. An attempt succeeds with probability about e^{-ad/2}.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.discrete_laplace import SMALLEST_RATE, geometric, laplace_rate
from tacit.noise.source import FIRST_POOL, POOL, PooledNoise, Source, Streams
from tacit.noise.uniforms import Uniforms
from tacit.validation import IntArray, check_dimension, check_number

LARGEST_EXPONENT = 8.0  # of rate * dimension: e^4 attempts for a draw


def cube_rate(epsilon: float, shift: int, dimension: int) -> float:
    """Compute the largest float64 a with a * shift <= epsilon, exactly, and at most 1/dimension.

    A smaller rate is more noise, hence always allowed, and an attempt of the sampler then succeeds with probability
    above 1/2. At most 1/dimension, the variance of a coordinate is at most that of the continuous law,
    (d+1)(d+2)/(3 a^2): docs/numerics.md.

    >>> cube_rate(1.0, 2**24, 10) == 2.0**-24, cube_rate(1.0, 2, 10)
    (True, 0.1)
    """
    return min(laplace_rate(epsilon, shift), 1 / check_dimension("cube_rate", "dimension", dimension))


def least_cube_rate(dimension: int, summed: int = 1) -> float:
    """Give the smallest rate at which sums of so many draws stay below 2^52 in each coordinate, exact in float64.

    A radius, close to d/a, is above 4 (d + 30)/a with probability below 1e-50. Rounded to float64, larger noise would
    let through whether the data are even.
    """
    return max(SMALLEST_RATE, summed * (dimension + 30) * 2.0**-50)


class CubeRadius(PooledNoise):
    """Radii M with P[M] proportional to (2M+1)^d e^{-aM}.

    Args:
        sizes: gives d + 1 uniforms to each attempt; a stream of its own, as are all.
        coins: gives d uniforms to each attempt.
        rate: a; a shift of the data by D in l_infinity costs a D.
        dimension: d.
    """

    def __init__(self, sizes: Uniforms, coins: Uniforms, rate: float, dimension: int) -> None:
        super().__init__()
        self.rate = check_number("CubeRadius", "rate", rate, above=SMALLEST_RATE, closed_low=True)
        self.dimension = check_dimension("CubeRadius", "dimension", dimension)
        if rate * dimension > LARGEST_EXPONENT:
            raise PrivacyError(
                f"Cube noise needs rate * dimension of at most {LARGEST_EXPONENT:g}. Got {rate!r} * {dimension} "
                "instead: make the lattice finer."
            )
        self._most = max(1, POOL // dimension)
        self._ahead = min(FIRST_POOL, self._most)
        self._sizes, self._coins = sizes, coins

    def _produce(self, count: int) -> IntArray:
        radii = self._attempts(count)
        while radii.size < count:
            radii = np.concatenate([radii, self._attempts(count)])
        return radii

    def _attempts(self, count: int) -> IntArray:
        """Give the accepted ones of `count` attempts. Each attempt reads all its uniforms, whatever comes of it."""
        radii = geometric(self._sizes, self.rate, count * (self.dimension + 1)).reshape(count, -1).sum(axis=1)
        odd = 2 * radii[:, None] + 1
        heads = self._coins.integers(odd - 1 + 2 * np.arange(1, self.dimension + 1)) < odd
        accepted: IntArray = radii[heads.all(axis=1)]
        return accepted

    def _parts(self) -> dict[str, Source]:
        return {"sizes": self._sizes, "coins": self._coins}


class CubeNoise(PooledNoise):
    """Independent vectors z of d integers with P[z] proportional to e^{-a max |z_j|}.

    Args:
        radii: gives one radius to each vector.
        points: gives d uniforms to each vector.

    >>> from tacit.noise.randomness import Randomness
    >>> noise = CubeNoise.from_streams(Randomness.replayable(7), "noise", rate=0.01, dimension=3)
    >>> noise.draw(3).shape, noise.draw(30).reshape(-1, 3).shape
    ((3,), (10, 3))
    """

    def __init__(self, radii: CubeRadius, points: Uniforms) -> None:
        super().__init__()
        self.dimension = radii.dimension
        self._radii, self._points = radii, points

    @classmethod
    def from_streams(cls, streams: Streams, name: str, rate: float, dimension: int) -> Self:
        """Give the source on the uniforms `name`, `name/sizes` and `name/coins`."""
        sizes, coins = (Uniforms.from_streams(streams, f"{name}/{part}") for part in ("sizes", "coins"))
        return cls(CubeRadius(sizes, coins, rate, dimension), Uniforms.from_streams(streams, name))

    def draw(self, count: int) -> IntArray:
        """Draw the coordinates of the next vectors: `count` is a multiple of the dimension."""
        if count % self.dimension:
            raise InvalidInput(
                f"Cube noise is drawn in whole vectors of {self.dimension} numbers. Got {count} instead."
            )
        return super().draw(count)

    def _produce(self, count: int) -> IntArray:
        radii = self._radii.draw(-(-count // self.dimension))[:, None]
        widths = np.broadcast_to(2 * radii + 1, (radii.size, self.dimension))
        return (self._points.integers(widths) - radii).ravel()

    def _parts(self) -> dict[str, Source]:
        return {"radii": self._radii, "points": self._points}
