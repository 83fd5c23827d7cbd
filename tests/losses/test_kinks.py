"""Losses with a kink: which learners take them, which refuse and why, and what is certified."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit import Convex, InvalidInput, PrivacyError
from tacit.algorithms import L2PConvex
from tacit.domains import Ball
from tacit.losses import AbsoluteLoss, HingeLoss, QuantileLoss


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


def test_the_quantile_is_the_minimiser():
    loss, labels = QuantileLoss(level=0.9, label_bound=100.0), np.arange(101.0)
    totals = [np.sum(loss.value([point], (np.ones((101, 1)), labels))) for point in labels]
    assert np.argmin(totals) == 90
    with pytest.raises(InvalidInput, match="level"):
        QuantileLoss(level=1.0)


def test_a_sampler_that_kinks_make_too_slow_is_refused():
    problem = Convex(domain=Ball(2), loss=HingeLoss(), horizon=1_000)
    with pytest.raises(PrivacyError, match=r"or use PrivateFTRL\.$"):
        L2PConvex.calibrate(problem, epsilon=1.0, delta=1e-6)
    plan = L2PConvex.calibrate(replace(problem, horizon=200), epsilon=1.0, delta=1e-6)
    assert plan.work <= plan.work_limit
