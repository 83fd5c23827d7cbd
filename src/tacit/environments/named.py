"""Environments by name, made to fit a problem: what the command line and sweeps offer without any code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tacit.environments.arms import BernoulliArms, ClickArms, DecoyArms, DriftingArms
from tacit.environments.bandit import MovingTarget
from tacit.environments.contextual import SHAPES, DigitContexts, LinearContexts
from tacit.environments.convex import DriftingQuadratic, LogisticStream, SignFlips
from tacit.environments.environment import Environment
from tacit.environments.experts import BernoulliGap, SwitchingAdversary
from tacit.environments.lipschitz import PricingCurve
from tacit.environments.lower_bounds import FairCoins, PerfectExpert, RandomSigns
from tacit.environments.policies import DigitPolicies, LonelyPolicy, NeedlePolicy, RotatingActions, SkilledPolicies
from tacit.environments.tracking import DriftingLosses, PenaliseHeld, ShiftingBernoulli
from tacit.errors import InvalidInput
from tacit.problems import Arms, Bandit, ContextualArms, Convex, Experts, Lipschitz, Policies, Problem, Tracking
from tacit.validation import check_choice, check_integer

Stream = TypeVar("Stream", LogisticStream, DriftingQuadratic, SignFlips, RandomSigns)


def gap(problem: Experts, horizon: int) -> BernoulliGap:
    """Independent coins, one expert better than the others."""
    return BernoulliGap(problem.n, horizon)


def switching(problem: Experts, horizon: int) -> SwitchingAdversary:
    """Two groups of experts take turns at being wrong."""
    return SwitchingAdversary(problem.n, horizon)


def perfect(problem: Experts, horizon: int) -> PerfectExpert:
    """Make one expert perfect and the others always wrong, in each phase: the world of the lower bound by privacy."""
    return PerfectExpert(problem.n, horizon, phases=min(horizon, _phases(problem)))


def fair(problem: Experts, horizon: int) -> FairCoins:
    """Fair coins: the world of the lower bound by chance."""
    return FairCoins(problem.n, horizon)


def shifting(problem: Tracking, horizon: int) -> ShiftingBernoulli:
    """As many shifts as the comparator may follow, evenly spaced."""
    changes = np.linspace(0, horizon, problem.switches + 2)[1:-1].astype(int)
    return ShiftingBernoulli(problem.n, horizon, tuple(int(t) for t in np.unique(changes[changes > 0])))


def drifting(problem: Tracking, horizon: int) -> DriftingLosses:
    """The best expert goes once around."""
    return DriftingLosses(problem.n, horizon)


def penalising(problem: Tracking, horizon: int) -> PenaliseHeld:
    """An adaptive adversary that makes the held expert expensive."""
    return PenaliseHeld(problem.n, horizon)


def logistic(problem: Convex, horizon: int) -> LogisticStream:
    """Unit features, labels from a fixed model."""
    return _same_loss(problem, LogisticStream(problem.domain.dimension, horizon))


def circling(problem: Convex, horizon: int) -> DriftingQuadratic:
    """Squared distances to a target that goes once around."""
    return _same_loss(problem, DriftingQuadratic(problem.domain.dimension, horizon))


def flipping(problem: Convex, horizon: int) -> SignFlips:
    """Linear losses that turn round at random times."""
    return _same_loss(problem, SignFlips(problem.domain.dimension, horizon))


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


def coins(problem: Arms, horizon: int) -> BernoulliArms:
    """Independent coins, one arm better than the others."""
    return BernoulliArms.with_gap(problem.n, horizon)


def decoy(problem: Arms, horizon: int) -> DecoyArms:
    """One arm is the best at first and the worst later."""
    return DecoyArms(problem.n, horizon)


def rotating(problem: Arms, horizon: int) -> DriftingArms:
    """The arms take turns at being the best."""
    return DriftingArms(problem.n, horizon)


def skilled(problem: Policies, horizon: int) -> SkilledPolicies:
    """Policies know the good action of a round with probabilities of their own."""
    return SkilledPolicies(problem.n, horizon, problem.actions)


def needle(problem: Policies, horizon: int) -> NeedlePolicy:
    """One policy is a little better than all others, which guess."""
    return NeedlePolicy(problem.n, horizon, problem.actions)


def turning(problem: Policies, horizon: int) -> RotatingActions:
    """The actions take turns at being the best, and one policy knows it."""
    return RotatingActions(problem.n, horizon, problem.actions)


def lonely(problem: Policies, horizon: int) -> LonelyPolicy:
    """The best policy agrees with nobody."""
    return LonelyPolicy(problem.n, horizon, problem.actions)


def classifiers(problem: Policies, horizon: int) -> DigitPolicies:
    """Up to 50 classifiers of handwritten digits, ten actions."""
    return DigitPolicies(problem.n, horizon, problem.actions)


def linear(shape: str) -> Callable[[ContextualArms, int], LinearContexts]:
    """Make features of this shape, and coins whose means are linear in them."""

    def made(problem: ContextualArms, horizon: int) -> LinearContexts:
        radius = min(problem.radius, 0.5)
        return LinearContexts(problem.n, horizon, problem.dimension, shape, radius, missing=problem.missing)

    return made


def digits(problem: ContextualArms, horizon: int) -> DigitContexts:
    """Handwritten digits as a bandit: ten actions, and losses that are not linear in the features."""
    if problem.n != DigitContexts.n:
        raise InvalidInput(f"The environment 'digits' has {DigitContexts.n} actions. Got {problem.n} instead.")
    return DigitContexts(horizon, problem.dimension)


def _clicks(problem: Arms, horizon: int, **options: Any) -> ClickArms:
    return ClickArms(tuple(np.linspace(0.028, 0.04, problem.n).tolist()), horizon, **options)


def clicks(problem: Arms, horizon: int) -> ClickArms:
    """Click rates from 2.8% to 4%, the last arm the best."""
    return _clicks(problem, horizon)


def swings(problem: Arms, horizon: int) -> ClickArms:
    """Clicks whose common level swings by 30%, seven times."""
    return _clicks(problem, horizon, swing=0.3, cycles=7.0)


def broken(problem: Arms, horizon: int) -> ClickArms:
    """Clicks of which the best arm's replies are lost in 40% of its rounds: another arm is the best."""
    return _clicks(problem, horizon, lost=(*(0.0,) * (problem.n - 1), 0.4))


