"""Differentially private online learning.

Sequential decisions from user feedback, with a proof of what the decisions leak and a certified cost in regret.

>>> import tacit
>>> problem = tacit.Experts(n=10, horizon=1000)
>>> plan = tacit.plan(problem, epsilon=1.0, delta=1e-6)
>>> learner = plan.start()
>>> expert = learner.play()
>>> learner.observe([0.5] * 10)

The top level has problems, verbs and results. Algorithms, losses, sets and environments are in `tacit.algorithms`,
`tacit.losses`, `tacit.domains` and `tacit.environments`. Importing tacit loads next to nothing: a name is loaded when
it is first used.
"""

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from tacit.packages import MOVED, MovedModules, moved_sentence
from tacit.version import __version__

if TYPE_CHECKING:
    from tacit.accounting.guarantee import REPLACE, ZERO_OUT, Guarantee, Relation
    from tacit.accounting.ledger import Ledger
    from tacit.auditing.report import AuditReport
    from tacit.auditing.run import audit
    from tacit.decisions import Decision
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
    from tacit.noise.randomness import Randomness
    from tacit.planning.catalogue import register
    from tacit.planning.comparison import Candidate, Comparison
    from tacit.planning.contract import contract
    from tacit.planning.lower_bounds import LowerBound
    from tacit.planning.planner import plan
    from tacit.problems import (
        Arms,
        Bandit,
        ContextualArms,
        Convex,
        Experts,
        Lipschitz,
        Policies,
        Stochastic,
        Tracking,
    )
    from tacit.runtime.learner import Learner
    from tacit.runtime.plan import Plan
    from tacit.runtime.target import RegretBound
    from tacit.simulation.loop import Simulation, simulate
    from tacit.verification.schema import contract_schema
    from tacit.verification.verify import Verdict, verify

_HOMES = {
    "accounting.guarantee": "REPLACE ZERO_OUT Guarantee Relation",
    "accounting.ledger": "Ledger",
    "auditing.report": "AuditReport",
    "auditing.run": "audit",
    "decisions": "Decision",
    "errors": "Conflict InvalidInput MissingExtra PrivacyError ProtocolError ServiceError StoreError TacitError",
    "noise.randomness": "Randomness",
    "planning.catalogue": "register",
    "planning.comparison": "Candidate Comparison",
    "planning.contract": "contract",
    "planning.lower_bounds": "LowerBound",
    "planning.planner": "plan",
    "problems": ("Arms Bandit ContextualArms Convex Experts Lipschitz Policies Stochastic Tracking"),
    "runtime.learner": "Learner",
    "runtime.plan": "Plan",
    "runtime.target": "RegretBound",
    "simulation.loop": "Simulation simulate",
    "verification.schema": "contract_schema",
    "verification.verify": "Verdict verify",
}
"""The module of each public name."""

_MOVED = {
    "algorithms": (
        "AveragedFTRL BanditFW BatchedTsallis CTRL HedgeOnSums L2P L2PConvex L2PMeasure LazyExperts "
        "LazyFixedShare LazyOCO LimitedUpdates LipschitzGrid LipschitzNet NoisyMirrorDescent "
        "NoisyOCO ObjectivePerturbation OnlineToBatch OwnMeasure PhasedArms PrivateFTRL RecentLeader "
        "RestartOnShift Rounds ScheduledExperts TrackingOnSums"
    ),
    "domains": "Ball Birkhoff Box KSubsets L1Ball OracleSet Paths Polytope Simplex",
    "environments": (
        "BernoulliArms BernoulliGap DecoyArms DriftingArms DriftingLosses DriftingQuadratic "
        "FairCoins LogisticStream MovingTarget PerfectExpert PricingCurve RandomSigns "
        "Replay ReplayData Routing ShiftingBernoulli SignFlips SwitchingAdversary"
    ),
    "losses": (
        "AbsoluteLoss ConvexFamily CustomLoss HingeLoss HuberLoss LinearLoss LinkLoss "
        "LogisticLoss QuadraticLoss QuantileLoss RegularisedLoss "
        "SmoothedHingeLoss SquaredLoss"
    ),
}
"""The names of 0.2 that moved into a package; they work here for one release, with a warning."""

_HOME_OF = {name: f"tacit.{home}" for home, names in _HOMES.items() for name in names.split()}
_MOVED_TO = {name: f"tacit.{package}.{name}" for package, names in _MOVED.items() for name in names.split()}
_MOVED_TO |= {"Choice": "tacit.planning.comparison.Comparison", "Floor": "tacit.planning.lower_bounds.LowerBound"}
_PACKAGES = {
    *(home.partition(".")[0] for home in _HOMES), *_MOVED, "report", "solvers", "testing", "validation",
}  # fmt: skip

__all__ = [
    "REPLACE",
    "ZERO_OUT",
    "Arms",
    "AuditReport",
    "Bandit",
    "Candidate",
    "Comparison",
    "Conflict",
    "ContextualArms",
    "Convex",
    "Decision",
    "Experts",
    "Guarantee",
    "InvalidInput",
    "Learner",
    "Ledger",
    "Lipschitz",
    "LowerBound",
    "MissingExtra",
    "Plan",
    "Policies",
    "PrivacyError",
    "ProtocolError",
    "Randomness",
    "RegretBound",
    "Relation",
    "ServiceError",
    "Simulation",
    "Stochastic",
    "StoreError",
    "TacitError",
    "Tracking",
    "Verdict",
    "__version__",
    "audit",
    "contract",
    "contract_schema",
    "plan",
    "register",
    "simulate",
    "verify",
]


if not TYPE_CHECKING:  # a type checker shall see the imports above, not that any name might exist

    def __getattr__(name: str) -> object:
        """Load a public name, or a package, when it is first used."""
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        elif name in _PACKAGES:
            value = import_module(f"tacit.{name}")
        elif name in _MOVED_TO:
            package, _, moved = _MOVED_TO[name].rpartition(".")
            warnings.warn(f"tacit.{name} is {_MOVED_TO[name]} now.", DeprecationWarning, stacklevel=2)
            return getattr(import_module(package), moved)
        elif name in MOVED:
            raise AttributeError(moved_sentence(name))
        else:
            raise AttributeError(f"module 'tacit' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, and what Python itself puts here."""
    return sorted({*globals(), *__all__})


if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
    sys.meta_path.append(MovedModules())
