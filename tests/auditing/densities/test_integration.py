"""Integration on an interval: laws sum to one, agree with finer nodes, and stay under the certificate."""

import numpy as np
import pytest

from tacit import Randomness
from tacit.algorithms.convex.ctrl import CTRL
from tacit.algorithms.convex.ctrl.coupled import HeldLinear
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex
from tacit.algorithms.stochastic import ObjectivePerturbation
from tacit.auditing.instances import alphabet
from tacit.auditing.integration import integrated_draws, interval_law, model_law
from tacit.auditing.script import ExactCurve, transcript_law
from tacit.domains import Ball
from tacit.losses import LinearLoss, LogisticLoss, QuadraticLoss
from tacit.problems import Convex, Stochastic


def line(loss, horizon=2):
    return Convex(domain=Ball(1), loss=loss, horizon=horizon)


PLANS = [
    CTRL(line(LinearLoss()), eta=0.5, sigma=3.0, force=0.3, log_phi=0.5),
    CTRL(line(QuadraticLoss()), eta=0.5, sigma=3.0, force=0.3, log_phi=0.5),
    CTRL(line(LogisticLoss()), eta=0.5, sigma=3.0, force=0.3, log_phi=0.5),
    L2PConvex(line(LogisticLoss()), rate=0.5, regularisation=1.0, force=0.3, clip=0.4),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.algorithm} {type(plan.problem.loss).__name__}")
def test_exact_curves_stay_under_the_certificate(plan):
    letters = alphabet(plan)
    last = len(letters.symbols) - 1
    laws = [interval_law(plan, letters.stream(row)) for row in ([0, 0], [last, 0])]
    for law in laws:
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-10)
    curve = ExactCurve.of(*laws)
    for epsilon in (0.0, 0.3, 1.0):
        assert curve.delta(epsilon) <= plan.guarantee.delta(epsilon)
    assert curve.delta(0.0) > 0.05 * plan.guarantee.delta(0.0)
    with integrated_draws(14):
        finer = ExactCurve.of(*(transcript_law(plan, letters.stream(row)) for row in ([0, 0], [last, 0])))
    assert curve.delta(0.0) == pytest.approx(finer.delta(0.0), rel=0.03)


def test_nothing_is_left_swapped():
    before = HeldLinear.scan
    with integrated_draws():
        assert HeldLinear.scan is not before
    assert HeldLinear.scan is before


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_released_model_has_the_density_of_the_minimiser(delta):
    """Against real releases: the mean of the model, within five standard errors."""
    problem = Stochastic(domain=Ball(1, radius=3.0), loss=LogisticLoss(), horizon=2)
    plan = ObjectivePerturbation.calibrate(problem, epsilon=1.0, delta=delta)
    letters = alphabet(plan)
    law = model_law(plan, letters.stream([0, 0]))
    x, mass = np.array([key[0] for key in law]), np.array(list(law.values()))
    models = []
    for run in range(400):
        learner = plan.start(Randomness.replayable(run))
        for record in letters.stream([0, 0]):
            learner.play()
            learner.observe(record)
        models.append(float(learner.release()[0]))
    mean, spread = float(mass @ x), np.sqrt(mass @ x**2 - (mass @ x) ** 2)
    assert abs(np.mean(models) - mean) < 5 * spread / 20
    assert np.std(models) == pytest.approx(spread, rel=0.25)
    other = ExactCurve.of(law, model_law(plan, letters.stream([len(letters.symbols) - 1, 0])))
    assert 0.05 * plan.guarantee.delta(0.0) < other.delta(0.0) <= plan.guarantee.delta(0.0)
