"""Which algorithms apply to which problem: those of tacit, and those that were registered."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isabstract
from typing import TypeVar

from tacit import problems
from tacit.algorithms import arms, bandit, contextual, convex, experts, lipschitz, policies, stochastic, tracking
from tacit.algorithms.convex import ctrl, l2p_convex
from tacit.errors import InvalidInput
from tacit.problems import Problem
from tacit.runtime.plan import Plan
from tacit.validation import invalid

CATALOGUE: dict[type[Problem], tuple[type[Plan], ...]] = {
    problems.Experts: (experts.LazyExperts, experts.L2P, experts.ScheduledExperts, experts.HedgeOnSums),
    problems.Tracking: (
        tracking.TrackingOnSums,
        tracking.RecentLeader,
        tracking.RestartOnShift,
        tracking.LimitedUpdates,
        tracking.LazyFixedShare,
        tracking.NoisyMirrorDescent,
    ),
    problems.Convex: (convex.PrivateFTRL, ctrl.CTRL, l2p_convex.L2PConvex),
    problems.Lipschitz: (lipschitz.LipschitzGrid, lipschitz.LipschitzNet),
    problems.Bandit: (bandit.BanditFW,),
    problems.Arms: (arms.PhasedArms, arms.BatchedTsallis, arms.LiveArms),
    problems.Policies: (policies.Responses, policies.PolicyArms),
    problems.ContextualArms: (contextual.ExploreLinear,),
    problems.Stochastic: (stochastic.ObjectivePerturbation, stochastic.OnlineToBatch, stochastic.AveragedFTRL),
}
"""Which algorithms apply to which problem; an algorithm of tacit joins by standing here, others by `register`."""

FOR_INDEPENDENT_LOSSES: dict[type[Problem], tuple[type[Plan], ...]] = {
    problems.Experts: (tracking.LimitedUpdates, tracking.TrackingOnSums)
}
"""Which algorithms apply, too, if losses are independent draws from one distribution."""

FOR_LIMITED_SWITCHES: dict[type[Problem], tuple[type[Plan], ...]] = {problems.Convex: (ctrl.LazyOCO,)}
"""Which algorithms are named, too, if switches are limited. They are NOT private: no finite epsilon chooses them."""

_Algorithm = TypeVar("_Algorithm", bound=type[Plan])


def register(problem: type[Problem], algorithm: _Algorithm) -> _Algorithm:
    """Let an algorithm of your own take part wherever plans for this kind of problem are compared.

    The algorithm takes part in this process. Registering again replaces it.

    Args:
        problem: a kind of problem, such as `Experts`.
        algorithm: a subclass of `Plan` that can be imported, or stands in the main script.
    """
    if not (isinstance(problem, type) and issubclass(problem, Problem)):
        raise invalid("register", "problem", "a kind of problem such as Experts", problem)
    _check_algorithm("register", algorithm)
    _check_fits(problem, algorithm)
    place = (algorithm.__module__, algorithm.__qualname__)
    others = [known for known in CATALOGUE.get(problem, ()) if (known.__module__, known.__qualname__) != place]
    CATALOGUE[problem] = _distinct("register", [*others, algorithm])
    return algorithm


def algorithms_for(
    problem: Problem,
    wanted: Sequence[type[Plan] | str] | None = None,
    limited: bool = False,
) -> tuple[type[Plan], ...]:
    """The algorithms that are compared on a problem: the wanted ones, or all that are known for its kind and losses.

    `limited`: whether switches are limited, or no privacy is asked for.
    """
    if wanted is not None:
        if not isinstance(problem, Problem):
            raise invalid("plan", "problem", "a problem such as Experts(n=, horizon=)", problem)
        if not isinstance(wanted, list | tuple) or not wanted:
            raise invalid("plan", "algorithms", "a list of one plan class, or name of one, or more", wanted)
        classes = [_named(problem, entry) if isinstance(entry, str) else entry for entry in wanted]
        for algorithm in classes:
            _check_algorithm("plan", algorithm)
            _check_fits(type(problem), algorithm)
        return _distinct("plan", classes)
    if CATALOGUE.get(type(problem)) is None:
        kinds = ", ".join(kind.__name__ for kind in CATALOGUE)
        raise InvalidInput(f"The 'problem' parameter of plan must be one of {kinds}. Got {problem!r} instead.")
    return _known(problem, problem.adversary == "stochastic", limited)


def _known(problem: Problem, independent: bool, limited: bool) -> tuple[type[Plan], ...]:
    kind = type(problem)
    return (
        *CATALOGUE.get(kind, ()),
        *(FOR_INDEPENDENT_LOSSES.get(kind, ()) if independent else ()),
        *(FOR_LIMITED_SWITCHES.get(kind, ()) if limited else ()),
    )


def _named(problem: Problem, name: str) -> type[Plan]:
    """The algorithm of this name among those that are known for a kind of problem."""
    known = {algorithm.__name__: algorithm for algorithm in _known(problem, independent=True, limited=True)}
    if name not in known:
        raise invalid("plan", "algorithms", f"made of {', '.join(known)}", name)
    return known[name]


def _check_algorithm(owner: str, algorithm: object) -> None:
    """Refuse what is no algorithm."""
    if not (isinstance(algorithm, type) and issubclass(algorithm, Plan)) or isabstract(algorithm):
        raise invalid(owner, "algorithm", "a subclass of Plan that has all of its methods", algorithm)


def _check_fits(problem: type[Problem], algorithm: type[Plan]) -> None:
    if not issubclass(problem, algorithm._takes):
        raise InvalidInput(f"{algorithm.__name__} is for {algorithm._takes.__name__} problems, not {problem.__name__}.")


def _distinct(owner: str, algorithms: Sequence[type[Plan]]) -> tuple[type[Plan], ...]:
    """The algorithms, each of which needs a name of its own."""
    names = [algorithm.__name__ for algorithm in algorithms]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"{owner} has two algorithms called {name}: plans are told apart by their names.")
    return tuple(algorithms)
