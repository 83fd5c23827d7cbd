"""Private prediction from experts in a changing world, dynamic regret."""

from tacit.algorithms.tracking.lazy_fixed_share import LazyFixedShare
from tacit.algorithms.tracking.limited_updates import LimitedUpdates
from tacit.algorithms.tracking.noisy_mirror_descent import NoisyMirrorDescent
from tacit.algorithms.tracking.recent_leader import RecentLeader
from tacit.algorithms.tracking.restart_on_shift import RestartOnShift
from tacit.algorithms.tracking.switching_sequences import SwitchingSequences
from tacit.algorithms.tracking.tracking_on_sums import TrackingOnSums
from tacit.algorithms.tracking.tracking_plan import lower_bound_warning

__all__ = [
    "LazyFixedShare",
    "LimitedUpdates",
    "NoisyMirrorDescent",
    "RecentLeader",
    "RestartOnShift",
    "SwitchingSequences",
    "TrackingOnSums",
    "lower_bound_warning",
]
