"""Catalogue, comparison, lower bounds, contracts and the planner."""
