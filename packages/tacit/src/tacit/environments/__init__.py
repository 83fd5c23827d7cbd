"""Streams of losses: adversaries, random worlds, records. They know no learner."""

from tacit.environments.arms import BernoulliArms, ClickArms, DecoyArms, DriftingArms
from tacit.environments.bandit import MovingTarget, Routing
from tacit.environments.contextual import LinearContexts
from tacit.environments.convex import DriftingQuadratic, LogisticStream, ReplayData, SignFlips
from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
from tacit.environments.lipschitz import PricingCurve, TwoPrices
from tacit.environments.lower_bounds import FairCoins, PerfectExpert, RandomSigns
from tacit.environments.policies import NeedlePolicy, SkilledPolicies
from tacit.environments.records import LogisticRecords, QuadraticRecords, ReplayRecords
from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli

__all__ = [
    "BernoulliArms",
    "BernoulliGap",
    "ClickArms",
    "DecoyArms",
    "DriftingArms",
    "DriftingLosses",
    "DriftingQuadratic",
    "FairCoins",
    "LinearContexts",
    "LogisticRecords",
    "LogisticStream",
    "MovingTarget",
    "NeedlePolicy",
    "PerfectExpert",
    "PricingCurve",
    "QuadraticRecords",
    "RandomSigns",
    "Replay",
    "ReplayData",
    "ReplayRecords",
    "Routing",
    "ShiftingBernoulli",
    "SignFlips",
    "SkilledPolicies",
    "SwitchingAdversary",
    "TwoPrices",
]