def falling(problem: Arms, horizon: int) -> ClickArms:
    """Clicks whose common level falls by 40%."""
    return _clicks(problem, horizon, fall=0.4)


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


NAMED: dict[type[Problem], dict[str, Callable[[Any, int], Environment]]] = {
    Experts: {"gap": gap, "switching": switching, "perfect": perfect, "fair": fair},
    Tracking: {
        "shifting": shifting,
        "drifting": drifting,
        "penalising": penalising,
        "perfect": perfect,
        "fair": fair,
    },
    Convex: {"logistic": logistic, "circling": circling, "flipping": flipping, "signs": signs},
    Bandit: {"moving": moving},
    Arms: {
        "coins": coins,
        "decoy": decoy,
        "rotating": rotating,
        "clicks": clicks,
        "swings": swings,
        "broken": broken,
        "falling": falling,
    },
    Policies: {"skilled": skilled, "needle": needle, "turning": turning, "lonely": lonely, "digits": classifiers},
    ContextualArms: {**{shape: linear(shape) for shape in SHAPES}, "digits": digits},
    Lipschitz: {"pricing": pricing},
}
"""For each kind of problem its environments by name; the first is the default."""


def named_environment(name: str, problem: Problem, horizon: int | None = None) -> Environment:
    """The environment of that name, of the problem's size.

    >>> named_environment("gap", Experts(n=4, horizon=100))
    BernoulliGap(n=4, horizon=100, gap=0.1, mean=0.5, best=0)
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


def _known(problem: Problem) -> dict[str, Callable[[Any, int], Environment]]:
    known = NAMED.get(type(problem))
    if known is None:
        raise InvalidInput(f"{type(problem).__name__} has no environments by name: give a function that makes one.")
    return known


def _phases(problem: Experts) -> int:
    return problem.switches + 1 if isinstance(problem, Tracking) else 1


def _same_loss(problem: Convex, environment: Stream) -> Stream:
    """The environment, if its losses are the problem's."""
    if problem.loss != environment.loss:
        raise InvalidInput(
            f"{type(environment).__name__} makes losses of {environment.loss!r}: the problem must have the same. "
            f"Got {problem.loss!r} instead."
        )
    return environment
