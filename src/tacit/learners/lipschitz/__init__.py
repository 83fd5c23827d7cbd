"""Learners over a box in one or two dimensions for losses that are only Lipschitz."""

from tacit.learners.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.learners.lipschitz.lipschitz_net import LipschitzNet

__all__ = ["LipschitzGrid", "LipschitzNet"]
