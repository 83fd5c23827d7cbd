"""The accountants of lazy experts and of CTRL, written again from their proof pages alone.

The reference side knows the formulas of docs/algorithms/lazy-experts.md and docs/algorithms/ctrl.md and nothing else:
25-digit arithmetic, the textbook integral, no import of the library's accounting. The library multiplies by 1 + 1e-11
wherever it rounds to the private side and by 1 + 1e-9 after CTRL's quadrature; those factors are never below one, so
the library's value must lie between the reference and a hair above it: 1e-9 for lazy experts, 3e-9 for CTRL (1e-9 in a
draw's divergence grows to a little more in its moment).
"""

import numpy as np
import pytest
from mpmath import exp, expm1, findroot, gamma, gammainc, inf, linspace, log, log1p, mp, mpf, quad, sqrt

import tacit

ORDERS = (1.5, 7.0, 30.0)


@pytest.fixture(autouse=True)
def _many_digits():
    with mp.workdps(25):
        yield


def moment(alpha, low, high, shift, draw):
    """F(shift): the largest moment of one decision, over the six pairs of keep probabilities."""
    lo, hi = max(low, high * exp(-shift)), min(high, low * exp(shift))
    pairs = [(high, lo), (lo, high), (low, hi), (hi, low), (high, high), (low, low)]
    return max(
        q**alpha * r ** (1 - alpha) + (1 - q) ** alpha * (1 - r) ** (1 - alpha) * draw for q, r in pairs
    )  # fmt: skip


def lazy_experts(alpha, rounds, eta, force, batch, width):
    """eps(alpha) of lazy experts, one round per person; `width` is r."""
    alpha, eta, force, width = mpf(alpha), mpf(eta), mpf(force), mpf(width)
    decisions = -(-rounds // batch) - 1
    high, low = 1 - force, (1 - force) * exp(-batch * eta)
    draw = exp((alpha - 1) * min(alpha * width**2 / 8, width))
    changed = log(moment(alpha, low, high, eta, draw))
    return (changed + (decisions - 1) * log(1 + (1 - low) * (draw - 1))) / (alpha - 1)


def coin_error(plan, k):
    """nu_1 + nu_2 of the page, G = beta = R = 1, d = 4, on the unit ball."""
    eta, sigma, tau, T, d, N = mpf(plan.eta), mpf(plan.sigma), mpf(plan.accuracy), plan.rounds, 4, 1024
    weight, unit = 2 / log(T), mpf(2) ** -53
    rho = mpf("2.5") * tau * sqrt(1 / eta / weight)
    q = findroot(lambda x: log(gammainc(mpf(d) / 2, x**2 / 2, regularized=True) * mpf("1e30")), 12.5)
    push = T + 1 / eta + sigma * q
    H = 1 / eta + T + weight * (2 * d + push / weight) ** 2 / (1 - rho) ** 2
    rounding = (d + T + 3) * (sigma * q + T) / sigma**2
    rounding += k * eta * (8 * d**2 * (eta * H + N * (1 + eta * N) ** 3) + (200 + mpf(T) / N) * (1 + eta * T))
    return -2 * log1p(-rho) * k * eta / (1 + eta) + unit * rounding


def ctrl(alpha, plan, *, sides, degrees, growth):
    """eps(alpha) of CTRL, one round per person, G = beta = 1."""
    alpha, eta, sigma, phi = mpf(alpha), mpf(plan.eta), mpf(plan.sigma), mpf(plan.log_phi)
    slope = sides / sigma
    offset, mu = growth * log1p(eta) + slope**2 / 2, 2 * mpf(plan.accuracy) / mpf(plan.release_scale)
    weight = 2 ** (1 - mpf(degrees) / 2) / gamma(mpf(degrees) / 2)

    def integrand(x):
        reach = offset + slope * x
        return weight * x ** (degrees - 1) * exp(-(x**2) / 2) * (expm1(alpha * reach) - alpha * expm1(reach))

    excess = quad(integrand, [*linspace(0, 24, 13), inf])
    draw = (1 + excess) * exp((alpha - 1) * alpha * mu**2 / 2)
    high = 1 - mpf(plan.force)
    low = high * exp(-2 * phi)
    drift = min(2 * phi, sides / sigma**2 + eta**2 * degrees + 2 * coin_error(plan, degrees))
    changed, later = (log(moment(alpha, low, high, shift, draw)) for shift in (2 * phi, drift))
    return (changed + (plan.rounds - 2) * later) / (alpha - 1)


def agrees(library, reference, room):
    """The library's value is the reference, or above it by at most `room`."""
    return -1e-11 <= float(mpf(float(library)) / reference - 1) <= room


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
@pytest.mark.parametrize(
    ("eta", "force", "batch", "rounds"), [(0.05, 0.1, 2, 1000), (0.3, 0.02, 1, 50), (0.004, 0.2, 7, 9999)]
)
def test_lazy_experts(eta, force, batch, rounds, relation):
    problem = tacit.Experts(n=5, horizon=rounds)
    plan = tacit.LazyExperts(problem, eta=eta, force=force, batch=batch, relation=relation)
    width = eta if relation == "zero-out" else 2 * eta
    for alpha, value in zip(ORDERS, plan.guarantee.curve.renyi(np.array(ORDERS)), strict=True):
        assert agrees(value, lazy_experts(alpha, rounds, eta, force, batch, width), 1e-9)


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
@pytest.mark.parametrize("family", ["glm", "general"])
@pytest.mark.parametrize(("eta", "sigma", "force", "log_phi"), [(0.01, 60.0, 0.05, 0.15), (0.002, 300.0, 0.01, 0.03)])
def test_ctrl(eta, sigma, force, log_phi, family, relation):
    problem = tacit.Convex(domain=tacit.Ball(4), loss=tacit.ConvexFamily(1.0, 1.0, family), horizon=5000)
    plan = tacit.CTRL(problem, eta=eta, sigma=sigma, force=force, log_phi=log_phi, relation=relation)
    degrees = 1 if family == "glm" else 4
    sides = 1 if relation == "zero-out" else 2
    for alpha, value in zip(ORDERS, plan.chain.renyi(np.array(ORDERS)), strict=True):
        assert agrees(value, ctrl(alpha, plan, sides=sides, degrees=degrees, growth=degrees), 3e-9)


def test_a_wrong_constant_is_noticed():
    """Sensitivity 1 for 2, too few forced redraws, batches left out: none of them agrees."""
    plan = tacit.LazyExperts(tacit.Experts(n=5, horizon=1000), eta=0.05, force=0.1, batch=2)
    (value,) = plan.guarantee.curve.renyi(np.array([7.0]))
    assert agrees(value, lazy_experts(7.0, 1000, 0.05, 0.1, 2, 0.1), 1e-9)
    for wrong in ((0.05, 0.1, 2, 0.05), (0.05, 0.09, 2, 0.1), (0.05, 0.1, 1, 0.1)):
        assert not agrees(value, lazy_experts(7.0, 1000, *wrong), 1e-6)
