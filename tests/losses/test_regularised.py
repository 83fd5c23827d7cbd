"""A loss with a declared regulariser: gradients, constants, and who takes it."""

import numpy as np
import pytest

import tacit
from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import CustomLoss, LogisticLoss, RegularisedLoss
from tacit.noise.randomness import Randomness

LOSS = RegularisedLoss(LogisticLoss(), 0.7)


def test_values_gradients_and_constants():
    stream = Randomness.replayable(1).stream("x")
    domain, pairs = Ball(3, radius=2.0), []
    for _ in range(30):
        x, v = domain.project(stream.standard_normal(3)), stream.standard_normal(3)
        record, step = (v, 1.0), 1e-6 * stream.standard_normal(3)
        slope = (LOSS.value(x + step, record) - LOSS.value(x - step, record)) / 2
        assert slope == pytest.approx(LOSS.gradient(x, record) @ step, rel=1e-4, abs=1e-12)
        other = domain.project(stream.standard_normal(3))
        pairs.append(
            (LOSS.gradient(x, record) - LOSS.gradient(other, record)) @ (x - other) / ((x - other) @ (x - other))
        )
        assert np.linalg.norm(LOSS.gradient(x, record)) <= LOSS.constants(domain).lipschitz
    known = LOSS.constants(domain)
    assert known.strong_convexity == 0.7 <= min(pairs)
    assert max(pairs) <= known.smoothness == 0.95
    many = LOSS.value(np.zeros(3), (np.ones((4, 3)), np.ones(4)))
    assert many == pytest.approx(np.full(4, np.log(2)))


def test_methods_that_clip_take_it_and_others_do_not():
    problem = tacit.Stochastic(domain=Ball(2), loss=LOSS, horizon=50_000)
    choice = tacit.plan(problem, epsilon=1.0, delta=1e-6)
    assert choice.algorithm == "OnlineToBatch"
    assert type(choice.plan.learner).__name__ == "StronglyConvex"
    assert next(c for c in choice.candidates if c.algorithm == "ObjectivePerturbation").plan is None
    learner = tacit.algorithms.OnlineToBatch.calibrate(problem, epsilon=1.0, delta=1e-6, batch=1000).start(
        Randomness.replayable(0)
    )
    learner.run((np.ones((2_000, 2)), np.ones(2_000)))
    assert problem.domain.contains(learner.model)
    with pytest.raises(tacit.errors.TacitError):
        tacit.algorithms.CTRL.calibrate(tacit.Convex(domain=Ball(2), loss=LOSS, horizon=100), epsilon=1.0, delta=1e-6)


def test_bad_arguments_raise():
    with pytest.raises(InvalidInput, match="loss"):
        RegularisedLoss(CustomLoss(lambda x, z: 0.0, lambda x, z: z, lipschitz=1.0), 1.0)
    with pytest.raises(InvalidInput, match="strength"):
        RegularisedLoss(LogisticLoss(), 0.0)
