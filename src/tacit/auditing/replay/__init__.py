"""Noise tapes: what the mechanisms released is frozen, and the learner runs again on a neighbour."""
