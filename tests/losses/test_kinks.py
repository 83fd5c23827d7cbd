"""Losses with a kink: which learners take them, which refuse and why, and what is certified."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit import Convex, InvalidInput, PrivacyError
from tacit.algorithms import L2PConvex
from tacit.domains import Ball
from tacit.losses import AbsoluteLoss, HingeLoss, LogisticLoss, QuantileLoss
from tacit.losses.kinks import RoundedKink
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


def test_the_quantile_is_the_minimiser():
    loss, labels = QuantileLoss(level=0.9, label_bound=100.0), np.arange(101.0)
    totals = [np.sum(loss.value([point], (np.ones((101, 1)), labels))) for point in labels]
    assert np.argmin(totals) == 90
    with pytest.raises(InvalidInput, match="level"):
        QuantileLoss(level=1.0)


@pytest.mark.parametrize("loss", [HingeLoss(), AbsoluteLoss(), QuantileLoss(level=0.9)], ids=repr)
def test_a_rounded_kink_is_the_moreau_envelope(loss):
    """Against the minimum over a fine grid; slopes and curvatures against differences."""
    rounded, margins = RoundedKink(loss.data_norm, loss, 0.3), np.linspace(-3, 3, 241)
    grid = np.linspace(-6, 6, 48_001)
    for label in (-1.0, -0.4, 0.0, 0.7, 1.0):
        labels = np.full_like(margins, label)
        values = rounded.link(margins, labels)
        kinked = loss.link(grid, np.full_like(grid, label))
        envelope = [np.min(kinked + (grid - margin) ** 2 / 0.6) for margin in margins]
        np.testing.assert_allclose(values, envelope, atol=1e-4)
        below = loss.link(margins, labels) - values
        assert below.min() >= -1e-12
        assert below.max() <= rounded.price + 1e-12
        slopes = rounded.slope(margins, labels)
        np.testing.assert_allclose(np.gradient(values, margins)[1:-1], slopes[1:-1], atol=0.05)
        assert np.diff(slopes).min() >= 0
        assert np.diff(slopes).max() <= rounded.curvature(margins, labels).max() * np.diff(margins)[0] + 1e-12
    assert rounded.constants(Ball(2)).smoothness == pytest.approx(1 / 0.3)
    with pytest.raises(InvalidInput, match="kink"):
        RoundedKink(kinked=LogisticLoss())


@pytest.mark.parametrize("loss", [HingeLoss(), AbsoluteLoss()], ids=repr)
def test_kinks_are_rounded_off_where_a_sampler_needs_curvature(loss):
    """In two dimensions 1,000 rounds were refused; the price of the rounding is in the certificate."""
    problem = Convex(domain=Ball(2), loss=loss, horizon=1_000)
    with pytest.raises(PrivacyError, match=r"or use PrivateFTRL\.$"):
        L2PConvex.calibrate(problem, epsilon=1.0, delta=1e-6, work_limit=1e5)
    plan = L2PConvex.calibrate(problem, epsilon=1.0, delta=1e-6)
    assert 0 < plan.smoothing < 0.02
    assert plan.work <= plan.work_limit
    sharp = replace(plan, smoothing=0.0, work_limit=None)
    assert float(plan.regret_bound) == pytest.approx(float(sharp.regret_bound) + 500 * plan.smoothing)
    assert plan.guarantee.epsilon() == sharp.guarantee.epsilon()
    assert sharp.work > plan.work_limit
    assert L2PConvex.calibrate(replace(problem, horizon=200), epsilon=1.0, delta=1e-6).smoothing == 0.0
    with pytest.raises(InvalidInput, match="has no kink"):
        replace(plan, problem=replace(problem, loss=LogisticLoss()))


def test_points_are_drawn_by_the_rounded_loss():
    problem = Convex(domain=Ball(2), loss=HingeLoss(), horizon=12)
    plan = L2PConvex(problem, 0.5, 4.0, 1.0, 0.5, sampler_distance=1e-2, smoothing=0.2)
    assert plan.sampled.smoothness == pytest.approx(5.0)
    check_learner(plan, [(np.array([0.3, t / 10 - 1]), 1.0 if t % 2 else -1.0) for t in range(12)])
