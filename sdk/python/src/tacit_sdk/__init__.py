"""Local decisions of tacit's experiments: which arm a person gets, without a request, and their replies in batches."""

from tacit_sdk.assignment import Assignment, PersonSecret
from tacit_sdk.client import Client, Decision
from tacit_sdk.policy import Policy, Refused, digest

__all__ = ["Assignment", "Client", "Decision", "PersonSecret", "Policy", "Refused", "digest"]
__version__ = "0.3.0"
