"""CTRL and L2P on a Gibbs measure, docs/algorithms/ctrl.md and l2p-convex.md, and the constants of losses they rest on.

A generalised linear loss f(<v, x>) with |v| <= B has gradients of at most B sup|f'| and a Hessian of trace at most
B^2 sup f'', the suprema over margins of at most B max|x|.

CTRL: the moment of a draw is E[phi(offset + slope chi)], which has a closed form: with t = alpha slope,
E e^{t chi_d} = 1F1(d/2; 1/2; t^2/2) + t sqrt(2) Gamma((d+1)/2)/Gamma(d/2) 1F1((d+1)/2; 3/2; t^2/2), all terms positive.
Taken as stated are the accuracy of minimisers that the code certifies, the barrier's weight, and a bound on the
objective's Hessian: they enter the rounding of coins, and the noise that covers inexact minimisation.

Gibbs measures: a person's rounds tilt a 2 beta lambda-strongly convex potential by a function of slope at most
k m beta L, so a draw is mu-Gaussian DP with mu = (k/2) m L sqrt(2 beta/lambda). Taken as stated is the distance of
draws from their measure in two and more dimensions, which the sampler certifies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.chains import Chain
from tacit.verification.facts import Facts, NotVerifiable, contradiction, idealized, people, sides
from tacit.verification.leaks import GaussianLeak, Leak, PureLeak, Real, SampledLeak


@dataclass(frozen=True)
class Constants:
    """What holds for every round.

    Attributes:
        steep: the largest norm G of a gradient.
        bent: the largest curvature beta (of linear models: the largest trace of a Hessian; infinite: there are kinks).
        least: the smallest curvature.
        linear: whether a round bends along the direction of its feature vector only.
        flat: whether a round without feedback has the same loss everywhere.
    """

    steep: Real
    bent: Real
    least: Real = 0
    linear: bool = True
    flat: bool = True


def constants(problem: Facts) -> Constants:
    """Those of a problem's loss on its domain."""
    return _of(problem.part("loss"), lambda: mp.fsum(_extent(problem.part("domain"))))


def constants_anywhere(loss: Facts) -> Constants:
    """Those of a generalised linear loss over all margins."""
    return _link(loss, lambda: mp.inf)


_FIELDS = {
    "LinearLoss": "lipschitz",
    "ConvexFamily": "lipschitz smoothness family strong_convexity",
    "QuadraticLoss": "strength data_norm",
    "LogisticLoss": "data_norm",
    "SmoothedHingeLoss": "data_norm smoothing",
    "SquaredLoss": "data_norm label_bound",
    "HuberLoss": "data_norm label_bound transition",
    "HingeLoss": "data_norm",
    "AbsoluteLoss": "data_norm label_bound",
    "QuantileLoss": "data_norm level label_bound",
}


def _check_fields(loss: Facts) -> None:
    """A loss must have the fields of its kind, and no others."""
    kind = loss.text("kind")
    if kind in _FIELDS and loss.names() != {"kind", *_FIELDS[kind].split()}:
        raise InvalidInput(f"The 'loss' of a contract must be {kind} of {_FIELDS[kind]}.")


def _of(loss: Facts, longest: Callable[[], Real]) -> Constants:
    _check_fields(loss)
    match loss.text("kind"):
        case "LinearLoss":
            return Constants(mp.mpf(loss.positive("lipschitz")), mp.mpf(0))
        case "ConvexFamily":
            least = mp.mpf(loss.number("strong_convexity"))
            bent = mp.mpf(loss.number("smoothness")) if loss.has("smoothness") else mp.inf
            linear = loss.text("family") != "general"
            return Constants(mp.mpf(loss.positive("lipschitz")), bent, least, linear, flat=least == 0)
        case "QuadraticLoss":
            bent = mp.mpf(loss.positive("strength"))
            steep = bent * (longest() + mp.mpf(loss.positive("data_norm")))
            return Constants(steep, bent, bent, linear=False, flat=False)
    return _link(loss, longest)


def _link(loss: Facts, longest: Callable[[], Real]) -> Constants:
    """One feature vector and a fixed link."""
    _check_fields(loss)
    length = mp.mpf(loss.positive("data_norm")) if loss.has("data_norm") else mp.mpf(0)
    match loss.text("kind"):
        case "LogisticLoss":
            slope, curvature = 1 / (1 + mp.exp(-length * longest())), mp.mpf(1) / 4
        case "SmoothedHingeLoss":
            width = mp.mpf(loss.positive("smoothing"))
            slope, curvature = min(mp.mpf(1), (1 + length * longest()) / width), 1 / width
        case "SquaredLoss":
            slope, curvature = length * longest() + mp.mpf(loss.positive("label_bound")), mp.mpf(1)
        case "HuberLoss":
            farthest = length * longest() + mp.mpf(loss.positive("label_bound"))
            slope, curvature = min(mp.mpf(loss.positive("transition")), farthest), mp.mpf(1)
        case "HingeLoss" | "AbsoluteLoss":
            slope, curvature = mp.mpf(1), mp.inf
        case "QuantileLoss":
            level = mp.mpf(loss.positive("level"))
            slope, curvature = max(level, 1 - level), mp.inf
        case kind:
            raise NotVerifiable(f"The constants of {kind} are not recomputed yet.")
    if length == 0:
        raise InvalidInput("The 'data_norm' in the 'loss' of a contract must be a number above 0.")
    return Constants(slope * length, curvature * length**2)


