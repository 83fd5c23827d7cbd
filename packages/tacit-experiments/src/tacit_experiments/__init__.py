"""Live experiments: arms that are decided locally, replies under a contract per person and month."""

from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import assign, pseudonym

__all__ = ["Design", "Experiments", "assign", "pseudonym"]
