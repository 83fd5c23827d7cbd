"""What every plan has from its base: the contract, checked fields, and options that are known by name."""

from inspect import signature

import pytest

from tacit.errors import InvalidInput
from tacit.geometry import Ball
from tacit.learners.doubling import Doubling
from tacit.learners.plan import PrivatePlan, check_options
from tacit.losses import LogisticLoss
from tacit.planning import CATALOGUE
from tacit.problems import Arms, Bandit, Convex, Experts, Lipschitz, Stochastic, StochasticLipschitz, Tracking

PROBLEMS = {
    Experts: Experts(n=3, horizon=50),
    Tracking: Tracking(n=3, horizon=50, switches=1),
    Convex: Convex(domain=Ball(2), loss=LogisticLoss(), horizon=50),
    Lipschitz: Lipschitz(horizon=50),
    StochasticLipschitz: StochasticLipschitz(horizon=50),
    Bandit: Bandit(domain=Ball(2), horizon=100),
    Arms: Arms(n=3, horizon=100),
    Stochastic: Stochastic(domain=Ball(2), loss=LogisticLoss(), horizon=50),
}
EVERY = [(PROBLEMS[kind], algorithm) for kind, algorithms in CATALOGUE.items() for algorithm in algorithms]
every = pytest.mark.parametrize(("problem", "algorithm"), EVERY, ids=lambda value: getattr(value, "__name__", ""))


@every
def test_misspelt_options_are_refused_with_the_allowed_names(problem, algorithm):
    """They were swallowed: L2P took nonsense=3."""
    with pytest.raises(InvalidInput, match=rf"options of {algorithm.__name__}.calibrate .* Got 'nonsense' instead"):
        algorithm.calibrate(problem, epsilon=1.0, delta=1e-6, nonsense=3)


@every
def test_options_are_named_one_by_one(problem, algorithm):
    kinds = {parameter.kind for parameter in signature(algorithm._calibrate).parameters.values()}
    assert kinds <= {kind for kind in kinds if kind.name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")}


@every
def test_every_plan_says_which_streams_it_releases(problem, algorithm):
    assert isinstance(algorithm.released_streams, tuple)
    if issubclass(algorithm, PrivatePlan):
        assert "released" in {name for kind in algorithm.__mro__ for name in vars(kind)}


def test_the_message_says_when_there_are_no_options():
    with pytest.raises(InvalidInput, match=r"options of f besides the target's are: none\."):
        check_options("f", lambda problem, target: None, {"x": 1})


def test_fields_that_every_plan_has_are_checked_and_come_last():
    from tacit import LazyExperts

    experts = PROBLEMS[Experts]
    plan = LazyExperts(experts, eta=0.1, force=0.1, relation="zero-out", delta=1e-9)
    assert list(plan.parameters)[-4:] == ["relation", "rounds_per_person", "delta", "numerics"]
    assert plan.guarantee.at_delta == 1e-9
    assert plan.guarantee.relation.sides == 1
    for wrong in ({"relation": "both"}, {"rounds_per_person": 0}, {"delta": 1.0}, {"delta": -1e-9}):
        with pytest.raises(InvalidInput):
            LazyExperts(experts, eta=0.1, force=0.1, **wrong)


def test_an_unknown_horizon_restarts_the_same_algorithm():
    from tacit import ScheduledExperts

    plan = ScheduledExperts.calibrate(Experts(n=2, horizon=None), epsilon=1.0, delta=1e-6)
    assert isinstance(plan, Doubling)
    assert plan.released_streams == ()
