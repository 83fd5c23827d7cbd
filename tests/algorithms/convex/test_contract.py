"""One contract for FTRL, CTRL and LazyOCO: the order of calls, arrays against single rounds, states, bad feedback."""

from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import tacit
from runtime.contract import LearnerContract, pairs, pytest_generate_tests, vectors
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL, LazyOCO
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.domains import Ball, Box, Simplex
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, Tree
from tacit.problems import Convex

__all__ = ["pytest_generate_tests"]

ROUNDS = 150
LOGISTIC = Convex(domain=Ball(3), loss=tacit.losses.LogisticLoss(), horizon=ROUNDS)
LINEAR = Convex(domain=Box([0.0, -1.0], [1.0, 2.0]), loss=tacit.losses.LinearLoss(), horizon=ROUNDS)
QUADRATIC = Convex(domain=Ball(2), loss=tacit.losses.QuadraticLoss(), horizon=ROUNDS)
SIMPLEX = Convex(domain=Simplex(4), loss=tacit.losses.SquaredLoss(), horizon=ROUNDS)
CUSTOM = Convex(
    domain=Ball(2),
    loss=tacit.losses.CustomLoss(lambda x, z: float(np.abs(x - z).sum()), lambda x, z: np.sign(x - z), lipschitz=1.0),
    horizon=ROUNDS,
)

MAKERS = {
    "FTRL logistic": lambda: PrivateFTRL.calibrate(LOGISTIC, epsilon=1.0, delta=1e-6, streams=1),
    "FTRL simplex": lambda: PrivateFTRL.calibrate(SIMPLEX, epsilon=1.0, delta=1e-6, streams=1),
    "FTRL custom, tree": lambda: PrivateFTRL.calibrate(CUSTOM, epsilon=1.0, delta=1e-6, mechanism=Tree(ROUNDS - 1)),
    "FTRL pure": lambda: PrivateFTRL(LINEAR, 0.1, LaplaceTree.best(ROUNDS - 1), privacy=1.0, delta=0.0),
    "FTRL, two streams": lambda: PrivateFTRL.calibrate(LOGISTIC, epsilon=1.0, delta=1e-6, streams=2),
    "FTRL, two streams, float": lambda: PrivateFTRL.calibrate(
        SIMPLEX, epsilon=1.0, delta=1e-6, streams=2, numerics="float", relation="zero-out", rounds_per_person=2
    ),
    "CTRL logistic": lambda: CTRL(LOGISTIC, eta=0.1, sigma=10.0, force=0.05, log_phi=0.3),
    "CTRL linear box": lambda: CTRL(LINEAR, eta=0.1, sigma=10.0, force=0.05, log_phi=0.3),
    "CTRL quadratic": lambda: CTRL(QUADRATIC, eta=0.1, sigma=10.0, force=0.05, log_phi=0.3),
    "CTRL simplex": lambda: CTRL(SIMPLEX, eta=0.1, sigma=10.0, force=0.05, log_phi=0.3),
    "CTRL limited": lambda: CTRL(LOGISTIC, eta=0.1, sigma=10.0, force=0.05, log_phi=0.3, max_switches=3),
    "lazy logistic": lambda: LazyOCO.for_budget(LOGISTIC, switches=40),
    "lazy strongly convex": lambda: LazyOCO(QUADRATIC, sigma=5.0, eta=float("inf"), switches=150.0),
    **{
        f"Gibbs, {name}": lambda options=options: L2PConvex(
            Convex(domain=Ball(1), loss=tacit.losses.LogisticLoss(), horizon=ROUNDS),
            rate=0.5,
            regularisation=4.0,
            clip=0.5,
            **options,
        )
        for name, options in (("reference", {"force": 0.5, "reference_force": 0.3}), ("fresh", {"force": 1.0}))
    },
}
made = cache(lambda name: MAKERS[name]())
every = pytest.mark.parametrize("name", MAKERS)


def short(problem, rounds=12):
    return replace(problem, horizon=rounds)


