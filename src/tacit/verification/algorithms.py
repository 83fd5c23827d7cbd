"""Which statement proves which algorithm: from the public numbers of a plan to what it leaks.

Each function reads a contract and knows its algorithm's proof, nothing else. An algorithm without one is said to be
not verifiable yet.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.chains import Chain
from tacit.verification.coupled import ctrl
from tacit.verification.facts import Facts, NotVerifiable, check_noise, contradiction, people, sides
from tacit.verification.gibbs import l2p_convex
from tacit.verification.leaks import GaussianLeak, Leak, PureLeak, Real
from tacit.verification.minimisers import objective_perturbation
from tacit.verification.schedules import difference_sizes
from tacit.verification.selections import selection, selection_and_tests
from tacit.verification.sums import SIGMA_SQUARED, Shift, gaussian, sum_leak, together

_FLOATS = "Its noise is drawn in float64: only integers are recomputed."
_ROUNDED = 1e-6  # by as much a rate may be below what its epsilon allows
_COARSER = 0.01  # by as much noise on whole steps may exceed its scale
# What losses are rounded down to is a range over this; beyond this rate nothing is known of weights in float64.
_LOSS_UNITS, _LARGEST_ETA = 2**24, 16.0
_MOST_SCHEDULED = 20_000
_FINEST = 2**30  # steps in a record


def lazy_experts(contract: Facts) -> Leak:
    """A coin moves by eta a round of the person's; a draw has range eta, twice that if rounds are replaced."""
    parameters = contract.part("parameters")
    cap = parameters.integer("max_switches") if parameters.has("max_switches") else None
    return _lazy(contract, contract.part("problem").integer("n", at_least=1), cap)


def lipschitz_net(contract: Facts) -> Leak:
    """Lazy experts on the centres of cells."""
    parameters = contract.part("parameters")
    cap = parameters.integer("max_switches") if parameters.has("max_switches") else None
    return _lazy(contract, parameters.integer("cells", at_least=1), cap)


def lazy_fixed_share(contract: Facts) -> Leak:
    """Lazy experts whose experts are sequences; weights in float64 widen draws unless no sequence switches."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    cap = parameters.integer("max_redraws") if parameters.has("max_redraws") else None
    extra = mp.mpf(0)
    if problem.integer("switches"):
        if parameters.text("prior") != "markov":
            raise NotVerifiable(
                "The logarithms of the uniform prior are float64, and no bound of their errors is used."
            )
        extra = _weights_error(contract, problem.integer("horizon", at_least=1))
    return _lazy(contract, problem.integer("n", at_least=1), cap, extra)


def sampled_fixed_share(contract: Facts) -> Leak:
    """Every draw of an epoch but the first sees the person; weights in float64 widen it."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    rounds = min(parameters.integer("epoch", at_least=1), problem.integer("horizon", at_least=1))
    draws = 0 if problem.integer("n", at_least=1) == 1 else rounds - 1
    eta = parameters.positive("eta")
    width = _width(contract, eta, _weights_error(contract, rounds))
    return Chain(draws, 0.0, eta, 1, width, people(contract), moved=False).leak(*_promise(contract))


def l2p(contract: Facts) -> Leak:
    """Two chains: the coin of the first moves as far as draws do, that of the second knows no data."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.positive("eta"), parameters.integer("batch", at_least=1)
    slack = mp.ceil(mp.mpf(parameters.number("slack")) * batch * _LOSS_UNITS) / _LOSS_UNITS
    if slack < batch:
        raise InvalidInput("The 'slack' in the 'parameters' of a contract must be at least 1.")
    chain = Chain(
        tosses=_tosses(problem, batch, problem.integer("n", at_least=1)),
        force=_force(parameters, "force"),
        eta=_width(contract, eta) / people(contract),
        batch=batch,
        width=_width(contract, eta),
        rounds=people(contract),
        spread=float(2 * batch * mp.mpf(eta)) * (1 + 2e-16),
        offset=float((slack - batch) * mp.mpf(eta)),
        reference=_force(parameters, "reference_force"),
    )
    return chain.leak(*_promise(contract))


def scheduled_experts(contract: Facts) -> Leak:
    """Every toss draws: all draws that see data, each of range eta, twice that if rounds are replaced."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.number("eta"), parameters.integer("batch", at_least=1)
    tosses = _tosses(problem, batch, problem.integer("n", at_least=1))
    chain = Chain(tosses, 0.0, eta, batch, _width(contract, eta), people(contract), moved=False)
    return chain.leak(*_promise(contract))


def hedge_on_sums(contract: Facts) -> Leak:
    """Sums of losses, one for each expert."""
    dimension = contract.part("problem").integer("n", at_least=1)
    return _on_sums(contract, losses=True, dimension=dimension)


def private_ftrl(contract: Facts) -> Leak:
    """Sums of clipped gradients, in one or two streams of noise."""
    return _on_sums(contract, losses=False, dimension=_dimension(contract))


