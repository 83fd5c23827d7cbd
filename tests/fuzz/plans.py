"""One small plan of every algorithm, with good feedback for it."""

from dataclasses import replace
from functools import cache

import numpy as np

import tacit
from tacit.domains import Ball, Box, Simplex
from tacit.losses import CustomLoss, LinearLoss, LogisticLoss, QuadraticLoss
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree
from tacit.problems import Bandit, Convex, Lipschitz, Stochastic

N = 3
ROUNDS = 40
EXPERTS = tacit.Experts(n=N, horizon=ROUNDS)
SHIFTED = tacit.Experts(n=N, horizon=ROUNDS, loss_range=(-0.5, 0.5))
TRACKING = tacit.Tracking(n=N, horizon=ROUNDS, switches=1, adversary="stochastic")
LINEAR = Convex(domain=Ball(N), loss=LinearLoss(), horizon=ROUNDS)
LOGISTIC = Convex(domain=Box.cube(N, 1.0), loss=LogisticLoss(), horizon=ROUNDS)
QUADRATIC = Convex(domain=Ball(N), loss=QuadraticLoss(), horizon=ROUNDS)
INTERVAL = Convex(domain=Box.cube(1, 1.0), loss=QuadraticLoss(), horizon=ROUNDS)
CUSTOM = Convex(
    domain=Simplex(N),
    loss=CustomLoss(lambda x, z: float(np.abs(x - z).sum()), lambda x, z: np.sign(x - z), lipschitz=1.0),
    horizon=ROUNDS,
)
RECORDS = Stochastic(domain=Ball(N), loss=LogisticLoss(), horizon=ROUNDS)
BANDIT = Bandit(domain=Ball(N, radius=0.5), horizon=400)
CURVES = Lipschitz(horizon=ROUNDS)
POLICIES = tacit.Policies(n=N, actions=2, horizon=ROUNDS, adversary="stochastic")
ARMS = tacit.Arms(n=N, horizon=ROUNDS, adversary="stochastic")
REQUESTS = tacit.ContextualArms(n=N, dimension=2, horizon=ROUNDS)
PRIVACY = {"epsilon": 1.0, "delta": 1e-6}

