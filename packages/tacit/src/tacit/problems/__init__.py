"""What is to be decided: frozen descriptions made of public quantities only."""

from tacit.problems.contextual import ContextualArms
from tacit.problems.lipschitz import Lipschitz
from tacit.problems.options import Arms, Experts, Options, Policies, Tracking
from tacit.problems.points import Bandit, Convex, Stochastic
from tacit.problems.problem import ADVERSARIES, Problem

__all__ = [
    "ADVERSARIES",
    "Arms",
    "Bandit",
    "ContextualArms",
    "Convex",
    "Experts",
    "Lipschitz",
    "Options",
    "Policies",
    "Problem",
    "Stochastic",
    "Tracking",
]
