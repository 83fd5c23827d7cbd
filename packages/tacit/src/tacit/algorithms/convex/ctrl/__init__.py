"""CTRL: a perturbed leader held by coins, and its lazy relative without privacy."""

from tacit.algorithms.convex.ctrl.ctrl import CTRL
from tacit.algorithms.convex.ctrl.lazy_oco import LazyOCO

__all__ = ["CTRL", "LazyOCO"]
