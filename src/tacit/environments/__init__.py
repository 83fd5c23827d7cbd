"""Adversaries and streams: they make feedback and know no learner."""
