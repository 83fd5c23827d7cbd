"""L2P on a Gibbs measure: docs/algorithms/l2p-convex.md, its statement, computed afresh.

A person's rounds tilt a 2 beta lambda-strongly convex potential by a function of slope at most k m beta L, so a draw is
mu-Gaussian DP with mu = (k/2) m L sqrt(2 beta/lambda). Taken as stated is the distance of draws from their measure in
two and more dimensions, which the sampler certifies.
"""

from __future__ import annotations

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.chains import Chain
from tacit.verification.facts import Facts, idealized, people, sides
from tacit.verification.leaks import GaussianLeak, Leak, PureLeak, Real, SampledLeak
from tacit.verification.losses import Constants, constants, dimension, radius


def l2p_convex(contract: Facts) -> Leak:
    """Fresh draws after each batch, or draws that a coin holds, and those of a reference."""
    parameters, problem = contract.part("parameters"), contract.part("problem")
    batch, persons = parameters.integer("batch", at_least=1), people(contract)
    tosses = -(-problem.integer("horizon", at_least=1) // batch) - 1
    if tosses == 0:
        return PureLeak(mp.mpf(0))
    idealized(contract)
    found = constants(problem)
    rate, ridge = mp.mpf(parameters.positive("rate")), mp.mpf(parameters.positive("regularisation"))
    mu = mp.mpf(sides(contract)) / 2 * persons * found.steep * mp.sqrt(2 * rate / ridge)
    force, reference = parameters.number("force"), parameters.number("reference_force")
    if force > 1 or reference >= 1:
        raise InvalidInput("The 'force' and 'reference_force' of a contract must be at most 1 and below 1.")
    distance = mp.mpf(parameters.number("sampler_distance"))
    if distance == 0 and dimension(contract) > 1:
        raise InvalidInput("The 'sampler_distance' of a contract must be above 0 in two and more dimensions.")
    if force == 1:
        return _sampled(GaussianLeak(mu * mp.sqrt(tosses)), tosses * distance)
    clip = parameters.positive("clip")
    chain = Chain(
        tosses=tosses,
        force=force,
        eta=_bit(contract, found, reference),
        batch=batch,
        width=0.0,
        rounds=persons,
        spread=2 * batch * clip,
        reference=reference,
        draw=lambda alpha: (alpha - 1) * alpha * mu**2 / 2,
    )
    leak = chain.leak(contract.number("delta"), contract.number("epsilon"))
    return _sampled(leak, (2 if reference else 1) * tosses * distance)


def _bit(contract: Facts, found: Constants, reference: float) -> float:
    """By how much one round moves the coin: both terms are clipped, and that of no feedback is 0 where it is flat."""
    parameters = contract.part("parameters")
    clip = parameters.positive("clip")
    if sides(contract) == 2:
        return 2 * clip
    if found.flat:
        return clip
    # Two rounds' terms differ by beta times a function of slope L between both points: less than h if nothing clips.
    apart = radius(contract.part("problem").part("domain")) * (2 if reference else 1)
    return min(2 * clip, float(mp.mpf(parameters.positive("rate")) * found.steep * apart) * (1 + 1e-15))


def _sampled(leak: Leak, distance: Real) -> Leak:
    return SampledLeak(leak, distance, mp.mpf(0), mp.mpf(0)) if distance else leak
