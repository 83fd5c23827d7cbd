"""What ExploreLinear releases, in integers: noisy Gram matrices and noisy contrasts of the actions.

Features and losses become whole numbers once, each record by itself: |X| <= g in integers, and Y in {-g..g} for a loss
in the units 2 l - 1. Their products are exact. With a public scale s a record of an exploring round adds

    s X_i^2,   floor(sqrt(2) s) X_i X_j (i < j),   e_j h_j(a) X Y,  e_j = floor(s sqrt(K/((K-1) j (j+1)))),  j = 1..K-1

to the sums of its release, h_j = (1, .., 1, -j, 0, .., 0) with j ones: Helmert's contrasts, orthogonal to each other
and to the mean over actions, which no decision needs. Factors are rounded down, so a record moves these coordinates by
no more than it moves s (x x', x y' (x) zeta_a), whose shift Lemma 1 of docs/algorithms/explore-linear.md bounds: by
3/sqrt(2) s g^2 if the record is replaced, and sqrt(2) s g^2 if it is zeroed out. Later records enter a Gram matrix
only: sqrt(2) s g^2, or s g^2. With public features only the contrasts are noisy: 2 s g^2, or s g^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor, isqrt, sqrt

import numpy as np

from tacit.accounting.curves import ROUND_UP
from tacit.accounting.guarantee import Relation
from tacit.errors import PrivacyError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.sampler_bounds import WIDE_SIGMA, WIDE_SIGMA_SQUARED
from tacit.problems import ContextualArms
from tacit.releases import LinearProducts
from tacit.releases.sums import product_shifts
from tacit.validation import FloatArray, IntArray

FINEST, COARSEST = 2**20, 2**8  # steps in a feature vector of length 1
FINE_FACTORS = 2**10  # so much larger than the number of actions is a scale whose factors are whole to .1%
LARGEST_SUM = 2**62
WIDE_SIGMA_ABOVE = float(isqrt(WIDE_SIGMA_SQUARED) + 1) * ROUND_UP


@dataclass(frozen=True)
class Lattice:
    """The whole numbers in which records are added up and hidden."""

    actions: int  # K
    dimension: int  # d
    units: int  # g, steps in a feature vector of length 1 and in a centred loss
    scale: int  # s, by which the exploring rounds' sums are multiplied before noise of deviation 2^57 is added
    later_scale: int  # the same for Gram matrices of later rounds (0: features are public, and nothing is hidden)

    @classmethod
    def finest(cls, problem: ContextualArms, mu: float, relation: Relation, rounds_per_person: int) -> Lattice:
        """The finest lattice on which noise of deviation 2^57 makes each release mu-Gaussian for a person's rounds."""
        first, later = product_shifts(problem.features == "public", relation.sides)
        room = mu * WIDE_SIGMA / rounds_per_person / ROUND_UP
        units = FINEST
        while units > COARSEST and (
            (problem.horizon or 1) * units**2 > LARGEST_SUM or room / (first * units**2) < FINE_FACTORS * problem.n
        ):
            units //= 2
        if (problem.horizon or 1) * units**2 > LARGEST_SUM:
            most = LARGEST_SUM // COARSEST**2
            raise PrivacyError(f"The sums of more than {most} rounds exceed 64 bits. Got {problem.horizon} rounds.")
        scale = floor(room / (first * units**2))
        if scale < FINE_FACTORS:
            raise PrivacyError(
                f"Noise for mu={mu:.3g} and {rounds_per_person} rounds per person leaves no lattice to hide records "
                "on: ask for less privacy, or fewer rounds per person."
            )
        return cls(problem.n, problem.dimension, units, scale, floor(room / (later * units**2)) if later else 0)

    @property
    def public(self) -> bool:
        """Whether features are public, so that Gram matrices are exact."""
        return self.later_scale == 0

    @property
    def gram_size(self) -> int:
        """Entries of an upper triangle."""
        return self.dimension * (self.dimension + 1) // 2

    def products(self, releases: int) -> LinearProducts:
        """Declare so many releases of sums on this lattice."""
        return LinearProducts(self.actions, self.dimension, self.units, self.scale, self.later_scale, releases)

    @cached_property
    def contrast_factors(self) -> tuple[int, ...]:
        """e_j, j = 1..K-1."""
        n, squared = self.actions, self.scale**2
        return tuple(isqrt(squared * n // ((n - 1) * j * (j + 1))) for j in range(1, n))

    @cached_property
    def contrasts(self) -> IntArray:
        """h_j(a), one row for each contrast."""
        rows = np.zeros((self.actions - 1, self.actions), dtype=np.int64)
        for j in range(1, self.actions):
            rows[j - 1, :j], rows[j - 1, j] = 1, -j
        return rows

    @property
    def gram_noise(self) -> float:
        """Sigma of a noisy Gram matrix of exploring rounds on its diagonal; at most sigma/sqrt(2) off it."""
        return self._gram_noise(self.scale)

    @property
    def later_noise(self) -> float:
        """The same of later rounds."""
        return self._gram_noise(self.later_scale)

    def _gram_noise(self, scale: int) -> float:
        if self.public:
            return 0.0
        largest = max(1 / scale, sqrt(2.0) / isqrt(2 * scale**2))
        return WIDE_SIGMA_ABOVE * largest / float(self.units**2) * ROUND_UP

    @property
    def cross_noise(self) -> float:
        """Sigma of the noise in any normalised contrast of sums of x y, y in [-1/2, 1/2]."""
        factors = enumerate(self.contrast_factors, 1)
        largest = max(1 / (factor * sqrt(j * (j + 1.0))) for j, factor in factors)
        return WIDE_SIGMA_ABOVE * largest / (2 * float(self.units**2)) * ROUND_UP

    def noisy_gram(self, sums: IntArray, noise: DiscreteGaussian, *, first: bool) -> FloatArray:
        """A sum of X X' with fresh noise, in the units of the features; as it is if features are public."""
        if self.public:
            return sums / float(self.units**2)
        scale = self.scale if first else self.later_scale
        row, column = np.triu_indices(self.dimension)
        factors = np.where(row == column, scale, isqrt(2 * scale**2)).astype(object)
        drawn = noise.draw_wide(self.gram_size).astype(object)
        # Python's whole numbers: the sums of many rounds, times a factor, exceed 64 bits.
        noisy = (factors * sums[row, column].astype(object) + drawn).astype(np.float64)
        gram = np.zeros((self.dimension, self.dimension))
        gram[row, column] = gram[column, row] = noisy / (factors.astype(np.float64) * float(self.units**2))
        return gram

    def noisy_contrasts(self, sums: IntArray, noise: DiscreteGaussian) -> FloatArray:
        """The sums of X Y of each action, without their mean and with fresh noise, in units of x y: shape (K, d)."""
        contrasts = self.contrasts.astype(object)
        factors = np.array(self.contrast_factors, dtype=object)[:, None]
        drawn = noise.draw_wide((self.actions - 1) * self.dimension).reshape(-1, self.dimension).astype(object)
        noisy = (factors * (contrasts @ sums.astype(object)) + drawn).astype(np.float64)
        lengths = (self.contrasts**2).sum(axis=1)[:, None]  # j (j + 1)
        spread = noisy / (factors.astype(np.float64) * lengths * (2 * float(self.units**2)))
        return np.asarray(self.contrasts.T.astype(np.float64) @ spread)
