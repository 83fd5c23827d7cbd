"""Private prediction from experts in a changing world, dynamic regret."""

from tacit.learners.tracking.common import lower_bound_warning
from tacit.learners.tracking.lazy_fixed_share import LazyFixedShare
from tacit.learners.tracking.limited_updates import LimitedUpdates
from tacit.learners.tracking.noisy_mirror_descent import NoisyMirrorDescent
from tacit.learners.tracking.recent_leader import RecentLeader
from tacit.learners.tracking.restart_on_shift import RestartOnShift
from tacit.learners.tracking.sampled_fixed_share import SampledFixedShare
from tacit.learners.tracking.tracking_on_sums import TrackingOnSums

__all__ = [
    "LazyFixedShare",
    "LimitedUpdates",
    "NoisyMirrorDescent",
    "RecentLeader",
    "RestartOnShift",
    "SampledFixedShare",
    "TrackingOnSums",
    "lower_bound_warning",
]
