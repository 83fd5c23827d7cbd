"""Problems: made or refused, and then every quantity of theirs is a number."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, nearly, one_of, values

ROUNDS = one_of(1, 10, 10**6, 10**12, 2**63 - 1, None)
DELAYS = one_of(0, 1, 10**12)
RANGES = st.tuples(values, values) | one_of((-1.0, 1.0), (0, 1))
OPTIONS = {"n": one_of(1, 3, 10**6), "horizon": ROUNDS, "delay": DELAYS, "loss_range": RANGES}
RANDOM = one_of("stochastic", "oblivious")
ANY = one_of("stochastic", "oblivious", "adaptive")
PLACES = {"horizon": ROUNDS, "delay": DELAYS, "domain": one_of(tacit.domains.Ball(2), tacit.domains.Simplex(3))}
PROBLEMS = {
    tacit.Experts: nearly(**OPTIONS, adversary=ANY),
    tacit.Tracking: nearly(**OPTIONS, adversary=ANY, switches=one_of(0, 1)),
    tacit.Arms: nearly(**OPTIONS, adversary=RANDOM),
    tacit.Policies: nearly(
        **OPTIONS, adversary=RANDOM, actions=one_of(1, 2), recommendations=one_of("public", "private")
    ),
    tacit.ContextualArms: nearly(
        **OPTIONS, dimension=one_of(1, 5, 1000), radius=one_of(0.5, 3), features=one_of("private", "public"),
        misspecification=0.1, missing=0.2,
    ),
    tacit.Convex: nearly(
        **PLACES, loss=one_of(tacit.losses.LinearLoss(), tacit.losses.ConvexFamily(1.0), tacit.losses.HuberLoss())
    ),
    tacit.Bandit: nearly(**PLACES, value_range=RANGES, lipschitz=1.0),
    tacit.Lipschitz: nearly(**PLACES, dimension=one_of(1, 2), low=0.0, high=1.0, lipschitz=1.0),
    tacit.Stochastic: nearly(
        **PLACES, loss=tacit.losses.LogisticLoss(), initial=one_of(None, (0.1, -0.2), [2.0, 0.0]),
        gradient_deviation=one_of(None, 0.5), hessian_deviation=one_of(None, 0.1),
    ),
}  # fmt: skip
SIZES = ("width", "lipschitz", "smoothness", "strong_convexity", "side", "diagonal", "records", "largest_gap")


@pytest.mark.parametrize("kind", PROBLEMS, ids=lambda kind: kind.__name__)
@examples(20)
@given(data=st.data())
def test_problems(kind, data):
    arguments = data.draw(PROBLEMS[kind])
    problem = attempt(lambda: kind(**arguments))
    if problem is REFUSED:
        return
    assert problem.horizon is None or problem.horizon >= 1
    for size in SIZES:
        if hasattr(kind, size):
            value = attempt(lambda size=size: getattr(problem, size))
            assert value >= 0
            assert size == "smoothness" or value < math.inf
    assert attempt(lambda: problem == kind(**arguments)) is True
    assert isinstance(repr(problem), str)
