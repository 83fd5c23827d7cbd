"""L2P on a measure of one's own."""

from tacit.algorithms.measures.l2p_measure import L2PMeasure, OwnMeasure, weighted_regret

__all__ = ["L2PMeasure", "OwnMeasure", "weighted_regret"]
