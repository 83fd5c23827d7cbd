"""Train PyTorch models privately: an `EpochPlan` before any data, a `PrivateTrainer` that owns the loop."""

from tacit_models.torch.plan import EpochPlan
from tacit_models.torch.run import Run
from tacit_models.torch.trainer import PrivateTrainer

__all__ = ["EpochPlan", "PrivateTrainer", "Run"]
