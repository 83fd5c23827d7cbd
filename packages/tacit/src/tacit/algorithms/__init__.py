"""The algorithms: a folder for each problem, and in it a file or folder for each algorithm."""

from tacit.algorithms.arms import BatchedTsallis, LiveArms, PhasedArms
from tacit.algorithms.bandit import BanditFW, NoisyOCO, Rounds
from tacit.algorithms.contextual import ExploreLinear
from tacit.algorithms.convex import CTRL, L2PConvex, LazyOCO, PrivateFTRL
from tacit.algorithms.experts import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.algorithms.lipschitz import LipschitzGrid, LipschitzNet
from tacit.algorithms.measures import L2PMeasure, OwnMeasure
from tacit.algorithms.policies import PolicyArms, Responses
from tacit.algorithms.stochastic import AveragedFTRL, ObjectivePerturbation, OnlineToBatch, PrivateDescent
from tacit.algorithms.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RecentLeader,
    RestartOnShift,
    SwitchingSequences,
    TrackingOnSums,
)

__all__ = [
    "CTRL",
    "L2P",
    "AveragedFTRL",
    "BanditFW",
    "BatchedTsallis",
    "ExploreLinear",
    "HedgeOnSums",
    "L2PConvex",
    "L2PMeasure",
    "LazyExperts",
    "LazyFixedShare",
    "LazyOCO",
    "LimitedUpdates",
    "LipschitzGrid",
    "LipschitzNet",
    "LiveArms",
    "NoisyMirrorDescent",
    "NoisyOCO",
    "ObjectivePerturbation",
    "OnlineToBatch",
    "OwnMeasure",
    "PhasedArms",
    "PolicyArms",
    "PrivateDescent",
    "PrivateFTRL",
    "RecentLeader",
    "Responses",
    "RestartOnShift",
    "Rounds",
    "ScheduledExperts",
    "SwitchingSequences",
    "TrackingOnSums",
]
