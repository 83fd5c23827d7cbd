"""What hides a minimiser: the random linear term of its objective, and the noise that covers inexact minimisation.

On the lattice (the default with Gaussian noise) the linear term is Z = gamma_Z Zw, Zw wide discrete Gaussian draws,
coupled to a true N(0, sigma^2 I) within tau_Z = 2^-47 sigma sqrt(d), except with probability d 2^-104. What is released
are the integers z + rint(x/gamma_r), times gamma_r = s/sigma'. Given the minimiser at the true noise, which the curve
of exact minimisers pays for, two neighbours' integers differ in l2 by at most

    (2 (accuracy + tau_Z/lambda) + 2^-52 R sqrt(d))/gamma_r + sqrt(d),

R a public bound on |x| (docs/algorithms/objective-perturbation.md). In float64 (numerics="float", and pure noise, whose
density exp(-|z|) has no exact sampler here) the same is computed as if floats were real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.running_sums.accumulators import FloatNoise
from tacit.noise.sampler_bounds import (
    GAUSSIAN_SIGMA,
    WIDE_DISTANCE,
    WIDE_FAILURE,
    GaussianSlack,
    gaussian_slack,
    wide_step,
)
from tacit.noise.source import Source, Streams
from tacit.solvers.loss_sums import SmoothSum
from tacit.solvers.minimum import TRUNCATION, perturbed_minimum, truncated_norm, truncated_normal
from tacit.validation import FloatArray

SHRUNK = 1 - 2.0**-40
"""Rows that were clipped in float64 are multiplied by it, so that their norm is what was promised."""

# Integers of a release stay below it in modulus: with their noise they are int64.
_LARGEST = 2.0**61


@dataclass(frozen=True)
class _Facts:
    """The public facts about what hides a minimiser.

    Attributes:
        dimension: of the model.
        sigma: scale of the linear term.
        ridge: lambda, the strong convexity of the objective.
        accuracy: the certified distance to the minimiser.
        protection: scale of the noise that covers it.
        reach: R, a public bound on the norm of the minimiser.
    """

    dimension: int
    sigma: float
    ridge: float
    accuracy: float
    protection: float
    reach: float


@dataclass(frozen=True)
class FloatModelNoise(_Facts):
    """Noise in float64: Gaussian, cut off beyond a public norm, or with the density exp(-|z|)."""

    pure: bool = False

    @property
    def shift(self) -> float:
        """What the distance to the exact minimiser costs: mu, or epsilon of pure noise."""
        return 2 * self.accuracy / self.protection

    @property
    def slack(self) -> GaussianSlack:
        """What the samplers' errors add, for one model."""
        return GaussianSlack(0.0, 0.0, 0.0 if self.pure else TRUNCATION)

    @property
    def cover(self) -> float:
        """A bound on the expected distance of what is released from the exact minimiser."""
        size = Norm.exponential_size(self.dimension) if self.pure else sqrt(self.dimension)
        return self.protection * size + self.accuracy

    def source(self, streams: Streams, name: str) -> Source:
        return FloatNoise(Norm().exponential_noise if self.pure else _cut_off, streams, name)

    def linear_term(self, source: Source) -> FloatArray:
        """Z."""
        return self.sigma * self._draw(source)

    def released(self, source: Source, point: FloatArray) -> FloatArray:
        """The point with the noise that covers it."""
        return point + self.protection * self._draw(source)

    def _draw(self, source: Source) -> FloatArray:
        assert isinstance(source, FloatNoise)
        return source.draw(self.dimension)


@dataclass(frozen=True)
class LatticeModelNoise(_Facts):
    """Discrete Gaussian noise; what is released is an integer plus an integer, times a public step."""

    @classmethod
    def least_protection(cls, reach: float) -> float:
        """The least scale for which a point of the largest norm is still an int64 number of steps."""
        return reach * GAUSSIAN_SIGMA / _LARGEST * ROUND_UP

    @property
    def step(self) -> float:
        """gamma_r."""
        return self.protection / GAUSSIAN_SIGMA

    @property
    def shift(self) -> float:
        root = sqrt(self.dimension)
        moved = 2 * (self.accuracy + self._coupled) + 2.0**-52 * self.reach * root
        return (moved / self.protection + root / GAUSSIAN_SIGMA) * ROUND_UP

    @property
    def slack(self) -> GaussianSlack:
        # Two words for each coordinate of Z, counted as three draws, and one for each of the release.
        slack = gaussian_slack(4 * self.dimension)
        # Draws that are too long differ from normal ones by the coupling only, hence 1.01.
        failure = 1.01 * TRUNCATION + self.dimension * WIDE_FAILURE * ROUND_UP
        return GaussianSlack(slack.epsilon, slack.delta_exponent, slack.total_variation + failure)

    @property
    def cover(self) -> float:
        root = sqrt(self.dimension)
        return (self.protection * root + self.accuracy + self._coupled + self.step * root) * ROUND_UP

    @property
    def _coupled(self) -> float:
        """tau_Z/lambda: how far the true noise moves the minimiser."""
        return WIDE_DISTANCE * self.sigma * sqrt(self.dimension) / self.ridge

    def source(self, streams: Streams, name: str) -> Source:
        return DiscreteGaussian.from_streams(streams, name)

    def linear_term(self, source: Source) -> FloatArray:
        assert isinstance(source, DiscreteGaussian)
        step, limit = wide_step(self.sigma), self.sigma * truncated_norm(self.dimension)
        while True:
            drawn = np.asarray(source.draw_wide(self.dimension) * step, dtype=np.float64)
            if float(np.linalg.norm(drawn)) <= limit:
                return drawn

    def released(self, source: Source, point: FloatArray) -> FloatArray:
        assert isinstance(source, DiscreteGaussian)
        # Minimisers are never longer than the reach: what privacy rests on is enforced all the same.
        steps = np.rint(np.clip(point, -self.reach, self.reach) / self.step).astype(np.int64)
        return np.asarray(self.step * (steps + source.draw(self.dimension)), dtype=np.float64)


ModelNoise = FloatModelNoise | LatticeModelNoise


def private_minimum(noise: ModelNoise, losses: SmoothSum, source: Source) -> tuple[FloatArray, bool]:
    """The model that hides these losses, and whether the minimiser without them took its place (PRIVATE).

    The losses must be those of clipped rows, shrunk by `SHRUNK`, and no more of them than the noise was made for.
    """
    linear = noise.linear_term(source)
    found = perturbed_minimum(losses, ridge=noise.ridge, noise=linear, accuracy=noise.accuracy)
    return noise.released(source, found.point), found.substitute


def _cut_off(generator: np.random.Generator) -> Callable[[int], FloatArray]:
    # No closure: a copy of what holds this must draw from its own copy of the generator.
    return partial(truncated_normal, generator)
