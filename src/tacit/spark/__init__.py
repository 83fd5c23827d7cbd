"""A fleet: one learner per key, inside Spark's streams and tables."""

from tacit.spark.contract import contract, explain
from tacit.spark.deciding import decide

__all__ = ["contract", "decide", "explain"]
