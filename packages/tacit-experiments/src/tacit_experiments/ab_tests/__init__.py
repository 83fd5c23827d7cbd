"""Tests of arms (A/B): one person, one arm, a few looks, one privacy charge."""
