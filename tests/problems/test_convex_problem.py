"""The convex problem: its constants come from the loss on the domain, and bad descriptions raise."""

import numpy as np
import pytest

from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL
from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss, QuadraticLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex


def test_constants_are_those_of_the_loss_on_the_domain():
    problem = Convex(domain=Ball(2, 3.0), loss=QuadraticLoss(strength=0.5), horizon=10)
    assert (problem.lipschitz, problem.smoothness, problem.strong_convexity) == (2.0, 0.5, 0.5)
    assert problem == Convex(domain=Ball(2, 3.0), loss=QuadraticLoss(strength=0.5), horizon=10)


@pytest.mark.parametrize("change", [{"domain": 3}, {"loss": "logistic"}, {"horizon": 0}, {"horizon": 2.5}])
def test_bad_descriptions_raise(change):
    with pytest.raises(InvalidInput):
        Convex(**{"domain": Ball(2), "loss": LogisticLoss(), "horizon": 10, **change})


@pytest.mark.parametrize("algorithm", [PrivateFTRL, CTRL])
def test_unknown_horizons_double(algorithm):
    plan = algorithm.calibrate(Convex(domain=Ball(2), loss=LogisticLoss(), horizon=None), epsilon=4.0, delta=1e-5)
    assert plan.algorithm == algorithm.__name__
    learner = plan.start(Randomness.replayable(0))
    for _ in range(5):
        assert np.linalg.norm(learner.play()) <= 1
        learner.observe(([0.6, 0.8], 1.0))
