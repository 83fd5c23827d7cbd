"""Noise that a fork server holds, since it imports this module before it forks its workers."""

from tacit import Randomness

STREAM = Randomness.secret().stream("noise")
STREAM.random()


def send(sender):
    """Send a word of the inherited stream."""
    sender.send(int(STREAM.integers(0, 2**63)))
