"""Environments that are tried for real: servers that fork below Python."""
