"""The largest plan that each calibrator returns can be started and fed: a plan that was chosen never fails later."""

import numpy as np
import pytest

import tacit
from tacit.algorithms.lipschitz import LipschitzGrid
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import LogisticLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import best_gaussian
from tacit.planning.catalogue import CATALOGUE

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
PLACES = {"domain": Ball(3), "loss": LogisticLoss()}
RECORD = (np.full(3, 0.1), 1.0)


def hill(points):
    return np.abs(points[:, 0] - 0.3)


def problems(horizon: int) -> list[tuple[object, object]]:
    """A problem of every kind, and what one of its rounds hears."""
    return [
        (tacit.Experts(n=3, horizon=horizon), np.zeros(3)),
        (tacit.Tracking(n=3, horizon=horizon, switches=2), np.zeros(3)),
        (tacit.Convex(**PLACES, horizon=horizon), RECORD),
        (tacit.Lipschitz(horizon=horizon), hill),
        (tacit.Lipschitz(horizon=horizon, dimension=2), hill),
        (tacit.Bandit(domain=Ball(3), horizon=horizon), 0.1),
        (tacit.Arms(n=3, horizon=horizon), 0.5),
        (tacit.Arms(n=3, horizon=horizon, adversary="stochastic"), 0.5),
        (tacit.Policies(n=3, actions=2, horizon=horizon), 0.5),
        (tacit.ContextualArms(n=3, dimension=2, horizon=horizon), 0.5),
        (tacit.Stochastic(**PLACES, horizon=horizon), RECORD),
    ]


# Grids in two dimensions are largest near 1e6 rounds (1,050,625 points were chosen there, and refused at the first
# round); everything else grows with the horizon.
CASES = [
    pytest.param(
        algorithm,
        problem,
        heard,
        marks=[pytest.mark.slow] * (horizon > 10**6),
        id=f"{algorithm.__name__}-{type(problem).__name__}-{horizon:.0e}-{place}",
    )
    for horizon in (10**6, 10**9, 10**12)
    for place, (problem, heard) in enumerate(problems(horizon))
    for algorithm in CATALOGUE[type(problem)]
]


@pytest.mark.parametrize(("algorithm", "problem", "heard"), CASES)
def test_what_is_calibrated_can_be_started_and_fed(algorithm, problem, heard):
    try:
        plan = algorithm.calibrate(problem, adversary=getattr(problem, "adversary", "oblivious"), **PRIVACY)
    except (PrivacyError, InvalidInput):
        return  # a calibrator may refuse
    assert 0 < plan.work_per_round < 1e12
    learner = plan.start(Randomness.replayable(1))
    context = [np.zeros(3 if isinstance(problem, tacit.Policies) else 2)] * isinstance(
        problem, tacit.Policies | tacit.ContextualArms
    )
    for _ in range(2):
        learner.play(*context)
        learner.observe(heard)
    assert learner.rounds == 2


def test_every_kind_of_problem_is_fed():
    assert {type(problem) for problem, _ in problems(10)} == set(CATALOGUE)


@pytest.mark.parametrize(("dimension", "most"), [(1, 19), (2, 9)])
def test_a_grid_beyond_its_lattice_is_refused_before_the_first_round(dimension, most):
    problem = tacit.Lipschitz(horizon=10**4, dimension=dimension)
    assert LipschitzGrid.calibrate(problem, bits=most, **PRIVACY).bits == most
    with pytest.raises(InvalidInput, match=f"at most {most}"):
        LipschitzGrid.calibrate(problem, bits=most + 1, **PRIVACY)
    with pytest.raises(InvalidInput, match=f"at most {most}"):
        LipschitzGrid(problem, 1.0, most + 1, best_gaussian(9999), 1.0)


def test_a_grid_too_large_for_its_lattice_gives_way_to_a_coarser_one():
    plan = LipschitzGrid.calibrate(tacit.Lipschitz(horizon=10**9, dimension=2), **PRIVACY)
    assert plan.transform.size < 263_169  # the first depth that has no lattice
    assert "numbers a round" in plan.explain()
