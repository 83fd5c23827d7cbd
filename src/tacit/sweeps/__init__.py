"""Grids of plans and simulations, and the table of their results."""
