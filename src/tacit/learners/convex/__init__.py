"""Learners over a convex set."""

from tacit.learners.convex.private_ftrl import PrivateFTRL

__all__ = ["PrivateFTRL"]
