"""L2P on a measure of one's own."""

from tacit.learners.l2p_measure.l2p_measure import L2PMeasure
from tacit.learners.l2p_measure.own_measure import OwnMeasure, weighted_regret

__all__ = ["L2PMeasure", "OwnMeasure", "weighted_regret"]