class TestContract(LearnerContract):
    """Short streams: minimisers are slow."""

    cases: ClassVar = {
        "FTRL": lambda: (PrivateFTRL.calibrate(short(LOGISTIC), epsilon=1.0, delta=1e-6, streams=1), pairs(3, 12)),
        "FTRL, two streams": lambda: (
            PrivateFTRL.calibrate(short(LOGISTIC), epsilon=1.0, delta=1e-6, streams=2),
            pairs(3, 12),
        ),
        "FTRL, not projected": lambda: (
            PrivateFTRL.calibrate(replace(short(LOGISTIC), proper=False), epsilon=1.0, delta=1e-6),
            pairs(3, 12),
        ),
        "FTRL, batches": lambda: (
            PrivateFTRL.calibrate(short(LOGISTIC), epsilon=10.0, delta=1e-3, max_switches=3),
            pairs(3, 12),
        ),
        "FTRL, custom": lambda: (PrivateFTRL.calibrate(short(CUSTOM), epsilon=1.0, delta=1e-6), vectors(2, 12)),
        "FTRL, pure": lambda: (
            PrivateFTRL(short(LINEAR), 0.1, LaplaceTree.best(11), privacy=1.0, delta=0.0),
            vectors(2, 12),
        ),
        "CTRL": lambda: (CTRL(short(LOGISTIC), eta=0.1, sigma=10.0, force=0.2, log_phi=0.3), pairs(3, 12)),
        "CTRL, linear": lambda: (CTRL(short(LINEAR), eta=0.1, sigma=10.0, force=0.2, log_phi=0.3), vectors(2, 12)),
        "lazy": lambda: (LazyOCO(short(LOGISTIC), sigma=10.0, eta=0.1, switches=6.0), pairs(3, 12)),
        "lazy, batches": lambda: (LazyOCO.for_budget(short(LOGISTIC), switches=3, batches=True), pairs(3, 12)),
        "lazy, strongly convex": lambda: (
            LazyOCO(short(QUADRATIC), sigma=5.0, eta=float("inf"), switches=12.0),
            vectors(2, 12),
        ),
        "Gibbs, interval": lambda: (
            L2PConvex.calibrate(
                Convex(domain=Box([-1.0], [1.0]), loss=tacit.losses.LogisticLoss(), horizon=12), epsilon=1.0, delta=1e-6
            ),
            pairs(1, 12),
        ),
        "Gibbs, ball": lambda: (
            L2PConvex(  # a coarse sampler: what is checked here does not depend on its accuracy
                Convex(domain=Ball(2), loss=tacit.losses.LogisticLoss(), horizon=12),
                rate=0.5,
                regularisation=4.0,
                force=0.5,
                clip=0.5,
                sampler_distance=1e-2,
            ),
            pairs(2, 12),
        ),
    }
    long: ClassVar = {name: lambda name=name: (made(name), rounds_of(made(name).problem)) for name in MAKERS}


def feedback(problem, rounds=ROUNDS):
    generator = Randomness.replayable(21).stream("feedback")
    vectors = generator.standard_normal((rounds, problem.domain.dimension))
    if problem.loss.family == "glm":
        return vectors, np.sign(generator.standard_normal(rounds))
    return vectors


def rounds_of(problem):
    data = feedback(problem)
    return list(zip(*data, strict=True)) if isinstance(data, tuple) else list(data)


def start(plan):
    return plan.start(Randomness.replayable(5))


@every
def test_actions_are_feasible_and_switches_are_counted(name):
    plan = made(name)
    learner = start(plan)
    whole = learner.run(feedback(plan.problem))
    assert whole.shape == (ROUNDS, plan.problem.domain.dimension)
    assert all(plan.problem.domain.contains(action, 1e-9) for action in whole)
    assert learner.switches == np.any(np.diff(whole, axis=0), axis=1).sum()


def test_one_round_and_two_rounds():
    for horizon in (1, 2):
        problem = Convex(domain=Ball(2), loss=tacit.losses.LogisticLoss(), horizon=horizon)
        for algorithm in (PrivateFTRL, CTRL):
            plan = algorithm.calibrate(problem, epsilon=1.0, delta=1e-6)
            assert plan.guarantee.epsilon(1e-6) <= 1.0
            assert len(start(plan).run((np.ones((horizon, 2)), np.ones(horizon)))) == horizon
