"""Planted bugs in losses that users bring."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, planting
from planted_bugs.convex import integrated
from planted_bugs.tested import by_test
from tacit.algorithms.convex.ctrl import coupled
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex
from tacit.algorithms.convex.private_ftrl import PrivateFTRL, PrivateFTRLLearner
from tacit.auditing.instances import extremes
from tacit.auditing.report import Finding
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses import loss as base
from tacit.losses.loss import LogisticLoss, QuadraticLoss, RowLoss
from tacit.noise.randomness import Randomness
from tacit.problems import Convex
from tacit.releases import Coin


def constants(loss: RowLoss) -> Finding:
    """Search for a round whose gradient, or whose change of it, breaks the constants that the loss declares."""
    domain, generator = Ball(2), Randomness.replayable(11).stream("controls")
    problem = Convex(domain=domain, loss=loss, horizon=3)
    declared, seen = loss.constants(domain), [0.0]
    for data in extremes(problem).symbols:
        row = loss.pack(data, 2, many=False)
        for x in domain.radius * generator.uniform(-0.7, 0.7, (40, 2)):
            y = x + 0.01 * generator.standard_normal(2)
            y = domain.project(y)
            one, two = loss.gradients(x, row)[0], loss.gradients(y, row)[0]
            bend = float((one - two) @ (x - y)) / float((x - y) @ (x - y))
            seen.append(float(np.linalg.norm(one)) / declared.lipschitz)
            seen.append(bend / declared.smoothness)
            seen.append(1.0 - bend * 1e9 if bend < -1e-9 else 0.0)  # not convex
    worst = max(seen)
    return Finding("search", repr(loss), "share of the declared constants", 1.0, worst, worst > 1 + 1e-9)


def no_target() -> Finding:
    """A round without feedback, which pulls to the origin, in place of one that does not; the clip is tight."""
    line = Convex(domain=Ball(1), loss=QuadraticLoss(), horizon=2)
    plan = L2PConvex(line, rate=0.4, regularisation=400.0, force=0.02, clip=0.02, relation="zero-out")
    return integrated(plan, ((0, 0), (-1, 0)))


class Liar(LogisticLoss):
    """A logistic loss ten times as steep as its class declares."""

    def slope(self, margins: Any, labels: Any) -> Any:
        return 10.0 * super().slope(margins, labels)


def liar() -> Finding:
    """A class of the user's own goes to a method that minimises; the shipped one refuses it."""
    loss: RowLoss = Liar()
    try:
        coupled.refuse_unconstructed(Convex(domain=Ball(2), loss=loss, horizon=3), "CTRL")
    except PrivacyError:
        loss = LogisticLoss()
    return constants(loss)


in_losses = planting("losses")
CONTROLS: tuple[Control, ...] = (
    in_losses("a class that nobody checked is minimised (CTRL)", coupled, "refuse_unchecked",
              lambda _: lambda loss, algorithm: None, liar),
    in_losses("rows are clipped by factors without digits", base, "clip_factors",
              lambda _: lambda norms, norm: np.minimum(1.0, norm * (1 - 1e-15) / norms),
              by_test("losses.test_losses", "test_the_longest_floats_are_clipped_to_the_norm", 1e-15)),
    in_losses("a gradient that is no number is added up", PrivateFTRLLearner, "_gradient",
              lambda _: lambda self, data, at: self._row_loss.gradients(at, data)[0],
              by_test("losses.test_own", "test_a_slope_that_is_no_number_raises_for_nobody", PrivateFTRL, "exact")),
    in_losses("a target of 0 taken for no loss", Coin, "bit",
              lambda _: lambda self, among: self.limit, no_target, fast=False),
)  # fmt: skip
