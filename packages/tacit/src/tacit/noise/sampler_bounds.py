"""What the samplers' errors cost, and how long Gaussian noise is.

The costs are constants that depend on the samplers alone, rounded to the private side. Proofs: docs/numerics.md. None
of them depends on data, horizon or learner; mechanisms multiply them by the number of draws and put them into a
contract. The norm of a standard Gaussian vector has a mean, and a size that it rarely exceeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isqrt, nextafter, sqrt

from scipy.special import gammainccinv, gammaln

from tacit.noise.discrete_gaussian import SIGMA_SQUARED, WIDE_FACTOR
from tacit.validation import check_dimension, check_integer, check_number

# A released integer hides like N(0, sigma^2 - 4) (Lemma 3 with r = 2). Rounded down: it divides.
GAUSSIAN_SIGMA = float(isqrt((SIGMA_SQUARED - 4) << 46)) / 2.0**23
# The true standard deviation of a draw, for regret (E e^{l z} <= e^{l^2 sigma^2/2}). Rounded up.
SIGMA_ABOVE = float(isqrt(SIGMA_SQUARED << 46) + 1) / 2.0**23

# Two neighbours' laws, each within a factor e^x of the ideal one, x = 2^-110.3 (Lemma 2) + 2^-112.9 (Lemma 3):
# delta(epsilon + 2x) <= e^x delta_ideal(epsilon).
EXTRA_EPSILON_PER_DRAW = 2.0**-109
DELTA_EXPONENT_PER_DRAW = 2.0**-110
# The table's floors, in total variation: four base draws of 2^-181.6 each. Both neighbours are that far off.
TAU_PER_DRAW = 2.0**-179

# A wide draw divided by this is a standard normal up to the terms below. Rounded down: it divides.
WIDE_SIGMA_SQUARED = SIGMA_SQUARED * (1 + WIDE_FACTOR**2)
WIDE_SIGMA = nextafter(float(isqrt(WIDE_SIGMA_SQUARED - 4)), 0.0)
# |Z - Z_true| <= sigma_obj sqrt(d) times the first, except with probability d times the second.
WIDE_DISTANCE = 2.0**-47
WIDE_FAILURE = 2.0**-104

LIBM_ERROR = 2.0**-45


@dataclass(frozen=True)
class GaussianSlack:
    """What a number of discrete Gaussian draws adds to the curve of ideal Gaussian noise.

    Attributes:
        epsilon: is added to epsilon.
        delta_exponent: delta is multiplied by e to this power.
        total_variation: tau, how far the law of each neighbour is from the one that epsilon and delta are for.
    """

    epsilon: float
    delta_exponent: float
    total_variation: float


def gaussian_slack(draws: int) -> GaussianSlack:
    """Give the slack of `draws` integers (steps times dimension), each term rounded up.

    >>> gaussian_slack(10**10).epsilon < 1.6e-23
    True
    """
    # Powers of two times an integer below 2^53 are exact; a larger one is rounded up first.
    count = check_integer("gaussian_slack", "draws", draws, at_least=0)
    number = float(count) if int(float(count)) >= count else nextafter(float(count), float("inf"))
    return GaussianSlack(number * EXTRA_EPSILON_PER_DRAW, number * DELTA_EXPONENT_PER_DRAW, number * TAU_PER_DRAW)


def hilbert_error(experts: int) -> float:
    """Give kappa, which one fixed-share update in float64 adds to the logarithm of any ratio of two weights.

    exp is within 2^-45; N - 1 additions, 8 roundings' worth for q * eta <= 16, and 4 others, each 2^-53. After t
    rounds Hilbert's metric between the float weights and the ideal ones is at most 2 kappa t, so a draw of
    bounded range r has range r + 4 kappa t. Needs eta <= 16 and a share of at least 2^-900 (no subnormals).

    >>> 4 * hilbert_error(10) * 10**6 < 1.3e-7
    True
    """
    number = check_dimension("hilbert_error", "experts", experts)
    return LIBM_ERROR + (number + 16) * 2.0**-53


def wide_step(sigma: float) -> float:
    """Compute gamma_Z = sigma / sqrt(sigma_w^2 - 4), rounded up: gamma_Z times a wide draw acts as N(0, sigma^2)."""
    scale = check_number("wide_step", "sigma", sigma, above=0.0)
    return nextafter(scale / WIDE_SIGMA, float("inf"))


def chi_mean(dimension: int) -> float:
    """Compute E|N(0, I_d)|."""
    return sqrt(2.0) * exp(float(gammaln((dimension + 1) / 2) - gammaln(dimension / 2)))


def chi_quantile(dimension: int, miss: float) -> float:
    """Compute the norm that a standard Gaussian vector exceeds with probability `miss`."""
    return sqrt(2 * float(gammainccinv(dimension / 2, miss)))
