"""Differentially private online learning.

Decide again and again from feedback that belongs to people, with a proof of what the decisions leak and a
certified price in regret.

>>> import tacit
>>> problem = tacit.Experts(n=10, horizon=1000)
>>> plan = tacit.plan(problem, epsilon=1.0, delta=1e-6)
>>> learner = plan.start()
>>> expert = learner.play()
>>> learner.observe([0.5] * 10)
"""

from tacit.auditing.report import AuditReport
from tacit.auditing.run import audit
from tacit.environments.arms import BernoulliArms, DecoyArms, DriftingArms, LoggedArms
from tacit.environments.bandit import Assignment, MovingTarget, Pricing, Routing
from tacit.environments.convex import DriftingQuadratic, LogisticStream, ReplayData, SignFlips
from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
from tacit.environments.lipschitz import PricingCurve
from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli
from tacit.errors import InvalidInput, MissingExtra, PrivacyError, ProtocolError, TacitError
from tacit.geometry import (
    Ball,
    Birkhoff,
    Box,
    KSubsets,
    L1Ball,
    Matroid,
    NuclearBall,
    Paths,
    Polytope,
    Simplex,
    SpanningTrees,
    SubmodularBase,
)
from tacit.learners.arms import BatchedTsallis, PhasedArms
from tacit.learners.bandit import BanditFW, NoisyOCO, Rounds
from tacit.learners.convex import PrivateFTRL
from tacit.learners.ctrl import CTRL, LazyOCO
from tacit.learners.experts import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.learners.l2p_convex import L2PConvex
from tacit.learners.learner import Learner
from tacit.learners.lipschitz import LipschitzGrid, LipschitzNet
from tacit.learners.plan import Plan
from tacit.learners.stochastic import ObjectivePerturbation, OnlineToBatch
from tacit.learners.target import RegretBound
from tacit.learners.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RestartOnShift,
    SampledFixedShare,
)
from tacit.losses import (
    ConvexFamily,
    CustomLoss,
    HuberLoss,
    LinearLoss,
    LogisticLoss,
    QuadraticLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from tacit.planning import Candidate, Choice, plan
from tacit.privacy.guarantee import REPLACE, ZERO_OUT, Guarantee, Relation
from tacit.problems import Arms, Bandit, Convex, Experts, Lipschitz, Stochastic, Tracking
from tacit.randomness import Randomness
from tacit.simulation.loop import Simulation, simulate
from tacit.simulation.records import Sweep
from tacit.simulation.sweep import sweep
from tacit.version import __version__

__all__ = [
    "CTRL",
    "L2P",
    "REPLACE",
    "ZERO_OUT",
    "Arms",
    "Assignment",
    "AuditReport",
    "Ball",
    "Bandit",
    "BanditFW",
    "BatchedTsallis",
    "BernoulliArms",
    "BernoulliGap",
    "Birkhoff",
    "Box",
    "Candidate",
    "Choice",
    "Convex",
    "ConvexFamily",
    "CustomLoss",
    "DecoyArms",
    "DriftingArms",
    "DriftingLosses",
    "DriftingQuadratic",
    "Experts",
    "Guarantee",
    "HedgeOnSums",
    "HuberLoss",
    "InvalidInput",
    "KSubsets",
    "L1Ball",
    "L2PConvex",
    "LazyExperts",
    "LazyFixedShare",
    "LazyOCO",
    "Learner",
    "LimitedUpdates",
    "LinearLoss",
    "Lipschitz",
    "LipschitzGrid",
    "LipschitzNet",
    "LoggedArms",
    "LogisticLoss",
    "LogisticStream",
    "Matroid",
    "MissingExtra",
    "MovingTarget",
    "NoisyMirrorDescent",
    "NoisyOCO",
    "NuclearBall",
    "ObjectivePerturbation",
    "OnlineToBatch",
    "Paths",
    "PhasedArms",
    "Plan",
    "Polytope",
    "Pricing",
    "PricingCurve",
    "PrivacyError",
    "PrivateFTRL",
    "ProtocolError",
    "QuadraticLoss",
    "Randomness",
    "RegretBound",
    "Relation",
    "Replay",
    "ReplayData",
    "RestartOnShift",
    "Rounds",
    "Routing",
    "SampledFixedShare",
    "ScheduledExperts",
    "ShiftingBernoulli",
    "SignFlips",
    "Simplex",
    "Simulation",
    "SmoothedHingeLoss",
    "SpanningTrees",
    "SquaredLoss",
    "Stochastic",
    "SubmodularBase",
    "Sweep",
    "SwitchingAdversary",
    "TacitError",
    "Tracking",
    "__version__",
    "audit",
    "plan",
    "simulate",
    "sweep",
]
