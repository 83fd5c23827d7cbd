"""The planner and its choice, over algorithms that are quick to calibrate."""

import json

import pytest
from hypothesis import given

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import EXPERTS
from fuzz.strategies import examples, one_of, privacy, values
from tacit.runtime.target import Target

pytestmark = pytest.mark.usefixtures("quick_planner")


@examples(10)
@given(arguments=privacy, n=values | one_of(2, 10), horizon=values | one_of(1, 100, None))
def test_planner(arguments, n, horizon):
    problem = attempt(lambda: tacit.Experts(n=n, horizon=horizon))
    choice = attempt(lambda: tacit.plan(problem, **arguments))
    assert attempt(lambda: tacit.plan(n, **arguments)) is REFUSED
    if problem is REFUSED or choice is REFUSED:
        return
    assert attempt(choice.explain)
    assert attempt(lambda: json.dumps(choice.to_dict()))
    assert isinstance(repr(choice), str)
    assert choice.algorithm == choice.candidates[0].algorithm
    assert choice.parameters is not None
    assert choice.floor is None or isinstance(choice.floor, tacit.LowerBound)
    assert choice.guarantee.epsilon(arguments["delta"]) <= arguments["epsilon"] * (1 + 1e-6)
    attempt(lambda: choice.start(tacit.Randomness.replayable(1)).play())
    attempt(lambda: choice.run([[0.5] * problem.n] if problem.n < 100 else n))
    assert attempt(lambda: choice.restore(n)) is REFUSED


@examples(20)
@given(value=values)
def test_comparisons_and_candidates(value):
    target = Target(1.0, 1e-6)
    nobody = [tacit.Candidate("none", None, "no reason.")]
    assert attempt(lambda: tacit.Comparison(EXPERTS, target, value)) is REFUSED
    assert attempt(lambda: tacit.Comparison(EXPERTS, target, nobody)) is REFUSED
    candidate = tacit.Candidate("none", None, "no reason.")
    assert candidate.vacuous
    assert attempt(candidate.to_dict)["regret_bound"] is None


@examples(20)
@given(value=values)
def test_registration(value):
    assert attempt(lambda: tacit.register(tacit.Experts, value)) is REFUSED
    assert attempt(lambda: tacit.register(value, tacit.algorithms.L2P)) is REFUSED
    assert attempt(lambda: tacit.algorithms.L2P.calibrate_for(value, Target(1.0, 1e-6))) is REFUSED
    if value is not None:
        assert attempt(lambda: tacit.plan(EXPERTS, epsilon=1.0, delta=0.0, algorithms=value)) is REFUSED
    assert attempt(lambda: tacit.plan(EXPERTS, epsilon=1.0, delta=0.0, algorithms=[value])) is REFUSED
