"""Learners over a convex set."""

from tacit.algorithms.convex.ctrl.ctrl import CTRL
from tacit.algorithms.convex.ctrl.lazy_oco import LazyOCO
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex
from tacit.algorithms.convex.private_ftrl import PrivateFTRL

__all__ = ["CTRL", "L2PConvex", "LazyOCO", "PrivateFTRL"]
