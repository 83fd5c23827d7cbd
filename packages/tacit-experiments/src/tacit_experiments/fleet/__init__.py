"""A fleet: one learner per key, inside Spark's streams and tables."""

from tacit_experiments.fleet.contract import contract, explain
from tacit_experiments.fleet.deciding import decide

__all__ = ["contract", "decide", "explain"]
