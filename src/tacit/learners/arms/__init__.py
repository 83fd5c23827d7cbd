"""Learners of finitely many arms: only the chosen one answers."""

from tacit.learners.arms.batched_tsallis import BatchedTsallis
from tacit.learners.arms.phased_arms import PhasedArms

__all__ = ["BatchedTsallis", "PhasedArms"]
