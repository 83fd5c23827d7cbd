"""What every plan has from its base: the contract, checked fields, and options that are known by name."""

import pickle
from dataclasses import replace
from math import inf

import pytest

import tacit
from runtime.test_numerics import PROBLEMS
from tacit import algorithms
from tacit.algorithms import LazyExperts, PhasedArms, PrivateFTRL
from tacit.domains import Ball, Simplex
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import LogisticLoss
from tacit.noise.running_sums import Tree
from tacit.planning.catalogue import CATALOGUE, algorithms_for
from tacit.runtime.target import RegretBound

EVERY = [(PROBLEMS[kind], algorithm) for kind, algorithms in CATALOGUE.items() for algorithm in algorithms]
every = pytest.mark.parametrize(("problem", "algorithm"), EVERY, ids=lambda value: getattr(value, "__name__", ""))


@every
def test_misspelt_options_are_refused_with_the_allowed_names(problem, algorithm):
    """They were swallowed: L2P took nonsense=3."""
    with pytest.raises(InvalidInput, match=rf"options of {algorithm.__name__}.calibrate .* Got 'nonsense' instead"):
        algorithm.calibrate(problem, epsilon=1.0, delta=1e-6, nonsense=3)


def test_fields_that_every_plan_has_are_checked_and_come_last():
    from tacit.algorithms import LazyExperts

    experts = PROBLEMS[tacit.Experts]
    plan = LazyExperts(experts, eta=0.1, force=0.1, relation="zero-out", delta=1e-9)
    assert list(plan.parameters)[-4:] == ["relation", "rounds_per_person", "delta", "numerics"]
    assert plan.guarantee.at_delta == 1e-9
    assert plan.guarantee.relation.sides == 1
    for wrong in ({"relation": "both"}, {"rounds_per_person": 0}, {"delta": 1.0}, {"delta": -1e-9}):
        with pytest.raises(InvalidInput):
            LazyExperts(experts, eta=0.1, force=0.1, **wrong)


@pytest.mark.parametrize(
    ("algorithm", "problem", "epsilon"),
    [
        (algorithms.BanditFW, tacit.Bandit(domain=Ball(2, radius=0.5), horizon=10**6), 60.0),
        (algorithms.OnlineToBatch, tacit.Stochastic(domain=Ball(3), loss=LogisticLoss(), horizon=1000), 50.0),
    ],
)
def test_no_plan_misses_a_large_target(algorithm, problem, epsilon):
    """Both returned plans whose contracts were above what was asked for, and then none, as if 20 were not below 50."""
    plan = algorithm.calibrate(problem, epsilon=epsilon, delta=1e-6)
    assert plan.guarantee.epsilon(1e-6) <= epsilon
    strict = algorithm.calibrate(problem, epsilon=20.0, delta=1e-6)
    assert float(plan.regret_bound) <= float(strict.regret_bound)


def test_late_arms_certify_no_more_than_anybody_can_lose():
    """With a delay of half the rounds 195,344 of at most 60,628 were certified, and more at a larger epsilon."""
    problem = tacit.Arms(n=50, horizon=60_628, delay=27_962)
    plans = [algorithms.BatchedTsallis.calibrate(problem, epsilon=epsilon, delta=0.0) for epsilon in (1.0, 2.0)]
    assert [float(plan.regret_bound) for plan in plans] == [60_628.0, 60_628.0]
    assert plans[0].vacuous


@pytest.mark.parametrize("mechanism", [None, Tree(999)])
def test_pickled_plans_leave_caches_out(mechanism):
    problem = tacit.Convex(domain=Simplex(3), loss=LogisticLoss(), horizon=1000)
    plan = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    fresh = PrivateFTRL(
        problem,
        plan.eta,
        replace(plan.mechanism),
        plan.privacy,
        **{name: value for name, value in plan.parameters.items() if name not in ("eta", "mechanism", "privacy")},
    )
    float(plan.regret_bound), plan.guarantee.epsilon(1e-6), plan.signature, plan.start()
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert again.signature == plan.signature
    assert len(pickle.dumps(plan)) == len(pickle.dumps(fresh)) < 2000


STEEP = LogisticLoss()
SHORT = {
    "convex": tacit.Convex(domain=Ball(5), loss=STEEP, horizon=20),
    "anywhere": tacit.Convex(domain=Ball(5), loss=STEEP, horizon=20, proper=False),
    "experts": tacit.Experts(n=5, horizon=20),
    "tracking": tacit.Tracking(n=5, horizon=20, switches=2),
    "arms": tacit.Arms(n=3, horizon=20, adversary="stochastic"),
    "lipschitz": tacit.Lipschitz(horizon=20, dimension=1),
    "models": tacit.Stochastic(domain=Ball(5), loss=STEEP, horizon=50, proper=False),
}


@pytest.mark.parametrize("kind", SHORT)
def test_no_certificate_is_above_what_anybody_can_lose(kind: str) -> None:
    """A certificate above what anybody can lose says nothing: at most 29.3 here."""
    problem, seen = SHORT[kind], 0
    for algorithm in algorithms_for(problem):
        try:
            plan = algorithm.calibrate(problem, epsilon=0.01, delta=1e-6)
        except PrivacyError:
            continue
        seen += 1
        bound = plan.regret_bound
        if plan.proper:
            assert bound.value <= plan.trivial_regret or bound.value == inf, algorithm  # infinite: none is certified
            assert bound.uncapped is None or bound.uncapped > bound.value == plan.trivial_regret
        else:  # decisions that leave the domain may lose more than any point of it
            assert bound.uncapped is None
            assert bound.value > 2 * plan.blind_regret
        assert ("vacuous" in plan.explain()) == plan.vacuous
    assert seen


def test_a_plan_of_ones_own_is_capped_too() -> None:
    class Boasting(LazyExperts):
        @property
        def regret_bound(self) -> RegretBound:
            return RegretBound(1e9, "a large number")

    assert float(Boasting(tacit.Experts(n=2, horizon=30), eta=0.1, force=0.1).regret_bound) == 30.0


def test_a_plan_that_uses_no_data_is_refused_with_a_horizon_that_is_enough() -> None:
    problem = tacit.Arms(n=20, horizon=20, adversary="stochastic")
    with pytest.raises(PrivacyError, match="would use no data in any decision of 20 rounds: 40 rounds"):
        PhasedArms.calibrate(problem, epsilon=1.0, delta=0.0)
    assert PhasedArms.calibrate(replace(problem, horizon=40), epsilon=1.0, delta=0.0).uses_data
