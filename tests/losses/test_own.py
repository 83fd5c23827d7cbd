"""Losses that users bring: links of their own, losses of callables, and classes that say nothing is assumed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import tacit
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.stochastic import AveragedFTRL, ObjectivePerturbation, OnlineToBatch
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses import CustomLoss, HingeLoss, LinkLoss, LogisticLoss, RegularisedLoss
from tacit.losses.kinks import RoundedKink
from tacit.losses.several_classes import OneVsRestLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex, Stochastic

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}


@dataclass(frozen=True)
class Squareplus(LinkLoss):
    """(sqrt(4 + s^2) - y s)/2."""

    label_range = (-1.0, 1.0)

    def link(self, margins, labels):
        return (np.sqrt(4 + margins**2) - labels * margins) / 2

    def slope(self, margins, labels):
        return (margins / np.sqrt(4 + margins**2) - labels) / 2

    def curvature(self, margins, labels):
        return 2 / (4 + margins**2) ** 1.5

    def link_constants(self, largest_margin):
        return 1.0, 0.25


def test_a_link_that_nobody_checked_goes_to_methods_that_clip_and_to_no_others():
    own = Squareplus()
    problem, records = Convex(domain=Ball(2), loss=own, horizon=20), Stochastic(domain=Ball(2), loss=own, horizon=20)
    for kind in (CTRL, L2PConvex):
        with pytest.raises(PrivacyError, match="nobody checked"):
            kind.calibrate(problem, **PRIVACY)
    with pytest.raises(PrivacyError, match="nobody checked"):
        ObjectivePerturbation.calibrate(records, **PRIVACY)
    for plan in (PrivateFTRL.calibrate(problem, **PRIVACY), AveragedFTRL.calibrate(records, **PRIVACY)):
        assert plan.guarantee.assumed == ""
        plan.start().run((np.ones((20, 2)), np.ones(20)))


@dataclass(frozen=True)
class Steep(Squareplus):
    """Its slope at one label is anything."""

    there: float = 1.0

    def slope(self, margins, labels):
        return np.where(labels > 0.5, self.there, super().slope(margins, labels))


@pytest.mark.parametrize("numerics", ["exact", "float"])
@pytest.mark.parametrize("kind", [PrivateFTRL, AveragedFTRL, OnlineToBatch])
def test_a_slope_that_is_no_number_raises_for_nobody(kind, numerics):
    """It raised in the middle of a round, for some data and not for others, and ended the learner."""
    problem = Convex if kind is PrivateFTRL else Stochastic
    for there in (float("nan"), float("inf"), 1e308):
        own = problem(domain=Ball(2), loss=Steep(there=there), horizon=6)
        learner = kind.calibrate(own, **PRIVACY, numerics=numerics).start()
        learner.run((np.ones((3, 2)), np.array([-1.0, 1.0, -1.0])))
        for label in (1.0, -1.0):
            learner.play()
            learner.observe((np.ones(2), label))
        assert np.isfinite(learner.play()).all()


def test_linearising_a_custom_loss_is_refused_with_the_reason():
    loss = CustomLoss(lambda x, z: abs(x[0]), lambda x, z: [1.0, 0.0], lipschitz=1.0)
    with pytest.raises(PrivacyError, match="to linearise it would keep privacy and lose the regret bound"):
        CTRL.calibrate(Convex(domain=Ball(2), loss=loss, horizon=20), **PRIVACY)


class Steeper(LogisticLoss):
    """A thousand times as steep as it says."""

    def slope(self, margins, labels):
        return 1000 * super().slope(margins, labels)


class SteeperHinge(HingeLoss):
    """The same with a kink."""

    def link(self, margins, labels):
        return 1000 * super().link(margins, labels)


@pytest.mark.parametrize("kind", [CTRL, L2PConvex, ObjectivePerturbation])
def test_a_loss_cannot_vouch_for_itself(kind):
    """Neither when a plan is calibrated nor when it is made of another one, nor inside of a loss of tacit's own."""
    given = Stochastic if kind is ObjectivePerturbation else Convex
    problem = given(domain=Ball(2), loss=LogisticLoss(), horizon=50)
    plan = kind.calibrate(problem, epsilon=5.0, delta=1e-4)
    for loss in (Steeper(), RoundedKink(1.0, SteeperHinge(), 0.5), OneVsRestLoss(1.0, 2, Steeper())):
        for make in (lambda other: kind.calibrate(other, **PRIVACY), lambda other: replace(plan, problem=other)):
            with pytest.raises(PrivacyError, match=r"nobody checked|needs a generalised linear loss"):
                make(replace(problem, loss=loss))


def test_methods_that_clip_take_a_regularised_loss_and_others_do_not():
    problem = tacit.Stochastic(domain=Ball(2), loss=RegularisedLoss(LogisticLoss(), 0.7), horizon=50_000)
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
        tacit.algorithms.CTRL.calibrate(
            tacit.Convex(domain=Ball(2), loss=problem.loss, horizon=100), epsilon=1.0, delta=1e-6
        )
