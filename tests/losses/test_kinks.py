"""Losses with a kink: which learners take them, which refuse and why, and what is certified."""

import numpy as np
import pytest

import tacit
from tacit import CTRL, AbsoluteLoss, Ball, Convex, HingeLoss, InvalidInput, PrivacyError, PrivateFTRL, QuantileLoss
from tacit.testing import check_learner


@pytest.mark.parametrize("loss", [HingeLoss(), AbsoluteLoss(), QuantileLoss(level=0.9)], ids=repr)
def test_what_the_planner_chooses_starts(loss):
    choice = tacit.plan(Convex(domain=Ball(1), loss=loss, horizon=200), epsilon=1.0, delta=1e-6)
    rows = np.linspace(-1, 1, 200)
    assert choice.run((rows[:, None], np.sign(rows + 0.1))).shape == (200, 1)
    refused = {candidate.algorithm: candidate.reason for candidate in choice.candidates if candidate.reason}
    assert "smooth by construction" in refused["CTRL"]


@pytest.mark.parametrize(("dimension", "bound"), [(1, 2134), (3, 3527)])
def test_certified_regret(dimension, bound):
    problem = Convex(domain=Ball(dimension), loss=HingeLoss(), horizon=100_000)
    choice = tacit.plan(problem, epsilon=1.0, delta=1e-6)
    assert float(choice.regret_bound) == pytest.approx(bound, rel=0.005)
    assert choice.algorithm == ("L2PConvex" if dimension == 1 else "PrivateFTRL")


def test_ctrl_refuses():
    with pytest.raises(PrivacyError, match="smooth by construction"):
        CTRL.calibrate(Convex(domain=Ball(2), loss=AbsoluteLoss(), horizon=100), epsilon=1.0, delta=1e-6)


def test_the_contract_of_learners():
    plan = PrivateFTRL.calibrate(Convex(domain=Ball(2), loss=HingeLoss(), horizon=20), epsilon=1.0, delta=1e-6)
    check_learner(plan, [(np.array([0.3, t / 10 - 1]), 1.0 if t % 2 else -1.0) for t in range(20)])


def test_the_quantile_is_the_minimiser():
    loss, labels = QuantileLoss(level=0.9, label_bound=100.0), np.arange(101.0)
    totals = [np.sum(loss.value([point], (np.ones((101, 1)), labels))) for point in labels]
    assert np.argmin(totals) == 90
    with pytest.raises(InvalidInput, match="level"):
        QuantileLoss(level=1.0)
