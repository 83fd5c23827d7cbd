"""Learners that decide by the features of each round: only the chosen action answers."""

from tacit.algorithms.contextual.explore_linear.explore_linear import ExploreLinear

__all__ = ["ExploreLinear"]
