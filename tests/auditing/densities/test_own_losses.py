"""Audits of CTRL on a loss that users bring: draws, coins, minimisers and likelihoods are as certified."""

import numpy as np
import pytest

from tacit.algorithms.convex.ctrl import CTRL
from tacit.auditing.run import audit
from tacit.domains import Ball
from tacit.losses import DeclaredLoss
from tacit.problems import Convex

LOG_COSH = DeclaredLoss(
    lambda x, z: np.sum(np.log(np.cosh(x - z))),
    lambda x, z: np.tanh(x - z),
    lambda x, z: np.diag(1 / np.cosh(x - z) ** 2),
    width=2, lipschitz=2**0.5, smoothness=1.0, trust=True,
)  # fmt: skip


@pytest.mark.slow
def test_audits_find_nothing():
    problem = Convex(domain=Ball(2), loss=LOG_COSH, horizon=50)
    report = audit(CTRL(problem, eta=0.05, sigma=40.0, force=0.3, log_phi=0.1), budget=0.1)
    assert not report.violation
    assert {finding.method for finding in report.findings} >= {"integrated", "law", "coins"}
