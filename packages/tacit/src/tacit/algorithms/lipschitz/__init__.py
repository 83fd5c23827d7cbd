"""Learners over a set in one or two dimensions for losses that are only Lipschitz."""

from tacit.algorithms.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.algorithms.lipschitz.lipschitz_net import LipschitzNet

__all__ = ["LipschitzGrid", "LipschitzNet"]