def _extent(domain: Facts) -> tuple[Real, Real]:
    """The norm of the centre, and the radius about it: no point is longer than both together."""
    match domain.text("kind"):
        case "Ball" | "L1Ball":
            return mp.mpf(0), mp.mpf(domain.positive("radius"))
        case "Simplex":
            share = mp.mpf(1) / domain.integer("dim", at_least=1)
            return mp.sqrt(share), mp.sqrt(1 - share)
        case "Box":
            low, high = (domain.numbers(name, signed=True) for name in ("low", "high"))
            if len(low) != len(high) or not all(left < right for left, right in zip(low, high, strict=True)):
                raise InvalidInput("The 'low' of a contract's Box must lie below its 'high', one by one.")
            pairs = [(mp.mpf(left), mp.mpf(right)) for left, right in zip(low, high, strict=True)]
            centre = mp.sqrt(mp.fsum((left + right) ** 2 for left, right in pairs)) / 2
            return centre, mp.sqrt(mp.fsum((right - left) ** 2 for left, right in pairs)) / 2
        case kind:
            raise NotVerifiable(f"How long the points of a {kind} are is not recomputed yet.")


def dimension(contract: Facts) -> int:
    """That of the domain's affine hull; where its kind does not say, that of the noise is taken as stated."""
    domain = contract.part("problem").part("domain")
    stated = contract.part("noise").integer("dimension", at_least=1)
    known = {"Ball": "dim", "L1Ball": "dim", "Simplex": "dim", "Box": "low"}.get(domain.text("kind"))
    if known is None:
        return stated
    size = len(domain.numbers("low", signed=True)) if known == "low" else domain.integer("dim", at_least=1)
    if stated != max(1, size - (domain.text("kind") == "Simplex")):
        raise contradiction("dimension", "noise")
    return stated


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
    directions = 1 if found.linear else size
    growth = eta * found.bent
    slope = both * persons * found.steep / sigma
    added = persons * mp.log1p(growth) if found.linear else size * mp.log1p(persons * growth)
    spread = 2 * mp.mpf(parameters.positive("log_phi"))
    drift = persons * (both * (found.steep / sigma) ** 2 + growth**2 * directions)
    drift += 2 * _coin_error(contract, found, size, directions)
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


def _coin_error(contract: Facts, found: Constants, size: int, directions: int) -> Real:
    """nu_1 + nu_2: the barrier at the minimiser that was found, and rounding."""
    parameters, noise = contract.part("parameters"), contract.part("noise")
    rounds = contract.part("problem").integer("horizon")
    eta, sigma = mp.mpf(parameters.positive("eta")), mp.mpf(parameters.positive("sigma"))
    steep, growth, renewal = found.steep, eta * found.bent, min(rounds, _RENEWAL)
    push = sigma * _longest(size) + steep * rounds
    rounding = (size + rounds + 3) * push * steep / sigma**2
    if growth == 0:
        return _UNIT * rounding
    modulus = 1 / eta + rounds * found.least
    near = mp.mpf(5) / 2 * mp.mpf(noise.positive("accuracy")) * mp.sqrt(modulus / noise.positive("barrier_weight"))
    bend = eta * mp.mpf(noise.positive("largest_curvature"))
    if near > mp.mpf(1) / 2 or (size + 1) ** 2 * _UNIT * bend > mp.mpf(1) / 4:
        raise InvalidInput("The 'accuracy' in the 'noise' of a contract must be so small that float64 holds its coins.")
    held = renewal * (1 + growth * renewal) ** 3
    sums = (200 + mp.mpf(rounds) / renewal) * (1 + growth * rounds)
    rounding += directions * growth * (8 * size**2 * (bend + held) + sums)
    return -2 * mp.log1p(-near) * directions * growth / (1 + growth) + _UNIT * rounding


def _longest(size: int) -> Real:
    """The norm that a standard Gaussian vector exceeds with the probability of a cut."""
    low, high = mp.mpf(0), mp.sqrt(size) + mp.sqrt(2 * mp.log(1 / _CUT))
    for _ in range(80):
        middle = (low + high) / 2
        beyond = mp.gammainc(mp.mpf(size) / 2, middle**2 / 2, regularized=True)
        low, high = (middle, high) if beyond > _CUT else (low, middle)
    return high


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
    slack = parameters.number("slack") if parameters.has("slack") else 1.0
    if slack < 1:
        raise InvalidInput("The 'slack' in the 'parameters' of a contract must be at least 1.")
    chain = Chain(
        tosses=tosses,
        force=force,
        eta=_bit(contract, found, reference),
        batch=batch,
        width=0.0,
        rounds=persons,
        spread=2 * batch * clip,
        offset=(slack - 1) * batch * clip,
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
    apart = _extent(contract.part("problem").part("domain"))[1] * (2 if reference else 1)
    return min(2 * clip, float(mp.mpf(parameters.positive("rate")) * found.steep * apart) * (1 + 1e-15))


def _sampled(leak: Leak, distance: Real) -> Leak:
    return SampledLeak(leak, distance, mp.mpf(0), mp.mpf(0)) if distance else leak
