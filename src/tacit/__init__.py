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

from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli
from tacit.errors import InvalidInput, MissingExtra, PrivacyError, ProtocolError, TacitError
from tacit.learners.base import Learner, Plan, RegretBound
from tacit.learners.experts import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.learners.tracking import (
    LazyFixedShare,
    LimitedUpdates,
    NoisyMirrorDescent,
    RestartOnShift,
    SampledFixedShare,
)
from tacit.planning import Candidate, Choice, plan
from tacit.privacy.guarantee import REPLACE, ZERO_OUT, Guarantee, Relation
from tacit.problems import Experts, Tracking
from tacit.randomness import Randomness
from tacit.simulation.loop import Simulation, simulate

__version__ = "0.1.0"

__all__ = [
    "L2P",
    "REPLACE",
    "ZERO_OUT",
    "BernoulliGap",
    "Candidate",
    "Choice",
    "DriftingLosses",
    "Experts",
    "Guarantee",
    "HedgeOnSums",
    "InvalidInput",
    "LazyExperts",
    "LazyFixedShare",
    "Learner",
    "LimitedUpdates",
    "MissingExtra",
    "NoisyMirrorDescent",
    "Plan",
    "PrivacyError",
    "ProtocolError",
    "Randomness",
    "RegretBound",
    "Relation",
    "Replay",
    "RestartOnShift",
    "SampledFixedShare",
    "ScheduledExperts",
    "ShiftingBernoulli",
    "Simulation",
    "SwitchingAdversary",
    "TacitError",
    "Tracking",
    "plan",
    "simulate",
]
