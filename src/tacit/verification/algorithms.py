"""Which statement proves which algorithm: from the public numbers of a plan to what it leaks.

Each function reads a contract and knows its algorithm's proof, nothing else. An algorithm without one is said to be
not verifiable yet.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.chains import Chain
from tacit.verification.facts import Facts, NotVerifiable, contradiction, people, sides
from tacit.verification.leaks import Leak, PureLeak
from tacit.verification.sums import SIGMA_SQUARED, Shift, gaussian, sum_leak, together

_FLOATS = "Its noise is drawn in float64: only integers are recomputed."
_ROUNDED = 1e-6  # by as much a rate may be below what its epsilon allows


def lazy_experts(contract: Facts) -> Leak:
    """A coin moves by eta a round of the person's; a draw has range eta, twice that if rounds are replaced."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.number("eta"), parameters.integer("batch", at_least=1)
    force = parameters.number("force")
    if force >= 1:
        raise InvalidInput("The 'force' in the 'parameters' of a contract must be below 1.")
    chain = Chain(
        tosses=_tosses(problem, batch),
        force=1.0 - (1.0 - force),  # the float that the coin is given
        eta=eta,
        batch=batch,
        width=float(mp.mpf(eta) * sides(contract) * people(contract)) * (1 + 2e-16),
        rounds=people(contract),
        cap=parameters.integer("max_switches") if parameters.has("max_switches") else None,
    )
    return chain.leak(contract.number("delta"), contract.number("epsilon"))


def scheduled_experts(contract: Facts) -> Leak:
    """Every toss draws: all draws that see data, each of range eta, twice that if rounds are replaced."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.number("eta"), parameters.integer("batch", at_least=1)
    width = float(mp.mpf(eta) * sides(contract) * people(contract)) * (1 + 2e-16)
    chain = Chain(_tosses(problem, batch), 0.0, eta, batch, width, people(contract), moved=False)
    return chain.leak(contract.number("delta"), contract.number("epsilon"))


def hedge_on_sums(contract: Facts) -> Leak:
    """Sums of losses, one for each expert."""
    dimension = contract.part("problem").integer("n", at_least=1)
    return _on_sums(contract, losses=True, dimension=dimension)


def private_ftrl(contract: Facts) -> Leak:
    """Sums of clipped gradients, in one or two streams of noise."""
    dimension = contract.part("noise").integer("dimension", at_least=1) if contract.has("noise") else 1
    domain = contract.part("problem").part("domain")
    if domain.has("dim") and domain.integer("dim") > dimension:
        raise contradiction("dimension", "noise")
    return _on_sums(contract, losses=False, dimension=dimension)


def noisy_batches(contract: Facts) -> Leak:
    """Sums of batches of losses, each with noise of its own: the rounds of a person cost most in one batch."""
    dimension = contract.part("problem").integer("n", at_least=1)
    noise = _lattice(contract, dimension)
    if noise.integer("batch", at_least=1) != contract.part("parameters").integer("batch"):
        raise contradiction("batch", "parameters")
    if dimension == 1:
        return PureLeak(mp.mpf(0))
    shift = Shift(losses=True, units=_units(noise), dimension=dimension, sides=sides(contract), people=people(contract))
    if noise.text("law") != "discrete gaussian":
        return PureLeak(mp.mpf(noise.number("rate")) * shift.pure(noise.text("law")))
    batch = noise.integer("batch", at_least=1)
    mu = together(shift.people, batch) * shift.single / mp.sqrt(SIGMA_SQUARED)
    return gaussian(mu, noise, shift.people * dimension)


def arms(contract: Facts) -> Leak:
    """A round enters one noisy sum and moves it by one step, a person's rounds by as many as there are."""
    noise = contract.part("noise")
    if noise.text("law") != "two-sided geometric":
        raise NotVerifiable(_FLOATS)
    rate, parameters = mp.mpf(noise.number("rate")), contract.part("parameters")
    if parameters.number("epsilon") > rate * parameters.integer("rounds_per_person") * (1 + _ROUNDED):
        raise contradiction("rate", "parameters")
    return PureLeak(rate * people(contract))


def _on_sums(contract: Facts, *, losses: bool, dimension: int) -> Leak:
    parameters = contract.part("parameters")
    mechanism = parameters.part("mechanism")
    steps = mechanism.integer("steps")
    if steps < contract.part("problem").integer("horizon", at_least=1) - 1:
        raise contradiction("horizon", "parameters")  # the sum after every round but the last decides the next one
    if steps == 0:
        return PureLeak(mp.mpf(0))
    noise = _lattice(contract, dimension)
    shift = Shift(
        losses=losses,
        units=_units(noise),
        dimension=dimension,
        sides=sides(contract),
        people=min(people(contract), steps),
    )
    streams = 1 if losses else parameters.integer("streams", at_least=1)
    return sum_leak(noise, mechanism, shift, streams)


def _lattice(contract: Facts, dimension: int) -> Facts:
    """The noise of a plan on integers, in this dimension."""
    if not contract.has("noise"):
        raise NotVerifiable("The contract does not say which noise hides its sums: it is for simulation.")
    noise = contract.part("noise")
    if not noise.has("units") or noise.integer("units") == 0:
        raise NotVerifiable(_FLOATS)
    if noise.integer("dimension", at_least=1) != dimension:
        raise contradiction("dimension", "noise")
    return noise


def _units(noise: Facts) -> int:
    return noise.integer("units", at_least=2)


def _tosses(problem: Facts, batch: int) -> int:
    """After every batch but the last something is decided; one expert leaves nothing to decide."""
    if problem.integer("n", at_least=1) == 1:
        return 0
    return -(-problem.integer("horizon", at_least=1) // batch) - 1


ACCOUNTANTS: dict[str, Callable[[Facts], Leak]] = {
    "LazyExperts": lazy_experts,
    "ScheduledExperts": scheduled_experts,
    "HedgeOnSums": hedge_on_sums,
    "PrivateFTRL": private_ftrl,
    "AveragedFTRL": private_ftrl,
    "NoisyMirrorDescent": noisy_batches,
    "PhasedArms": arms,
    "BatchedTsallis": arms,
}
"""The algorithms that can be verified."""
