"""Environments by name, made to fit a problem: what simulations and the command line offer without any code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tacit.environments.arms import BernoulliArms, ClickArms, DecoyArms, DriftingArms
from tacit.environments.bandit import MovingTarget
from tacit.environments.contextual import SHAPES, LinearContexts
from tacit.environments.convex import DriftingQuadratic, LogisticStream, SignFlips
from tacit.environments.environment import Environment
from tacit.environments.experts import BernoulliGap, SwitchingAdversary
from tacit.environments.lipschitz import PricingCurve
from tacit.environments.lower_bounds import FairCoins, PerfectExpert, RandomSigns
from tacit.environments.policies import NeedlePolicy, SkilledPolicies
from tacit.environments.records import LogisticRecords, QuadraticRecords
from tacit.environments.tracking import DriftingLosses, FingerprintPhases, PenaliseHeld, ShiftingBernoulli
from tacit.errors import InvalidInput
from tacit.losses import RegularisedLoss
from tacit.problems import (
    Arms,
    Bandit,
    ContextualArms,
    Convex,
    Experts,
    Lipschitz,
    Policies,
    Problem,
    Stochastic,
    Tracking,
)
from tacit.validation import check_choice, check_integer

Stream = TypeVar("Stream", LogisticStream, DriftingQuadratic, SignFlips, RandomSigns, LogisticRecords, QuadraticRecords)


Maker = Callable[[Any, int], Environment]
"""Makes the environment of a problem for a number of rounds."""


def sized(world: Callable[..., Environment], problem: Experts | Arms | Policies, horizon: int) -> Environment:
    """A world of as many options as the problem has, and of as many actions if policies choose among them."""
    return world(problem.n, horizon, *([problem.actions] if isinstance(problem, Policies) else []))


def dealt(world: Callable[[int, int], Stream], problem: Convex, horizon: int) -> Environment:
    """A stream of data of the problem's dimension, if its losses are the problem's."""
    return _same_loss(problem, world(problem.domain.dimension, horizon))


def clicking(problem: Arms, horizon: int, *, lost: float = 0.0, **options: Any) -> ClickArms:
    """Click rates from 2.8% to 4%, the last arm the best; its replies are lost with probability `lost`."""
    rates = tuple(np.linspace(0.028, 0.04, problem.n).tolist())
    return ClickArms(rates, horizon, lost=(*(0.0,) * (problem.n - 1), lost), **options)


def perfect(problem: Experts, horizon: int) -> PerfectExpert:
    """Make one expert perfect and the others always wrong, in each phase: the world of the lower bound by privacy."""
    return PerfectExpert(problem.n, horizon, phases=min(horizon, problem.switches + 1))


def shifting(problem: Experts, horizon: int) -> ShiftingBernoulli:
    """As many shifts as the comparator may follow, evenly spaced."""
    changes = np.linspace(0, horizon, problem.switches + 2)[1:-1].astype(int)
    return ShiftingBernoulli(problem.n, horizon, tuple(int(t) for t in np.unique(changes[changes > 0])))


def fingerprinting(problem: Experts, horizon: int) -> FingerprintPhases:
    """Make the adversary of the lower bound for adaptive adversaries, one phase more than the comparator switches."""
    switches = min(problem.switches, horizon - 1)
    least = 2 * -(-horizon // (switches + 1)) + 2
    if problem.n < least:
        raise InvalidInput(
            f"The environment 'fingerprint' needs n >= 2 T/(S+1) + 2 = {least} experts for {horizon} rounds and "
            f"{switches} switches. Got n={problem.n} instead."
        )
    return FingerprintPhases(problem.n, horizon, switches)


def signs(problem: Convex, horizon: int) -> RandomSigns:
    """Linear losses of random signs along a diameter: the world of the lower bound by chance."""
    return _same_loss(problem, RandomSigns(problem.domain, horizon, problem.lipschitz))


def moving(problem: Bandit, horizon: int) -> MovingTarget:
    """The distance to a target that jumps about a fixed place."""
    domain = problem.domain
    environment = MovingTarget(domain, horizon, distance=min(0.3, domain.inner_radius), margin=problem.margin)
    low, high = environment.problem.value_range
    if problem.value_range[0] > low or problem.value_range[1] < high:
        raise InvalidInput(
            f"The environment 'moving' has values from {low:g} to {high:g} on this domain: the problem's value_range "
            f"must contain them. Got {problem.value_range} instead."
        )
    return environment


def linear(shape: str, problem: ContextualArms, horizon: int) -> LinearContexts:
    """Make features of this shape, and coins whose means are linear in them."""
    radius = min(problem.radius, 0.5)
    return LinearContexts(problem.n, horizon, problem.dimension, shape, radius, missing=problem.missing)


def pricing(problem: Lipschitz, horizon: int) -> PricingCurve:
    """A price in [0, 1] for buyers from two segments."""
    environment = PricingCurve(horizon)
    box = (problem.dimension, problem.low, problem.high)
    if box != (1, 0.0, 1.0) or problem.lipschitz < environment.lipschitz:
        raise InvalidInput(
            f"The environment 'pricing' needs one dimension from 0 to 1 and lipschitz at least "
            f"{environment.lipschitz:g}. Got {problem!r} instead."
        )
    return environment


def logistic_records(problem: Stochastic, horizon: int) -> LogisticRecords:
    """Labels from a planted model of length at most 3, well inside of the domain."""
    ridge = problem.loss.strength if isinstance(problem.loss, RegularisedLoss) else 0.0
    length = planted_length(problem, 3.0)
    return _same_loss(problem, LogisticRecords(problem.domain.dimension, horizon, norm=length, ridge=ridge))


def quadratic_records(problem: Stochastic, horizon: int) -> QuadraticRecords:
    """Targets around a planted model of length at most 1/2, well inside of the domain."""
    length = planted_length(problem, 0.5)
    return _same_loss(problem, QuadraticRecords(problem.domain.dimension, horizon, norm=length))


def planted_length(problem: Stochastic, most: float) -> float:
    """The length of a model on the first axis: three quarters of the longest in the domain, or `most` if that is less.

    Where the origin is no model, as in the simplex, the first vertex is planted.
    """
    domain, axis = problem.domain, np.zeros(problem.domain.dimension)
    if domain.contains(axis, 0.0):
        low, high = 0.0, most / 0.75
        for _ in range(50):
            middle = (low + high) / 2
            axis[0] = middle
            low, high = (middle, high) if domain.contains(axis, 0.0) else (low, middle)
        return min(most, 0.75 * high)
    axis[0] = 1.0
    if most >= 1.0 and domain.contains(axis):
        return 1.0
    raise InvalidInput(f"There is no planted model in {domain!r}: give simulate records of your own (ReplayRecords).")


NAMED: dict[type[Problem], dict[str, Maker]] = {
    Experts: {
        "gap": partial(sized, BernoulliGap),  # independent coins, one expert better than the others
        "switching": partial(sized, SwitchingAdversary),  # two groups of experts take turns at being wrong
        "perfect": perfect,
        "fair": partial(sized, FairCoins),  # the world of the lower bound by chance
    },
    Tracking: {
        "shifting": shifting,
        "drifting": partial(sized, DriftingLosses),  # the best expert goes once around
        "penalising": partial(sized, PenaliseHeld),  # an adaptive adversary that makes the held expert expensive
        "fingerprint": fingerprinting,  # the adaptive adversary of the lower bound, for many experts
        "perfect": perfect,
        "fair": partial(sized, FairCoins),
    },
    Convex: {
        "logistic": partial(dealt, LogisticStream),  # unit features, labels from a fixed model
        "circling": partial(dealt, DriftingQuadratic),  # squared distances to a target that goes once around
        "flipping": partial(dealt, SignFlips),  # linear losses that turn round at random times
        "signs": signs,
    },
    Stochastic: {
        "logistic": logistic_records,  # unit features, labels from a planted model
        "quadratic": quadratic_records,  # targets around a planted model
    },
    Bandit: {"moving": moving},
    Arms: {
        "coins": lambda problem, horizon: BernoulliArms((0.3, *[0.5] * (problem.n - 1)), horizon),
        "decoy": partial(sized, DecoyArms),  # one arm is the best at first and the worst later
        "rotating": partial(sized, DriftingArms),  # the arms take turns at being the best
        "clicks": clicking,
        "swings": partial(clicking, swing=0.3, cycles=7.0),  # the common level swings by 30%, seven times
        "broken": partial(clicking, lost=0.4),  # replies of the best arm are lost: another arm is the best
        "falling": partial(clicking, fall=0.4),  # the common level falls by 40%
    },
    Policies: {
        "skilled": partial(sized, SkilledPolicies),  # policies know the good action with probabilities of their own
        "needle": partial(sized, NeedlePolicy),  # one policy is a little better than all others, which guess
        # actions take turns, and one policy knows it
        "turning": partial(sized, partial(NeedlePolicy, gap=0.2, shape="turning")),
        "lonely": partial(sized, partial(NeedlePolicy, gap=0.2, shape="lonely")),  # the best policy agrees with nobody
    },
    ContextualArms: {shape: partial(linear, shape) for shape in SHAPES},
    Lipschitz: {"pricing": pricing},
}
"""For each kind of problem its environments by name; the first is the default."""


def named_environment(name: str, problem: Problem, horizon: int | None = None) -> Environment:
    """The environment of that name, of the problem's size.

    >>> named_environment("gap", Experts(n=4, horizon=100))
    BernoulliGap(n=4, horizon=100, gap=0.1, mean=0.5)
    """
    known = _known(problem)
    check_choice(f"{type(problem).__name__} simulations", "environment", name, tuple(known))
    rounds = problem.horizon if horizon is None else horizon
    if rounds is None:
        raise InvalidInput(f"The environment {name!r} needs a number of rounds: give the problem a horizon.")
    return known[name](problem, check_integer("named_environment", "horizon", rounds))


def fitting_environment(problem: Problem) -> str:
    """The name of the first environment that fits the problem.

    >>> fitting_environment(Experts(n=4, horizon=100))
    'gap'
    """
    refused = []
    for name in _known(problem):
        try:
            named_environment(name, problem, 1)
        except InvalidInput as error:
            refused.append(error)
        else:
            return name
    raise refused[0]


def _known(problem: Problem) -> dict[str, Maker]:
    known = NAMED.get(type(problem))
    if known is None:
        raise InvalidInput(
            f"{type(problem).__name__} has no environments by name: give simulate an environment of your own "
            "(tacit.environments.environment says what each has)."
        )
    return known


def _same_loss(problem: Convex | Stochastic, environment: Stream) -> Stream:
    """The environment, if its losses are the problem's."""
    if problem.loss != environment.loss:
        raise InvalidInput(
            f"{type(environment).__name__} makes losses of {environment.loss!r}: the problem must have the same. "
            f"Got {problem.loss!r} instead."
        )
    return environment
