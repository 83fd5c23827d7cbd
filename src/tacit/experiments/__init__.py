"""Live experiments: arms that are decided locally, replies under a contract per person and month."""

from tacit.experiments.design import Design
from tacit.experiments.experiments import Experiments
from tacit.experiments.policy import assign, pseudonym

__all__ = ["Design", "Experiments", "assign", "pseudonym"]
