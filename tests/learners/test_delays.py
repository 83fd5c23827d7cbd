"""Late and missing feedback: the contract of every learner that takes a delay; the planner's word on the others."""

from typing import ClassVar

import numpy as np

from learners.contract import LearnerContract, losses, numbers, pairs, pytest_generate_tests, vectors
from tacit import (
    L2P,
    Arms,
    Ball,
    BatchedTsallis,
    Convex,
    CustomLoss,
    Experts,
    HedgeOnSums,
    LazyExperts,
    LazyFixedShare,
    LinearLoss,
    LogisticLoss,
    PhasedArms,
    PrivateFTRL,
    SampledFixedShare,
    ScheduledExperts,
    Tracking,
)

__all__ = ["pytest_generate_tests"]

TARGET = {"epsilon": 1.0, "delta": 1e-6}
EXPERTS = Experts(n=3, horizon=40, delay=3)
WIDE = Experts(n=3, horizon=40, delay=3, loss_range=(0.0, 1.5))
TRACKING = Tracking(n=3, horizon=40, delay=3, switches=2)
ARMS = Arms(n=3, horizon=40, delay=3)
PHASED = Arms(n=2, horizon=40, delay=3, adversary="stochastic")


def convex(loss):
    """A problem on a ball."""
    return Convex(domain=Ball(2), loss=loss, horizon=40, delay=3)


def arms(plan):
    """A plan of arms with losses that are the same for every arm."""
    count = plan.problem.n
    return plan, numbers(40).tolist(), lambda part: np.tile(np.array(part, dtype=float)[:, None], count)


class TestContract(LearnerContract):
    """As without delay: the same checks, with a window of three rounds."""

    cases: ClassVar = {
        "lazy": lambda: (LazyExperts(EXPERTS, eta=0.3, force=0.1), losses(3)),
        "lazy, batches": lambda: (LazyExperts(WIDE, eta=0.3, force=0.1, batch=2), losses(3)),
        "L2P": lambda: (L2P(EXPERTS, eta=0.3, force=0.1, reference_force=0.1, batch=2), losses(3)),
        "scheduled": lambda: (ScheduledExperts(EXPERTS, eta=0.3), losses(3)),
        "scheduled, batches": lambda: (ScheduledExperts(EXPERTS, eta=0.3, batch=3), losses(3)),
        "hedge": lambda: (HedgeOnSums.calibrate(EXPERTS, **TARGET), losses(3)),
        "hedge, fresh draws": lambda: (HedgeOnSums.calibrate(EXPERTS, hold=False, **TARGET), losses(3)),
        "shares, lazy": lambda: (LazyFixedShare(TRACKING, eta=0.3, force=0.1, batch=2), losses(3)),
        "shares, uniform": lambda: (LazyFixedShare(TRACKING, eta=0.3, force=0.1, prior="uniform"), losses(3)),
        "shares, sampled": lambda: (SampledFixedShare(TRACKING, eta=0.3, epoch=15), losses(3)),
        "FTRL": lambda: (PrivateFTRL.calibrate(convex(LinearLoss()), **TARGET), vectors(2)),
        "FTRL, logistic": lambda: (PrivateFTRL.calibrate(convex(LogisticLoss()), **TARGET), pairs(2)),
        "FTRL, custom": lambda: (
            PrivateFTRL.calibrate(convex(CustomLoss(_value, _gradient, lipschitz=1.0)), **TARGET),
            vectors(2),
        ),
        "tsallis": lambda: arms(BatchedTsallis(ARMS, 1.0, 2, 0.75, 0.05, 0.1)),
        "tsallis, decreasing": lambda: arms(BatchedTsallis(ARMS, 1.0, 1, 0.5, 1.0, 0.35, "decreasing")),
        "phased": lambda: arms(PhasedArms(PHASED, 1.0, 4)),
    }


def _value(x, z):
    return float(np.abs(x - z).sum())


def _gradient(x, z):
    return np.sign(x - z)
