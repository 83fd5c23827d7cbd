"""The public search behind CTRL: regulariser, noise, forced redraws and the coins' range of the smallest regret.

It compares certificates, that is numbers; the plan is made once, in the end. The printed parameters (Theorems 8 and 11)
stay available for comparison; their constants of 1000 make the printed regret bound vacuous for every horizon up to a
million.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np
import scipy

from tacit.errors import PrivacyError
from tacit.learners.ctrl.certificate import Certificate, Facts
from tacit.learners.target import Target
from tacit.privacy.calibration import largest
from tacit.privacy.conversion import renyi_epsilon
from tacit.solvers.minimum import TRUNCATION
from tacit.validation import FloatArray

# A calibrated epsilon stays this much below its target: conversions to and fro may differ in their last digits.
_BELOW = 1 - 1e-7
# The range of the force, and that of the probability with which a coin leaves its own range.
_FORCE, _MISS = (1e-4, 0.7), (1e-8, 1e-4)
_FIRST_FORCE = 0.03


def best_parameters(facts: Facts, target: Target) -> Certificate:
    """Minimise the certified regret over eta, force and clipping; the noise is the smallest that meets the target."""
    search = _Search(facts, target)
    widest = facts.domain.radius / (facts.lipschitz * sqrt(2 * facts.rounds))  # the best eta without privacy
    first_force = min(_FIRST_FORCE, 0.3 * search.most_redraws / facts.rounds)
    low = np.log([widest * 1e-4, min(_FORCE[0], first_force / 30), _MISS[0]])
    high = np.log([widest, _FORCE[1], _MISS[1]])

    def regret(logs: FloatArray) -> float:
        eta, force, miss = np.exp(np.clip(logs, low, high)).tolist()
        outside = float(np.sum(np.abs(logs - np.clip(logs, low, high))))  # leads back into the box
        found = search.least_noise(eta, force, miss, 2e-3)
        if found is not None and found.regret < inf:
            return log(found.regret) + outside
        # Without a limit on switches a wider eta may be of use, with one the way leads to fewer redraws.
        return 100.0 + (search.excess(eta, force) or -log(eta)) + outside

    starts = [np.log([widest * share, first_force, 1e-6]) for share in (0.3, 0.02)]
    if search.most_redraws < facts.rounds and facts.smoothness > 0:
        growth = 0.1 * search.most_redraws / facts.rounds / facts.degrees / facts.smoothness
        starts.append(np.clip(np.log([growth, first_force, 1e-6]), low, high))
    start = min(starts, key=regret)
    simplex = np.vstack([start, start + np.diag([0.7, 0.7, 1.5])])
    best = scipy.optimize.minimize(
        regret,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 0.04, "fatol": 1e-4, "maxfev": 160},
    ).x
    eta, force, miss = np.exp(np.clip(best, low, high)).tolist()
    rough = search.least_noise(eta, force, miss, 1e-3)
    if rough is None:
        raise PrivacyError(
            f"CTRL finds no parameters for epsilon={target.epsilon:g}, delta={target.delta:g}, {facts.rounds} rounds"
            f"{'' if target.max_switches is None else f' and at most {target.max_switches} switches'}."
        )
    return search.refined(rough, miss)


def paper_parameters(facts: Facts, target: Target) -> Certificate:
    """Theorems 8 and 11 as printed, run with this library's sound accounting."""
    rounds, epsilon, delta = facts.rounds, target.epsilon, target.delta
    if epsilon > 1 or delta > 0.5 or rounds < 12 * log(1 / delta):
        raise PrivacyError(
            "The paper's parameters need epsilon <= 1, delta <= 1/2 and T >= 12 ln(1/delta). "
            f"Got epsilon={epsilon:g}, delta={delta:g}, T={rounds} instead."
        )
    if target.rounds_per_person > 1 or str(target.relation) != "replace":
        raise PrivacyError("The paper's parameters are for one replaced round per person.")
    d, g, big = facts.degrees, facts.lipschitz, facts.domain.diameter
    beta = max(facts.smoothness, 1e-300)
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
    log_phi = max(log_phi, facts.log_range(eta, sigma, miss))
    printed = Certificate(facts, eta, sigma, rounds ** (-1 / 3), log_phi, target.max_switches)
    spent = printed.chain.epsilon(_Search(facts, target).delta)
    if spent > epsilon:
        raise PrivacyError(
            f"The paper's parameters leak epsilon={spent:.3g} at delta={delta:g} by this library's accounting, above "
            f"the target {epsilon:g}."
        )
    return printed


