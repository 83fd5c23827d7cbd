"""Algorithms for `Policies`: act on the advice of policies, when only the loss of the action taken is seen."""

from tacit.algorithms.policies.policy_arms import PolicyArms
from tacit.algorithms.policies.responses import Responses

__all__ = ["PolicyArms", "Responses"]
