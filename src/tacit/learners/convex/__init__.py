"""Learners over a convex set, and over a box for losses that are only Lipschitz."""

from tacit.learners.convex.ctrl import CTRL
from tacit.learners.convex.ftrl import PrivateFTRL
from tacit.learners.convex.gibbs import L2PConvex
from tacit.learners.convex.lazy_oco import LazyOCO
from tacit.learners.convex.lipschitz import LipschitzGrid
from tacit.learners.convex.lipschitz_net import LipschitzNet

__all__ = ["CTRL", "L2PConvex", "LazyOCO", "LipschitzGrid", "LipschitzNet", "PrivateFTRL"]
