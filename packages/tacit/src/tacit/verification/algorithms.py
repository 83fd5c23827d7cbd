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
from tacit.verification.convex import ctrl, l2p_convex
from tacit.verification.facts import Facts, NotVerifiable, check_noise, contradiction, people, separation, sides
from tacit.verification.leaks import BestOf, GaussianLeak, Leak, PureLeak, Real, ResponsesLeak
from tacit.verification.minimisers import objective_perturbation
from tacit.verification.sums import SIGMA_SQUARED, Shift, gaussian, sum_leak, together

_FLOATS = "Its noise is drawn in float64: only integers are recomputed."
_LEARNERS_OF_ARMS = ("BatchedTsallis", "PhasedArms", "LiveArms")
_ROUNDED = 1e-6  # by as much a rate may be below what its epsilon allows
_LAST_DIGITS = 1e-4  # by as much what follows from the noise may be below what it was made for
_COARSER = 0.01  # by as much noise on whole steps may exceed its scale
# What losses are rounded down to is a range over this; beyond this rate nothing is known of weights in float64.
_LOSS_UNITS, _LARGEST_ETA = 2**24, 16.0
_FINEST = 2**30  # steps in a record
_LARGEST_RATE = 64  # of the noise of arms: a larger one would change no release
# A wide draw is z + 2^28 z' (docs/numerics.md); two draws and their convolution cost less than four draws.
_WIDE_SIGMA_SQUARED, _DRAWS_OF_A_WIDE_ONE = (SIGMA_SQUARED + 4) * (1 + 2**56) - 4, 4


def lazy_experts(contract: Facts) -> Leak:
    """A coin moves by eta a round of the person's; a draw has range eta, twice that if rounds are replaced."""
    return _lazy(contract, contract.part("problem").integer("n", at_least=1)).leak(*_promise(contract))


def lipschitz_net(contract: Facts) -> Leak:
    """Lazy experts on the centres of cells."""
    return _lazy(contract, contract.part("parameters").integer("cells", at_least=1)).leak(*_promise(contract))


def lazy_fixed_share(contract: Facts) -> Leak:
    """Lazy experts whose experts are sequences; weights in float64 widen draws unless no sequence switches."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    extra = mp.mpf(0)
    if problem.integer("switches"):
        if parameters.text("prior") != "markov":
            raise NotVerifiable(
                "The logarithms of the uniform prior are float64, and no bound of their errors is used."
            )
        extra = _weights_error(contract, problem.integer("horizon", at_least=1))
    n = problem.integer("n", at_least=1)
    with_errors, without = (_lazy(contract, n, "max_redraws", added) for added in (extra, mp.mpf(0)))
    added = _added(with_errors, without, contract, extra) if extra else mp.mpf(0)
    leak = with_errors.leak(*_promise(contract))
    return BestOf((leak,), leak.sharp, added)


def _added(with_errors: Chain, without: Chain, contract: Facts, least: Real) -> Real:
    """What wider draws add to epsilon, by Renyi divergences or pure, and no less than by how much wider they are."""
    delta, epsilon = (mp.mpf(value) for value in _promise(contract))
    costs = [chain.smooth(delta > 0).epsilon(delta, epsilon) for chain in (with_errors, without)]
    return max(costs[0] - costs[1], least)


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
    """Sums of losses, one for each expert, or of vectors of a bounded norm that a matrix makes of them."""
    parameters, problem = contract.part("parameters"), contract.part("problem")
    if parameters.has("matrix") != parameters.has("norm"):
        raise contradiction("matrix", "parameters")
    rows, n = parameters.content("matrix"), problem.integer("n", at_least=1)
    dimension = len(rows) if isinstance(rows, list) else n if rows is None else None
    return _summed(contract, problem.integer("horizon", at_least=1) - 1, dimension, losses=rows is None)


def private_ftrl(contract: Facts) -> Leak:
    """Sums of clipped gradients, or of batches of them, in one or two streams of noise."""
    parameters = contract.part("parameters")
    batch = parameters.integer("batch", at_least=1) if parameters.has("batch") else 1
    steps = -(-contract.part("problem").integer("horizon", at_least=1) // batch) - 1
    streams = parameters.integer("streams", at_least=1)
    return _summed(contract, steps, _dimension(contract), streams=streams, batch=batch)


def online_to_batch(contract: Facts) -> Leak:
    """Sums of batches of clipped differences, whose sizes grow as the iterates move."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    steps = -(-problem.integer("horizon", at_least=1) // parameters.integer("batch", at_least=1))
    return _summed(contract, steps, _dimension(contract), apart=False, grows=True)