def online_to_batch(contract: Facts) -> Leak:
    """Sums of batches of clipped differences, whose sizes grow: as the iterates move, or by a schedule."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    mechanism = parameters.part("mechanism")
    steps = -(-problem.integer("horizon", at_least=1) // parameters.integer("batch", at_least=1))
    _check_steps(mechanism, steps)
    sizes = None
    if parameters.flag("scheduled"):
        if steps > _MOST_SCHEDULED:
            raise NotVerifiable(f"Schedules of more than {_MOST_SCHEDULED:,} steps are not recomputed.")
        names = (parameters.number("power"), parameters.positive("lipschitz"), parameters.number("smoothness"))
        sizes = difference_sizes(steps, *names, contract.part("noise").positive("diameter"))
    noise = _lattice(contract, _dimension(contract))
    return _summed(contract, noise, mechanism, _vectors(contract, noise, apart=False, grows=True, sizes=sizes))


def bandit_fw(contract: Facts) -> Leak:
    """Sums of batches of gradient estimates; the last two of isqrt(T) batches are not used."""
    mechanism = contract.part("parameters").part("mechanism")
    _check_steps(mechanism, max(0, isqrt(contract.part("problem").integer("horizon", at_least=1)) - 2))
    if mechanism.integer("steps") == 0:
        return PureLeak(mp.mpf(0))
    noise = _lattice(contract, _dimension(contract))
    return _summed(contract, noise, mechanism, _vectors(contract, noise, apart=False))


def lipschitz_grid(contract: Facts) -> Leak:
    """Sums of clipped coefficients, one for each point of the grid."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    mechanism = parameters.part("mechanism")
    _check_steps(mechanism, problem.integer("horizon", at_least=1) - 1)
    if mechanism.integer("steps") == 0:
        return PureLeak(mp.mpf(0))
    noise = _lattice(contract)
    points = (2 ** parameters.integer("bits") + 1) ** problem.integer("dimension", at_least=1)
    if noise.integer("dimension", at_least=1) != points:
        raise InvalidInput(f"The 'dimension' in the 'noise' of a contract must be {points}, the points of its grid.")
    return _summed(contract, noise, mechanism, _vectors(contract, noise))


def lipschitz_one_pass(contract: Facts) -> Leak:
    """Models are functions of a learner's decisions."""
    learners = {"LipschitzGrid": lipschitz_grid, "LipschitzNet": lipschitz_net}
    name = contract.part("parameters").text("learner")
    if name not in learners:
        raise NotVerifiable(f"One pass with {name} has no independent accountant yet.")
    return learners[name](contract)


def noisy_batches(contract: Facts) -> Leak:
    """Sums of batches of losses, each with noise of its own: the rounds of a person cost most in one batch."""
    dimension = contract.part("problem").integer("n", at_least=1)
    noise = _lattice(contract, dimension)
    parameters = contract.part("parameters")
    if noise.integer("batch", at_least=1) != parameters.integer("batch" if parameters.has("batch") else "block"):
        raise contradiction("batch", "parameters")
    if dimension == 1:
        return PureLeak(mp.mpf(0))
    shift = Shift(losses=True, units=_units(noise), dimension=dimension, sides=sides(contract), people=people(contract))
    _check_scale(noise, parameters)
    if noise.text("law") != "discrete gaussian":
        return PureLeak(mp.mpf(noise.number("rate")) * shift.pure(noise.text("law")))
    batch = noise.integer("batch", at_least=1)
    mu = together(shift.people, batch) * shift.single / mp.sqrt(SIGMA_SQUARED)
    return gaussian(mu, noise, shift.people * dimension)


