"""What one draw of a perturbed minimiser leaks; the proof is in docs/algorithms/ctrl.md.

A draw has a log ratio z of at most M = offset + slope chi in modulus, chi the norm of a standard
Gaussian vector (generalised linear losses: of a standard Gaussian number). Since E[e^z] = 1, for
a > 1

    E[e^{az}] <= 1 + E[phi(M)],   phi(z) = e^{az} - 1 - a(e^z - 1) >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tacit.accounting.curves import Curve
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
    _home: ClassVar[str] = "tacit.algorithms.convex.ctrl.certificate"  # in curves that 0.3 saved

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


def log_growth(trace: float, rank: int) -> float:
    """The most by which a matrix of this rank and trace (in units of the ridge) moves a log determinant.

    Eigenvalues l_1, ..., l_r >= 0 with a sum of at most the trace: sum ln(1 + l_i) is largest if they are equal.
    """
    return float(rank * np.log1p(trace / rank))


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
