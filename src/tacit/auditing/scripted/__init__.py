"""Exact enumeration: the shipped learner runs under a script of every outcome of its coins."""