def _check_scale(noise: Facts, parameters: Facts) -> None:
    """The noise of a batch must not be larger than the scale among the parameters, unless no lattice is finer."""
    steps = mp.mpf(_units(noise)) * parameters.positive("scale")
    if noise.text("law") != "discrete gaussian":
        fits = steps * noise.number("rate") >= 1 - _ROUNDED
    else:
        finest = min(_FINEST, 2**53 // noise.integer("batch", at_least=1) // 2 * 2)
        fits = _units(noise) >= finest or steps >= mp.sqrt(SIGMA_SQUARED) * (1 - _COARSER)
    if not fits:
        raise contradiction("noise", "parameters")


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
    _check_steps(mechanism, contract.part("problem").integer("horizon", at_least=1) - 1)
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
    return _summed(contract, noise, mechanism, shift, streams)


def _summed(contract: Facts, noise: Facts, mechanism: Facts, shift: Shift, streams: int = 1) -> Leak:
    """What the sums leak, which is what `privacy` among the parameters says, unless no lattice is finer."""
    leak = sum_leak(noise, mechanism, shift, streams)
    if isinstance(leak, PureLeak):
        check_noise(contract, leak.value, "privacy", shift.people)
    elif isinstance(leak, GaussianLeak) and _units(noise) < _FINEST:
        check_noise(contract, leak.mu, "privacy", shift.people)
    return leak


def _dimension(contract: Facts) -> int:
    """That of the noise, which is no smaller than its domain's."""
    dimension = contract.part("noise").integer("dimension", at_least=1) if contract.has("noise") else 1
    domain = contract.part("problem").part("domain")
    if domain.has("dim") and domain.integer("dim") > dimension:
        raise contradiction("dimension", "noise")
    return dimension


def _lattice(contract: Facts, dimension: int | None = None) -> Facts:
    """The noise of a plan on integers, in this dimension (None: as it says itself)."""
    if not contract.has("noise"):
        raise NotVerifiable("The contract does not say which noise hides its sums: it is for simulation.")
    noise = contract.part("noise")
    if not noise.has("units") or noise.integer("units") == 0:
        raise NotVerifiable(_FLOATS)
    if dimension is not None and noise.integer("dimension", at_least=1) != dimension:
        raise contradiction("dimension", "noise")
    return noise


def _units(noise: Facts) -> int:
    return noise.integer("units", at_least=2)


def _vectors(
    contract: Facts, noise: Facts, *, apart: bool = True, grows: bool = False, sizes: list[Real] | None = None
) -> Shift:
    """Vectors of a bounded norm, each made integers by itself."""
    steps = contract.part("parameters").part("mechanism").integer("steps", at_least=1)
    return Shift(
        losses=False,
        units=_units(noise),
        dimension=noise.integer("dimension", at_least=1),
        sides=sides(contract),
        people=min(people(contract), steps) if apart else people(contract),
        apart=apart,
        grows=grows,
        sizes=sizes,
    )


def _check_steps(mechanism: Facts, steps: int) -> None:
    if mechanism.integer("steps") != steps:
        raise InvalidInput(f"The 'steps' of the 'mechanism' of this contract must be {steps}: its problem is so long.")


def _lazy(contract: Facts, n: int, cap: int | None, extra: Real = 0) -> Leak:
    """A held expert of so many; `extra`: by how much more the log odds of a draw may differ."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.number("eta"), parameters.integer("batch", at_least=1)
    chain = Chain(
        tosses=_tosses(problem, batch, n),
        force=_force(parameters, "force"),
        eta=eta,
        batch=batch,
        width=_width(contract, eta, extra),
        rounds=people(contract),
        cap=cap,
    )
    return chain.leak(*_promise(contract))


def _promise(contract: Facts) -> tuple[float, float]:
    return contract.number("delta"), contract.number("epsilon")


def _force(parameters: Facts, name: str) -> float:
    """What is left to the float that a coin is given."""
    force = parameters.number(name)
    if force >= 1:
        raise InvalidInput(f"The '{name}' in the 'parameters' of a contract must be below 1.")
    return 1.0 - (1.0 - force)


def _width(contract: Facts, eta: float, extra: Real = 0) -> float:
    """The range of a draw that all of a person's rounds move."""
    return float(mp.mpf(eta) * sides(contract) * people(contract) + extra) * (1 + 2e-16)


def _weights_error(contract: Facts, rounds: int) -> Real:
    """4 kappa t of docs/numerics.md: what float64 weights add to the range of a draw."""
    if contract.part("parameters").number("eta") > _LARGEST_ETA:
        raise NotVerifiable(f"The errors of float64 weights are bounded for eta up to {_LARGEST_ETA:g} only.")
    n = contract.part("problem").integer("n", at_least=1)
    return 4 * rounds * (mp.mpf(2) ** -45 + (n + 16) * mp.mpf(2) ** -53)


def _tosses(problem: Facts, batch: int, n: int) -> int:
    """After every batch but the last something is decided; one expert leaves nothing to decide."""
    return 0 if n == 1 else -(-problem.integer("horizon", at_least=1) // batch) - 1


ACCOUNTANTS: dict[str, Callable[[Facts], Leak]] = {
    "LazyExperts": lazy_experts,
    "ScheduledExperts": scheduled_experts,
    "HedgeOnSums": hedge_on_sums,
    "PrivateFTRL": private_ftrl,
    "AveragedFTRL": private_ftrl,
    "CTRL": ctrl,
    "L2PConvex": l2p_convex,
    "NoisyMirrorDescent": noisy_batches,
    "TrackingOnSums": noisy_batches,
    "OnlineToBatch": online_to_batch,
    "ObjectivePerturbation": objective_perturbation,
    "L2P": l2p,
    "LimitedUpdates": selection,
    "RecentLeader": selection,
    "RestartOnShift": selection_and_tests,
    "SampledFixedShare": sampled_fixed_share,
    "LazyFixedShare": lazy_fixed_share,
    "LipschitzGrid": lipschitz_grid,
    "LipschitzNet": lipschitz_net,
    "LipschitzOnePass": lipschitz_one_pass,
    "BanditFW": bandit_fw,
    "PhasedArms": arms,
    "BatchedTsallis": arms,
}
"""The algorithms that can be verified."""