class _Search:
    """Finds the noise that meets a target, each time from where it was found before."""

    def __init__(self, facts: Facts, target: Target) -> None:
        self._facts, self._epsilon = facts, target.epsilon * _BELOW
        self._limit = target.max_switches
        self.most_redraws = facts.rounds if self._limit is None else min(self._limit, facts.rounds)
        self.delta = target.delta - (1 + exp(min(target.epsilon, 700.0))) * facts.rounds * TRUNCATION * (1 + 1e-9)
        if not self.delta > 0:
            raise PrivacyError(
                f"delta={target.delta:g} is less than CTRL needs to cut off its noise: (1 + e^epsilon) T 1e-30."
            )
        # Few orders around the one that the Gaussian part alone would choose: fewer orders only cost regret.
        centre = 2 * log(1 / target.delta) / target.epsilon
        self._orders = 1 + centre * np.geomspace(0.1, 4.0, 12)
        self._start = 1e-3 / facts.lipschitz  # inverse noise at which the next search begins

    def least_noise(self, eta: float, force: float, miss: float, tolerance: float) -> Certificate | None:
        """The certificate with the least noise at these parameters (None: no noise is enough)."""

        def cost(inverse: float) -> float:
            tried = self._at(eta, 1 / inverse, force, miss)
            if not self._allowed(tried):
                return inf
            return renyi_epsilon(tried.chain.renyi, self.delta, self._orders)

        low, high = self._start / 1.2, self._start * 1.2
        floor, ceiling = 1e-12 / self._facts.lipschitz, 10 / self._facts.lipschitz
        while low > floor and cost(low) > self._epsilon:
            low, high = low / 4, low
        while high < ceiling and cost(high) <= self._epsilon:
            low, high = high, high * 2
        try:
            inverse = largest(cost, self._epsilon, low, high, tolerance)
        except PrivacyError:
            return None
        self._start = inverse
        return self._at(eta, 1 / inverse, force, miss)

    def refined(self, rough: Certificate, miss: float) -> Certificate:
        """The same parameters with the noise that all orders together ask for."""

        def price(inverse: float) -> float:
            tried = self._at(rough.eta, 1 / inverse, rough.force, miss)
            return tried.chain.epsilon(self.delta) if self._allowed(tried) else inf

        around = 1 / rough.sigma
        inverse = largest(price, self._epsilon, around * 0.99, around * 1.05, 1e-4)
        return self._at(rough.eta, 1 / inverse, rough.force, miss)

    def excess(self, eta: float, force: float) -> float:
        """By how much redraws exceed their limit without any noise's help, in logarithm (0: they do not)."""
        if self._limit is None:
            return 0.0
        least = force + 2 * self._facts.degrees * eta * self._facts.smoothness
        return max(0.0, log(self._facts.rounds * least / self.most_redraws))

    def _allowed(self, tried: Certificate) -> bool:
        """Whether float64 holds its coins, and a limit on switches refuses a redraw in one of T runs at most."""
        return tried.overrun <= 1 / self._facts.rounds and tried.representable

    def _at(self, eta: float, sigma: float, force: float, miss: float) -> Certificate:
        return Certificate(self._facts, eta, sigma, force, self._facts.log_range(eta, sigma, miss), self._limit)
