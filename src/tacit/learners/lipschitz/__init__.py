"""Learners over a set in one or two dimensions for losses that are only Lipschitz."""

from tacit.learners.lipschitz.lipschitz_grid import LipschitzGrid
from tacit.learners.lipschitz.lipschitz_net import LipschitzNet
from tacit.learners.lipschitz.lipschitz_one_pass import LipschitzOnePass

__all__ = ["LipschitzGrid", "LipschitzNet", "LipschitzOnePass"]
