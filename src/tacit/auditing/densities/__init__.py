"""Claimed laws: the shipped draws and coins against densities written a second time from the formulas."""
