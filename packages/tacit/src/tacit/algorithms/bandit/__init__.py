"""Learners that see one number a round: the loss at the point they played."""

from tacit.algorithms.bandit.bandit_fw import BanditFW
from tacit.algorithms.bandit.bandit_plan import Rounds
from tacit.algorithms.bandit.noisy_oco import NoisyOCO

__all__ = ["BanditFW", "NoisyOCO", "Rounds"]
