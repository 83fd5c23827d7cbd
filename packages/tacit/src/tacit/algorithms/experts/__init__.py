"""Private prediction from experts, static regret."""

from tacit.algorithms.experts.hedge_on_sums import HedgeOnSums
from tacit.algorithms.experts.l2p import L2P
from tacit.algorithms.experts.lazy_experts import LazyExperts
from tacit.algorithms.experts.scheduled_experts import ScheduledExperts

__all__ = ["L2P", "HedgeOnSums", "LazyExperts", "ScheduledExperts"]