EXPERT_PLANS = {
    "LazyExperts": lambda: tacit.algorithms.LazyExperts(EXPERTS, eta=0.3, force=0.2, batch=2),
    "LazyExperts, capped": lambda: tacit.algorithms.LazyExperts(SHIFTED, eta=0.3, force=0.2, max_switches=3),
    "L2P": lambda: tacit.algorithms.L2P(EXPERTS, eta=0.3, force=0.2, reference_force=0.2),
    "ScheduledExperts": lambda: tacit.algorithms.ScheduledExperts(EXPERTS, eta=0.3),
    "HedgeOnSums": lambda: tacit.algorithms.HedgeOnSums(EXPERTS, eta=0.3, mechanism=Buffered(39), privacy=1.0),
    "HedgeOnSums, Laplace": lambda: tacit.algorithms.HedgeOnSums(
        SHIFTED, eta=0.3, mechanism=LaplaceTree(39, 3), privacy=1.0
    ),
    "RestartOnShift": lambda: tacit.algorithms.RestartOnShift(TRACKING, epsilon=1.0, interval=3, slope=0.5, margin=0.0),
    "LimitedUpdates": lambda: tacit.algorithms.LimitedUpdates(TRACKING, epsilon=1.0),
    "LazyFixedShare": lambda: tacit.algorithms.LazyFixedShare(TRACKING, eta=0.3, force=0.2),
    "LazyFixedShare, uniform": lambda: tacit.algorithms.LazyFixedShare(TRACKING, eta=0.3, force=0.2, prior="uniform"),
    "HedgeOnSums, cube": lambda: tacit.algorithms.HedgeOnSums(SHIFTED, eta=0.3, mechanism=CubeTree(39, 3), privacy=1.0),
    "NoisyMirrorDescent": lambda: tacit.algorithms.NoisyMirrorDescent(TRACKING, eta=0.3, scale=3.0, batch=3),
    "TrackingOnSums": lambda: tacit.algorithms.TrackingOnSums(TRACKING, eta=0.3, mix=0.2, scale=3.0, block=3),
    "SwitchingSequences": lambda: tacit.algorithms.SwitchingSequences.calibrate(
        tacit.Tracking(n=N, horizon=ROUNDS, switches=1), **PRIVACY
    ),
    "RecentLeader": lambda: tacit.algorithms.RecentLeader(TRACKING, epsilon=1.0, block=3),
    "doubling": lambda: tacit.algorithms.ScheduledExperts.calibrate(tacit.Experts(n=N, horizon=None), **PRIVACY),
}
OTHER_PLANS = {
    "PrivateFTRL": lambda: tacit.algorithms.PrivateFTRL.calibrate(LINEAR, **PRIVACY),
    "PrivateFTRL, two streams": lambda: tacit.algorithms.PrivateFTRL.calibrate(QUADRATIC, streams=2, **PRIVACY),
    "PrivateFTRL, anywhere": lambda: tacit.algorithms.PrivateFTRL.calibrate(replace(LOGISTIC, proper=False), **PRIVACY),
    "PrivateFTRL, box": lambda: tacit.algorithms.PrivateFTRL.calibrate(LOGISTIC, **PRIVACY),
    "PrivateFTRL, custom": lambda: tacit.algorithms.PrivateFTRL.calibrate(CUSTOM, **PRIVACY),
    "CTRL": lambda: tacit.algorithms.CTRL(QUADRATIC, eta=0.5, sigma=3.0, force=0.2, log_phi=0.5),
    "LazyOCO": lambda: tacit.algorithms.LazyOCO.for_budget(LOGISTIC, switches=20),
    "L2PConvex": lambda: tacit.algorithms.L2PConvex.calibrate(INTERVAL, epsilon=4.0, delta=1e-4),
    "LipschitzGrid": lambda: tacit.algorithms.LipschitzGrid.calibrate(CURVES, bits=1, **PRIVACY),
    "LipschitzNet": lambda: tacit.algorithms.LipschitzNet.calibrate(CURVES, cells=2, **PRIVACY),
    "BanditFW": lambda: tacit.algorithms.BanditFW.calibrate(BANDIT, **PRIVACY),
    "PhasedArms": lambda: tacit.algorithms.PhasedArms(ARMS, epsilon=1.0, first=4),
    "LiveArms": lambda: tacit.algorithms.LiveArms(ARMS, epsilon=1.0, first=4),
    "BatchedTsallis": lambda: tacit.algorithms.BatchedTsallis(
        ARMS, epsilon=1.0, batch=2, power=0.5, eta=0.1, kappa=0.1
    ),
    "AveragedFTRL": lambda: tacit.algorithms.AveragedFTRL.calibrate(RECORDS, **PRIVACY),
    "PrivateDescent": lambda: tacit.algorithms.PrivateDescent.calibrate(RECORDS, **PRIVACY),
    "OnlineToBatch": lambda: tacit.algorithms.OnlineToBatch.calibrate(RECORDS, **PRIVACY),
    "ObjectivePerturbation": lambda: tacit.algorithms.ObjectivePerturbation.calibrate(RECORDS, **PRIVACY),
}
PLANS = {**EXPERT_PLANS, **OTHER_PLANS}
made = cache(lambda name: PLANS[name]())


def start(name):
    """A fresh learner, the same each time."""
    return made(name).start(tacit.Randomness.replayable(3))


def tent(points):
    """A Lipschitz loss that is not convex."""
    return 0.5 - np.abs(np.asarray(points)[:, 0] - 0.3) / 2


def good_rows(name):
    """Four rounds of feedback that the plan takes."""
    problem = made(name).problem
    if isinstance(problem, tacit.Experts):
        return [[0.25, 0.5, 0.0], [0.0, 0.5, 0.25], [0.5, 0.0, 0.0], [0.1, 0.2, 0.3]]
    if isinstance(problem, tacit.Arms):
        return [0.2, None, 1, 0.0]
    if isinstance(problem, Bandit):
        return [0.2, 0.7, 0.5, 1.5]
    if isinstance(problem, Lipschitz):
        return [tent] * 4
    rows = np.array([[0.5, 0.1, 0.0], [0.0, -0.3, 0.2], [1e300, 0.0, 1.0], [0.0, 0.0, 0.0]])
    rows = rows[:, : problem.domain.dimension]
    if problem.loss.family == "glm":
        return [(row, 1.0) for row in rows]
    return list(np.clip(rows, -1, 1))
