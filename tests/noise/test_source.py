"""Secret sources leave nothing behind; replayable ones copy faithfully and go on bit for bit."""

import copy
import pickle

import numpy as np
import pytest

from noise.keyed import gaussian, uniforms
from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.cube import CubeNoise, CubeRadius
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Tree
from tacit.noise.running_sums.accumulators import VectorRecords
from tacit.noise.source import POOL

# How many of a thousand secret draws others may have: one has a chance of 1e-3, more than this of below 1e-15.
BY_CHANCE = 5


def secret():
    return DiscreteGaussian.from_streams(Randomness.secret(), "noise")


SOURCES = {
    "gaussian": gaussian,
    "laplace": lambda key=3: DiscreteLaplace(uniforms(key), 2.0**-27),
    "cube": lambda key=3: CubeNoise(CubeRadius(uniforms(key), uniforms(key + 1), 0.01, 5), uniforms(key + 2)),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_blocks_states_and_copies_go_on_bit_for_bit(make):
    """In numpy and in C, across the ends of pools."""
    whole, source = make().draw(5 * 16_000), make()
    for used in (0, 5, 300, 5 * 1000, POOL + 1):
        source.draw(used)
    taken = 5 + 300 + 5 * 1000 + POOL + 1
    state, other = source.state_dict(), make(77)
    other.draw(5)
    other.load_state_dict(state)
    again = make(50)
    again.load_state_dict(state)
    for twin in (copy.deepcopy(source), pickle.loads(pickle.dumps(source)), other, again, source):
        np.testing.assert_array_equal(twin.draw(5 * 8000), whole[taken : taken + 5 * 8000])
    source.renew()
    assert not np.array_equal(source.draw(100), whole[taken + 5 * 8000 :][:100]), "what was drawn ahead is gone"


@pytest.mark.parametrize("kind", [CubeNoise, DiscreteLaplace, DiscreteGaussian], ids=lambda kind: kind.__name__)
def test_streams_by_name(kind):
    options = {CubeNoise: (0.01, 3), DiscreteLaplace: (0.01,)}.get(kind, ())
    one, two = (kind.from_streams(Randomness.replayable(1), "noise", *options) for _ in range(2))
    np.testing.assert_array_equal(one.draw(30), two.draw(30))
    hidden = kind.from_streams(Randomness.secret(), "noise", *options)
    hidden.draw(3)
    assert hidden.private > one.private
    assert hidden.state_dict() == {}
    with pytest.raises(InvalidInput, match="cannot be copied"):
        copy.deepcopy(hidden)


def test_draws_are_given_out_once():
    source = gaussian()
    taken = source.draw(10)
    taken[:] = 0
    assert not np.shares_memory(source.draw(10), source.pool)
    np.testing.assert_array_equal(source.draw(10), gaussian().draw(30)[20:])
    with pytest.raises(InvalidInput, match="'count' parameter"):
        source.draw(-5)
    np.testing.assert_array_equal(source.draw(10), gaussian().draw(40)[30:])


def test_a_running_sum_takes_the_draws_of_its_source_once():
    mechanism = Tree(steps=10)
    grid = mechanism.grid(1.0, VectorRecords(3))
    sums = mechanism.start_on(grid, Randomness.replayable(1), "noise")
    wanted = grid.noise(Randomness.replayable(1), "noise").draw(3 * 500)
    found = np.concatenate([sums.fresh(3) for _ in range(400)])  # across the ends of two pools
    np.testing.assert_array_equal(found, wanted[: found.size])
    with pytest.raises(InvalidInput, match="'count' parameter"):
        sums.fresh(-3)
    np.testing.assert_array_equal(sums.fresh(300), wanted[found.size :])


@pytest.mark.parametrize("count", [3, 3 * POOL])
def test_a_secret_running_sum_stays_in_its_process(count):
    mechanism = Tree(steps=10)
    sums = mechanism.start_on(mechanism.grid(1.0, VectorRecords(3)), Randomness.secret(), "noise")
    sums.add(np.zeros(3))
    sums._source.home = -1
    with pytest.raises(ProtocolError, match="only in the process that made it"):
        sums.fresh(count)


def test_an_interrupt_loses_draws_and_repeats_none(monkeypatch):
    source = gaussian()
    first = source.draw(200)
    honest = source._produce
    monkeypatch.setattr(source, "_produce", lambda count: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        source.draw(500)
    monkeypatch.setattr(source, "_produce", honest)
    assert not set(first.tolist()) & set(source.draw(500).tolist())


def test_secret_sources_have_no_state():
    source = secret()
    source.draw(5)
    assert source.state_dict() == {}
    ahead = source.pool[5:].tolist()
    source.load_state_dict({})
    shared = set(ahead) & set(source.draw(1000).tolist())
    assert len(shared) <= BY_CHANCE, "a continuation does not share the draws made ahead"


def test_the_state_decides_whether_a_source_is_secret():
    source = secret()
    source.load_state_dict(gaussian().state_dict())
    assert not source.private, "whoever has the state can make the draws again"
    np.testing.assert_array_equal(source.draw(100), gaussian().draw(100))
    source.load_state_dict({})
    assert source.private
    assert len(set(source.draw(1000).tolist()) & set(gaussian().draw(2000).tolist())) <= BY_CHANCE


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_secret_sources_are_not_copied(copied):
    with pytest.raises(InvalidInput, match="cannot be copied or pickled"):
        copied(secret())


@pytest.mark.parametrize("count", [1, 2 * POOL])
def test_secret_sources_stay_in_their_process(count):
    private, public = secret(), DiscreteGaussian.from_streams(Randomness.replayable(1), "noise")
    private.draw(1)
    private.home = public.home = -1
    assert public.draw(count).size == count
    with pytest.raises(ProtocolError, match="only in the process that made it"):
        private.draw(count)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: {"pool": state["pool"]},
        lambda state: {**state, "pool": state["pool"].astype(float)},
        lambda state: {**state, "pool": "nothing"},
        lambda state: {**state, "streams": state["streams"][:2]},
        lambda state: [state],
        lambda state: None,
    ],
)
def test_malformed_states_change_nothing(spoil):
    source = gaussian()
    source.draw(3)
    with pytest.raises(InvalidInput, match="not the state of a DiscreteGaussian"):
        source.load_state_dict(spoil(gaussian(50).state_dict()))
    np.testing.assert_array_equal(source.draw(1000), gaussian().draw(1003)[3:])


def test_a_state_that_is_secret_in_part_is_refused():
    """Its other part could be replayed, and the whole would have called itself secret."""
    noise = CubeNoise.from_streams(Randomness.replayable(1), "noise", 0.1, 3)
    saved = noise.state_dict()
    with pytest.raises(InvalidInput, match="not the state"):
        noise.load_state_dict({**saved, "points": {}})
    assert not noise.private
    with pytest.raises(InvalidInput, match="not the state"):
        CubeNoise.from_streams(Randomness.secret(), "noise", 0.1, 3).load_state_dict({**saved, "radii": {}})
