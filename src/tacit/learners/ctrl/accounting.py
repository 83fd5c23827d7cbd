"""What CTRL leaks: the curve of one draw, and the chain of coins and draws.

The draw releases x = argmin J + <Z, x>, Z ~ N(0, sigma^2 I). By the change of variables its density is
N(-grad J(x); 0, sigma^2) det(hess J(x)), so between neighbours the log ratio z satisfies |z| <= M with

    M = offset + slope * chi,    offset = ld + k^2 G^2/(2 sigma^2),    slope = k G/sigma,

where chi is the norm of a standard Gaussian vector (generalised linear losses: of a standard Gaussian number,
by convexity over the feature vectors, however many a round has), ld bounds the log determinants, and k G is how far
one person moves the gradient: k = 2m if m rounds are replaced, m if they are zeroed out. Since E[e^z] = 1, for a > 1

    E[e^{az}] = 1 + E[phi(z)],   phi(z) = e^{az} - 1 - a(e^z - 1) >= 0,

phi grows with |z|, and phi(M) >= phi(-M); hence E[e^{az}] <= 1 + E[phi(M)]: no event, no tail, no quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtri

from tacit.privacy.curves import Curve
from tacit.privacy.guarantee import Relation
from tacit.privacy.lazy import LazyChain
from tacit.validation import FloatArray, check_integer, check_number

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
# The quadrature is good to 1e-12 (tests compare it with 30 digits); this is on the private side.
_QUADRATURE = 1.0 + 1e-9
_SERIES = 14


@dataclass(frozen=True)
class PerturbedMinimiser(Curve):
    """One draw of a perturbed minimiser: |log ratio| <= offset + slope chi, plus a Gaussian shift.

    Attributes:
        degrees: degrees of freedom of chi (1 for generalised linear losses).
        offset: what the log ratio may reach without noise.
        slope: what each unit of chi adds.
        shift: Gaussian DP mu of the release noise that covers inexact minimisation.
    """

    degrees: int
    offset: float
    slope: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_integer("PerturbedMinimiser", "degrees", self.degrees)
        for name in ("offset", "slope", "shift"):
            check_number("PerturbedMinimiser", name, getattr(self, name), above=0.0, closed_low=True)

    def renyi(self, orders: FloatArray) -> FloatArray:
        orders = np.asarray(orders, dtype=np.float64)
        log_excess = log_excess_moment(orders, self.degrees, self.offset, self.slope)
        moment = np.logaddexp(0.0, log_excess) / (orders - 1)
        return np.asarray((moment + orders * self.shift**2 / 2) * _QUADRATURE)


def log_excess_moment(orders: FloatArray, degrees: int, offset: float, slope: float) -> FloatArray:
    """The logarithm of E[phi(offset + slope chi)] at each order, by Gauss-Legendre where the integrand lives."""
    a = orders[:, None]
    # The integrand x^{d-1} e^{-x^2/2} phi peaks between sqrt(d-1) and the peak with phi replaced by M^2 e^{aM}
    # (close to the latter once the tilt is large), and falls at least as fast as a Gaussian on both sides.
    tilt = a * slope
    high = (tilt + np.sqrt(tilt**2 + 4 * (degrees + 1.0))) / 2 + 13.0
    low = np.where(tilt > 20.0, high - 27.0, max(0.0, np.sqrt(degrees - 1.0) - 13.0))
    half = (high - low) / 2
    x = low + half * (1 + _NODES)
    log_density = (degrees - 1) * np.log(x) - x**2 / 2 - (degrees / 2 - 1) * np.log(2) - gammaln(degrees / 2)
    terms = log_density + _log_phi(a, offset + slope * x) + np.log(half * _WEIGHTS)
    top = np.max(terms, axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return np.asarray(top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1)))


def ctrl_chain(
    *,
    rounds: int,
    dimension: int,
    linear_model: bool,
    lipschitz: float,
    smoothness: float,
    eta: float,
    sigma: float,
    force: float,
    log_phi: float,
    shift: float,
    relation: Relation,
    rounds_per_person: int,
    coin_error: float = 0.0,
    terms: int = 1,
) -> LazyChain:
    """The chain of CTRL: coins in (1-p)[Phi^-2, 1]; later coins drift by the second-order bound.

    The coin of a changed round may move over its whole range, 2 log Phi. Later coins see the change only in
    grad J and hess J: by at most m s2 = m (k/m)(G/sigma)^2 + m eta^2 beta^2 d (d = 1 for linear models), and by
    what is wrong with the two coins themselves, `coin_error` each. Linear models may sum several `terms` a round, whose
    Hessians have a trace of at most beta together.
    """
    m = rounds_per_person
    sides = relation.sides
    move = sides * m * lipschitz / sigma
    if linear_model:
        degrees = 1
        growth = m * log_growth(eta * smoothness, directions(dimension, terms))
    else:
        degrees = dimension
        growth = dimension * float(np.log1p(m * eta * smoothness))
    draw = PerturbedMinimiser(degrees, float(growth + move**2 / 2), move, shift)
    drift = m * (sides * (lipschitz / sigma) ** 2 + (eta * smoothness) ** 2 * degrees)
    return LazyChain.of_hazards(
        decisions=rounds - 1,
        least=-float(np.log1p(-force)),
        spread=2 * log_phi,
        bit=2 * log_phi,
        draw=draw,
        rounds_per_person=m,
        drift=min(drift + 2 * coin_error, 2 * log_phi),
    )


def directions(dimension: int, terms: int) -> int:
    """The rank of what one round of a linear model with so many terms adds to the Hessian."""
    return min(dimension, terms)


def log_growth(trace: float, rank: int) -> float:
    """The most by which a matrix of this rank and trace (in units of the ridge) moves a log determinant.

    Eigenvalues l_1, ..., l_r >= 0 with a sum of at most the trace: sum ln(1 + l_i) is largest if they are equal.
    """
    return float(rank * np.log1p(trace / rank))


def coin_range(
    *,
    miss: float,
    eta: float,
    sigma: float,
    dimension: int,
    linear_model: bool,
    lipschitz: float,
    smoothness: float,
    terms: int = 1,
) -> float:
    """A log Phi that the log ratio of consecutive laws exceeds with probability at most `miss`."""
    rank = directions(dimension, terms) if linear_model else dimension
    quantile = chi_quantile(rank, miss) if rank > 1 or not linear_model else -float(ndtri(miss / 2))
    if linear_model:
        growth = log_growth(eta * smoothness, rank)
    else:
        growth = dimension * float(np.log1p(eta * smoothness))
    ratio = lipschitz / sigma
    return float(growth + ratio**2 / 2 + ratio * quantile)


def chi_quantile(degrees: int, miss: float) -> float:
    """The norm that a standard Gaussian vector exceeds with probability `miss`."""
    from scipy.special import gammainccinv

    return float(np.sqrt(2 * gammainccinv(degrees / 2, miss)))


def chi_mean(degrees: int) -> float:
    """E|N(0, I_d)|."""
    return float(np.sqrt(2) * np.exp(gammaln((degrees + 1) / 2) - gammaln(degrees / 2)))


def _log_phi(a: FloatArray, m: FloatArray) -> FloatArray:
    """The logarithm of e^{am} - 1 - a(e^m - 1) for m > 0, without cancellation."""
    am = a * m
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        small_am = np.minimum(am, 1.0)
        # phi = sum_{k>=2} (a^k - a) m^k/k!, every term positive.
        log_a = np.log1p(a - 1)
        series = np.zeros_like(am)
        term = small_am * np.minimum(m, 1.0)  # a m^k/k!, times a^{k-1} - 1 in the sum
        for k in range(2, _SERIES):
            term = term / k if k == 2 else term * m / k
            series = series + term * np.expm1((k - 1) * log_a)
        small = np.log(series)
        # e^{am}(1 - e^{-am}(1 + a(e^m - 1)))
        share = np.exp(-am) + a * (np.exp(m - am) - np.exp(-am))
        large = am + np.log1p(-np.minimum(share, 1.0))
    return np.where(am < 0.5, small, large)
