"""Audits of CTRL on losses that users bring: draws, coins, minimisers and likelihoods are as certified."""

import pytest

from tacit.algorithms.convex.ctrl import CTRL
from tacit.auditing.run import audit
from tacit.domains import Ball
from tacit.losses import QuadraticFormLoss
from tacit.problems import Convex

LOSSES = {
    "forms": QuadraticFormLoss(0.3, 0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_audits_find_nothing(name):
    problem = Convex(domain=Ball(2), loss=LOSSES[name], horizon=50)
    report = audit(CTRL(problem, eta=0.05, sigma=40.0, force=0.3, log_phi=0.1), budget=0.1)
    assert not report.violation
    assert {finding.method for finding in report.findings} >= {"integrated", "law", "coins"}
