"""Learners of finitely many arms: only the chosen one answers."""

from tacit.algorithms.arms.batched_tsallis.batched_tsallis import BatchedTsallis
from tacit.algorithms.arms.live_arms.live_arms import LiveArms
from tacit.algorithms.arms.phased_arms import PhasedArms

__all__ = ["BatchedTsallis", "LiveArms", "PhasedArms"]
