"""Adversaries and streams: they make feedback and know no learner; `environment.py` says what each of them has."""
