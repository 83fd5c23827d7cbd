"""Sources of randomness: seeds, names and states."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt, snapshot
from fuzz.strategies import examples, values


@examples(80)
@given(seed=values, name=values, state=values | st.fixed_dictionaries({"key": values}))
def test_randomness(seed, name, state):
    source = attempt(lambda: tacit.Randomness.replayable(seed))
    source = tacit.Randomness.replayable(0) if source is REFUSED else source
    assert not source.private
    assert source.label
    child = attempt(lambda: source.child(name))
    assert child is REFUSED or child.private is False
    stream = attempt(lambda: source.stream(name))
    assert stream is REFUSED or 0 <= stream.random() < 1
    restored = attempt(lambda: tacit.Randomness.restore(state))
    assert restored is REFUSED or restored.stream("a").random() < 1
    again = tacit.Randomness.restore(source.state_dict())
    assert snapshot(again.stream("a")) == snapshot(source.stream("a"))
    assert attempt(lambda: pickle.loads(pickle.dumps(source))).stream("a").random() == again.stream("a").random()


@examples(30)
@given(key=values)
def test_keys(key):
    source = attempt(lambda: tacit.Randomness(key))
    assert source is REFUSED or 0 <= source.stream("a").random() < 1
    assert source is REFUSED or source.private == (key is None)


def test_secrets_stay_where_they_are():
    stream = tacit.Randomness.secret().stream("a")
    assert attempt(lambda: pickle.dumps(stream)) is REFUSED
    assert attempt(stream.position) is REFUSED
    assert isinstance(stream, np.random.Generator)
