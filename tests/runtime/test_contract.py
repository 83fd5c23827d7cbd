"""The contract of learners for bandits, Lipschitz losses and one-pass training (the others have files of their own)."""

from typing import ClassVar

import numpy as np

import tacit
from runtime.contract import LearnerContract, losses, numbers, pairs, pytest_generate_tests, vectors
from tacit.algorithms.stochastic.online_to_batch.online_to_batch import LEARNERS

__all__ = ["pytest_generate_tests"]

TARGET = {"epsilon": 1.0, "delta": 1e-6}
PURE = {"epsilon": 1.0, "delta": 0.0}
BANDIT = tacit.Bandit(domain=tacit.domains.Ball(2), lipschitz=1.0, value_range=(-1.0, 1.0), horizon=40)
LINE = tacit.Lipschitz(horizon=40)
LOGISTIC = tacit.Stochastic(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=40)
HINGE = tacit.Stochastic(domain=tacit.domains.Ball(2), loss=tacit.losses.HingeLoss(), horizon=40)
CUSTOM = tacit.Stochastic(
    domain=tacit.domains.Ball(2),
    loss=tacit.losses.CustomLoss(lambda x, z: 0.0, lambda x, z: np.sign(x - z), lipschitz=1.0),
    horizon=40,
)


def functions():
    """Losses as functions of points."""
    return [lambda points, target=target: np.abs(points[:, 0] - target) for target in numbers(40)]


def one_pass(**options):
    """A one-pass plan with its records."""
    return tacit.algorithms.OnlineToBatch.calibrate(LOGISTIC, **{**TARGET, **options}), pairs(2)


class TestBandit(LearnerContract):
    cases: ClassVar = {
        "gaussian": lambda: (tacit.algorithms.BanditFW.calibrate(BANDIT, **TARGET), (2 * numbers(40) - 1).tolist()),
        "pure": lambda: (tacit.algorithms.BanditFW.calibrate(BANDIT, **PURE), (2 * numbers(40) - 1).tolist()),
    }
    long: ClassVar = {
        type(domain).__name__: lambda domain=domain: (
            tacit.algorithms.BanditFW.calibrate(tacit.Bandit(domain=domain, horizon=1000), **TARGET),
            numbers(1000).tolist(),
        )
        for domain in (tacit.domains.Ball(2, 0.5), tacit.domains.Birkhoff(3))
    }


class TestLipschitz(LearnerContract):
    cases: ClassVar = {
        "grid, functions": lambda: (tacit.algorithms.LipschitzGrid.calibrate(LINE, **TARGET), functions()),
        "grid, fresh": lambda: (
            tacit.algorithms.LipschitzGrid.calibrate(LINE, hold=False, bits=1, **TARGET),
            losses(3),
        ),
        "net, functions": lambda: (tacit.algorithms.LipschitzNet.calibrate(LINE, **TARGET), functions()),
        "net": lambda: (tacit.algorithms.LipschitzNet.calibrate(LINE, cells=3, **TARGET), losses(3)),
        "disc": lambda: (
            tacit.algorithms.LipschitzGrid.calibrate(
                tacit.Lipschitz(domain=tacit.domains.Ball(2), horizon=40), **TARGET
            ),
            functions(),
        ),
    }


class TestOnePass(LearnerContract):
    cases: ClassVar = {
        "batches": lambda: one_pass(batch=3),
        "pure": lambda: one_pass(delta=0.0),
        "custom": lambda: (
            tacit.algorithms.OnlineToBatch.calibrate(CUSTOM, smoothness=1.0, batch=3, **TARGET),
            vectors(2),
        ),
        "averages": lambda: (tacit.algorithms.AveragedFTRL.calibrate(HINGE, **TARGET), pairs(2)),
        "averages, logistic": lambda: (tacit.algorithms.AveragedFTRL.calibrate(LOGISTIC, **TARGET), pairs(2)),
        "averages, custom": lambda: (tacit.algorithms.AveragedFTRL.calibrate(CUSTOM, **TARGET), vectors(2)),
        "averages, pure": lambda: (tacit.algorithms.AveragedFTRL.calibrate(HINGE, **PURE), pairs(2)),
        "averages, logistic, pure": lambda: (tacit.algorithms.AveragedFTRL.calibrate(LOGISTIC, **PURE), pairs(2)),
        "objective": lambda: (tacit.algorithms.ObjectivePerturbation.calibrate(LOGISTIC, **TARGET), pairs(2)),
        "objective, pure": lambda: (tacit.algorithms.ObjectivePerturbation.calibrate(LOGISTIC, **PURE), pairs(2)),
    }
    long: ClassVar = {
        "optimistic": lambda: one_pass(batch=7, learner="optimistic"),
        "zeroed": lambda: one_pass(relation="zero-out"),
    }


def test_every_online_learner_is_saved():
    """Inner learners keep numbers, arrays and learners of their own: all of it is in the state."""
    for name in LEARNERS:
        if name in ("strongly-convex", "mirror-descent"):  # on other domains and losses: their own tests
            continue
        plan, records = one_pass(learner=name)
        learner = plan.start()
        for record in records[:20]:
            learner.play()
            learner.observe(record)
        again = plan.restore(learner.state_dict())
        assert again._inner.state_dict().keys() == learner._inner.state_dict().keys()
        np.testing.assert_array_equal(again.model, learner.model)
        np.testing.assert_array_equal(again._inner.play(), learner._inner.play())
