"""Train PyTorch models privately: an `EpochPlan` before any data, a `PrivateTrainer` that owns the loop."""

from tacit.torch.plan import EpochPlan
from tacit.torch.run import Run
from tacit.torch.trainer import PrivateTrainer

__all__ = ["EpochPlan", "PrivateTrainer", "Run"]
