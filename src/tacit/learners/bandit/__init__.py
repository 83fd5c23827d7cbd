"""Learners that see one number a round: the loss at the point they played."""

from tacit.learners.bandit.bandit_fw import BanditFW
from tacit.learners.bandit.common import Rounds
from tacit.learners.bandit.mirror_maps import EntropicMap
from tacit.learners.bandit.noisy_oco import NoisyOCO

__all__ = ["BanditFW", "EntropicMap", "NoisyOCO", "Rounds"]
