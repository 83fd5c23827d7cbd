"""Private prediction from experts in a changing world, dynamic regret."""

from tacit.learners.tracking.base import lower_bound_warning
from tacit.learners.tracking.fixed_share import LazyFixedShare
from tacit.learners.tracking.limited_updates import LimitedUpdates
from tacit.learners.tracking.mirror_descent import NoisyMirrorDescent
from tacit.learners.tracking.restarts import RestartOnShift
from tacit.learners.tracking.sampled import SampledFixedShare

__all__ = [
    "LazyFixedShare",
    "LimitedUpdates",
    "NoisyMirrorDescent",
    "RestartOnShift",
    "SampledFixedShare",
    "lower_bound_warning",
]
