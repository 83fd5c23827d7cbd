"""The one source of randomness: independent, repeatable where asked, and silent about its key."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import kstest

from tacit import InvalidInput, Randomness
from tacit.randomness import COMPUTATIONAL, REPLAYABLE, stream_state


def bits(generator, count=4):
    return generator.integers(0, 2**63, count).tolist()


def test_replayable_repeats_and_seeds_differ():
    assert bits(Randomness.replayable(7).stream("a")) == bits(Randomness.replayable(7).stream("a"))
    assert bits(Randomness.replayable(np.int64(7)).stream("a")) == bits(Randomness.replayable(7).stream("a"))
    first = {tuple(bits(Randomness.replayable(seed).stream("a"))) for seed in range(50)}
    assert len(first) == 50


def test_a_replayable_source_is_pinned():
    """A seed means the same draws in every release: a change here breaks every recorded experiment."""
    draws = Randomness.replayable(0).stream("noise").random(2)
    again = Randomness.replayable(0).stream("noise")
    assert [again.random(), again.random()] == draws.tolist()


def test_names_are_independent_streams():
    source = Randomness.replayable(1)
    names = ("a", "b", "keep", "draw", "draw ", "", "child 0")
    assert len({tuple(bits(source.stream(name))) for name in names}) == len(names)
    # Drawing from one does not move another.
    first, second = source.stream("a"), source.stream("b")
    first.random(1000)
    assert bits(second) == bits(source.stream("b"))
    # Uncorrelated at 100,000 draws: six standard deviations are 0.019.
    x, y = source.stream("a").standard_normal(100_000), source.stream("b").standard_normal(100_000)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.019
    assert abs(np.corrcoef(x[1:], y[:-1])[0, 1]) < 0.019


def test_children_are_independent_sources_of_the_same_kind():
    source = Randomness.replayable(1)
    children = [source, source.child(0), source.child(1), source.child("0 "), source.child(0).child(0)]
    assert len({tuple(bits(child.stream("a"))) for child in children}) == len(children)
    assert bits(source.child(3).stream("a")) == bits(Randomness.replayable(1).child(3).stream("a"))
    assert not source.child(0).private
    assert Randomness.secret().child(0).private
    # A child is not reachable as a stream of the same name, nor the other way round.
    assert bits(source.child("x").stream("y")) != bits(source.stream("x"))


@pytest.mark.parametrize(
    "draw",
    [
        lambda g, k: g.random(k) if k else g.random(),
        lambda g, k: g.standard_normal(k) if k else g.standard_normal(),
        lambda g, k: g.standard_exponential(k) if k else g.standard_exponential(),
        lambda g, k: g.laplace(0.0, 1.0, k) if k else g.laplace(0.0, 1.0),
    ],
    ids=["uniform", "normal", "exponential", "laplace"],
)
def test_a_block_of_draws_is_the_same_as_one_by_one(draw):
    """What makes an array run and a loop agree bit for bit."""
    block = draw(Randomness.replayable(3).stream("x"), 500)
    stream = Randomness.replayable(3).stream("x")
    np.testing.assert_array_equal([draw(stream, None) for _ in range(500)], block)
    parts = Randomness.replayable(3).stream("x")
    np.testing.assert_array_equal(np.concatenate([draw(parts, k) for k in (1, 99, 250, 150)]), block)


@pytest.mark.parametrize(
    ("name", "draw", "wrong"),
    [
        ("norm", lambda g: g.standard_normal(50_000), 0.8),
        ("expon", lambda g: g.standard_exponential(50_000), 0.8),
        ("laplace", lambda g: g.laplace(0, 1, 50_000), 0.8),
        ("uniform", lambda g: g.random(50_000), 0.95),
    ],
)
def test_distributions(name, draw, wrong):
    """Kolmogorov-Smirnov at a false alarm of 1e-6, which also rejects a wrong scale."""
    sample = draw(Randomness.replayable(4).stream(name))
    assert kstest(sample, name).pvalue > 1e-6
    assert kstest(sample * wrong, name).pvalue < 1e-6


def test_secret_sources_differ_and_are_private():
    assert bits(Randomness.secret().stream("a")) != bits(Randomness.secret().stream("a"))
    assert Randomness.secret().private
    assert Randomness.secret().label == COMPUTATIONAL
    assert not Randomness.replayable(0).private
    assert Randomness.replayable(0).label == REPLAYABLE == "replayable: not private"


def test_a_secret_cannot_be_pickled_or_copied():
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InvalidInput, match="cannot be pickled"):
            action(Randomness.secret())
    source = pickle.loads(pickle.dumps(Randomness.replayable(9)))
    assert bits(source.stream("a")) == bits(Randomness.replayable(9).stream("a"))
    assert not source.private


def test_nothing_shows_the_key():
    for source in (Randomness.secret(), Randomness.replayable(123456789)):
        key = source.state_dict()["key"]
        for text in (repr(source), str(source), f"{source}", source.label):
            assert key.hex() not in text
            assert repr(key) not in text
            assert "123456789" not in text
        assert not hasattr(source, "__dict__")


def test_state_restores():
    for source in (Randomness.secret(), Randomness.replayable(5)):
        again = Randomness.restore(source.state_dict())
        assert bits(again.stream("a")) == bits(source.stream("a"))
        assert again.private == source.private


def test_stream_state_is_a_copy_that_restores():
    stream = Randomness.replayable(5).stream("a")
    stream.random(7)
    state = stream_state(stream)
    kept = repr(state)
    wanted = bits(stream, 20)
    assert repr(state) == kept
    other = Randomness.replayable(6).stream("b")
    other.bit_generator.state = state
    assert bits(other, 20) == wanted


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", None, np.nan])
def test_bad_seeds(seed):
    with pytest.raises(InvalidInput, match="'seed'"):
        Randomness.replayable(seed)
