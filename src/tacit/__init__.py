"""Differentially private online learning.

Decide again and again from feedback that belongs to people, with a proof of what the decisions leak and a
certified cost in regret.

>>> import tacit
>>> problem = tacit.Experts(n=10, horizon=1000)
>>> plan = tacit.plan(problem, epsilon=1.0, delta=1e-6)
>>> learner = plan.start()
>>> expert = learner.play()
>>> learner.observe([0.5] * 10)

Importing tacit loads next to nothing: a public name is looked up in `_HOMES` and loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tacit.version import __version__

if TYPE_CHECKING:
    from tacit.auditing.report import AuditReport
    from tacit.auditing.run import audit
    from tacit.catalogue import register
    from tacit.comparison import Candidate, Comparison
    from tacit.contracts import contract, contract_schema
    from tacit.environments.arms import BernoulliArms, DecoyArms, DriftingArms, LoggedArms
    from tacit.environments.bandit import Assignment, MovingTarget, Pricing, Routing
    from tacit.environments.convex import DriftingQuadratic, LogisticStream, ReplayData, SignFlips
    from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
    from tacit.environments.lipschitz import PricingCurve
    from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli
    from tacit.errors import InvalidInput, MissingExtra, PrivacyError, ProtocolError, StoreError, TacitError
    from tacit.floors import Floor
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
    from tacit.learners.slots import Decision
    from tacit.learners.stochastic import AveragedFTRL, ObjectivePerturbation, OnlineToBatch
    from tacit.learners.target import RegretBound
    from tacit.learners.tracking import (
        LazyFixedShare,
        LimitedUpdates,
        NoisyMirrorDescent,
        RecentLeader,
        RestartOnShift,
        SampledFixedShare,
        TrackingOnSums,
    )
    from tacit.losses import (
        AbsoluteLoss,
        ConvexFamily,
        CustomLoss,
        HingeLoss,
        HuberLoss,
        LinearLoss,
        LogisticLoss,
        QuadraticLoss,
        QuantileLoss,
        SmoothedHingeLoss,
        SquaredLoss,
    )
    from tacit.planning import Choice, plan
    from tacit.privacy.guarantee import REPLACE, ZERO_OUT, Guarantee, Relation
    from tacit.privacy.ledger import Ledger
    from tacit.problems import Arms, Bandit, Convex, Experts, Lipschitz, Stochastic, Tracking
    from tacit.randomness import Randomness
    from tacit.simulation.loop import Simulation, simulate
    from tacit.simulation.records import Sweep
    from tacit.simulation.sweep import sweep
    from tacit.store.live import Live
    from tacit.store.store import Store
    from tacit.verification.verify import Verdict, verify

_HOMES = {
    "auditing.report": "AuditReport",
    "auditing.run": "audit",
    "catalogue": "register",
    "comparison": "Candidate Comparison",
    "contracts": "contract contract_schema",
    "floors": "Floor",
    "environments.arms": "BernoulliArms DecoyArms DriftingArms LoggedArms",
    "environments.bandit": "Assignment MovingTarget Pricing Routing",
    "environments.convex": "DriftingQuadratic LogisticStream ReplayData SignFlips",
    "environments.experts": "BernoulliGap Replay SwitchingAdversary",
    "environments.lipschitz": "PricingCurve",
    "environments.tracking": "DriftingLosses ShiftingBernoulli",
    "errors": "InvalidInput MissingExtra PrivacyError ProtocolError StoreError TacitError",
    "geometry": (
        "Ball Birkhoff Box KSubsets L1Ball Matroid NuclearBall Paths Polytope Simplex SpanningTrees SubmodularBase"
    ),
    "learners.arms": "BatchedTsallis PhasedArms",
    "learners.bandit": "BanditFW NoisyOCO Rounds",
    "learners.convex": "PrivateFTRL",
    "learners.ctrl": "CTRL LazyOCO",
    "learners.experts": "L2P HedgeOnSums LazyExperts ScheduledExperts",
    "learners.l2p_convex": "L2PConvex",
    "learners.learner": "Learner",
    "learners.lipschitz": "LipschitzGrid LipschitzNet",
    "learners.plan": "Plan",
    "learners.slots": "Decision",
    "learners.stochastic": "AveragedFTRL ObjectivePerturbation OnlineToBatch",
    "learners.target": "RegretBound",
    "learners.tracking": "LazyFixedShare LimitedUpdates NoisyMirrorDescent RecentLeader RestartOnShift "
    "SampledFixedShare TrackingOnSums",
    "losses": "AbsoluteLoss ConvexFamily CustomLoss HingeLoss HuberLoss LinearLoss LogisticLoss QuadraticLoss "
    "QuantileLoss SmoothedHingeLoss SquaredLoss",
    "planning": "Choice plan",
    "privacy.guarantee": "REPLACE ZERO_OUT Guarantee Relation",
    "privacy.ledger": "Ledger",
    "problems": "Arms Bandit Convex Experts Lipschitz Stochastic Tracking",
    "randomness": "Randomness",
    "simulation.loop": "Simulation simulate",
    "simulation.records": "Sweep",
    "simulation.sweep": "sweep",
    "store.live": "Live",
    "store.store": "Store",
    "verification.verify": "Verdict verify",
}
"""The module of each public name."""

_HOME_OF = {name: f"tacit.{home}" for home, names in _HOMES.items() for name in names.split()}
_ROOMS = {home.partition(".")[0] for home in _HOMES} | {"estimators", "mechanisms", "report", "solvers", "validation"}

__all__ = [
    "CTRL",
    "L2P",
    "REPLACE",
    "ZERO_OUT",
    "AbsoluteLoss",
    "Arms",
    "Assignment",
    "AuditReport",
    "AveragedFTRL",
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
    "Comparison",
    "Convex",
    "ConvexFamily",
    "CustomLoss",
    "Decision",
    "DecoyArms",
    "DriftingArms",
    "DriftingLosses",
    "DriftingQuadratic",
    "Experts",
    "Floor",
    "Guarantee",
    "HedgeOnSums",
    "HingeLoss",
    "HuberLoss",
    "InvalidInput",
    "KSubsets",
    "L1Ball",
    "L2PConvex",
    "LazyExperts",
    "LazyFixedShare",
    "LazyOCO",
    "Learner",
    "Ledger",
    "LimitedUpdates",
    "LinearLoss",
    "Lipschitz",
    "LipschitzGrid",
    "LipschitzNet",
    "Live",
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
    "QuantileLoss",
    "Randomness",
    "RecentLeader",
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
    "Store",
    "StoreError",
    "SubmodularBase",
    "Sweep",
    "SwitchingAdversary",
    "TacitError",
    "Tracking",
    "TrackingOnSums",
    "Verdict",
    "__version__",
    "audit",
    "contract",
    "contract_schema",
    "plan",
    "register",
    "simulate",
    "sweep",
    "verify",
]


if not TYPE_CHECKING:  # a type checker shall see the imports above, not that any name might exist

    def __getattr__(name: str) -> object:
        """Load a public name, or a package, when it is first used."""
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        elif name in _ROOMS:
            value = import_module(f"tacit.{name}")
        else:
            raise AttributeError(f"module 'tacit' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names, and what Python itself puts here."""
    return sorted({*globals(), *__all__})
