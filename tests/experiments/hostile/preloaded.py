"""A WSGI application with secret noise, made before the server forks its workers: it answers with a word of noise."""

from tacit import Experts, ProtocolError, Randomness
from tacit.algorithms import LazyExperts

STREAM = Randomness.secret().stream("noise")
STREAM.random()
LEARNER = LazyExperts(Experts(n=3, horizon=40), eta=0.1, force=0.1).start()
LEARNER.play()


def application(environment, start_response):
    """Answer with a word of noise, and what became of a round of the learner that the parent started."""
    try:
        LEARNER.observe([0.0, 1.0, 0.5])
        round_of_learner = "accepted"
    except ProtocolError:
        round_of_learner = "refused"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{int(STREAM.integers(0, 2**63))} {round_of_learner}".encode()]
