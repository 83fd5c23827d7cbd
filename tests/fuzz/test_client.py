"""The client with nonsense: a clear error before anything is sent, or that nobody answers."""

from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, numbers, values

NOBODY = "http://127.0.0.1:9"  # nothing listens there
ANY = st.one_of(values, numbers)


@examples(15)
@given(ANY, ANY, ANY, ANY)
def test_client(url, token, timeout, patience):
    attempt(lambda: tacit.Client(url, token))
    attempt(lambda: tacit.Client(NOBODY, "a-token", timeout=timeout, patience=patience))


@examples(15)
@given(ANY, ANY, ANY)
def test_requests(first, second, third):
    client = tacit.Client(NOBODY, "a-token", timeout=0.5, patience=1e-3)
    for call in (
        lambda: client.decide(first, key=second),
        lambda: client.settle(first, second, third),
        lambda: client.create(first, second, epsilon=third),
        lambda: client.learner(first),
        lambda: client.end(first),
        client.ledger,
    ):
        assert attempt(call) is REFUSED
    client.close()
