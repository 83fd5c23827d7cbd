"""Learners in a store over HTTP (extra: tacit-experiments[serve])."""
