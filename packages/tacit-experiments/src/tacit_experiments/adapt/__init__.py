"""Experiments that adapt: versions, how they are closed, and results from releases."""