def private_descent(contract: Facts) -> Leak:
    """T passes, each a sum of integer vectors of length U at most; sums are exact while n U is below 2^53."""
    parameters, steps = contract.part("parameters"), contract.part("parameters").integer("steps", at_least=1)
    if not contract.has("noise") or contract.part("noise").integer("dimension", at_least=1) != _dimension(contract):
        raise NotVerifiable("The contract does not say which noise hides its sums.")
    noise = contract.part("noise")
    units = _units(noise)
    if contract.part("problem").integer("horizon", at_least=1) * units >= 2**53:
        raise contradiction("units", "problem")
    mu = mp.sqrt(steps) * sides(contract) * units / mp.sqrt(SIGMA_SQUARED)
    check_noise(contract, mu, "mu", 1, _COARSER)
    _ = parameters.positive("clip"), parameters.positive("eta")
    return gaussian(mu, noise, steps * noise.integer("dimension", at_least=1))


def bandit_fw(contract: Facts) -> Leak:
    """Sums of batches of gradient estimates; the last two of isqrt(T) batches are not used."""
    steps = max(0, isqrt(contract.part("problem").integer("horizon", at_least=1)) - 2)
    return _summed(contract, steps, _dimension(contract), apart=False)


def lipschitz_grid(contract: Facts) -> Leak:
    """Sums of clipped coefficients, one for each point of the grid."""
    problem = contract.part("problem")
    points = (2 ** contract.part("parameters").integer("bits") + 1) ** problem.integer("dimension", at_least=1)
    return _summed(contract, problem.integer("horizon", at_least=1) - 1, points)


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
    """The noise of a batch must be that of the scale among the parameters, or larger where no lattice is finer."""
    steps = mp.mpf(_units(noise)) * parameters.positive("scale")
    if noise.text("law") != "discrete gaussian":
        ratio, finest = steps * noise.number("rate"), False
    else:
        finest = _units(noise) >= min(_FINEST, 2**53 // noise.integer("batch", at_least=1) // 2 * 2)
        ratio = steps / mp.sqrt(SIGMA_SQUARED)
    if abs(ratio - 1) > _COARSER and not (finest and ratio < 1):
        raise contradiction("noise", "parameters")


def arms(contract: Facts) -> Leak:
    """A round enters one noisy sum and moves it by one step, a person's rounds by as many as there are."""
    noise = contract.part("noise")
    if noise.text("law") != "two-sided geometric":
        raise NotVerifiable(_FLOATS)
    rate, parameters = mp.mpf(noise.number("rate")), contract.part("parameters")
    if parameters.has("learner") and parameters.text("learner") not in _LEARNERS_OF_ARMS:
        raise contradiction("learner", "algorithm")
    made = rate * parameters.integer("rounds_per_person") / mp.mpf(parameters.positive("epsilon"))
    if abs(made - 1) > _ROUNDED and not (rate == _LARGEST_RATE and made < 1):
        raise contradiction("rate", "parameters")
    return PureLeak(rate * people(contract))


def responses(contract: Facts) -> Leak:
    """A round enters one response, whose loss is at most its rate; those of a person's rounds compose adaptively."""
    parameters, rate = contract.part("parameters"), mp.mpf(contract.part("noise").number("rate"))
    if parameters.content("rate") != contract.part("noise").content("rate"):
        raise contradiction("rate", "parameters")
    several, epsilon = parameters.integer("rounds_per_person"), mp.mpf(parameters.positive("epsilon"))
    if rate * several < epsilon * (1 - _ROUNDED):
        raise contradiction("rate", "parameters")
    if rate * several <= epsilon:
        return PureLeak(rate * people(contract))
    leak = ResponsesLeak(rate, people(contract))
    check_noise(
        contract, leak.epsilon(mp.mpf(parameters.number("delta")), epsilon), "epsilon", leak.count, _LAST_DIGITS
    )
    return leak


def explore_linear(contract: Facts) -> Leak:
    """Products of whole features and losses, each record in one release of a public schedule.

    docs/algorithms/explore-linear.md, Lemma 1: over factor * units^2 a record that is replaced moves a first release by
    3/sqrt(2) and a later one by sqrt(2), one that is zeroed out by sqrt(2) and 1. With public features only the losses
    of a first release are hidden: 2, or 1. Steps are Gaussian with predictable shifts, so k_i rounds of a person in
    release i cost the root of the sum of k_i^2, at most that of all in one.
    """
    problem, parameters, noise = contract.part("problem"), contract.part("parameters"), contract.part("noise")
    public, replaced = problem.text("features") == "public", sides(contract) == 2
    units, later = noise.integer("units", at_least=1), noise.integer("later_factor")
    if public != (later == 0):
        raise contradiction("later_factor", "problem")
    if public:
        moved = noise.integer("factor", at_least=1) * mp.mpf(2 if replaced else 1)
    else:
        first = noise.integer("factor", at_least=1) * (3 / mp.sqrt(2) if replaced else mp.sqrt(2))
        second = later * (mp.sqrt(2) if replaced else mp.mpf(1))
        if abs(first - second) > _COARSER * max(first, second):  # each is as large as the noise allows
            raise contradiction("factor", "later_factor")
        moved = max(first, second)
    mu = moved * units**2 * people(contract) / mp.sqrt(_WIDE_SIGMA_SQUARED)
    check_noise(contract, mu, "mu", people(contract), _COARSER)
    known, releases = parameters.integer("explore", at_least=1), 0
    while known + problem.integer("delay") < problem.integer("horizon", at_least=1):
        known, releases = 2 * known, releases + 1
    if len(parameters.numbers("ridges")) != releases:
        raise contradiction("ridges", "problem")
    n, d = problem.integer("n", at_least=2), problem.integer("dimension", at_least=1)
    draws = (n - 1) * d + (0 if public else releases * d * (d + 1) // 2)
    return gaussian(mu, noise, _DRAWS_OF_A_WIDE_ONE * draws)


def selection(contract: Facts) -> Leak:
    """One selection that sees all of a person's rounds.

    A round replaced moves the difference of two sums of losses by at most two ranges, one put in place of a constant
    by one range. Windows, blocks and epochs share no round, so a person's rounds cost most if they stand together.
    """
    if _alone(contract):
        return PureLeak(mp.mpf(0))
    leak = PureLeak(_selected(contract))
    check_noise(contract, leak.value, "epsilon", people(contract), _LAST_DIGITS)
    return leak


def selection_and_tests(contract: Facts) -> Leak:
    """One selection and the tests of one epoch: the threshold's noise, and that of the one answer "above"."""
    if _alone(contract):
        return PureLeak(mp.mpf(0))
    noise = _selection_noise(contract)
    steps = noise.integer("test_units", at_least=1) * _moved_ranges(contract)
    costs = [_selected(contract), *(mp.mpf(noise.positive(name)) * steps for name in ("threshold_rate", "query_rate"))]
    leak, shares = PureLeak(mp.fsum(costs)), contract.part("parameters").numbers("shares")
    check_noise(contract, leak.value, "epsilon", people(contract), _LAST_DIGITS)
    if any(abs(cost - share * leak.value) > _COARSER * leak.value for cost, share in zip(costs, shares, strict=True)):
        raise contradiction("noise", "parameters")
    return leak


def _alone(contract: Facts) -> bool:
    """One expert leaves nothing to select."""
    return contract.part("problem").integer("n", at_least=1) == 1


def _selected(contract: Facts) -> Real:
    noise = _selection_noise(contract)
    return mp.mpf(noise.positive("rate")) * noise.integer("units", at_least=1) * _moved_ranges(contract)


def _selection_noise(contract: Facts) -> Facts:
    if not contract.has("noise"):
        raise NotVerifiable("The contract does not say with which rate it selects.")
    noise = contract.part("noise")
    if noise.text("law") != "permute-and-flip":
        raise NotVerifiable(f"Selections with the law {noise.text('law')!r} have no independent accountant yet.")
    return noise


def _moved_ranges(contract: Facts) -> int:
    """By how many ranges a person moves the difference of two sums."""
    return sides(contract) * people(contract)


def _summed(
    contract: Facts,
    steps: int,
    dimension: int | None,
    *,
    losses: bool = False,
    streams: int = 1,
    apart: bool = True,
    grows: bool = False,
    batch: int = 1,
) -> Leak:
    """What sums of so many steps leak, which is what `privacy` among the parameters says, unless no lattice is finer.

    Records are losses or vectors of a bounded norm, each made integers by itself, and added up in batches of
    consecutive rounds.
    """
    mechanism = contract.part("parameters").part("mechanism")
    if mechanism.integer("steps") != steps:
        raise InvalidInput(f"The 'steps' of the 'mechanism' of this contract must be {steps}: its problem is so long.")
    if steps == 0:
        return PureLeak(mp.mpf(0))
    noise = _lattice(contract, dimension)
    gap = separation(contract) // batch  # rounds that are so far apart are in batches that are
    apart = apart and (batch == 1 or (gap >= 1 and separation(contract) > 1))
    shift = Shift(
        losses=losses,
        units=_units(noise),
        dimension=noise.integer("dimension", at_least=1),
        sides=sides(contract),
        people=min(people(contract), -(-steps // max(1, gap))) if apart else people(contract),
        apart=apart,
        separation=max(1, gap),
        grows=grows,
    )
    leak = sum_leak(noise, mechanism, shift, streams)
    coarse = _LAST_DIGITS + 8 / mp.mpf(_units(noise))
    if isinstance(leak, PureLeak):
        check_noise(contract, leak.value, "privacy", shift.people, coarse)
    elif isinstance(leak, GaussianLeak) and _units(noise) < _FINEST:
        check_noise(contract, leak.mu, "privacy", shift.people, coarse)
    return leak


def _dimension(contract: Facts) -> int:
    """That of the noise, which is its domain's where the kind of the domain says which that is."""
    dimension = contract.part("noise").integer("dimension", at_least=1) if contract.has("noise") else 1
    problem = contract.part("problem")
    domain = problem.part("domain") if isinstance(problem.content("domain"), dict) else None
    if domain is not None and domain.has("dim") and domain.integer("dim") != dimension:
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
    rounded = noise.number("rounding_error") + noise.number("failure") > 0
    if noise.has("rate") == (noise.text("law") == "discrete gaussian") or (noise.has("rate") and rounded):
        raise contradiction("law", "noise")
    return noise


def _units(noise: Facts) -> int:
    return noise.integer("units", at_least=2)


def _lazy(contract: Facts, n: int, cap: str = "max_switches", extra: Real = 0) -> Chain:
    """A held expert of so many, at most `cap` draws; the log odds of a draw may differ by `extra` more."""
    problem, parameters = contract.part("problem"), contract.part("parameters")
    eta, batch = parameters.number("eta"), parameters.integer("batch", at_least=1)
    return Chain(
        tosses=_tosses(problem, batch, n),
        force=_force(parameters, "force"),
        eta=eta,
        batch=batch,
        width=_width(contract, eta, extra),
        rounds=people(contract),
        cap=parameters.integer(cap) if parameters.has(cap) else None,
    )


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
    "LazyFixedShare": lazy_fixed_share,
    "LipschitzGrid": lipschitz_grid,
    "LipschitzNet": lipschitz_net,
    "BanditFW": bandit_fw,
    "PrivateDescent": private_descent,
    "PhasedArms": arms,
    "LiveArms": arms,
    "ExploreLinear": explore_linear,
    "BatchedTsallis": arms,
    "Responses": responses,
    "PolicyArms": arms,
}
"""The algorithms that can be verified; `statements.json` has what their contracts say."""
