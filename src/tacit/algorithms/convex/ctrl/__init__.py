"""CTRL: a perturbed leader held by coins, and its lazy relative without privacy."""

from tacit.learners.ctrl.ctrl import CTRL
from tacit.learners.ctrl.lazy_oco import LazyOCO

__all__ = ["CTRL", "LazyOCO"]
