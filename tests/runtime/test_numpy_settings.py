"""Learners at rates where weights underflow: what numpy was told to do about that must not show."""

from dataclasses import replace

import numpy as np
import pytest

from attacks import rows
from tacit import Arms, Convex, Experts, Stochastic, Tracking
from tacit.algorithms import (
    CTRL,
    BatchedTsallis,
    HedgeOnSums,
    LazyExperts,
    LazyFixedShare,
    NoisyMirrorDescent,
    ObjectivePerturbation,
    OnlineToBatch,
    PhasedArms,
    PrivateFTRL,
    RestartOnShift,
    ScheduledExperts,
    TrackingOnSums,
)
from tacit.domains import Ball, Box
from tacit.losses import LinearLoss, LogisticLoss
from tacit.testing import CHECKS
from tacit.testing.rounds import Case

ROUNDS = 64
EXPERTS, TRACKING = Experts(n=3, horizon=ROUNDS), Tracking(n=3, horizon=ROUNDS, switches=2)
LARGE = {"epsilon": 1e5, "delta": 1e-6}
TINY = np.where(np.arange(ROUNDS)[:, None] % 3 == np.arange(3), 1.0, 5e-324)
ROWS = list(TINY)
ARMS = TINY[:, 0].tolist()
VECTORS = [np.array([1e-320 if t % 2 else 1.0, -0.5]) for t in range(ROUNDS)]
PAIRS = [(row, 1.0 if t % 3 else -1.0) for t, row in enumerate(VECTORS)]


def as_columns(losses):
    """The loss of every arm, which is the same for all of them."""
    return np.tile(np.array(losses)[:, None], 3)


def one_pass(**options):
    """Models of two coordinates whose records grow."""
    problem = Stochastic(domain=Ball(2), loss=LogisticLoss(), horizon=ROUNDS)
    return OnlineToBatch.calibrate(problem, epsilon=9.0, power=2.0, batch=2, **options)


CASES = {
    "lazy experts": lambda: (LazyExperts(EXPERTS, eta=5000.0, force=0.1), ROWS),
    "scheduled experts": lambda: (ScheduledExperts(EXPERTS, eta=5000.0), ROWS),
    "hedge": lambda: (replace(HedgeOnSums.calibrate(EXPERTS, epsilon=1e4, delta=1e-6), eta=900.0), ROWS),
    "hedge, pure": lambda: (HedgeOnSums.calibrate(EXPERTS, epsilon=1e3, delta=0.0), ROWS),
    "lazy fixed share": lambda: (LazyFixedShare.calibrate(TRACKING, **LARGE), ROWS),
    "lazy fixed share, no switches": lambda: (
        LazyFixedShare(Tracking(n=3, horizon=ROUNDS, switches=0), eta=5000.0, force=0.1), ROWS
    ),
    "restarts": lambda: (RestartOnShift(TRACKING, epsilon=1e5, interval=3, slope=0.1, margin=0.0), ROWS),
    "one pass, pure": lambda: (one_pass(delta=0.0), PAIRS),
    "one pass on a tree": lambda: (one_pass(delta=1e-6, mechanism="tree"), PAIRS),
    "lazy fixed share, uniform": lambda: (LazyFixedShare.calibrate(TRACKING, prior="uniform", **LARGE), ROWS),
    "mirror descent": lambda: (NoisyMirrorDescent.calibrate(TRACKING, **LARGE), ROWS),
    "on sums": lambda: (
        replace(TrackingOnSums.calibrate(TRACKING, epsilon=1e3, delta=0.0), eta=900.0, mix=900.0, block=2), ROWS,
    ),
    "mirror descent, pure": lambda: (NoisyMirrorDescent.calibrate(TRACKING, epsilon=0.01, delta=0.0), ROWS),
    "tsallis": lambda: (
        BatchedTsallis.calibrate(Arms(n=3, horizon=ROUNDS), epsilon=30.0, delta=0.0), ARMS, as_columns
    ),
    "phased": lambda: (
        PhasedArms.calibrate(Arms(n=3, horizon=ROUNDS, adversary="stochastic"), epsilon=30.0, delta=0.0),
        ARMS, as_columns,
    ),
    "ftrl": lambda: (
        PrivateFTRL.calibrate(Convex(domain=Ball(2), loss=LinearLoss(), horizon=ROUNDS), epsilon=1.0, delta=1e-6),
        VECTORS,
    ),
    "ctrl": lambda: (
        CTRL.calibrate(
            Convex(domain=Box([-1, -1], [1, 1]), loss=LogisticLoss(), horizon=ROUNDS), epsilon=9.0, delta=1e-6
        ),
        PAIRS,
    ),
    "objective": lambda: (
        ObjectivePerturbation.calibrate(
            Stochastic(domain=Ball(2), loss=LogisticLoss(), horizon=ROUNDS), epsilon=9.0, delta=1e-6
        ),
        PAIRS,
    ),
}  # fmt: skip


@pytest.mark.attack(rows.NUMPY)
@pytest.mark.parametrize("name", CASES)
def test_underflows_are_silent(name, record_property):
    case = Case(*CASES[name]())
    record_property("attacked", case.plan.algorithm)
    CHECKS["settings_of_numpy_change_nothing"](case)


@pytest.mark.attack(rows.NUMPY)
@pytest.mark.parametrize("algorithm", [HedgeOnSums, LazyExperts, ScheduledExperts])
def test_losses_of_another_range_underflow_quietly(algorithm):
    """Whether a rescaled loss is too small for a float is as private as the loss."""
    learner = algorithm.calibrate(Experts(n=2, horizon=9, loss_range=(0.0, 10.0)), epsilon=1.0, delta=1e-6).start()
    with np.errstate(all="raise"):
        for losses in ([2.3e-308, 1.0], [5e-324, 10.0]):
            learner.play()
            learner.observe(losses)
        learner.run([[2.3e-308, 1.0]] * 3)
    assert learner.rounds == 5
