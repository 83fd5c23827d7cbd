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
    from tacit.client import Client
    from tacit.comparison import Candidate, Comparison
    from tacit.contracts import contract, contract_schema
    from tacit.decisions import Decision
    from tacit.environments.arms import BernoulliArms, DecoyArms, DriftingArms, LoggedArms
    from tacit.environments.bandit import Assignment, MovingTarget, Pricing, Routing
    from tacit.environments.convex import DriftingQuadratic, LogisticStream, ReplayData, SignFlips
    from tacit.environments.experts import BernoulliGap, Replay, SwitchingAdversary
    from tacit.environments.floors import FairCoins, PerfectExpert, RandomSigns
    from tacit.environments.lipschitz import PricingCurve
    from tacit.environments.tracking import DriftingLosses, ShiftingBernoulli
    from tacit.errors import (
        Conflict,
        InvalidInput,
        MissingExtra,
        PrivacyError,
        ProtocolError,
        ServiceError,
        StoreError,
        TacitError,
    )
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
    from tacit.learners.l2p_measure import L2PMeasure, OwnMeasure
    from tacit.learners.learner import Learner
    from tacit.learners.lipschitz import LipschitzGrid, LipschitzNet, LipschitzOnePass
    from tacit.learners.plan import Plan
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
        DeclaredLoss,
        HingeLoss,
        HuberLoss,
        LinearLoss,
        LinkLoss,
        LogisticLoss,
        QuadraticFormLoss,
        QuadraticLoss,
        QuantileLoss,
        RegularisedLoss,
        SeveralLinks,
        SmoothedHingeLoss,
        SquaredLoss,
        TabulatedLoss,
    )
    from tacit.planning import Choice, plan
    from tacit.privacy.guarantee import REPLACE, ZERO_OUT, Guarantee, Relation
    from tacit.privacy.ledger import Ledger
    from tacit.problems import Arms, Bandit, Convex, Experts, Lipschitz, Stochastic, StochasticLipschitz, Tracking
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
    "client": "Client",
    "comparison": "Candidate Comparison",
    "contracts": "contract contract_schema",
    "decisions": "Decision",
    "floors": "Floor",
    "environments.arms": "BernoulliArms DecoyArms DriftingArms LoggedArms",
    "environments.bandit": "Assignment MovingTarget Pricing Routing",
    "environments.convex": "DriftingQuadratic LogisticStream ReplayData SignFlips",
    "environments.experts": "BernoulliGap Replay SwitchingAdversary",
    "environments.floors": "FairCoins PerfectExpert RandomSigns",
    "environments.lipschitz": "PricingCurve",
    "environments.tracking": "DriftingLosses ShiftingBernoulli",
    "errors": "Conflict InvalidInput MissingExtra PrivacyError ProtocolError ServiceError StoreError TacitError",
    "geometry": (
        "Ball Birkhoff Box KSubsets L1Ball Matroid NuclearBall Paths Polytope Simplex SpanningTrees SubmodularBase"
    ),
    "learners.arms": "BatchedTsallis PhasedArms",
    "learners.bandit": "BanditFW NoisyOCO Rounds",
    "learners.convex": "PrivateFTRL",
    "learners.ctrl": "CTRL LazyOCO",
    "learners.experts": "L2P HedgeOnSums LazyExperts ScheduledExperts",
    "learners.l2p_convex": "L2PConvex",
    "learners.l2p_measure": "L2PMeasure OwnMeasure",
    "learners.learner": "Learner",
    "learners.lipschitz": "LipschitzGrid LipschitzNet LipschitzOnePass",
    "learners.plan": "Plan",
    "learners.stochastic": "AveragedFTRL ObjectivePerturbation OnlineToBatch",
    "learners.target": "RegretBound",
    "learners.tracking": "LazyFixedShare LimitedUpdates NoisyMirrorDescent RecentLeader RestartOnShift "
    "SampledFixedShare TrackingOnSums",
    "losses": "AbsoluteLoss ConvexFamily CustomLoss DeclaredLoss HingeLoss HuberLoss LinearLoss LinkLoss LogisticLoss "
    "QuadraticFormLoss QuadraticLoss QuantileLoss RegularisedLoss SeveralLinks SmoothedHingeLoss SquaredLoss "
    "TabulatedLoss",
    "planning": "Choice plan",
    "privacy.guarantee": "REPLACE ZERO_OUT Guarantee Relation",
    "privacy.ledger": "Ledger",
    "problems": "Arms Bandit Convex Experts Lipschitz Stochastic StochasticLipschitz Tracking",
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
    "Client",
    "Comparison",
    "Conflict",
    "Convex",
    "ConvexFamily",
    "CustomLoss",
    "Decision",
    "DeclaredLoss",
    "DecoyArms",
    "DriftingArms",
    "DriftingLosses",
    "DriftingQuadratic",
    "Experts",
    "FairCoins",
    "Floor",
    "Guarantee",
    "HedgeOnSums",
    "HingeLoss",
    "HuberLoss",
    "InvalidInput",
    "KSubsets",
    "L1Ball",
    "L2PConvex",
    "L2PMeasure",
    "LazyExperts",
    "LazyFixedShare",
    "LazyOCO",
    "Learner",
    "Ledger",
    "LimitedUpdates",
    "LinearLoss",
    "LinkLoss",
    "Lipschitz",
    "LipschitzGrid",
    "LipschitzNet",
    "LipschitzOnePass",
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
    "OwnMeasure",
    "Paths",
    "PerfectExpert",
    "PhasedArms",
    "Plan",
    "Polytope",
    "Pricing",
    "PricingCurve",
    "PrivacyError",
    "PrivateFTRL",
    "ProtocolError",
    "QuadraticFormLoss",
    "QuadraticLoss",
    "QuantileLoss",
    "RandomSigns",
    "Randomness",
    "RecentLeader",
    "RegretBound",
    "RegularisedLoss",
    "Relation",
    "Replay",
    "ReplayData",
    "RestartOnShift",
    "Rounds",
    "Routing",
    "SampledFixedShare",
    "ScheduledExperts",
    "ServiceError",
    "SeveralLinks",
    "ShiftingBernoulli",
    "SignFlips",
    "Simplex",
    "Simulation",
    "SmoothedHingeLoss",
    "SpanningTrees",
    "SquaredLoss",
    "Stochastic",
    "StochasticLipschitz",
    "Store",
    "StoreError",
    "SubmodularBase",
    "Sweep",
    "SwitchingAdversary",
    "TabulatedLoss",
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
