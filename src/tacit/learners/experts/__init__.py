"""Private prediction from experts, static regret."""

from tacit.learners.experts.hedge_on_sums import HedgeOnSums
from tacit.learners.experts.l2p import L2P
from tacit.learners.experts.lazy_experts import LazyExperts
from tacit.learners.experts.scheduled_experts import ScheduledExperts

__all__ = ["L2P", "HedgeOnSums", "LazyExperts", "ScheduledExperts"]
