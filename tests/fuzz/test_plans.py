"""Plans: constructors, calibrations and the planner at any parameters; huge horizons are answered or refused."""

from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from algorithms.measures.measures import ThreeNames
from fuzz.harness import REFUSED, attempt
from fuzz.plans import (
    ARMS,
    BANDIT,
    CURVES,
    EXPERTS,
    INTERVAL,
    LINEAR,
    LOGISTIC,
    PLANS,
    POLICIES,
    QUADRATIC,
    RECORDS,
    REQUESTS,
    TRACKING,
    N,
    made,
)
from fuzz.strategies import examples, nearly, odd_arrays, privacy, values
from tacit import algorithms

CONSTRUCTED = {name: make for name, make in PLANS.items() if name != "doubling" and "," not in name} | {
    "L2PConvex": lambda: algorithms.L2PConvex(
        QUADRATIC, rate=0.1, regularisation=1.0, force=0.2, clip=0.5, sampler_distance=1e-9, work_limit=1e6
    ),
    "L2PMeasure": lambda: algorithms.L2PMeasure(EXPERTS, ThreeNames(0.3), force=0.2, batch=2, reference_force=0.1),
    "ExploreLinear": lambda: algorithms.ExploreLinear(REQUESTS, mu=0.5, explore=12, ridges=(1.0, 2.0)),
    "Responses": lambda: algorithms.Responses(POLICIES, epsilon=1.0, rate=0.5, eta=0.1),
    "PolicyArms": lambda: algorithms.PolicyArms(POLICIES, made("BatchedTsallis")),
}
built = cache(lambda name: CONSTRUCTED[name]())


def test_every_algorithm_is_constructed():
    found = {type(built(name)).__name__ for name in CONSTRUCTED}
    assert found == set(algorithms.__all__) - {"NoisyOCO", "OwnMeasure", "Rounds"}


@pytest.mark.parametrize("kind", [algorithms.Responses, algorithms.PolicyArms], ids=lambda kind: kind.__name__)
@examples(40)
@given(context=values | odd_arrays(columns=N, dimensions=(1, 2)) | st.just([0, 1, 1]))
def test_recommendations(kind, context):
    learner = kind.calibrate(POLICIES, epsilon=1.0, delta=0.0).start(tacit.Randomness.replayable(1))
    before = learner.state_dict()
    if attempt(lambda: learner.play(context)) is REFUSED:
        assert learner.state_dict() == before
    else:
        assert learner.play() in (0, 1)


def look(plan):
    """Read everything that a plan says, and start it."""
    guarantee = attempt(lambda: plan.guarantee)
    if guarantee is not REFUSED:
        spent = attempt(lambda: guarantee.epsilon(1e-6))
        assert spent is REFUSED or spent >= 0
    bound = attempt(lambda: float(plan.regret_bound))
    assert bound is REFUSED or bound >= 0
    switches = attempt(lambda: plan.expected_switches)
    assert switches is REFUSED or switches is None or switches >= 0
    assert attempt(lambda: plan.vacuous) in (True, False, REFUSED)
    assert attempt(lambda: plan.explain()) is REFUSED or plan.signature.startswith(plan.algorithm)
    learner = attempt(lambda: plan.start(tacit.Randomness.replayable(1)))
    if learner is not REFUSED:
        problem, context = plan.problem, []
        if isinstance(problem, tacit.Policies | tacit.ContextualArms):
            context = [[0] * (problem.n if isinstance(problem, tacit.Policies) else problem.dimension)]
        assert attempt(lambda: learner.play(*context)) is not REFUSED
        assert attempt(learner.state_dict)["round"] == 0


@pytest.mark.parametrize("name", CONSTRUCTED)
@examples(12)
@given(data=st.data())
def test_constructors(name, data):
    plan = built(name)
    arguments = data.draw(nearly(**{field.name: getattr(plan, field.name) for field in fields(plan) if field.init}))
    spoilt = attempt(lambda: type(plan)(**arguments))
    if spoilt is not REFUSED:
        look(spoilt)


@examples(20)
@given(value=values)
def test_releases_and_gaps(value):
    plan = made("PhasedArms")
    assert attempt(lambda: plan.release(value)) is REFUSED or value >= 1
    bound = attempt(lambda: plan.regret_if(value))
    assert bound is REFUSED or float(bound) >= 0


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTED) - {"L2PMeasure"}))
@examples(3)
@given(arguments=privacy, problem=values, wrong=st.integers(0, 5))
def test_calibrations(name, arguments, problem, wrong):
    kind, own = type(built(name)), built(name).problem
    if wrong == 0:
        other = LINEAR if isinstance(own, tacit.Bandit) else BANDIT
        assert attempt(lambda: kind.calibrate(problem, **arguments)) is REFUSED
        assert attempt(lambda: kind.calibrate(other, **arguments)) is REFUSED
    plan = attempt(lambda: kind.calibrate(own, **arguments))
    if plan is not REFUSED:
        spent = attempt(lambda: plan.guarantee.epsilon(arguments["delta"]))
        assert spent is REFUSED or spent <= arguments["epsilon"] * (1 + 1e-6)
        look(plan)


@pytest.mark.parametrize(
    ("problem", "horizon"),
    [
        (problem, rounds)
        for problem in (EXPERTS, TRACKING, CURVES, BANDIT, ARMS, RECORDS, REQUESTS)
        for rounds in (1, 2, 10**12, 2**63 - 1)
    ]
    + [(LINEAR, 1), (INTERVAL, 10**12)],
    ids=lambda value: f"{value:.0e}" if isinstance(value, int) else type(value).__name__,
)
def test_huge_and_tiny_horizons(problem, horizon):
    changes = {"switches": 0} if isinstance(problem, tacit.Tracking) else {}
    choice = attempt(lambda: tacit.plan(replace(problem, horizon=horizon, **changes), epsilon=1.0, delta=1e-6))
    if choice is not REFUSED:
        look(choice.plan)


@examples(10)
@given(value=values)
def test_small_methods(value):
    restarts = attempt(lambda: made("RestartOnShift").regret_after(value))
    assert restarts is REFUSED or restarts >= 0
    window = attempt(lambda: made("LimitedUpdates").window_regret(value))
    assert window is REFUSED or float(window) >= 0
    sure = attempt(lambda: made("LimitedUpdates").window_regret(5, confidence=value))
    assert sure is REFUSED or float(sure) >= 0
    assert attempt(lambda: made("OnlineToBatch").risk_within(value)) is REFUSED  # no confidence was asked for
    bound = attempt(lambda: made("doubling").regret_bound_at(value))
    assert bound is REFUSED or float(bound) >= 0
    assert isinstance(ThreeNames(0.3), algorithms.OwnMeasure)
    wanted = attempt(
        lambda: algorithms.L2PMeasure.calibrate(EXPERTS, epsilon=1.0, delta=1e-6, measure=lambda rate: value)
    )
    assert wanted is REFUSED or isinstance(value, algorithms.OwnMeasure)
    budget = attempt(lambda: algorithms.LazyOCO.for_budget(LOGISTIC, switches=value))
    assert budget is REFUSED or budget.switches == value
    for name in PLANS:
        if value is not None:
            assert attempt(lambda name=name: made(name).start(value)) is REFUSED
    assert attempt(made("BanditFW").solver) is not REFUSED
