"""The public search behind CTRL: regulariser, noise and forced redraws of the smallest certified regret.

The printed parameters (Theorems 8 and 11) stay available for comparison; their constants of 1000 make the printed
regret bound vacuous for every horizon up to a million.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import PrivacyError
from tacit.learners.target import Target
from tacit.privacy.calibration import largest, minimise
from tacit.privacy.curves import Curve
from tacit.problems import Convex

if TYPE_CHECKING:
    from tacit.learners.ctrl.ctrl import CTRL

Make = Callable[..., "CTRL"]


def best_parameters(make: Make, problem: Convex, target: Target) -> CTRL:
    """Minimise the certified regret over eta and the force; the noise is the smallest that meets the target."""
    g, radius, rounds = problem.lipschitz, problem.domain.radius, problem.horizon or 1
    # Few orders around the one that the Gaussian part alone would choose: fewer orders only cost regret.
    centre = 2 * log(1 / target.delta) / target.epsilon
    orders = 1 + centre * np.geomspace(0.1, 4.0, 12)
    start = 1e-3 / g  # inverse noise at which the next search begins

    def inverse_noise(eta: float, force: float, tolerance: float) -> float:
        nonlocal start

        def cost(inverse: float) -> float:
            return _epsilon(make(eta, 1 / inverse, force).curve, orders, target.delta)

        low, high = start / 2, start * 2
        while low > 1e-9 * start / g and cost(low) > target.epsilon:
            low, high = low / 8, low
        while cost(high) <= target.epsilon and high < 10 / g:
            low, high = high, high * 2
        try:
            start = largest(cost, target.epsilon, low, high, tolerance)
        except PrivacyError:
            return 0.0
        return start

    def best_force(eta: float) -> float:
        def cost(force: float) -> float:
            inverse = inverse_noise(eta, force, 3e-3)
            return 1 / inverse if inverse > 0 else 1e300 / force

        return minimise(cost, 1e-4, 0.7, 0.25)

    def regret(eta: float) -> float:
        force = best_force(eta)
        inverse = inverse_noise(eta, force, 1e-3)
        return float(make(eta, 1 / inverse, force).regret_bound) if inverse > 0 else 1e300 * eta

    widest = radius / (g * sqrt(2 * rounds))  # the best eta without privacy
    eta = minimise(regret, widest * 1e-3, widest, 0.06)
    force = best_force(eta)

    def price(inverse: float) -> float:
        return make(eta, 1 / inverse, force).curve.epsilon(target.delta)

    around = inverse_noise(eta, force, 1e-3)
    if not around > 0:
        raise PrivacyError(
            f"CTRL finds no parameters for epsilon={target.epsilon:g}, delta={target.delta:g}, {rounds} rounds."
        )
    return make(eta, 1 / largest(price, target.epsilon, around * 0.99, around * 1.05, 1e-4), force)


def paper_parameters(make: Make, problem: Convex, target: Target) -> CTRL:
    """Theorems 8 and 11 as printed, run with this library's sound accounting."""
    from tacit.learners.ctrl.ctrl import ctrl_log_phi

    rounds, epsilon, delta = problem.horizon or 1, target.epsilon, target.delta
    if epsilon > 1 or delta > 0.5 or rounds < 12 * log(1 / delta):
        raise PrivacyError(
            "The paper's parameters need epsilon <= 1, delta <= 1/2 and T >= 12 ln(1/delta). "
            f"Got epsilon={epsilon:g}, delta={delta:g}, T={rounds} instead."
        )
    if target.rounds_per_person > 1 or str(target.relation) != "replace":
        raise PrivacyError("The paper's parameters are for one replaced round per person.")
    d = problem.domain.hull_dimension if problem.loss.family == "general" else 1
    g, big = problem.lipschitz, problem.domain.diameter
    beta = max(problem.smoothness, 1e-300)
    spread = sqrt(log(rounds / delta))
    eta = min(
        big / (2 * g * sqrt(rounds)),
        sqrt(epsilon) / (1e3 * rounds ** (5 / 12) * beta * sqrt(d) * spread),
        epsilon / (1e3 * rounds ** (1 / 3) * beta * d * spread),
    )
    sigma = max(g * sqrt(rounds) / sqrt(d), 1e3 * g * rounds ** (1 / 3) * sqrt(d * log(120 * rounds / delta)) / epsilon)
    # Theorem 6: Phi is the square of a ratio bound for differences that are 3G-Lipschitz and 2 beta-smooth.
    miss = delta / rounds**2 / 60
    tail = sqrt(2 * d * log(2 / miss))
    log_phi = 2 * (2 * eta * beta * d + (9 * g**2 + 6 * g * sigma * tail) / (2 * sigma**2))
    plan = make(eta, sigma, rounds ** (-1 / 3), max(log_phi, ctrl_log_phi(problem, eta, sigma, miss)))
    if plan.guarantee.epsilon(delta) > epsilon:
        raise PrivacyError(
            f"The paper's parameters leak epsilon={plan.guarantee.epsilon(delta):.3g} at delta={delta:g} by this "
            f"library's accounting, above the target {epsilon:g}."
        )
    return plan


def _epsilon(curve: Curve, orders: np.ndarray, delta: float) -> float:
    values = curve.renyi(orders) + np.log1p(-1 / orders) - (log(delta) + np.log(orders)) / (orders - 1)
    return max(0.0, float(np.min(values)))
