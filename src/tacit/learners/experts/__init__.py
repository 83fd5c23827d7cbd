"""Private prediction from experts, static regret."""

from tacit.learners.experts.hedge import HedgeOnSums
from tacit.learners.experts.l2p import L2P
from tacit.learners.experts.lazy import LazyExperts
from tacit.learners.experts.scheduled import ScheduledExperts

__all__ = ["L2P", "HedgeOnSums", "LazyExperts", "ScheduledExperts"]
