"""Planted bugs: each breaks a shipped learner or mechanism in one way that an audit must find."""
