"""The norms of the online-to-batch paper: models in l_p, gradients in the dual l_q, and the noise that protects them.

Gaussian noise: |g|_2 <= d^(1/2 - 1/q) |g|_q, so l_q sensitivities enter with that factor. Pure privacy: the
density proportional to exp(-|z|_q). Its norm is a Gamma(d, 1) variable and its direction has the cone measure,
y/|y|_q with independent y_i of density proportional to exp(-|y|^q). A direction that is uniform on the surface,
or Gaussian, has another density for q > 2 and no pure guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaln

from tacit.domains import Ball, Box, L1Ball, Simplex
from tacit.domains.convex_set import ConvexSet
from tacit.noise.running_sums import NoiseSource
from tacit.validation import FloatArray, check_integer, check_number


@dataclass(frozen=True)
class Norm:
    """The l_p norm, 1 < p <= 2, and its dual.

    >>> Norm(1.5).dual
    3.0
    """

    power: float = 2.0

    def __post_init__(self) -> None:
        check_number("Norm", "power", self.power, above=1.0, below=2.0, closed_high=True)

    @classmethod
    def for_sparse(cls, dimension: int) -> Norm:
        """The power 1 + 1/ln d: within a constant of l_1, and still strongly convex."""
        check_integer("Norm.for_sparse", "dimension", dimension)
        return cls(2.0 if dimension < 3 else 1 + 1 / float(np.log(dimension)))

    @property
    def dual(self) -> float:
        """The q with 1/p + 1/q = 1."""
        return self.power / (self.power - 1)

    def size(self, x: FloatArray) -> float:
        """|x|_p."""
        return length(x, self.power)

    def dual_size(self, gradient: FloatArray) -> float:
        """|g|_q."""
        return length(gradient, self.dual)

    def dual_sizes(self, rows: FloatArray) -> FloatArray:
        """|g|_q of each row."""
        if self.power == 2.0:
            return np.asarray(np.sqrt(np.add.reduce(rows * rows, axis=1)))
        # Divided by the largest entry first: high powers of small numbers vanish.
        top = np.maximum.reduce(np.abs(rows), axis=1, initial=1e-150)[:, None]
        return np.asarray(top[:, 0] * np.add.reduce((np.abs(rows) / top) ** self.dual, axis=1) ** (1 / self.dual))

    @property
    def martingale(self) -> float:
        """The constant of E|sum of martingale differences|_q^2 <= constant * sum of E|difference|_q^2."""
        return self.dual - 1

    def gaussian_factor(self, dimension: int) -> float:
        """The largest l_2 norm of a vector of l_q norm 1, and the largest l_p norm of one of l_2 norm 1."""
        return float(dimension ** (0.5 - 1 / self.dual))

    def gaussian_size(self, dimension: int) -> float:
        """A bound on sqrt(E|z|_q^2) of a standard Gaussian vector: d^(1/q) (E|z_1|^q)^(1/q)."""
        q = self.dual
        log_moment = q / 2 * np.log(2) + gammaln((q + 1) / 2) - np.log(np.pi) / 2
        return float(np.exp((np.log(dimension) + log_moment) / q))

    @staticmethod
    def exponential_size(dimension: int) -> float:
        """The exact sqrt(E|z|_q^2) of the density exp(-|z|_q): that of a Gamma(d, 1) variable."""
        return float(np.sqrt(dimension * (dimension + 1.0)))

    def geometric_size(self, dimension: int, rate: float) -> float:
        """A bound on sqrt(E|z|_q^2), in units of 1/rate, of independent two-sided geometric coordinates of this rate.

        E|z_1|^q = sum_k (k^q - (k-1)^q) P[|z_1| >= k] <= Gamma(q+1) rate^-q 2/(1 + e^-rate), since P[|z_1| >= k] is
        e^{-rate k} 2/(1 + e^-rate), and E|z|_q^2 <= (d E|z_1|^q)^(2/q). In l2 the variance is at most 2/rate^2.
        """
        if self.power == 2.0:
            return float(np.sqrt(2.0 * dimension))
        log_moment = gammaln(self.dual + 1) + np.log(2 / (1 + np.exp(-rate)))
        return float(np.exp((np.log(dimension) + log_moment) / self.dual))

    def exponential_noise(self, generator: np.random.Generator) -> NoiseSource:
        """Draws vectors of the density proportional to exp(-|z|_q)."""
        # No closure: a copy of what holds this must draw from its own copy of the generator.
        return partial(_exponential, self.dual, generator)


def _exponential(q: float, generator: np.random.Generator, count: int) -> FloatArray:
    if q == 2.0:
        direction = generator.standard_normal(count)
    else:
        direction = generator.standard_gamma(1 / q, count) ** (1 / q)
        direction *= 2.0 * generator.integers(0, 2, count) - 1.0
    return np.asarray(direction * (generator.standard_gamma(count) / length(direction, q)))


def farthest(domain: ConvexSet, point: FloatArray, norm: Norm) -> float:
    """The largest distance of a point of the domain from this one, or an upper bound of it.

    A corner that minimises <point - centre, v> is the farthest one of a box, an l1 ball or a simplex in every l_p:
    |a + x|^p - |x|^p grows with x. In l_2 the same holds for a ball. Elsewhere the centre lies between the two.
    """
    if isinstance(domain, Box | L1Ball | Simplex) or (isinstance(domain, Ball) and norm.power == 2.0):
        return norm.size(domain.minimize_linear(point - domain.centre) - point)
    between = length(point - domain.centre, 2.0) + domain.radius
    return min(between, domain.diameter) * norm.gaussian_factor(domain.dimension)


def length(x: FloatArray, power: float) -> float:
    """The l_power norm of a vector."""
    if power == 2.0:
        return float(np.sqrt(x @ x))
    top = float(np.maximum.reduce(np.abs(x), initial=0.0))
    return top * float(np.add.reduce((np.abs(x) / top) ** power)) ** (1 / power) if top > 0 else 0.0
