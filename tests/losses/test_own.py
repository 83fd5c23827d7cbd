"""Losses that users bring: links, sums of links, quadratic forms, and losses that are taken on trust."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL, LazyOCO
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.stochastic import AveragedFTRL, ObjectivePerturbation
from tacit.domains import Ball
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import (
    CustomLoss,
    DeclaredLoss,
    LinkLoss,
    LogisticLoss,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Convex, Stochastic

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
LOUD = {"eta": 0.5, "sigma": 20.0, "force": 0.3, "log_phi": 0.3}


@dataclass(frozen=True)
class Squareplus(LinkLoss):
    """(sqrt(4 + s^2) - y s)/2, declared with a curvature of its user's choice."""

    declared: float = 0.25
    sign: float = 1.0
    label_range = (-1.0, 1.0)

    def link(self, margins, labels):
        return self.sign * (np.sqrt(4 + margins**2) - labels * margins) / 2

    def slope(self, margins, labels):
        return self.sign * (margins / np.sqrt(4 + margins**2) - labels) / 2

    def curvature(self, margins, labels):
        return self.sign * 2 / (4 + margins**2) ** 1.5

    def link_constants(self, largest_margin):
        return 1.0, self.declared


def generator(seed=0):
    return Randomness.replayable(seed).stream("losses")


def declared_loss(**changes):
    parts = {
        "value_of": lambda x, z: float(np.sum(np.log(np.cosh(x - z)))),
        "gradient_of": lambda x, z: np.tanh(x - z),
        "hessian_of": lambda x, z: np.diag(1 / np.cosh(x - z) ** 2),
        "width": 2, "lipschitz": 2**0.5, "smoothness": 1.0, "trust": True,
    }  # fmt: skip
    return DeclaredLoss(**{**parts, **changes})


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


def test_a_declared_loss_asks_for_trust_and_its_contract_says_so():
    with pytest.raises(PrivacyError, match="say trust=True"):
        declared_loss(trust=False)
    problem = Convex(domain=Ball(2), loss=declared_loss(), horizon=20)
    rows = generator(6).standard_normal((20, 2))
    trusting = [
        CTRL(problem, **LOUD),
        L2PConvex(problem, rate=0.2, regularisation=5.0, force=0.5, clip=0.2, batch=4, sampler_distance=1e-6),
    ]
    for plan in trusting:
        assert "assumed:    convex, G, beta as declared by you" in str(plan.guarantee)
        assert Guarantee.from_json(plan.guarantee.to_json()).assumed == "convex, G, beta as declared by you"
        together = plan.guarantee.compose(PrivateFTRL.calibrate(problem, **PRIVACY).guarantee)
        assert together.assumed == "convex, G, beta as declared by you"
        assert np.isfinite(plan.start(Randomness.replayable(1)).run(rows)).all()
    careful = PrivateFTRL.calibrate(problem, **PRIVACY)
    assert "assumed" not in str(careful.guarantee)
    assert LazyOCO.for_budget(problem, switches=10.0).start(Randomness.replayable(1)).run(rows).shape == (20, 2)


def test_functions_that_fail_for_some_rows_count_as_no_loss():
    def gradient(x, z):
        if z[0] < 0:
            raise RuntimeError("no gradient")
        return np.tanh(x - z)

    loss = declared_loss(gradient_of=gradient, hessian_of=lambda x, z: "no matrix")
    rows = loss.pack([[1.0, 0.0], [-1.0, 0.0]], 2, many=True)
    x = np.array([0.5, 0.5])
    np.testing.assert_array_equal(loss.gradients(x, rows)[1], [0.0, 0.0])
    np.testing.assert_array_equal(loss.hessians(x, rows), np.zeros((2, 2, 2)))
    np.testing.assert_array_equal(loss.gradients(x, loss.neutral(2)), [[0.0, 0.0]])
    with pytest.raises(InvalidInput):
        loss.pack([1.0, np.nan], 2, many=False)
    with pytest.raises(InvalidInput, match="callable"):
        declared_loss(value_of=3)


def test_linearising_a_custom_loss_is_refused_with_the_reason():
    loss = CustomLoss(lambda x, z: abs(x[0]), lambda x, z: [1.0, 0.0], lipschitz=1.0)
    with pytest.raises(PrivacyError, match="to linearise it would keep privacy and lose the regret bound"):
        CTRL.calibrate(Convex(domain=Ball(2), loss=loss, horizon=20), **PRIVACY)


class Steeper(LogisticLoss):
    """A thousand times as steep as it says, and it says that nothing is assumed of it."""

    assumed = ""

    def slope(self, margins, labels):
        return 1000 * super().slope(margins, labels)


class Quiet(DeclaredLoss):
    """Declared, and its contracts would not say so."""

    assumed = ""


@pytest.mark.parametrize("kind", [CTRL, L2PConvex, ObjectivePerturbation])
def test_a_loss_cannot_vouch_for_itself(kind):
    """Neither when a plan is calibrated nor when it is made of another one."""
    given = Stochastic if kind is ObjectivePerturbation else Convex
    problem = given(domain=Ball(2), loss=LogisticLoss(), horizon=50)
    plan = kind.calibrate(problem, epsilon=5.0, delta=1e-4)
    quiet = Quiet(lambda x, z: 0.0, lambda x, z: 0 * x, lambda x, z: np.eye(2), 1, 1.0, 0.25, trust=True)
    for loss in (Steeper(), quiet):
        for make in (lambda other: kind.calibrate(other, **PRIVACY), lambda other: replace(plan, problem=other)):
            with pytest.raises(PrivacyError, match=r"nobody checked|needs a generalised linear loss"):
                make(replace(problem, loss=loss))
