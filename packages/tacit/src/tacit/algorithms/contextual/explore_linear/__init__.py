"""Explore first, with public coins; then decide by one noisy linear model that all actions share."""
