"""CTRL: a perturbed minimiser held by coins, docs/algorithms/ctrl.md, computed afresh.

The moment of a draw is E[phi(offset + slope chi)], which has a closed form: with t = alpha slope,
E e^{t chi_d} = 1F1(d/2; 1/2; t^2/2) + t sqrt(2) Gamma((d+1)/2)/Gamma(d/2) 1F1((d+1)/2; 3/2; t^2/2), all terms positive.
Taken as stated are the accuracy of minimisers that the code certifies, the barrier's weight, and a bound on the
objective's Hessian: they enter the rounding of coins, and the noise that covers inexact minimisation.
"""

from __future__ import annotations

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.chains import Chain
from tacit.verification.facts import Facts, NotVerifiable, idealized, people, sides
from tacit.verification.leaks import Leak, PureLeak, Real, SampledLeak
from tacit.verification.losses import Constants, constants, dimension

# Noise is drawn anew this often; after so many held rounds an inverse is computed anew; the unit roundoff.
_CUT, _RENEWAL, _UNIT = mp.mpf("1e-30"), 1024, mp.mpf(2) ** -53


def ctrl(contract: Facts) -> Leak:
    """Coins that a person's own rounds may move over their whole range and that drift ever after, and draws."""
    parameters, problem = contract.part("parameters"), contract.part("problem")
    rounds = problem.integer("horizon", at_least=1)
    if rounds == 1:
        return PureLeak(mp.mpf(0))
    if not contract.has("noise"):
        raise NotVerifiable("The contract does not say how exact its minimisers are.")
    idealized(contract)
    found, size = constants(problem), dimension(contract)
    if found.bent == mp.inf:
        raise InvalidInput("The 'loss' of a contract of CTRL must be smooth.")
    eta, sigma = mp.mpf(parameters.positive("eta")), mp.mpf(parameters.positive("sigma"))
    both, persons = sides(contract), people(contract)
    rank = min(found.terms, size) if found.linear else size
    directions = 1 if found.linear else size
    growth = eta * found.bent
    slope = both * persons * found.steep / sigma
    added = persons * rank * mp.log1p(growth / rank) if found.linear else size * mp.log1p(persons * growth)
    spread = 2 * mp.mpf(parameters.positive("log_phi"))
    drift = persons * (both * (found.steep / sigma) ** 2 + growth**2 * directions)
    drift += 2 * _coin_error(contract, found, size, rank)
    noise = contract.part("noise")
    cover = 2 * mp.mpf(noise.positive("accuracy")) / mp.mpf(noise.positive("release_scale"))
    draw = _Draw(directions, added + slope**2 / 2, slope, cover)
    force = parameters.number("force")
    if force >= 1:
        raise InvalidInput("The 'force' in the 'parameters' of a contract must be below 1.")
    chain = Chain(
        tosses=rounds - 1,
        force=force,
        eta=float(spread),
        batch=1,
        width=0.0,
        rounds=persons,
        spread=float(spread),
        draw=draw,
        drift=min(drift, spread),
    )
    leak = chain.leak(contract.number("delta"), contract.number("epsilon"))
    return SampledLeak(leak, rounds * _CUT, mp.mpf(0), mp.mpf(0))


class _Draw:
    """(alpha - 1) times the divergence of one draw: ln(1 + E phi(offset + slope chi)), and the covering noise."""

    def __init__(self, degrees: int, offset: Real, slope: Real, cover: Real) -> None:
        self._degrees, self._offset, self._slope, self._cover = degrees, offset, slope, cover
        self._first = self._raised(mp.mpf(1))

    def __call__(self, alpha: Real) -> Real:
        # 1 + E[e^{alpha M} - 1 - alpha (e^M - 1)]
        total = self._raised(alpha) - alpha * (self._first - 1)
        return mp.log(total) + (alpha - 1) * alpha * self._cover**2 / 2

    def _raised(self, alpha: Real) -> Real:
        """E e^{alpha (offset + slope chi)}."""
        t, half = alpha * self._slope, mp.mpf(self._degrees) / 2
        if self._degrees == 1:
            raised = 2 * mp.exp(t**2 / 2) * mp.ncdf(t)
        else:
            ratio = mp.gamma(half + mp.mpf(1) / 2) / mp.gamma(half)
            even = mp.hyp1f1(half, mp.mpf(1) / 2, t**2 / 2)
            raised = even + t * mp.sqrt(2) * ratio * mp.hyp1f1(half + mp.mpf(1) / 2, mp.mpf(3) / 2, t**2 / 2)
        return mp.exp(alpha * self._offset) * raised


def _coin_error(contract: Facts, found: Constants, size: int, rank: int) -> Real:
    """nu_1 + nu_2: the barrier at the minimiser that was found, and rounding."""
    parameters, noise = contract.part("parameters"), contract.part("noise")
    rounds = contract.part("problem").integer("horizon")
    eta, sigma = mp.mpf(parameters.positive("eta")), mp.mpf(parameters.positive("sigma"))
    steep, growth, renewal = found.steep, eta * found.bent, min(rounds, _RENEWAL)
    push = sigma * _longest(size) + steep * rounds
    rounding = (size + rounds + 2 + found.terms) * push * steep / sigma**2
    if growth == 0:
        return _UNIT * rounding
    modulus = 1 / eta + rounds * found.least
    near = mp.mpf(5) / 2 * mp.mpf(noise.positive("accuracy")) * mp.sqrt(modulus / noise.positive("barrier_weight"))
    bend = eta * mp.mpf(noise.positive("largest_curvature"))
    if near > mp.mpf(1) / 2 or (size + 1) ** 2 * _UNIT * bend > mp.mpf(1) / 4:
        raise InvalidInput("The 'accuracy' in the 'noise' of a contract must be so small that float64 holds its coins.")
    held = renewal * found.terms * (1 + growth * renewal) ** 3
    sums = (200 + mp.mpf(rounds) / renewal) * (1 + growth * rounds)
    rounding += rank * growth * (8 * size**2 * (bend + held) + sums)
    return -2 * mp.log1p(-near) * rank * growth / (1 + growth) + _UNIT * rounding


def _longest(size: int) -> Real:
    """The norm that a standard Gaussian vector exceeds with the probability of a cut."""
    low, high = mp.mpf(0), mp.sqrt(size) + mp.sqrt(2 * mp.log(1 / _CUT))
    for _ in range(80):
        middle = (low + high) / 2
        beyond = mp.gammainc(mp.mpf(size) / 2, middle**2 / 2, regularized=True)
        low, high = (middle, high) if beyond > _CUT else (low, middle)
    return high
